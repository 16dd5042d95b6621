@profile:scheduler-core @component:scheduler @component:binder
Feature: Admin access
  Requests with admin access, such as those of monitoring pods, get devices that are in use. Their devices can still be
  allocated to others.

  @DRA-234b
  Scenario Outline: A pod has admin access to a device that it also uses, with <what>
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "use" for 1 of "accelerator"
    And a ResourceClaim "watch" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}]
      """
    When a pod "train" using claim "<claims>" is created
    Then claim "use" is allocated the devices "dev-0"
    And claim "watch" is allocated the devices "dev-0"

    Examples:
      | what                     | claims     |
      | the ordinary claim first | use, watch |
      | the admin claim first    | watch, use |

  @DRA-233 @DRA-234 @DRA-235 @DRA-236 @gate:DRAAdminAccess
  Scenario: Admin access gets each device once, also devices in use
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "use" for 1 of "accelerator"
    And a ResourceClaim "more" for 1 of "accelerator"
    And a ResourceClaim "too-many" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true, count: 3}}]
      """
    And a ResourceClaim "two-requests" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}
        - {name: b, exactly: {deviceClassName: $(class:accelerator), adminAccess: true, selectors: [{cel: {expression: 'true'}}]}}
      """
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true, allocationMode: All}}]
      """
    And a pod "train" using claim "use"
    Then pod "train" is bound to "n1" [DRA-236]
    When a pod "monitor" using claim "all" is created
    Then claim "all" is allocated the devices "dev-0, dev-1" [DRA-236]
    And the ResourceClaim "all" has "status.allocation.devices.results[*].adminAccess" [true, true] [DRA-233]
    When a pod "late" using claim "more" is created
    Then claim "more" is allocated the devices "dev-1" [DRA-234]
    When a pod "greedy" using claim "too-many" is created
    Then claim "too-many" stays unallocated [DRA-235]
    When a pod "both" using claim "two-requests" is created
    Then claim "two-requests" is allocated the devices "dev-0, dev-1" [DRA-235]

  @DRA-233
  Scenario: The results of all devices with admin access are marked
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    # None is in use, so that no other rule keeps an unmarked result from being written.
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "all" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), adminAccess: true, allocationMode: All}}]
      """
    When a pod "monitor" using claim "all" is created
    Then claim "all" is allocated the devices "dev-0, dev-1"
    And the ResourceClaim "all" has "status.allocation.devices.results[*].adminAccess" [true, true]

  @DRA-233
  Scenario: Only the results of a request with admin access are marked
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "use" for 1 of "accelerator"
    And a ResourceClaim "mixed" with:
      """
      requests:
        - {name: watch, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}
        - {name: work, exactly: {deviceClassName: $(class:accelerator)}}
      """
    And a ResourceClaim "other" for 1 of "accelerator"
    And a pod "train" using claim "use"
    Then pod "train" is bound to "n1"
    When a pod "both" using claim "mixed" is created
    Then request "watch" of claim "mixed" is allocated the devices "dev-0"
    And request "work" of claim "mixed" is allocated the devices "dev-1"
    And the ResourceClaim "mixed" has:
      | field                                                           | value  |
      | status.allocation.devices.results[request=watch][*].adminAccess | [true] |
      | status.allocation.devices.results[request=work][0].adminAccess  | null   |
    When a pod "late" using claim "other" is created
    Then claim "other" stays unallocated

  @DRA-235
  Scenario: Two requests of a claim with admin access get different devices
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "both" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}
        - {name: b, exactly: {deviceClassName: $(class:accelerator), adminAccess: true}}
      """
    And a ResourceClaim "use" for 1 of "accelerator"
    When a pod "monitor" using claim "both" is created
    Then the Pod "monitor" has condition PodScheduled False with reason "Unschedulable"
    And claim "both" stays unallocated
    Given node "n2" with 2 devices
    Then pod "monitor" is bound to "n2"
    And claim "both" is allocated the devices "dev-0, dev-1"
    When a pod "train" using claim "use" is created
    Then pod "train" is bound

  @DRA-236 @DRA-234 @DRA-233 @component:claim-controller
  Scenario: A monitoring DaemonSet watches all devices of each node, in use or not
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "use" for 2 of "accelerator"
    And a ResourceClaim "rest" for 2 of "accelerator"
    And a ResourceClaim "more" for 1 of "accelerator"
    And a pod "train" using claim "use"
    Then pod "train" is bound to "n1" [DRA-236]
    Given node "n2" with 2 devices
    # Each node has a pod of each DaemonSet, as the DaemonSet controller creates them.
    When pods of a monitoring DaemonSet "watch" for all of "accelerator" are created for the nodes "n1, n2"
    And pods of a monitoring DaemonSet "audit" for all of "accelerator" are created for the nodes "n1, n2"
    Then pod "watch-n1" is bound to "n1" [DRA-236]
    And pod "watch-n2" is bound to "n2" [DRA-236]
    And pod "audit-n1" is bound to "n1" [DRA-236]
    And pod "audit-n2" is bound to "n2" [DRA-236]
    And the ResourceClaim "watch-n1" has: [DRA-236]
      | field                                            | value                    |
      | status.allocation.devices.results[*].pool        | [$(node:n1), $(node:n1)] |
      | status.allocation.devices.results[*].device      | in any order [dev-0, dev-1] |
      | status.allocation.devices.results[*].adminAccess | [true, true]             |
    And the ResourceClaim "audit-n2" has: [DRA-233]
      | field                                            | value                    |
      | status.allocation.devices.results[*].pool        | [$(node:n2), $(node:n2)] |
      | status.allocation.devices.results[*].device      | in any order [dev-0, dev-1] |
      | status.allocation.devices.results[*].adminAccess | [true, true]             |
    # The devices of the second node are free for workloads, each once.
    When a pod "serve" using claim "rest" is created
    Then pod "serve" is bound to "n2" [DRA-234]
    And claim "rest" is allocated the devices "dev-0, dev-1" [DRA-234]
    When a pod "late" using claim "more" is created
    Then pod "late" stays unbound [DRA-234]
    # A rolling update replaces one pod after the other, on devices that are in use now.
    When pod "watch-n2" is force-deleted
    And pods of a monitoring DaemonSet "next" for all of "accelerator" are created for the nodes "n2"
    Then pod "next-n2" is bound to "n2" [DRA-236]
    And claim "next-n2" is allocated the devices "dev-0, dev-1" [DRA-236]
    And claim "rest" is reserved for exactly the pods "serve" [DRA-234]
    # The monitoring pods that still run do not keep devices from others.
    When pod "train" is force-deleted
    Then pod "late" is bound to "n1" [DRA-234]
