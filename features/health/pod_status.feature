@profile:device-health @component:kubelet @needs:run-kubelet
Feature: The pod status shows the health of devices
  A driver streams the health of its devices to the kubelet, which shows it in the status of the containers that use
  them. Health has no other effect.

  @DRA-295
  Scenario: The pod status shows the health that the driver reports
    Given node "n1" running a driver that reports the health of 2 devices
    And pod "train" runs on device "dev-0" of "n1"
    And pod "infer" runs on device "dev-1" of "n1"
    And pod "infer" has shown the health "Healthy" for "claim:infer"
    Then pod "train" shows the health "Healthy" for "claim:train"
    When device "dev-0" of "n1" is reported Unhealthy with {message: XID 48}
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And pod "infer" still shows the health "Healthy" for "claim:infer"
    When device "dev-0" of "n1" is reported Healthy
    Then pod "train" shows the health "Healthy" for "claim:train"

  @DRA-295 @DRA-299
  Scenario: The pod status shows the unhealthy device of a claim with its message
    Given node "n1" running a driver that reports the health of 3 devices
    And pod "train" runs on devices "dev-0, dev-1, dev-2" of "n1"
    When device "dev-1" of "n1" is reported Unhealthy with {message: XID 48}
    Then pod "train" shows the health "Healthy, Healthy, Unhealthy" for "claim:train" [DRA-295]
    And pod "train" shows a health message like "XID 48" for "claim:train" [DRA-299]
    # A message is not only for bad health.
    When device "dev-1" of "n1" is reported Healthy with {message: row remapped}
    Then pod "train" shows a health message like "row remapped" for "claim:train" [DRA-299]

  @DRA-295
  Scenario: The pod status shows the health of each claim of a pod, by the ids of its devices
    Given node "n1" running a driver that reports the health of 3 devices
    And a ResourceClaim "one" for 1 of "gpu"
    And a ResourceClaim "two" for 2 of "gpu"
    And a pod "train" using claim "one, two"
    And claim "one" holds the devices "dev-0" of "n1"
    And claim "two" holds the devices "dev-1, dev-2" of "n1"
    And claim "one" is reserved by hand for pods "train"
    And claim "two" is reserved by hand for pods "train"
    And pod "train" is bound by hand to "n1"
    When device "dev-2" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Healthy, Unhealthy" for "claim:two"
    And the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus" in any order [{name: 'claim:one', resources: [{resourceID: $(sim)/$(node:n1)/dev-0, health: Healthy}]}, {name: 'claim:two', resources: [{resourceID: $(sim)/$(node:n1)/dev-1, health: Healthy}, {resourceID: $(sim)/$(node:n1)/dev-2, health: Unhealthy}]}]

  @DRA-295 @DRA-298 @needs:virtual-clock
  Scenario: The health of a device of another driver does not change
    Given node "n1" running a driver that reports the health of 2 devices
    And a second driver that reports the health of 1 devices on "n1"
    And pod "train" runs on device "dev-0" of "n1"
    And a ResourceClaim "own" for 1 of "gpu"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "beside" using claim "own, other"
    And claim "own" holds the devices "dev-1" of "n1"
    And claim "own" is reserved by hand for pods "beside"
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: second-$(sim), pool: $(node:n1), device: dev-0}]}}
    And claim "other" is reserved by hand for pods "beside"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train" [DRA-295]
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" shows the health "Healthy" for "claim:other" [DRA-295]
    When the driver of "n1" ends health streams
    Then pod "train" shows the health "Unknown" for "claim:train" [DRA-298]
    And pod "beside" shows the health "Unknown" for "claim:own" [DRA-298]
    And pod "beside" still shows the health "Healthy" for "claim:other" [DRA-298]

  @DRA-295
  Scenario: Devices of one name in two pools have a health of their own
    Given node "n1" running a driver that reports the health of 1 devices
    And the driver of "n1" reports the same devices of the pool "spare" as Unhealthy
    And pod "train" runs on device "dev-0" of "n1"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "beside" using claim "other"
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: spare, device: dev-0}]}}
    And claim "other" is reserved by hand for pods "beside"
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" shows the health "Unhealthy" for "claim:other"
    And pod "train" still shows the health "Healthy" for "claim:train"

  @DRA-295e
  Scenario Outline: A change of health leaves a pod that is <phase> as it is
    Given new pods have the restart policy "Never"
    And node "n1" running a driver that reports the health of 2 devices
    And pod "done" runs on device "dev-0" of "n1"
    And pod "alone" runs on device "dev-1" of "n1"
    And a pod "beside" with the reserved claims "done" and the containers:
      | name | claims |
      | main | done   |
    And pod "done" has shown the health "Healthy" for "claim:done"
    And pod "alone" has shown the health "Healthy" for "claim:alone"
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" shows the health "Healthy" for "claim:done"
    When the containers of pod "done" on "n1" end in phase <phase>
    And the containers of pod "alone" on "n1" end in phase <phase>
    Then pod "done" reaches phase <phase>
    And pod "alone" reaches phase <phase>
    And pod "beside" still shows the health "Healthy" for "claim:done"
    When device "dev-0" of "n1" is reported Unhealthy with {message: XID 48}
    And device "dev-1" of "n1" is reported Unhealthy
    Then pod "beside" shows the health "Unhealthy" for "claim:done"
    And the Pod "done" keeps "status.phase" <phase>
    And the Pod "done" keeps "status.containerStatuses[0].state.running" null
    And the Pod "alone" keeps "status.phase" <phase>
    # The next user of the device shows the report that came while there was none.
    Given pod "next" runs on device "dev-1" of "n1"
    Then pod "next" shows the health "Unhealthy" for "claim:next"
    When the driver of "n1" ends health streams
    Then pod "next" shows the health "Unknown" for "claim:next"
    And the Pod "alone" keeps "status.phase" <phase>

    Examples:
      | phase     |
      | Succeeded |
      | Failed    |

  @DRA-295f
  Scenario: A report about devices that the driver does not have changes no other device
    Given node "n1" running a driver that reports the health of 1 devices
    And a second driver that reports the health of 2 devices on "n1"
    And pod "train" runs on device "dev-0" of "n1"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "beside" using claim "other"
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: second-$(sim), pool: $(node:n1), device: dev-1}]}}
    And claim "other" is reserved by hand for pods "beside"
    And pod "train" has shown the health "Healthy" for "claim:train"
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" shows the health "Healthy" for "claim:other"
    # The second driver has a device dev-1 in a pool of that name, and the first one has not.
    When every report of the driver of "n1" begins with:
      | pool       | device | health    |
      |            |        | Unhealthy |
      | $(node:n1) | dev-1  | Unhealthy |
      | $(node:n1) |        | Unhealthy |
      | nowhere    | dev-0  | Unhealthy |
    Then pod "train" still shows the health "Healthy" for "claim:train"
    And pod "beside" still shows the health "Healthy" for "claim:other"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And pod "beside" still shows the health "Healthy" for "claim:other"

  @DRA-295g
  Scenario: The last of several entries for a device in one report counts
    Given node "n1" running a driver that reports the health of 2 devices
    And pod "train" runs on devices "dev-0, dev-1" of "n1"
    When every report of the driver of "n1" begins with:
      | pool       | device | health    |
      | $(node:n1) | dev-0  | Unhealthy |
      | $(node:n1) | dev-0  | Unknown   |
      | $(node:n1) | dev-1  | Healthy   |
    And device "dev-1" of "n1" is reported Unhealthy
    Then the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus[0].resources" in any order [{resourceID: $(sim)/$(node:n1)/dev-0, health: Healthy}, {resourceID: $(sim)/$(node:n1)/dev-1, health: Unhealthy}]

  @DRA-298b
  Scenario Outline: <flood> do not hide a change of health
    Given node "n1" running a driver that reports the health of 1 devices
    And a second driver that reports the health of 1 devices on "n1"
    And pod "train" runs on device "dev-0" of "n1"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "beside" using claim "other"
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: second-$(sim), pool: $(node:n1), device: dev-0}]}}
    And claim "other" is reserved by hand for pods "beside"
    And pod "train" has shown the health "Healthy" for "claim:train"
    When <faulty>
    And pod "beside" is bound by hand to "n1"
    Then pod "beside" shows the health "Healthy" for "claim:other"
    And pod "train" still shows the health "Healthy" for "claim:train"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And pod "beside" still shows the health "Healthy" for "claim:other"
    When device "dev-0" of "n1" is reported Healthy with {message: replaced}
    Then pod "train" shows the health "Healthy" for "claim:train"

    Examples:
      | flood                     | faulty                                                                            |
      | Repeated reports          | the driver of "n1" sends every report 1000 times                                  |
      | Thousands of other devices | every report of the driver of "n1" begins with 5000 devices that it does not have |

  @DRA-295
  Scenario: Each share of a device shows the health of the device
    Given node "n1" running a driver that reports the health of 2 devices
    And a ResourceClaim "one" for 1 of "gpu"
    And a ResourceClaim "two" for 1 of "gpu"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "train" using claim "one"
    And a pod "infer" using claim "two"
    And a pod "beside" using claim "other"
    And "status.allocation" of the ResourceClaim "one" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0, shareID: 3a8ae4ba-5c58-4b3e-9c11-0d5c1e0f3a01}]}}
    And "status.allocation" of the ResourceClaim "two" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0, shareID: 3a8ae4ba-5c58-4b3e-9c11-0d5c1e0f3a02}]}}
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1, shareID: 3a8ae4ba-5c58-4b3e-9c11-0d5c1e0f3a03}]}}
    And claim "one" is reserved by hand for pods "train"
    And claim "two" is reserved by hand for pods "infer"
    And claim "other" is reserved by hand for pods "beside"
    When pod "train" is bound by hand to "n1"
    And pod "infer" is bound by hand to "n1"
    And pod "beside" is bound by hand to "n1"
    And device "dev-0" of "n1" is reported Unhealthy with {message: XID 48}
    Then pod "train" shows the health "Unhealthy" for "claim:one"
    And pod "infer" shows the health "Unhealthy" for "claim:two"
    And pod "infer" shows a health message like "XID 48" for "claim:two"
    And pod "beside" still shows the health "Healthy" for "claim:other"
    When device "dev-0" of "n1" is reported Healthy
    Then pod "train" shows the health "Healthy" for "claim:one"
    And pod "infer" shows the health "Healthy" for "claim:two"

  @DRA-296
  Scenario: A container that uses one request shows the health of that request
    Given node "n1" running a driver that reports the health of 2 devices
    And pod "train" runs on devices "dev-0, dev-1" of "n1", a container for each
    When device "dev-1" of "n1" is reported Unhealthy
    Then container "on-dev-1" of pod "train" shows only the health "Unhealthy" for "claim:train/dev-1"
    And container "on-dev-0" of pod "train" shows only the health "Healthy" for "claim:train/dev-0"

  @DRA-297 @needs:virtual-clock
  Scenario: The health of a device is unknown 30 seconds after the last report
    Given node "n1" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    When 20 seconds pass
    # A report that does not contain the device does not renew its health.
    And the driver of "n1" reports the health of no device
    Then pod "train" still shows the health "Unhealthy" for "claim:train"
    When 12 seconds pass
    Then pod "train" shows the health "Unknown" for "claim:train"

  @DRA-295
  Scenario: Each container shows the health of its own claims
    Given node "n1" running a driver that reports the health of 3 devices
    And a ResourceClaim "one" for 1 of "gpu"
    And a ResourceClaim "two" for 2 of "gpu"
    And claim "one" holds the devices "dev-0" of "n1"
    And claim "two" holds the devices "dev-1, dev-2" of "n1"
    And a pod "train" with the reserved claims "one, two" and the containers:
      | name | claims   |
      | none |          |
      | main | one, two |
      | side | two      |
    When pod "train" is bound by hand to "n1"
    And device "dev-2" of "n1" is reported Unhealthy with {message: XID 48}
    Then container "side" of pod "train" shows only the health "Healthy, Unhealthy" for "claim:two"
    And the Pod "train" has:
      | path                                                    | value |
      | status.containerStatuses[name=main][0].allocatedResourcesStatus | in any order [{name: 'claim:one', resources: [{resourceID: $(sim)/$(node:n1)/dev-0, health: Healthy}]}, {name: 'claim:two', resources: [{resourceID: $(sim)/$(node:n1)/dev-1, health: Healthy}, {resourceID: $(sim)/$(node:n1)/dev-2, health: Unhealthy, message: XID 48}]}] |
      | status.containerStatuses[name=none][0].allocatedResourcesStatus | null |
    When device "dev-2" of "n1" is reported Unknown
    Then container "side" of pod "train" shows only the health "Healthy, Unknown" for "claim:two"
    And the Pod "train" has "status.containerStatuses[name=side][0].allocatedResourcesStatus[0].resources" in any order [{resourceID: $(sim)/$(node:n1)/dev-1, health: Healthy}, {resourceID: $(sim)/$(node:n1)/dev-2, health: Unknown}]

  @DRA-296
  Scenario: Containers show the health of requests or of the whole claim
    Given node "n1" running a driver that reports the health of 2 devices
    And pod "beside" runs on devices "dev-0, dev-1" of "n1", a container for each
    And a pod "train" with the reserved claims "beside" and the containers:
      | name  | claims                       |
      | both  | beside                       |
      | each  | beside/dev-0, beside/dev-1   |
    When pod "train" is bound by hand to "n1"
    And device "dev-1" of "n1" is reported Unhealthy
    Then container "both" of pod "train" shows only the health "Healthy, Unhealthy" for "claim:beside"
    And container "on-dev-1" of pod "beside" shows only the health "Unhealthy" for "claim:beside/dev-1"
    And the Pod "train" has "status.containerStatuses[name=each][0].allocatedResourcesStatus" in any order [{name: 'claim:beside/dev-0', resources: [{resourceID: $(sim)/$(node:n1)/dev-0, health: Healthy}]}, {name: 'claim:beside/dev-1', resources: [{resourceID: $(sim)/$(node:n1)/dev-1, health: Unhealthy}]}]

  @DRA-296
  Scenario: Two requests of a container have an entry each, also if their devices have one CDI id
    Given node "n1" running a driver that reports the health of 2 devices
    And the devices "dev-0, dev-1" of "n1" share one CDI id
    And pod "beside" runs on devices "dev-0, dev-1" of "n1", a container for each
    And a pod "train" with the reserved claims "beside" and the containers:
      | name | claims                     |
      | each | beside/dev-0, beside/dev-1 |
    When pod "train" is bound by hand to "n1"
    Then the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus[*].name" in any order ['claim:beside/dev-0', 'claim:beside/dev-1']
    And the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus[*].resources[*].resourceID" in any order [[$(sim)/device=shared], [$(sim)/device=shared]]

  @DRA-297 @needs:virtual-clock
  Scenario: Each report of a device starts its timeout again
    Given node "n1" running a driver that reports the health of 2 devices
    And pod "train" runs on device "dev-0" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    When 20 seconds pass
    And device "dev-1" of "n1" is reported Unhealthy
    And 20 seconds pass
    Then pod "train" still shows the health "Unhealthy" for "claim:train"
    When 12 seconds pass
    Then pod "train" shows the health "Unknown" for "claim:train"
    When device "dev-1" of "n1" is reported Healthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"

  @DRA-298 @needs:virtual-clock
  Scenario: The health of devices is unknown while their driver is not registered
    Given node "n1" running a driver that reports the health of 1 devices
    And a second driver that reports the health of 1 devices on "n1"
    And pod "train" runs on device "dev-0" of "n1"
    And pod "train" has shown the health "Healthy" for "claim:train"
    When the driver of "n1" that reports health stops
    And 40 seconds pass
    Then pod "train" shows the health "Unknown" for "claim:train"
    When the driver of "n1" that reports health returns
    And 10 seconds pass
    Then pod "train" shows the health "Healthy" for "claim:train"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"

  @DRA-295 @needs:virtual-clock
  Scenario: A restarted kubelet shows the health again
    Given node "n1" running a driver that reports the health of 2 devices
    And the devices "dev-1" of "n1" share one CDI id
    And pod "train" runs on devices "dev-0, dev-1" of "n1", a container for each
    When device "dev-0" of "n1" is reported Unhealthy
    Then container "on-dev-0" of pod "train" shows only the health "Unhealthy" for "claim:train/dev-0"
    When the kubelet of "n1" is restarted
    And device "dev-0" of "n1" is reported Healthy
    And 10 seconds pass
    Then container "on-dev-0" of pod "train" shows only the health "Healthy" for "claim:train/dev-0"
    When device "dev-1" of "n1" is reported Unhealthy
    Then container "on-dev-1" of pod "train" shows only the health "Unhealthy" for "claim:train/dev-1"
    And the Pod "train" has "status.containerStatuses[*].allocatedResourcesStatus" in any order [[{name: 'claim:train/dev-0', resources: [{resourceID: $(sim)/$(node:n1)/dev-0, health: Healthy}]}], [{name: 'claim:train/dev-1', resources: [{resourceID: $(sim)/device=shared, health: Unhealthy}]}]]

  @DRA-297 @needs:virtual-clock
  Scenario: A driver can set the timeout of its reports
    Given node "n1" running a driver that reports the health of 4 devices
    And pod "train" runs on device "dev-0" of "n1"
    And pod "infer" runs on device "dev-1" of "n1"
    And a ResourceClaim "pair" for 2 of "gpu"
    And claim "pair" holds the devices "dev-2, dev-3" of "n1"
    And a pod "pair" with the reserved claims "pair"
    When pod "pair" is bound by hand to "n1"
    And device "dev-0" of "n1" is reported Healthy with {timeout: 120}
    And device "dev-1" of "n1" is reported Healthy with {timeout: 10}
    And device "dev-2" of "n1" is reported Healthy with {timeout: 120}
    And device "dev-3" of "n1" is reported Healthy with {timeout: 10}
    Then pod "infer" shows the health "Healthy" for "claim:infer"
    And container "main" of pod "pair" shows only the health "Healthy, Healthy" for "claim:pair"
    When 15 seconds pass
    Then pod "infer" shows the health "Unknown" for "claim:infer"
    And container "main" of pod "pair" shows only the health "Healthy, Unknown" for "claim:pair"
    When 60 seconds pass
    Then pod "train" still shows the health "Healthy" for "claim:train"

  @DRA-298 @needs:virtual-clock
  Scenario: The health of devices is unknown until the kubelet has a new stream
    Given node "n1" running a driver that reports the health of 2 devices
    And pod "train" runs on device "dev-0" of "n1"
    And pod "infer" runs on device "dev-1" of "n1"
    And pod "train" has shown the health "Healthy" for "claim:train"
    When the driver of "n1" ends health streams
    Then pod "train" shows the health "Unknown" for "claim:train"
    And pod "infer" shows the health "Unknown" for "claim:infer"
    # The second stream ends before its first report.
    When 8 seconds pass
    Then the kubelet has opened 2 or more health streams of the driver of "n1"
    When the driver of "n1" accepts health streams
    And 6 seconds pass
    Then pod "train" shows the health "Healthy" for "claim:train"
    And pod "infer" shows the health "Healthy" for "claim:infer"
    # The third stream ends as the first did.
    When the driver of "n1" ends health streams
    Then pod "train" shows the health "Unknown" for "claim:train"
    When the driver of "n1" accepts health streams
    And device "dev-1" of "n1" is reported Unhealthy
    And 6 seconds pass
    Then pod "train" shows the health "Healthy" for "claim:train"
    And pod "infer" shows the health "Unhealthy" for "claim:infer"

  @DRA-299
  Scenario: A long health message is truncated
    Given node "n1" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy with {letters: 1025}
    Then pod "train" shows a health message like "x{1021}[.]{3}" for "claim:train"
    When device "dev-0" of "n1" is reported Unhealthy with {letters: 1024}
    Then pod "train" shows a health message like "x{1024}" for "claim:train"
    # The limit is in bytes, and this letter has two.
    When device "dev-0" of "n1" is reported Unhealthy with {message: x, letters: 600, letter: é}
    Then pod "train" shows a health message like "xé{510}[.]{3}" for "claim:train"

  @DRA-299
  Scenario: The pod status has no health messages without the feature gate for messages
    Given the kubelet of "n1" has the gate ResourceHealthStatusMessage off
    And node "n1" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy with {message: XID 48}
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And the Pod "train" keeps "status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].message" null

  @DRA-300
  Scenario: Devices with the same CDI id have one entry
    Given node "n1" running a driver that reports the health of 4 devices
    And the devices "dev-0, dev-2" of "n1" share one CDI id
    And pod "train" runs on devices "dev-0, dev-1, dev-2, dev-3" of "n1"
    Then pod "train" shows the health "Healthy, Healthy, Healthy" for "claim:train"
    And the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus[0].resources[*].resourceID" in any order [$(sim)/device=shared, $(sim)/$(node:n1)/dev-1, $(sim)/$(node:n1)/dev-3]

  @DRA-301 @component:claim-controller @component:taint-eviction
  Scenario: Bad health alone neither evicts the pod nor deallocates the device
    Given node "n1" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy with {message: XID 48}
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And the Pod "train" still exists
    And pod "train" reaches phase Running
    And claim "train" is allocated the devices "dev-0"

  @DRA-302
  Scenario: The pod status has no health without the feature gate
    Given the kubelet of "n1" has the gate ResourceHealthStatus off
    # This gate requires ResourceHealthStatus.
    And the kubelet of "n1" has the gate ResourceHealthStatusMessage off
    And node "n1" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy with {message: XID 48}
    Then pod "train" reaches phase Running
    And the Pod "train" keeps "status.containerStatuses[0].allocatedResourcesStatus" null
