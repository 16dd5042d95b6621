@profile:scheduler-core @component:scheduler @component:binder
Feature: Pods with several claims
  A pod is scheduled only when all of its claims can be used. It waits if any of them is missing, being deleted or in use.

  @DRA-122
  Scenario: A pod waits for each of its claims to be created
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a pod "early" using claim "first, second, third"
    Then pod "early" stays unbound
    And claim "first" stays unallocated
    Given a ResourceClaim "second" for 1 of "accelerator"
    Then pod "early" stays unbound
    And claim "second" stays unallocated
    When a pod "serve" using claim "other" is created
    Then pod "serve" is bound to "n1"
    Given a ResourceClaim "third" for 1 of "accelerator"
    Then pod "early" is bound to "n1"

  @DRA-122
  Scenario: A pod is scheduled when its claim is created although others that wait for it need another claim too
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a pod "early-1" using claim "late, never"
    And a pod "early-2" using claim "late, never"
    And a pod "early-3" using claim "never, late"
    And a pod "early-4" using claim "never, late"
    And a pod "train" using claim "late"
    When pod "early-1" is force-deleted
    Then pod "train" stays unbound
    Given a ResourceClaim "late" for 1 of "accelerator"
    Then pod "train" is bound to "n1"
    And pod "early-2" stays unbound

  @DRA-123
  Scenario: A pod is not scheduled while the second of its claims is being deleted
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And the ResourceClaim "second" is being deleted
    When a pod "train" using claim "first, second" is created
    And a pod "plain" using claim "first" is created
    Then pod "plain" is bound to "n1"
    And pod "train" stays unbound
    And claim "first" is reserved for exactly the pods "plain"
    And claim "second" stays unallocated

  Scenario Outline: A pod waits for the class of <what>
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "plain" for 1 of "accelerator"
    And a ResourceClaim "mine" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator)}}
        - <request>
      """
    And a pod "train" using claim "plain, mine"
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:late)"
    And the Pod "train" has condition PodScheduled False with reason "Unschedulable"
    And claim "plain" stays unallocated
    And claim "mine" stays unallocated
    When a DeviceClass "late" selecting 'device.driver == "$(sim)"' is created
    Then pod "train" is bound to "n1"
    And claim "plain" is reserved for exactly the pods "train"

    @DRA-124
    Examples:
      | what                 | request                                              |
      | a second request     | {name: b, exactly: {deviceClassName: $(class:late)}} |

    @DRA-188 @gate:DRAPrioritizedList
    Examples:
      | what                 | request                                                                                                                  |
      | a second alternative | {name: b, firstAvailable: [{name: x, deviceClassName: $(class:accelerator)}, {name: y, deviceClassName: $(class:late)}]} |

  @DRA-107
  Scenario: A pod needs the claims of its other entries if it needs none for one
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      resourceClaims: [{name: unneeded, resourceClaimTemplateName: unused}, {name: mine, resourceClaimName: mine}]
      """
    Then pod "train" stays unbound
    And claim "mine" stays unallocated
    When "status.resourceClaimStatuses" of the Pod "train" is set to [{name: unneeded}]
    Then pod "train" is bound to "n1"
    And claim "mine" is reserved for exactly the pods "train"

  @DRA-122b
  Scenario: A pod is scheduled with the claim that its status names later in the place of another
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "large" for 9 of "accelerator"
    And a ResourceClaim "small" for 1 of "accelerator"
    And a pod "train" using template "unused"
    And "metadata.ownerReferences" of the ResourceClaim "large" is set to [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train), controller: true}]
    And "metadata.ownerReferences" of the ResourceClaim "small" is set to [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train), controller: true}]
    When "status.resourceClaimStatuses" of the Pod "train" is set to [{name: gpu, resourceClaimName: large}]
    Then pod "train" stays unbound
    When "status.resourceClaimStatuses" of the Pod "train" is set to [{name: gpu, resourceClaimName: small}]
    Then pod "train" is bound to "n1"
    And claim "small" is reserved for exactly the pods "train"
    And claim "large" stays unallocated

  @DRA-128b
  Scenario: A claim that a pod names twice is allocated and reserved once
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      resourceClaims: [{name: mine, resourceClaimName: mine}, {name: again, resourceClaimName: mine}]
      """
    Then pod "train" is bound to "n1"
    And claim "mine" is reserved for exactly the pods "train"
    Given node "n2" with 1 devices
    When a pod "serve" using claim "other" is created
    Then pod "serve" is bound to "n2"

  @DRA-130
  Scenario: A pod runs on the node for which both of its claims are allocated
    Given node "n1" with label "dra.test/rack" set to "r1"
    And node "n2" with label "dra.test/rack" set to "r2"
    And node "n3" with label "dra.test/rack" set to "r3"
    And a ResourceSlice "left" with:
      """
      driver: left-$(suffix).dra.test
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r1, r2]}]}]}
      devices: [{name: one}]
      """
    And a ResourceSlice "right" with:
      """
      driver: right-$(suffix).dra.test
      nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: dra.test/rack, operator: In, values: [r2, r3]}]}]}
      devices: [{name: one}]
      """
    And a DeviceClass "left" selecting 'device.driver == "left-$(suffix).dra.test"'
    And a DeviceClass "right" selecting 'device.driver == "right-$(suffix).dra.test"'
    And a ResourceClaim "left" for 1 of "left"
    And a ResourceClaim "right" for 1 of "right"
    # Two pods run on the node that both claims allow, so that it is the least likely choice.
    When a pod "one" using claim "left" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    And a pod "two" using claim "right" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then pod "one" is bound to "n2"
    And pod "two" is bound to "n2"
    When a pod "both" using claim "left, right" is created
    And a pod "turned" using claim "right, left" is created
    Then pod "both" is bound to "n2"
    And pod "turned" is bound to "n2"

  @DRA-130
  Scenario: A pod with claims on two nodes waits, and one with two claims on one node runs there
    Given node "n1" with 3 devices
    And node "n2" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "here" for 1 of "accelerator"
    And a ResourceClaim "there" for 1 of "accelerator"
    And a ResourceClaim "there-too" for 1 of "accelerator"
    And a ResourceClaim "new" for 2 of "accelerator"
    When a pod "one" using claim "here" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n1)}
      """
    And a pod "two" using claim "there" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    And a pod "three" using claim "there-too" is created with:
      """
      nodeSelector: {kubernetes.io/hostname: $(node:n2)}
      """
    Then pod "one" is bound to "n1"
    And pod "two" is bound to "n2"
    And pod "three" is bound to "n2"
    When a pod "torn" using claim "there, here" is created
    And a pod "train" using claim "there, there-too" is created
    Then pod "train" is bound to "n2"
    And pod "torn" stays unbound
    When a pod "greedy" using claim "there, new" is created
    Then pod "greedy" stays unbound
    And claim "new" stays unallocated

  @DRA-134
  Scenario: Of three claims none is allocated if the last does not fit, on two nodes
    Given node "n1" with 2 devices
    And node "n2" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "first" for 1 of "accelerator"
    And a ResourceClaim "second" for 1 of "accelerator"
    And a ResourceClaim "third" for 2 of "accelerator"
    And a ResourceClaim "fourth" for 1 of "accelerator"
    When a pod "greedy" using claim "first, second, third" is created
    And a pod "modest" using claim "first, fourth, second" is created
    Then pod "modest" is bound to "n2"
    And pod "greedy" stays unbound
    And claim "third" stays unallocated

  @DRA-140 @gate:DRAPrioritizedList
  Scenario: Of three nodes the one with the better alternatives of two requests is preferred
    Given node "n1" with 2 devices
    And node "n2" with 3 devices
    And node "n3" with 4 devices
    And a DeviceClass "a" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].model == "a"'
    And a DeviceClass "b" selecting 'device.driver == "$(sim)" && device.attributes["$(sim)"].model == "b"'
    And a ResourceClaim "one" with:
      """
      requests:
        - {name: a, firstAvailable: [{name: two, deviceClassName: $(class:a), count: 2}, {name: one, deviceClassName: $(class:a)}]}
        - {name: b, firstAvailable: [{name: two, deviceClassName: $(class:b), count: 2}, {name: one, deviceClassName: $(class:b)}]}
      """
    And a ResourceClaim "two" with:
      """
      requests:
        - {name: a, firstAvailable: [{name: two, deviceClassName: $(class:a), count: 2}, {name: one, deviceClassName: $(class:a)}]}
        - {name: b, firstAvailable: [{name: two, deviceClassName: $(class:b), count: 2}, {name: one, deviceClassName: $(class:b)}]}
      """
    When a pod "first" using claim "one" is created
    Then pod "first" is bound to "n3"
    When a pod "second" using claim "two" is created
    Then pod "second" is bound to "n2"
    And the ResourceClaim "two" has "status.allocation.devices.results[*].request" [a/two, a/two, b/one]

  @DRA-178 @DRA-179
  Scenario: Each of two claims has the configuration of its own classes and requests
    Given node "n1" with 4 devices
    And the objects of the manifest "allocation/configured_twice"
    And a DeviceClass "plain" for those devices
    And a ResourceClaim "none" for 1 of "plain"
    When a pod "train" using claim "none, configured" is created
    Then the ResourceClaim "none" has "status.allocation.devices.config" null [DRA-178]
    And the ResourceClaim "configured" has: [DRA-179]
      | field                                                                      | value |
      | status.allocation.devices.config[opaque.parameters.by=for-any][*].requests | [[c]] |

  @DRA-124b
  Scenario: A pod that waits for another reason has been waiting since the same time
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "plain" for 1 of "accelerator"
    And a ResourceClaim "mine" for 1 of "late"
    And a pod "train" using claim "mine"
    Then the message of condition PodScheduled of the Pod "train" contains "$(class:late)"
    When "status.conditions[0].lastTransitionTime" of the Pod "train" is set to "2026-01-01T00:00:00Z"
    # A scheduler that has bound a later pod has seen the change of the earlier one.
    And a pod "other" using claim "plain" is created
    Then pod "other" is bound to "n1"
    When a DeviceClass "late" selecting 'device.driver == "none"' is created
    Then the Pod "train" has "status.conditions[type=PodScheduled][0].message" without $(class:late)
    And the Pod "train" keeps "status.conditions[type=PodScheduled][0].lastTransitionTime" "2026-01-01T00:00:00Z"

  @DRA-130d
  Scenario: A pod that is one of the 256 consumers of a claim is bound
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "full" for 1 of "accelerator"
    And a ResourceClaim "own" for 1 of "accelerator"
    And claim "full" holds the devices "dev-1" of "n1"
    When a pod "train" using claim "own, full" is created with:
      """
      schedulingGates: [{name: dra.test/hold}]
      """
    Given claim "full" is reserved by hand for pods "train"
    And claim "full" is also reserved for a list of 255 {apiGroup: batch.example.com, resource: workers, name: w$n, uid: uid-$n}
    When "spec.schedulingGates" of the Pod "train" is set to null
    Then pod "train" is bound to "n1"
    And claim "own" is allocated the devices "dev-0"
    When a pod "late" using claim "full" is created
    Then pod "late" stays unbound

  @DRA-140 @gate:DRAPrioritizedList
  Scenario: The alternatives of all claims count for the choice of the node
    Given node "n1" with 3 devices
    And node "n2" with 4 devices
    And node "n3" with 3 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "left" with:
      """
      requests: [{name: gpu, firstAvailable: [{name: two, deviceClassName: $(class:accelerator), count: 2}, {name: one, deviceClassName: $(class:accelerator)}]}]
      """
    And a ResourceClaim "right" with:
      """
      requests: [{name: gpu, firstAvailable: [{name: two, deviceClassName: $(class:accelerator), count: 2}, {name: one, deviceClassName: $(class:accelerator)}]}]
      """
    When a pod "train" using claim "left, right" is created
    Then pod "train" is bound to "n2"
    And the ResourceClaim "left" has "status.allocation.devices.results[*].request" [gpu/two, gpu/two]
    And the ResourceClaim "right" has "status.allocation.devices.results[*].request" [gpu/two, gpu/two]
