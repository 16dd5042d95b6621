@profile:device-health @component:kubelet @needs:run-kubelet
Feature: The kubelet watches the health service that a driver announces
  Drivers announce the versions of the health service beside those of the DRA service. Kubernetes 1.37 added v1, which
  has the messages of v1alpha1.

  @DRA-573
  Scenario Outline: The kubelet watches the newest known health service of a driver: <announced>
    Given node "n1" running a driver that reports the health of 2 devices and announces "<announced>"
    And pod "train" runs on device "dev-0" of "n1"
    And pod "infer" runs on device "dev-1" of "n1"
    When device "dev-0" of "n1" is reported Unhealthy
    Then pod "train" shows the health "Unhealthy" for "claim:train"
    And pod "infer" shows the health "Healthy" for "claim:infer"
    And the kubelet has watched the driver of "n1" through "<watched>" and no other health service

    Examples:
      | announced                                         | watched                    |
      | v1.DRAResourceHealth, v1alpha1.DRAResourceHealth  | v1.DRAResourceHealth       |
      | v1alpha1.DRAResourceHealth, v1.DRAResourceHealth  | v1.DRAResourceHealth       |
      | v99.DRAResourceHealth, v1alpha1.DRAResourceHealth | v1alpha1.DRAResourceHealth |
      | v1.DRAResourceHealth                              | v1.DRAResourceHealth       |

  @DRA-574
  Scenario: A driver that announces no health service is not watched
    Given node "n1" running a driver that reports the health of 1 devices and announces "none"
    And node "n2" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    And pod "beside" runs on device "dev-0" of "n2"
    When device "dev-0" of "n1" is reported Unhealthy
    And device "dev-0" of "n2" is reported Unhealthy
    Then pod "beside" shows the health "Unhealthy" for "claim:beside"
    And pod "train" reaches phase Running
    And pod "train" still shows the health "Unknown" for "claim:train"
    And the kubelet has watched the driver of "n1" through "none" and no other health service

  @DRA-575 @needs:virtual-clock
  Scenario: A driver that answers UNIMPLEMENTED is watched again after it registered again
    Given node "n1" running a driver that reports the health of 1 devices
    And pod "train" runs on device "dev-0" of "n1"
    And pod "train" has shown the health "Healthy" for "claim:train"
    # The first stream ends without an error, so the kubelet opens a second one, which ends with UNIMPLEMENTED.
    When the driver of "n1" declines health streams
    And 8 seconds pass
    Then the kubelet has opened 2 health streams of the driver of "n1"
    When the driver of "n1" accepts health streams
    And 60 seconds pass
    Then the kubelet has opened 2 health streams of the driver of "n1"
    And pod "train" shows the health "Unknown" for "claim:train"
    When the driver of "n1" that reports health stops
    And the driver of "n1" that reports health returns
    And 10 seconds pass
    Then pod "train" shows the health "Healthy" for "claim:train"
    And the kubelet has opened 3 health streams of the driver of "n1"

  @DRA-578 @needs:virtual-clock
  Scenario: Both versions of the health service have the same content
    Given node "n1" running a driver that reports the health of 2 devices and announces "v1.DRAResourceHealth"
    And node "n2" running a driver that reports the health of 2 devices and announces "v1alpha1.DRAResourceHealth"
    And pod "new" runs on devices "dev-0, dev-1" of "n1"
    And pod "old" runs on devices "dev-0, dev-1" of "n2"
    When device "dev-0" of "n1" is reported Unhealthy with {message: XID 48, timeout: 10}
    And device "dev-0" of "n2" is reported Unhealthy with {message: XID 48, timeout: 10}
    Then pod "new" shows the health "Healthy, Unhealthy" for "claim:new"
    And pod "old" shows the health "Healthy, Unhealthy" for "claim:old"
    And pod "new" shows a health message like "XID 48" for "claim:new"
    And pod "old" shows a health message like "XID 48" for "claim:old"
    And the Pod "new" has "status.containerStatuses[0].allocatedResourcesStatus[0].resources" in any order [{resourceID: $(sim)/$(node:n1)/dev-0, health: Unhealthy, message: XID 48}, {resourceID: $(sim)/$(node:n1)/dev-1, health: Healthy}]
    And the Pod "old" has "status.containerStatuses[0].allocatedResourcesStatus[0].resources" in any order [{resourceID: $(sim)/$(node:n2)/dev-0, health: Unhealthy, message: XID 48}, {resourceID: $(sim)/$(node:n2)/dev-1, health: Healthy}]
    When 15 seconds pass
    Then pod "new" shows the health "Healthy, Unknown" for "claim:new"
    And pod "old" shows the health "Healthy, Unknown" for "claim:old"
