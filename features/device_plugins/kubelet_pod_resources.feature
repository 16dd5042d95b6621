@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet shows the devices of pods in the PodResources API
  Monitoring agents read from a socket of the kubelet which container has which devices, of plugins and of claims.

  Background:
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 3 devices of "example.com/gpu"

  @DP-098 @DP-099 @DP-100 @DP-101 @DP-102 @DP-103
  Scenario: PodResources lists pods that have not ended, with devices of plugins
    Given new pods have the restart policy "Never"
    And pod "train" with 1 of "example.com/gpu" is bound by hand to "n1"
    And pod "train" runs
    And a pod "side" with resources of the containers:
      | name | resources          | kind    |
      | load | example.com/gpu: 1 | init    |
      | side | example.com/gpu: 1 | sidecar |
      | main | example.com/gpu: 1 | main    |
    And a pod "plain" with resources of the containers:
      | name | resources |
      | main |           |
    When pod "side" is bound by hand to "n1"
    And pod "plain" is bound by hand to "n1"
    Then pod "side" reaches phase Running [DP-098]
    And pod "plain" reaches phase Running [DP-098]
    And Get of pod "side" in PodResources of "n1" has the containers "side, main" [DP-099]
    And Get of pod "plain" in PodResources of "n1" has the containers "main" [DP-100]
    And Get of pod "other" in PodResources of "n1" fails [DP-102]
    And Get of pod "plain" of namespace "kube-system" in PodResources of "n1" fails [DP-102]
    Given PodResources of "n1" is remembered
    When the kubelet of "n1" is restarted
    And the scripted device plugin "gpu" starts again
    Then PodResources of "n1" is as before [DP-103]
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Unhealthy, gpu-2 Healthy"
    Then PodResources of "n1" has the allocatable devices "example.com/gpu=gpu-0, example.com/gpu=gpu-2" [DP-101]
    When the containers of pod "side" on "n1" end in phase Succeeded
    Then pod "side" reaches phase Succeeded [DP-098]
    And PodResources of "n1" lists only the pods "plain, train" [DP-098]
    And Get of pod "side" in PodResources of "n1" fails [DP-102]

  @DP-105 @DP-107
  Scenario: PodResources lists devices of plugins and of claims of each container
    Given a scripted driver "sim" on "n1"
    And the scripted device plugin "gpu" lists "gpu-7 Healthy"
    And a ResourceClaim "a" with requests "x, y" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "both" with the reserved claims "a, b" and the containers:
      | name    | claims | resources       |
      | claims  | a      |                 |
      | plugin  |        | example.com/gpu |
      | another | b      |                 |
    When pod "both" is bound by hand to "n1"
    Then pod "both" reaches phase Running [DP-105]
    And PodResources of "n1" lists the containers: [DP-107]
      | pod  | container | devices               | claims                 |
      | both | claims    |                       | a=dev-a-x, a=dev-a-y   |
      | both | plugin    | example.com/gpu=gpu-7 |                        |
      | both | another   |                       | b=dev-b-gpu            |
    When pod "both" is deleted
    Then the Pod "both" is gone [DP-105]
    And PodResources of "n1" lists the containers: [DP-105]
      | pod | container | devices | claims |

  @DP-105b @component:claim-controller @gate:DRAResourceClaimDeviceStatus
  Scenario: Device status and PodResources follow a claim from Prepare to Unprepare
    Given new pods have the restart policy "Never"
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And "metadata.finalizers" of the ResourceClaim "a" is set to [resource.kubernetes.io/delete-protection]
    And a pod "first" with the reserved claims "a" and the containers:
      | name | claims |
      | main | a      |
    And a pod "second" with the reserved claims "a, b" and the containers:
      | name | claims |
      | main | a, b   |
    And the scripted driver "sim" does not respond
    When pod "first" is bound by hand to "n1"
    Then the scripted driver "sim" receives one Prepare call for "a"
    And PodResources of "n1" lists the containers:
      | pod   | container | devices | claims |
      | first | main      |         |        |
    # A driver may report while it prepares.
    Given another driver has reported on its device of claim "a"
    When the scripted driver "sim" works
    Then pod "first" reaches phase Running
    And PodResources of "n1" lists the containers:
      | pod   | container | devices | claims      |
      | first | main      |         | a=dev-a-gpu |
    And the ResourceClaim "a" keeps "status.devices[*].conditions[*].type" [[Linked]]
    When pod "second" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    And PodResources of "n1" lists the containers:
      | pod    | container | devices | claims                   |
      | first  | main      |         | a=dev-a-gpu              |
      | second | main      |         | a=dev-a-gpu, b=dev-b-gpu |
    When the containers of pod "first" on "n1" end in phase Succeeded
    Then pod "first" reaches phase Succeeded
    And PodResources of "n1" lists the containers:
      | pod    | container | devices | claims                   |
      | second | main      |         | a=dev-a-gpu, b=dev-b-gpu |
    And the ResourceClaim "a" keeps "status.devices[*].conditions[*].type" [[Linked]]
    When the kubelet of "n1" is restarted
    Then PodResources of "n1" lists the containers:
      | pod    | container | devices | claims                   |
      | second | main      |         | a=dev-a-gpu, b=dev-b-gpu |
    And the ResourceClaim "a" keeps "status.devices[*].conditions[*].type" [[Linked]]
    When the containers of pod "second" on "n1" end in phase Failed
    Then pod "second" reaches phase Failed
    And PodResources of "n1" lists the containers:
      | pod | container | devices | claims |
    And claim "a" is deallocated
    And the ResourceClaim "a" has "status.devices" null

  @DP-105 @gate:DRAExtendedResource @since:1.36
  Scenario: PodResources lists the claim of extended resources under the container that requested them
    Given a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "b" and the containers:
      | name | claims | resources       |
      | none |        |                 |
      | one  | b      | example.com/big |
      | two  | b      |                 |
    And claim "a" is reserved by hand for pods "train"
    And pod "train" uses the claim "a" for extended resources:
      | container | resource        | request |
      | one       | example.com/big | gpu     |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And PodResources of "n1" lists the containers:
      | pod   | container | devices | claims                   |
      | train | none      |         |                          |
      | train | one       |         | a=dev-a-gpu, b=dev-b-gpu |
      | train | two       |         | b=dev-b-gpu              |

  @DP-106
  Scenario: PodResources lists each device of a claim with its own CDI device
    Given a scripted driver "sim" on "n1"
    And a ResourceClaim "a" with requests "x, y" allocated to the scripted driver "sim" on "n1"
    And a pod "both" with the reserved claims "a"
    When pod "both" is bound by hand to "n1"
    Then pod "both" reaches phase Running
    And each device of claim "a" in PodResources of "n1" has its driver, its pool and its own CDI device

  @DRA-282
  Scenario: PodResources has the share ids of devices, also after a restart of the kubelet
    Given a scripted driver "sim" on "n1"
    And the scripted driver "sim" shares the devices of "a"
    And a ResourceClaim "a" with requests "x, y" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "both" with the reserved claims "a, b"
    When pod "both" is bound by hand to "n1"
    Then pod "both" reaches phase Running
    And each device of claim "a" in PodResources of "n1" has the share id of the driver "sim"
    And each device of claim "b" in PodResources of "n1" has no share id of the driver "sim"
    When the kubelet of "n1" is restarted
    Then each device of claim "a" in PodResources of "n1" has the share id of the driver "sim"
    And each device of claim "b" in PodResources of "n1" has no share id of the driver "sim"
