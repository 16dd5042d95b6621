@profile:scheduler-core @component:scheduler @component:claim-controller @component:binder
Feature: A scheduler of another release, or with another feature gate, takes over
  A scheduler has no state except the objects of the API server. The scheduler that takes over after an upgrade, a
  downgrade or a change of a feature gate continues with them. The API server is not changed: a scheduler may be one
  minor release older. Without programs of the previous release, kube-scheduler emulates it (--emulated-version).

  @DRA-690 @needs:scheduler-releases @since:1.36
  Scenario: Devices stay in use, and pods are scheduled, over an upgrade and a downgrade of the scheduler
    Given the scheduler is restarted as the previous release
    And node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a ResourceClaim "large" for 2 of "accelerator"
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "before" using template "one"
    And a pod "user" using claim "shared"
    Then pod "before" is bound
    And pod "user" is bound
    When a pod "middle" using template "one" is created
    Then pod "middle" is bound
    When a pod "waiting" using claim "large" is created
    Then pod "waiting" stays unbound
    When the scheduler is restarted as the own release
    And a pod "after" using template "one" is created
    Then pod "after" is bound
    And pod "waiting" stays unbound
    And every pod has each of its claims once
    And every allocation is valid, and no device is allocated twice
    When the scheduler is restarted as the previous release
    And a pod "second" using claim "shared" is created
    And a pod "late" using template "one" is created
    Then pod "second" is bound to the node of pod "user"
    And claim "shared" is reserved for exactly the pods "user, second"
    And pod "late" stays unbound
    And every bound pod has its devices
    And every allocation is valid, and no device is allocated twice
    When pod "after" is force-deleted
    Then pod "late" is bound
    And every bound pod has its devices
    And every allocation is valid, and no device is allocated twice

  @DRA-690 @needs:scheduler-releases @since:1.36
  Scenario: A pod that waits under one release of the scheduler is scheduled by another
    Given the scheduler is restarted as the previous release
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 2 of "accelerator"
    And a ResourceClaim "third" for 2 of "accelerator"
    And a pod "one" using claim "first"
    Then pod "one" is bound to "n1"
    When a pod "two" using claim "second" is created
    Then pod "two" stays unbound
    When the scheduler is restarted as the own release
    And pod "one" is force-deleted
    Then pod "two" is bound to "n1"
    And claim "second" is allocated the devices "dev-0, dev-1"
    And claim "second" is reserved for exactly the pods "two"
    When a pod "three" using claim "third" is created
    Then pod "three" stays unbound
    When the scheduler is restarted as the previous release
    And pod "two" is force-deleted
    Then pod "three" is bound to "n1"
    And claim "third" is reserved for exactly the pods "three"

  @DRA-691 @needs:scheduler-releases @since:1.37 @gate:DRAPartitionableDevices
  Scenario: Partitions stay in use over an upgrade and a downgrade of the scheduler
    Given the scheduler is restarted as the previous release
    And node "n1"
    And the objects of the manifest "allocation/memory_of_a_board"
    And a ResourceClaim "a" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 2'
    And a ResourceClaim "b" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 2'
    And a ResourceClaim "c" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 2'
    And a ResourceClaim "large" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 4'
    And a pod "one" using claim "a"
    Then pod "one" is bound to "n1"
    When the scheduler is restarted as the own release
    And a pod "two" using claim "b" is created
    Then pod "two" is bound to "n1"
    When a pod "four" using claim "large" is created
    Then claim "large" is allocated the devices "board-4"
    When the scheduler is restarted as the previous release
    And a pod "three" using claim "c" is created
    Then claim "c" stays unallocated
    And every allocation is valid, and no device is allocated twice
    When the scheduler is restarted as the own release
    Then claim "c" stays unallocated
    When pod "one" is force-deleted
    Then pod "three" is bound to "n1"
    And every bound pod has its devices
    And every allocation is valid, and no device is allocated twice

  @DRA-691b @needs:scheduler-releases @since:1.37 @gate:DRAConsumableCapacity
  Scenario: Shares of devices stay in use over an upgrade and a downgrade of the scheduler
    Given the scheduler is restarted as the previous release
    And node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "one" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "two" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "three" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "rest" for 1 of "nic" with capacity {bandwidth: 2}
    And a pod "first" using claim "one"
    Then pod "first" is bound to "n1"
    When the scheduler is restarted as the own release
    And a pod "second" using claim "two" is created
    Then pod "second" is bound to "n1"
    And the shares of claims "one, two" have distinct ids
    When the scheduler is restarted as the previous release
    And a pod "third" using claim "three" is created
    Then claim "three" stays unallocated
    When a pod "fourth" using claim "rest" is created
    Then pod "fourth" is bound to "n1"
    When the scheduler is restarted as the own release
    Then claim "three" stays unallocated
    And request "gpu" of claim "one" takes {bandwidth: 4}
    When pod "first" is force-deleted
    Then pod "third" is bound to "n1"
    And every bound pod has its devices

  @DRA-692 @needs:scheduler-releases @since:1.37 @gate:DRAExtendedResource
  Scenario Outline: Claims for <which> extended resources stay over an upgrade and a downgrade of the scheduler
    Given the scheduler is restarted as the previous release
    And node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "one" requesting {<resource>: 1}
    Then pod "one" is bound to "n1"
    And the status of pod "one" maps container "main" to [container-0-request-0] of "<resource>"
    And the extended resource claim of pod "one" is allocated 1 of the devices
    When the scheduler is restarted as the own release
    And a pod "two" requesting {<resource>: 1} is created
    Then pod "two" is bound to "n1"
    And the extended resource claim of pod "two" is allocated 1 of the devices
    And every allocation is valid, and no device is allocated twice
    When a pod "large" requesting {<resource>: 2} is created
    Then pod "large" stays unbound
    When the scheduler is restarted as the previous release
    Then pod "large" stays unbound
    And pod "large" has no claim
    And pod "one" keeps one claim
    And pod "two" keeps one claim
    And the status of pod "one" maps container "main" to [container-0-request-0] of "<resource>"
    And the status of pod "two" maps container "main" to [container-0-request-0] of "<resource>"
    And the extended resource claim of pod "one" keeps its devices
    And the extended resource claim of pod "two" keeps its devices
    When pod "one" is force-deleted
    Then the extended resource claim of pod "large" is allocated 2 of the devices
    And every allocation is valid, and no device is allocated twice
    And pod "large" is bound to "n1"
    And pod "large" keeps one claim

    Examples:
      | which    | resource                                               |
      | explicit | $(suffix).dra.test/gpu                                 |
      | implicit | deviceclass.resource.kubernetes.io/$(class:accelerator) |

  @DRA-693 @DRA-693b @DRA-694 @needs:scheduler-gates @since:1.36 @gate:DRAConsumableCapacity
  Scenario: Shares of devices while consumable capacity is switched off and on again
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10}}}
        - {name: other}
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "one" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "two" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "three" for 1 of "nic" with capacity {bandwidth: 4}
    And a ResourceClaim "plain" for 1 of "nic"
    And a ResourceClaim "whole" for 1 of "nic"
    And a pod "first" using claim "one"
    And a pod "second" using claim "two"
    Then pod "first" is bound to "n1" [DRA-693]
    And pod "second" is bound to "n1" [DRA-693]
    When the scheduler is restarted with feature gate "DRAConsumableCapacity" off
    And a pod "third" using claim "plain" is created
    Then claim "plain" is allocated the devices "other" [DRA-693]
    When a pod "fourth" using claim "whole" is created
    Then claim "whole" stays unallocated [DRA-693]
    And every bound pod has its devices [DRA-693]
    When the scheduler is restarted with feature gate "DRAConsumableCapacity" on
    Then claim "whole" stays unallocated [DRA-693b]
    When a pod "fifth" using claim "three" is created
    Then claim "three" stays unallocated [DRA-693b]
    And the shares of claims "one, two" have distinct ids [DRA-693]
    And request "gpu" of claim "one" takes {bandwidth: 4} [DRA-693]
    When pod "first" is force-deleted
    Then pod "fifth" is bound to "n1" [DRA-694]
    And every bound pod has its devices [DRA-693]

  @DRA-693c @DRA-693e @DRA-694b @needs:scheduler-gates @since:1.36 @gate:DRAPartitionableDevices
  Scenario: Partitions while partitionable devices are switched off and on again
    Given node "n1"
    And the objects of the manifest "allocation/memory_of_a_board"
    And a ResourceClaim "a" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 2'
    And a ResourceClaim "b" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 2'
    And a ResourceClaim "c" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 2'
    And a ResourceClaim "large" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 4'
    And a ResourceClaim "plain" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].memory == 0'
    And a pod "one" using claim "a"
    And a pod "four" using claim "large"
    Then pod "one" is bound to "n1" [DRA-693c]
    And pod "four" is bound to "n1" [DRA-693c]
    When the scheduler is restarted with feature gate "DRAPartitionableDevices" off
    And a pod "two" using claim "b" is created
    And a pod "zero" using claim "plain" is created
    Then pod "zero" is bound to "n1" [DRA-693c]
    And claim "b" stays unallocated [DRA-693c]
    And claim "large" is allocated the devices "board-4" [DRA-693c]
    And every bound pod has its devices [DRA-693c]
    When the scheduler is restarted with feature gate "DRAPartitionableDevices" on
    Then pod "two" is bound to "n1" [DRA-694b]
    When a pod "three" using claim "c" is created
    Then claim "c" stays unallocated [DRA-693e]
    And claim "large" is allocated the devices "board-4" [DRA-693c]
    When pod "one" is force-deleted
    Then pod "three" is bound to "n1" [DRA-694b]
    And every bound pod has its devices [DRA-693c]

  @DRA-698 @needs:scheduler-gates @since:1.37 @gate:DRADeviceCompatibilityGroups @gate:DRAPartitionableDevices
  Scenario: Devices of a group while compatibility groups are switched off and on again
    Given node "n1"
    And a ResourceSlice "sets" with:
      """
      nodeName: $(node:n1)
      pool: {name: grouped, resourceSliceCount: 2}
      sharedCounters: [{name: board, counters: {slots: {value: 4}}}]
      """
    And a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      pool: {name: grouped, resourceSliceCount: 2}
      devices:
        - {name: a, consumesCounters: [{counterSet: board, compatibilityGroups: [x], counters: {slots: {value: 1}}}]}
        - {name: b, consumesCounters: [{counterSet: board, compatibilityGroups: [x], counters: {slots: {value: 1}}}]}
        - {name: c, consumesCounters: [{counterSet: board, compatibilityGroups: [x], counters: {slots: {value: 1}}}]}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" for 2 of "accelerator"
    And a ResourceClaim "single" for 1 of "accelerator"
    And a pod "one" using claim "pair"
    Then pod "one" is bound to "n1"
    When the scheduler is restarted with feature gate "DRADeviceCompatibilityGroups" off
    And a pod "two" using claim "single" is created
    Then claim "single" stays unallocated
    And every bound pod has its devices
    When the scheduler is restarted with feature gate "DRADeviceCompatibilityGroups" on
    Then pod "two" is bound to "n1"
    And every bound pod has its devices
    And every allocation is valid, and no device is allocated twice

  @DRA-693d @DRA-693f @DRA-694c @needs:scheduler-gates @since:1.36 @gate:DRAExtendedResource
  Scenario: Claims for extended resources while these are switched off and on again
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "survivor" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "survivor" is bound to "n1" [DRA-693d]
    And the extended resource claim of pod "survivor" is allocated 1 of the devices [DRA-693d]
    Given a pod "leaves" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "leaves" is bound to "n1" [DRA-693d]
    When the scheduler is restarted with feature gate "DRAExtendedResource" off
    And a pod "probe" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "probe" stays unbound [DRA-693d]
    And pod "probe" has no claim [DRA-693d]
    And pod "survivor" keeps one claim [DRA-693d]
    And the extended resource claim of pod "survivor" keeps its devices [DRA-693d]
    When pod "leaves" is force-deleted
    And the scheduler is restarted with feature gate "DRAExtendedResource" on
    Then pod "probe" is bound to "n1" [DRA-694c]
    And the status of pod "probe" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-694c]
    And the extended resource claim of pod "survivor" keeps its devices [DRA-693d]
    And the status of pod "survivor" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-693d]
    When a pod "large" requesting {$(suffix).dra.test/gpu: 3} is created
    Then pod "large" stays unbound [DRA-693f]
    And every allocation is valid, and no device is allocated twice [DRA-693f]
