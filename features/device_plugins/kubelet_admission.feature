@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet allocates devices when it admits a pod
  The kubelet chooses devices for each container and calls Allocate. A pod that cannot have its devices is not admitted.

  Background:
    Given node "n1" with a kubelet that serves device plugins

  @DP-052 @DP-063 @DP-071 @DP-088
  Scenario: Allocate is called once for each container and resource
    Given a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu"
    And a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    And a scripted device plugin "fpga" on "n1" with 1 devices of "example.com/fpga"
    And a pod "train" with resources of the containers:
      | name | resources                              |
      | one  | example.com/gpu: 2, example.com/nic: 1 |
      | two  | example.com/gpu: 2, example.com/nic: 1 |
      | none | example.com/fpga: 0                    |
    When pod "train" is bound by hand to "n1"
    Then the containers of pod "train" on "n1" have devices of "gpu": [DP-088]
      | name | count |
      | one  | 2     |
      | two  | 2     |
      | none | 0     |
    And containers "one, two" of pod "train" on "n1" have 4 different devices of "gpu" [DP-071]
    And the scripted device plugin "fpga" has received 0 Allocate calls [DP-063]
    And the scripted device plugin "gpu" has received 2 Allocate calls [DP-052]
    And every Allocate call of the scripted device plugin "gpu" is for 2 devices of one container [DP-052]
    And the scripted device plugin "nic" has received 2 Allocate calls [DP-052]
    And every Allocate call of the scripted device plugin "nic" is for 1 devices of one container [DP-052]

  @DP-084 @DP-085 @DP-086 @DP-086a
  Scenario: A container has what the plugins answered
    Given a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    And the scripted device plugin "gpu" also gives "ctl"
    And the scripted device plugin "nic" also gives "ctl"
    And a pod "train" with resources of the containers:
      | name | resources                              |
      | main | example.com/gpu: 1, example.com/nic: 1 |
      | none |                                        |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DP-084]
    And container "main" of pod "train" on "n1" has: [DP-086a]
      | kind        | name          | value    |
      | variable    | GPU_DEVICES   | gpu-0    |
      | variable    | NIC_DEVICES   | nic-0    |
      | device node | /dev/gpu-0    | rw       |
      | device node | /dev/nic-0    | rw       |
      | mount       | /run/gpu      | /var/lib/gpu/gpu |
      | annotation  | dra.test/gpu  | gpu-0    |
      | annotation  | dra.test/nic  | nic-0    |
    And of the variable "CTL_OWNER", container "main" of pod "train" on "n1" has only "CTL_OWNER" [DP-084]
    And of the device nodes "*", container "main" of pod "train" on "n1" has only "/dev/gpu-0, /dev/nic-0, /dev/ctl" [DP-085]
    And of the mounts "*", container "main" of pod "train" on "n1" has only "/run/gpu, /run/nic, /run/ctl" [DP-085]
    And of the CDI devices "*", container "main" of pod "train" on "n1" has only "dra.test/shared=ctl" [DP-086]
    And container "main" of pod "train" on "n1" has: [DP-086]
      | kind     | name    | value |
      | variable | CDI_CTL | yes   |
    And of the device nodes "*", container "none" of pod "train" on "n1" has only "" [DP-086a]

  Scenario Outline: A pod whose Allocate <what> is not admitted, and its devices are free
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And the scripted device plugin "gpu" <behaviour>
    When pod "a" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" is not admitted
    When pod "b" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" reaches phase Running

    @DP-053
    Examples:
      | what  | behaviour               |
      | fails | fails the next Allocate |

    @DP-054
    Examples:
      | what            | behaviour                              |
      | answers nothing | answers the next Allocate with nothing |

  # The kubelet passes the response on unchanged. The devices in use are those that it requested.
  @DP-163
  Scenario: A plugin that answers with devices of others does not change which devices are in use
    Given a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    And pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" reaches phase Running
    Given the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Healthy, gpu-2 Healthy"
    And the scripted device plugin "gpu" answers each Allocate with "gpu-0, gpu-9, nic-0"
    When pod "b" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" reaches phase Running
    When pod "c" with 1 of "example.com/nic" is bound by hand to "n1"
    Then pod "c" reaches phase Running
    And PodResources of "n1" lists the containers:
      | pod | container | devices                                      | claims |
      | a   | main      | example.com/gpu=gpu-0                        |        |
      | b   | main      | example.com/gpu=gpu-1, example.com/gpu=gpu-2 |        |
      | c   | main      | example.com/nic=nic-0                        |        |
    And node "n1" has 3 of "example.com/gpu", 3 allocatable
    When pod "d" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "d" is not admitted
    When pod "b" is deleted
    Then the Pod "b" is gone
    When pod "e" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "e" reaches phase Running
    And PodResources of "n1" lists the containers:
      | pod | container | devices                                      | claims |
      | a   | main      | example.com/gpu=gpu-0                        |        |
      | e   | main      | example.com/gpu=gpu-1, example.com/gpu=gpu-2 |        |
      | c   | main      | example.com/nic=nic-0                        |        |

  @DP-164
  Scenario: Of several responses to Allocate the container has the first
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And the scripted device plugin "gpu" answers each Allocate with one response more
    And a pod "train" with resources of the containers:
      | name | resources          |
      | one  | example.com/gpu: 1 |
      | two  | example.com/gpu: 1 |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And pod "train" on "n1" has the devices "gpu-0, gpu-1" of "gpu"

  @DP-165
  Scenario Outline: A container whose plugin answers <what> does not start, and other pods do
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    And the scripted device plugin "gpu" answers each Allocate with the CDI device "<name>"
    When pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" does not run
    When pod "b" with 1 of "example.com/nic" is bound by hand to "n1"
    Then pod "b" reaches phase Running
    When pod "a" is deleted
    Then the Pod "a" is gone
    And node "n1" has 2 of "example.com/gpu", 2 allocatable
    When pod "c" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "c" does not run
    And the Pod "b" keeps "status.phase" Running

    Examples:
      | what                                    | name                |
      | a CDI device that no specification has  | dra.test/none=gpu-0 |
      | a name that is not that of a CDI device | gpu-0               |

  @DP-060 @DP-065 @DP-064 @DP-050
  Scenario: A pod is not admitted if too few devices are free
    Given new pods have the restart policy "Never"
    And a scripted device plugin "gpu" on "n1" with 3 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Healthy, gpu-2 Unhealthy"
    When pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" reaches phase Running [DP-060]
    When pod "b" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" is not admitted [DP-060]
    And the scripted device plugin "gpu" has received 1 Allocate calls [DP-060]
    When the containers of pod "a" on "n1" end in phase Succeeded
    Then pod "a" reaches phase Succeeded [DP-050]
    When pod "c" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "c" reaches phase Running [DP-050]
    When pod "c" is deleted
    Then the Pod "c" is gone [DP-050]
    When pod "d" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "d" reaches phase Running [DP-050]
    When the scripted device plugin "gpu" lists nothing
    And pod "e" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "e" is not admitted [DP-065]
    When pod "f" with 1 of "example.com/unknown" is bound by hand to "n1"
    Then pod "f" reaches phase Running [DP-064]

  @DP-061
  Scenario: A pod that has no room for its other requests leaves its devices free
    Given a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And a pod "large" with resources of the containers:
      | name | resources                         |
      | main | example.com/gpu: 1, cpu: 1000000  |
    When pod "large" is bound by hand to "n1"
    Then the Pod "large" has "status.reason" OutOfcpu
    When pod "next" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "next" reaches phase Running

  @DP-061b
  Scenario: A pod that requests exactly the CPU that its node has left is admitted
    Given a pod "some" with resources of the containers:
      | name | resources  |
      | main | cpu: 500m  |
    And a pod "rest" with the CPU that "n1" has left beside pods "some"
    And a pod "more" with resources of the containers:
      | name | resources |
      | main | cpu: 1m   |
    When pod "some" is bound by hand to "n1"
    Then pod "some" reaches phase Running
    When pod "rest" is bound by hand to "n1"
    Then pod "rest" reaches phase Running
    When pod "more" is bound by hand to "n1"
    Then the Pod "more" has "status.reason" OutOfcpu

  @DP-061c
  Scenario Outline: A pod that is <phase> leaves its CPU to other pods
    Given new pods have the restart policy "Never"
    And a pod "some" with resources of the containers:
      | name | resources  |
      | main | cpu: 500m  |
    And a pod "rest" with the CPU that "n1" has left beside pods "some"
    And a pod "early" with resources of the containers:
      | name | resources  |
      | main | cpu: 500m  |
    And a pod "late" with resources of the containers:
      | name | resources  |
      | main | cpu: 500m  |
    When pod "some" is bound by hand to "n1"
    Then pod "some" reaches phase Running
    When pod "rest" is bound by hand to "n1"
    Then pod "rest" reaches phase Running
    When pod "early" is bound by hand to "n1"
    Then the Pod "early" has "status.reason" OutOfcpu
    When the containers of pod "some" on "n1" end in phase <phase>
    Then pod "some" reaches phase <phase>
    When pod "late" is bound by hand to "n1"
    Then pod "late" reaches phase Running

    Examples:
      | phase     |
      | Succeeded |
      | Failed    |

  @DP-067 @DP-068
  Scenario: Containers use the devices of ordinary init containers again
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And a pod "train" with resources of the containers:
      | name  | resources          | kind |
      | load  | example.com/gpu: 1 | init |
      | check | example.com/gpu: 2 | init |
      # This container uses one of the two devices of "check", and the main containers use both.
      | last  | example.com/gpu: 1 | init |
      | one   | example.com/gpu: 1 | main |
      | two   | example.com/gpu: 1 | main |
    When pod "train" is bound by hand to "n1"
    Then the containers of pod "train" on "n1" have devices of "gpu": [DP-067]
      | name  | count |
      | load  | 1     |
      | check | 2     |
      | last  | 1     |
      | one   | 1     |
      | two   | 1     |
    And containers "one, two" of pod "train" on "n1" have 2 different devices of "gpu" [DP-068]

  @DP-069 @DP-070
  Scenario: A sidecar container keeps its devices
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And a pod "fits" with resources of the containers:
      | name | resources          | kind    |
      | load | example.com/gpu: 2 | init    |
      | side | example.com/gpu: 1 | sidecar |
      | main | example.com/gpu: 1 | main    |
    When pod "fits" is bound by hand to "n1"
    Then the containers of pod "fits" on "n1" have devices of "gpu": [DP-070]
      | name | count |
      | load | 2     |
      | side | 1     |
      | main | 1     |
    And containers "side, main" of pod "fits" on "n1" have 2 different devices of "gpu" [DP-070]
    When pod "fits" is deleted
    Then the Pod "fits" is gone [DP-069]
    Given a pod "large" with resources of the containers:
      | name | resources          | kind    |
      | side | example.com/gpu: 1 | sidecar |
      | main | example.com/gpu: 2 | main    |
    When pod "large" is bound by hand to "n1"
    Then pod "large" is not admitted [DP-069]

  @DP-115 @DP-115b
  Scenario: The kubelet leaves a resource that a claim serves to the driver
    Given a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "claimed" with resources of the containers:
      | name | resources          |
      | main | example.com/gpu: 1 |
    And claim "a" is reserved by hand for pods "claimed"
    And pod "claimed" uses the claim "a" for extended resources:
      | container | resource        | request |
      | main      | example.com/gpu | main    |
    When pod "claimed" is bound by hand to "n1"
    Then pod "claimed" reaches phase Running [DP-115]
    And the scripted device plugin "gpu" has received 0 Allocate calls [DP-115]
    When pod "plain" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "plain" on "n1" has the devices "gpu-0" of "gpu" [DP-115b]

  @DP-115
  Scenario: A claim that serves a resource for one container of a pod leaves that of another to the plugin
    Given a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "mixed" with resources of the containers:
      | name | resources          |
      | main | example.com/gpu: 1 |
      | side | example.com/gpu: 1 |
    And claim "a" is reserved by hand for pods "mixed"
    And pod "mixed" uses the claim "a" for extended resources:
      | container | resource        | request |
      | main      | example.com/gpu | main    |
    When pod "mixed" is bound by hand to "n1"
    Then pod "mixed" reaches phase Running
    And the scripted device plugin "gpu" has received 1 Allocate calls

  @DP-006 @DP-066 @DP-082
  Scenario: PreStartContainer comes before every start of a container, Allocate only once
    Given a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu" that is not registered
    And a scripted device plugin "fpga" on "n1" with 2 devices of "example.com/fpga" that wants "PreStartContainer"
    And the scripted device plugin "gpu" registers with options "PreStartContainer"
    And a pod "train" with resources of the containers:
      | name | resources                               |
      | main | example.com/fpga: 1, example.com/gpu: 1 |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DP-082]
    And the scripted device plugin "fpga" has received 1 PreStartContainer calls [DP-082]
    And every PreStartContainer call of the scripted device plugin "fpga" is for 1 devices of one container [DP-082]
    And the scripted device plugin "gpu" has received 0 PreStartContainer calls [DP-006]
    Given the devices of "fpga" of pod "train" on "n1" are remembered
    When the containers of pod "train" on "n1" start again
    Then the scripted device plugin "fpga" has received 2 PreStartContainer calls [DP-082]
    And pod "train" on "n1" has its devices of "fpga" from before [DP-066]
    And the scripted device plugin "fpga" has received 1 Allocate calls [DP-066]

  @DP-083 @needs:virtual-clock
  Scenario: The start of a container whose PreStartContainer fails is tried again
    Given a scripted device plugin "fpga" on "n1" with 1 devices of "example.com/fpga" that wants "PreStartContainer"
    And the scripted device plugin "fpga" fails each PreStartContainer
    When pod "train" with 1 of "example.com/fpga" is bound by hand to "n1"
    Then the Pod "train" has "status.containerStatuses[0].state.waiting.reason" CreateContainerConfigError
    When the scripted device plugin "fpga" fails no PreStartContainer
    And 30 seconds pass
    Then pod "train" reaches phase Running

  @DP-083b @needs:virtual-clock
  Scenario: A container does not start again before its plugin is back
    Given a scripted device plugin "fpga" on "n1" with 1 devices of "example.com/fpga" that wants "PreStartContainer"
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic" that wants "PreStartContainer"
    When pod "train" with 1 of "example.com/fpga" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    # The other plugin has registered later, and its stream is open.
    When the scripted device plugin "fpga" ends its streams
    Then node "n1" has 1 of "example.com/fpga", 0 allocatable
    When the containers of pod "train" on "n1" start again
    Then the Pod "train" has "status.containerStatuses[0].state.waiting.reason" CreateContainerConfigError
    And the scripted device plugin "nic" has received 0 PreStartContainer calls
    When the scripted device plugin "fpga" starts again
    And 60 seconds pass
    Then the Pod "train" has:
      | path                                              | value |
      | status.containerStatuses[0].ready                 | true  |
      | status.containerStatuses[0].state.running         | set   |
    And the scripted device plugin "fpga" has received 2 PreStartContainer calls
    And the scripted device plugin "nic" has received 0 PreStartContainer calls

  @DP-076 @DP-077 @DP-079 @DP-081
  Scenario: The kubelet follows preferences for free devices
    Given a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    And a scripted device plugin "gpu" on "n1" with 5 devices of "example.com/gpu" that wants "GetPreferredAllocation"
    And the scripted device plugin "gpu" prefers "gpu-3"
    And a pod "first" with resources of the containers:
      | name | resources                              | kind |
      | load | example.com/gpu: 1, example.com/nic: 1 | init |
      | main | example.com/gpu: 2                     | main |
    When pod "first" is bound by hand to "n1"
    Then the scripted device plugin "gpu" is called for a preference of 1 of "gpu-0, gpu-1, gpu-2, gpu-3, gpu-4" with "" [DP-077]
    And the scripted device plugin "gpu" is called for a preference of 2 of "gpu-0, gpu-1, gpu-2, gpu-3, gpu-4" with "gpu-3" [DP-077]
    And the scripted device plugin "nic" has received 0 GetPreferredAllocation calls [DP-076]
    When pod "first" is deleted
    Then the Pod "first" is gone [DP-077]
    Given the scripted device plugin "gpu" prefers "gpu-3, gpu-1"
    When pod "a" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" on "n1" has the devices "gpu-1, gpu-3" of "gpu" [DP-077]
    Given the scripted device plugin "gpu" prefers "gpu-1, gpu-9, gpu-4"
    When pod "b" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" on "n1" has the devices "gpu-4" of "gpu" [DP-079]
    Given the scripted device plugin "gpu" prefers ""
    When pod "c" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "c" on "n1" has the devices "gpu-0, gpu-2" of "gpu" [DP-081]
