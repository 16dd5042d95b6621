@profile:device-taints @component:taint-eviction
Feature: Eviction of pods from tainted devices
  A NoExecute taint means that a device must not be used. Pods that use it are deleted, at once or after the
  tolerationSeconds of their claims; other effects do not evict pods.

  @DRA-214 @DRA-225
  Scenario: A NoExecute taint evicts the pods on the device, with condition and event
    Given node "n1" with 3 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    And pod "preempted" runs on device "dev-2" of "n1"
    And "status.conditions" of the Pod "preempted" is set to [{type: DisruptionTarget, status: "True", reason: PreemptionByScheduler}, {type: dra.test/Marked, status: "True", reason: DeletionByDeviceTaintManager}]
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-2" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone [DRA-214]
    And the Pod "on-bad" has condition DisruptionTarget True with reason "DeletionByDeviceTaintManager" [DRA-225]
    And the Pod "on-bad" has: [DRA-225]
      | field                                                          | value            |
      | status.conditions[type=DisruptionTarget][0].lastTransitionTime | the present time |
      | status.conditions[type=DisruptionTarget][0].message            | set              |
    And pod "on-bad" gets a Normal event "DeviceTaintManagerEviction" that contains "Marking for deletion" [DRA-225]
    And pod "preempted" is being deleted or gone [DRA-214]
    And the Pod "preempted" has condition DisruptionTarget True with reason "DeletionByDeviceTaintManager" [DRA-225]
    And the Pod "preempted" has condition dra.test/Marked True with reason "DeletionByDeviceTaintManager" [DRA-225]
    And pod "preempted" gets a Normal event "DeviceTaintManagerEviction" that contains "Marking for deletion" [DRA-225]
    And the Pod "on-good" still exists [DRA-214]

  @DRA-214
  Scenario: A pod that begins to use a tainted device is evicted
    Given node "n1" with 3 devices, "dev-0, dev-1" tainted "health=bad:NoExecute"
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a pod "waiting" using claim "mine"
    And claim "mine" holds the devices "dev-1" of "n1"
    And claim "mine" is reserved by hand for pods "waiting"
    And pod "good" runs on device "dev-2" of "n1"
    # It is bound before it has the device, so that its deletion is an eviction in time. One update allocates and
    # reserves: between two of them a claim controller may reserve the claim for the bound pod, which is then evicted.
    And a ResourceClaim "spoiled" for 1 of "accelerator"
    And a pod "bad" using claim "spoiled"
    When pod "bad" is bound by hand to "n1"
    Given claim "spoiled" holds the devices "dev-0" of "n1" for pods "bad"
    Then pod "bad" is being deleted or gone
    And the Pod "waiting" still exists
    When pod "waiting" is bound by hand to "n1"
    Then pod "waiting" is being deleted or gone
    And the Pod "good" still exists

  @DRA-214 @component:claim-controller
  Scenario: A pod with claims from a template is evicted
    Given node "n1" with 2 devices
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one" as "left, right"
    And pod "train" has its claim "first" for entry "left"
    And pod "train" has its claim "second" for entry "right"
    And a pod "other" using template "one"
    And pod "other" has its claim "third"
    And claim "second" holds the devices "dev-0" of "n1"
    And claim "third" holds the devices "dev-1" of "n1"
    And claim "second" is reserved by hand for pods "train"
    And claim "third" is reserved by hand for pods "other"
    And pod "train" is bound by hand to "n1"
    And pod "other" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "train" is being deleted or gone
    And the Pod "other" still exists

  @DRA-214
  Scenario: A pod is evicted if one of its claims has a tainted device
    Given node "n1" with 3 devices
    And a ResourceClaim "bad" for 1 of "accelerator"
    And a ResourceClaim "good" for 1 of "accelerator"
    And a ResourceClaim "spare" for 1 of "accelerator"
    And a pod "bad-first" using claim "bad, good"
    And a pod "bad-last" using claim "good, bad"
    And a pod "all-good" using claim "good, spare"
    And claim "bad" holds the devices "dev-0" of "n1"
    And claim "good" holds the devices "dev-1" of "n1"
    And claim "spare" holds the devices "dev-2" of "n1"
    And claim "bad" is reserved by hand for pods "bad-first, bad-last"
    And claim "good" is reserved by hand for pods "bad-first, bad-last, all-good"
    And claim "spare" is reserved by hand for pods "all-good"
    And pod "bad-first" is bound by hand to "n1"
    And pod "bad-last" is bound by hand to "n1"
    And pod "all-good" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "bad-first" is being deleted or gone
    And pod "bad-last" is being deleted or gone
    And the Pod "all-good" still exists

  @DRA-214c @gate:DRAExtendedResource
  Scenario: A pod with a claim for extended resources is evicted
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "one" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    And a claim "two" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And claim "one" holds the devices "dev-0" of "n1"
    And claim "two" holds the devices "dev-1" of "n1"
    And claim "one" is reserved by hand for pods "train"
    And claim "two" is reserved by hand for pods "other"
    And "status.extendedResourceClaimStatus" of the Pod "train" is set to {resourceClaimName: one, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And "status.extendedResourceClaimStatus" of the Pod "other" is set to {resourceClaimName: two, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And pod "train" is bound by hand to "n1"
    And pod "other" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "train" is being deleted or gone
    And the Pod "other" still exists

  @DRA-214c @component:claim-controller @gate:DRAExtendedResource
  Scenario: A pod with a claim from a template is evicted because of its claim for extended resources
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaimTemplate "one" for 1 of "accelerator"
    And a pod "train" using template "one" and requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" using template "one" and requesting {$(suffix).dra.test/gpu: 1}
    And pod "train" has its claim "good"
    And pod "other" has its claim "fair"
    And a claim "bad" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    And a claim "spare" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And claim "good" holds the devices "dev-0" of "n1"
    And claim "bad" holds the devices "dev-1" of "n1"
    And claim "fair" holds the devices "dev-2" of "n1"
    And claim "spare" holds the devices "dev-3" of "n1"
    And claim "good" is reserved by hand for pods "train"
    And claim "bad" is reserved by hand for pods "train"
    And claim "fair" is reserved by hand for pods "other"
    And claim "spare" is reserved by hand for pods "other"
    And "status.extendedResourceClaimStatus" of the Pod "train" is set to {resourceClaimName: bad, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And "status.extendedResourceClaimStatus" of the Pod "other" is set to {resourceClaimName: spare, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And pod "train" is bound by hand to "n1"
    And pod "other" is bound by hand to "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "train" is being deleted or gone
    And the Pod "other" still exists

  @DRA-460 @since:1.37 @gate:DRAExtendedResource
  Scenario: A pod is evicted once its status names a claim for extended resources with a tainted device
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "early" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "late" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "one" that an earlier attempt left for the extended resources of pod "early" on class "accelerator"
    And a claim "two" that an earlier attempt left for the extended resources of pod "late" on class "accelerator"
    And a claim "three" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And claim "one" holds the devices "dev-0" of "n1"
    And claim "two" holds the devices "dev-1" of "n1"
    And claim "three" holds the devices "dev-2" of "n1"
    And claim "one" is reserved by hand for pods "early"
    And claim "two" is reserved by hand for pods "late"
    And claim "three" is reserved by hand for pods "other"
    And "status.extendedResourceClaimStatus" of the Pod "early" is set to {resourceClaimName: one, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And pod "early" is bound by hand to "n1"
    And pod "late" is bound by hand to "n1"
    And pod "other" is bound by hand to "n1"
    # The slice has both taints when the second one evicts a pod: the controller has observed the first.
    When device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "early" is being deleted or gone
    And the Pod "late" still exists
    When "status.extendedResourceClaimStatus" of the Pod "other" is set to {resourceClaimName: three, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And "status.extendedResourceClaimStatus" of the Pod "late" is set to {resourceClaimName: two, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    Then pod "late" is being deleted or gone
    And the Pod "other" still exists

  @DRA-862
  Scenario: A pod is not evicted because of a claim in its status that it does not own
    Given node "n1" with 3 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And a ResourceClaim "foreign" for 1 of "accelerator"
    And a ResourceClaim "others" for 1 of "accelerator"
    # The template does not exist, so that no controller makes claims for the pods.
    And a pod "train" using template "unused"
    And a pod "serve" using template "unused"
    And "metadata.ownerReferences" of the ResourceClaim "others" is set to [{apiVersion: v1, kind: Pod, name: train, uid: $(uid:train), controller: true}]
    And "status.resourceClaimStatuses" of the Pod "train" is set to [{name: gpu, resourceClaimName: foreign}]
    And "status.resourceClaimStatuses" of the Pod "serve" is set to [{name: gpu, resourceClaimName: others}]
    And claim "foreign" holds the devices "dev-1" of "n1"
    And claim "others" holds the devices "dev-2" of "n1"
    And claim "foreign" is reserved by hand for pods "train"
    And claim "others" is reserved by hand for pods "serve"
    And pod "train" is bound by hand to "n1"
    And pod "serve" is bound by hand to "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-2" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone
    And the Pod "train" still exists
    And the Pod "serve" still exists
    # A change of the pods makes the controller look at them again, now that it knows the taints.
    When "metadata.annotations" of the Pod "train" is set to {touched: "yes"}
    And "metadata.annotations" of the Pod "serve" is set to {touched: "yes"}
    Then the Pod "train" still exists
    And the Pod "serve" still exists

  @DRA-862 @since:1.37 @gate:DRAExtendedResource
  Scenario: A pod is not evicted because of a claim for extended resources that it does not own
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And pod "on-bad" runs on device "dev-0" of "n1"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a pod "other" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "one" that an earlier attempt left for the extended resources of pod "other" on class "accelerator"
    And claim "one" holds the devices "dev-1" of "n1"
    And claim "one" is reserved by hand for pods "train"
    And "status.extendedResourceClaimStatus" of the Pod "train" is set to {resourceClaimName: one, requestMappings: [{containerName: main, resourceName: $(suffix).dra.test/gpu, requestName: container-0-request-0}]}
    And pod "train" is bound by hand to "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone
    And the Pod "train" still exists
    When "metadata.annotations" of the Pod "train" is set to {touched: "yes"}
    Then the Pod "train" still exists

  @DRA-214
  Scenario Outline: A pod on <other> is not evicted
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a pod "beside" using claim "other"
    And "status.allocation" of the ResourceClaim "other" is set to {devices: {results: [{request: gpu, driver: <driver>, pool: $(node:<pool>), device: <device>}]}}
    And claim "other" is reserved by hand for pods "beside"
    And pod "beside" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone
    And the Pod "beside" still exists
    # A change of the pod makes the controller look at it again, now that it knows the taint.
    When "metadata.annotations" of the Pod "beside" is set to {touched: "yes"}
    Then the Pod "beside" still exists

    Examples:
      | other                                     | driver         | pool | device |
      | a device of this name in another pool     | $(sim)         | n2   | dev-0  |
      | a device of this name of another driver   | other.dra.test | n1   | dev-0  |
      | a device whose name begins like this name | $(sim)         | n1   | dev-00 |

  @DRA-214
  Scenario: Every pod of every claim with a tainted device is evicted
    Given node "n1" with 4 devices
    And pod "wide" runs on devices "dev-0, dev-1" of "n1"
    And a ResourceClaim "clean" for 1 of "accelerator"
    And a ResourceClaim "shared" for 1 of "accelerator"
    And claim "clean" holds the devices "dev-2" of "n1"
    And claim "shared" holds the devices "dev-1" of "n1"
    And a pod "one" using claim "clean, shared"
    And a pod "two" using claim "shared"
    And a pod "clean" using claim "clean"
    And claim "clean" is reserved by hand for pods "clean, one"
    And claim "shared" is reserved by hand for pods "one, two"
    And pod "one" is bound by hand to "n1"
    And pod "two" is bound by hand to "n1"
    And pod "clean" is bound by hand to "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "wide" is being deleted or gone
    And pod "one" is being deleted or gone
    And pod "two" is being deleted or gone
    And the Pod "clean" still exists

  @DRA-214
  Scenario: A pod that only has the name of a consumer is not evicted
    Given node "n1" with 1 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And a ResourceClaim "former" for 1 of "accelerator"
    And claim "former" holds the devices "dev-0" of "n1"
    And claim "former" is also reserved for {resource: pods, name: again, uid: 0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11}
    # No component reserves a claim that is being deleted for the new pod.
    And the ResourceClaim "former" is being deleted
    And a pod "again" using claim "former"
    And pod "again" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone
    And the Pod "again" still exists

  @DRA-214 @needs:faults
  Scenario: A pod that replaces the evicted one is not deleted
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-bad" is replaced by another of its name before the taint-eviction deletes it
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then the Pod "on-bad" is replaced
    And the Pod "on-bad" still exists

  @DRA-214
  Scenario: A taint in a slice of an older generation evicts no pod
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And pod "on-bad" runs on device "dev-0" of "n2"
    And pod "on-good" runs on device "dev-0" of "n1"
    And a ResourceSlice "newer" with:
      """
      nodeName: $(node:n1)
      pool: {name: $(node:n1), generation: 2, resourceSliceCount: 1}
      devices: [{name: dev-0}]
      """
    # A pool of this name of another driver has generations of its own.
    And a ResourceSlice "namesake" with:
      """
      driver: other.dra.test
      nodeName: $(node:n2)
      pool: {name: $(node:n2), generation: 7, resourceSliceCount: 1}
      devices: [{name: dev-0}]
      """
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n2" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists

  @DRA-213 @DRA-215
  Scenario: NoSchedule and None do not evict pods
    Given node "n1" with 3 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-closed" runs on device "dev-1" of "n1"
    And pod "on-noted" runs on device "dev-2" of "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoSchedule"
    And device "dev-2" of "n1" is tainted "health=bad:None"
    And device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    # The eviction of this pod shows that the controller has processed all taints.
    Then pod "on-bad" is being deleted or gone [DRA-213]
    And the Pod "on-closed" still exists [DRA-213]
    And the Pod "on-noted" still exists [DRA-215]

  @DRA-222
  Scenario Outline: A pod that tolerates NoExecute without a limit by <toleration> is not evicted
    Given node "n1" with 2 devices
    And pod "patient" runs on device "dev-0" of "n1" tolerating '<tolerations>'
    And pod "other" runs on device "dev-1" of "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute, wear=high:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "other" is being deleted or gone
    And the Pod "patient" still exists

    Examples:
      | toleration                   | tolerations                                                                                                                  |
      | any key                      | {operator: Exists, effect: NoExecute}                                                                                        |
      | keys and values              | [{key: health, value: bad, effect: NoExecute}, {key: wear, value: high, effect: NoExecute}]                                  |
      | one beside a limited one     | [{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 0}, {operator: Exists, effect: NoExecute}]            |

  @DRA-214
  Scenario Outline: A pod that tolerates <what> is evicted
    Given node "n1" with 2 devices
    And pod "other" runs on device "dev-0" of "n1" tolerating '<tolerations>'
    And pod "patient" runs on device "dev-1" of "n1" tolerating '{operator: Exists, effect: NoExecute}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute, wear=high:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "other" is being deleted or gone
    And the Pod "patient" still exists

    Examples:
      | what                       | tolerations                                                                                               |
      | one of two taints          | {key: health, operator: Exists, effect: NoExecute}                                                        |
      | the other of two taints    | {key: wear, operator: Exists, effect: NoExecute}                                                          |
      | another value              | [{key: health, value: fair, effect: NoExecute}, {key: wear, operator: Exists, effect: NoExecute}]          |
      | no value                   | [{key: health, operator: Equal, effect: NoExecute}, {key: wear, operator: Exists, effect: NoExecute}]      |
      | another effect             | {operator: Exists, effect: NoSchedule}                                                                    |
      | negative tolerationSeconds | {operator: Exists, effect: NoExecute, tolerationSeconds: -5}                                              |

  @DRA-214 @DRA-222
  Scenario: The toleration of one request does not protect the device of another
    Given node "n1" with 2 devices
    And a ResourceClaim "first" with:
      """
      requests: [{name: one, exactly: {deviceClassName: gpu}}, {name: two, exactly: {deviceClassName: gpu}}]
      """
    And a ResourceClaim "second" with:
      """
      requests: [{name: one, exactly: {deviceClassName: gpu}}, {name: two, exactly: {deviceClassName: gpu}}]
      """
    And a pod "tolerates-one" using claim "first"
    And a pod "tolerates-two" using claim "second"
    And "status.allocation" of the ResourceClaim "first" is set to {devices: {results: [{request: one, driver: $(sim), pool: $(node:n1), device: dev-0, tolerations: [{operator: Exists, effect: NoExecute}]}, {request: two, driver: $(sim), pool: $(node:n1), device: dev-1}]}}
    And "status.allocation" of the ResourceClaim "second" is set to {devices: {results: [{request: one, driver: $(sim), pool: $(node:n1), device: dev-0}, {request: two, driver: $(sim), pool: $(node:n1), device: dev-1, tolerations: [{operator: Exists, effect: NoExecute}]}]}}
    And claim "first" is reserved by hand for pods "tolerates-one"
    And claim "second" is reserved by hand for pods "tolerates-two"
    And pod "tolerates-one" is bound by hand to "n1"
    And pod "tolerates-two" is bound by hand to "n1"
    When device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "tolerates-one" is being deleted or gone [DRA-214]
    And the Pod "tolerates-two" still exists [DRA-222]

  @DRA-213
  Scenario: A pod is evicted by a taint in the second pool of its claim
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And a ResourceClaim "both" with:
      """
      requests: [{name: one, exactly: {deviceClassName: gpu}}, {name: two, exactly: {deviceClassName: gpu}}]
      """
    And a pod "other" using claim "both"
    And "status.allocation" of the ResourceClaim "both" is set to {devices: {results: [{request: one, driver: $(sim), pool: $(node:n1), device: dev-0}, {request: two, driver: $(sim), pool: $(node:n2), device: dev-0}]}}
    And claim "both" is reserved by hand for pods "other"
    And pod "other" is bound by hand to "n1"
    And pod "patient" runs on device "dev-0" of "n1"
    When device "dev-0" of "n2" is tainted "health=bad:NoExecute"
    Then pod "other" is being deleted or gone
    And the Pod "patient" still exists

  @DRA-221 @DRA-222 @needs:virtual-clock @component:control-plane
  Scenario: tolerationSeconds count from timeAdded of the taint
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "patient" runs on device "dev-1" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then the Pod "brief" still exists [DRA-221]
    When 20 seconds pass
    Then the Pod "brief" still exists [DRA-221]
    When 12 seconds pass
    Then pod "brief" is being deleted or gone [DRA-221]
    And the Pod "patient" still exists [DRA-222]

  @DRA-221 @needs:virtual-clock @needs:restartable-eviction @component:control-plane
  Scenario: tolerationSeconds do not start anew when the controller is restarted
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "longer" runs on device "dev-1" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 90}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And 20 seconds pass
    And the taint-eviction is started again
    And 12 seconds pass
    Then pod "brief" is being deleted or gone
    And the Pod "longer" still exists

  @DRA-221
  Scenario: tolerationSeconds of a taint that was added long ago have passed
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 3600}'
    And pod "longer" runs on device "dev-1" of "n1" tolerating '{operator: Exists, effect: NoExecute, tolerationSeconds: 3600}'
    When "spec.devices[0].taints" of the ResourceSlice "pool-n1" is set to [{key: health, effect: NoExecute, timeAdded: "2020-01-01T00:00:00Z"}]
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    Then pod "brief" is being deleted or gone
    And the Pod "longer" still exists

  @DRA-221 @needs:virtual-clock @component:control-plane
  Scenario Outline: A pod is evicted when the first <of> ends
    Given node "n1" with 1 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '<tolerations>'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute, wear=high:NoExecute"
    Then the Pod "brief" still exists
    When 15 seconds pass
    Then the Pod "brief" still exists
    When 17 seconds pass
    Then pod "brief" is being deleted or gone

    Examples:
      | of                       | tolerations                                                                                                                                         |
      | toleration of two taints | [{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: wear, operator: Exists, effect: NoExecute, tolerationSeconds: 30}] |
      | toleration of one taint  | [{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: health, effect: NoExecute, value: bad, tolerationSeconds: 30}, {key: wear, operator: Exists, effect: NoExecute}]          |
      | limited toleration       | [{key: health, operator: Exists, effect: NoExecute}, {key: wear, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]                       |

  @DRA-221 @needs:virtual-clock @component:control-plane
  Scenario: A pod with two claims is evicted when the first toleration of both ends
    Given node "n1" with 2 devices
    And a ResourceClaim "short" for 1 of "accelerator"
    And a ResourceClaim "long" for 1 of "accelerator"
    And a pod "short-first" using claim "short, long"
    And a pod "short-last" using claim "long, short"
    And a pod "longer" using claim "long"
    And "status.allocation" of the ResourceClaim "short" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-0, tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 30}]}]}}
    And "status.allocation" of the ResourceClaim "long" is set to {devices: {results: [{request: gpu, driver: $(sim), pool: $(node:n1), device: dev-1, tolerations: [{operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}]}}
    And claim "short" is reserved by hand for pods "short-first, short-last"
    And claim "long" is reserved by hand for pods "short-first, short-last, longer"
    And pod "short-first" is bound by hand to "n1"
    And pod "short-last" is bound by hand to "n1"
    And pod "longer" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And 15 seconds pass
    Then the Pod "short-first" still exists
    And the Pod "short-last" still exists
    When 17 seconds pass
    Then pod "short-first" is being deleted or gone
    And pod "short-last" is being deleted or gone
    And the Pod "longer" still exists

  @DRA-221 @needs:virtual-clock @component:control-plane
  Scenario: A pod is evicted earlier if a taint with a shorter toleration is added
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '[{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 300}, {key: wear, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]'
    And pod "other" runs on device "dev-1" of "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    # The controller has processed the first taint.
    Then pod "other" is being deleted or gone
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute, wear=high:NoExecute"
    And 15 seconds pass
    Then the Pod "brief" still exists
    When 17 seconds pass
    Then pod "brief" is being deleted or gone

  @DRA-214d @since:1.37 @gate:DRAWorkloadResourceClaims
  Scenario: All pods of a PodGroup that share a tainted device are evicted
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "mine" for 1 of "accelerator"
    And a ResourceClaim "other" for 1 of "accelerator"
    And a workload PodGroup "train" using claim "mine" as "gpu"
    And a workload PodGroup "stay" using claim "other" as "gpu"
    And a pod "a" of workload PodGroup "train" using claim "mine" as "gpu"
    And a pod "b" of workload PodGroup "train" using claim "mine" as "gpu"
    And a pod "c" of workload PodGroup "stay" using claim "other" as "gpu"
    And claim "mine" holds the devices "dev-0" of "n1"
    And claim "other" holds the devices "dev-1" of "n1"
    And claim "mine" is reserved by hand for workload PodGroup "train"
    And claim "other" is reserved by hand for workload PodGroup "stay"
    And pod "a" is bound by hand to "n1"
    And pod "b" is bound by hand to "n1"
    And pod "c" is bound by hand to "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "a" is being deleted or gone
    And pod "b" is being deleted or gone
    And the Pod "c" still exists

  @DRA-223
  Scenario: A toleration without an effect does not prevent eviction
    Given node "n1" with 2 devices
    And pod "lenient" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "lenient" is being deleted or gone

  @DRA-224 @needs:virtual-clock @component:control-plane
  Scenario: Removing the taint cancels the eviction
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "gone" runs on device "dev-1" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n1" loses its taints
    Then pod "brief" gets a Normal event "DeviceTaintManagerEviction" that contains "Cancelling deletion"
    When 60 seconds pass
    Then the Pod "brief" still exists
    And pod "gone" is being deleted or gone

  @DRA-224 @needs:virtual-clock @component:control-plane
  Scenario Outline: The eviction is cancelled when <what>
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "gone" runs on device "dev-0" of "n2" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-0" of "n2" is tainted "health=bad:NoExecute"
    And <does>
    Then pod "brief" gets a Normal event "DeviceTaintManagerEviction" that contains "Cancelling deletion"
    When 60 seconds pass
    Then the Pod "brief" still exists
    And pod "gone" is being deleted or gone

    Examples:
      | what                          | does                                                      |
      | the taint gets another effect | device "dev-0" of "n1" is tainted "health=bad:NoSchedule" |
      | its driver removes the slice  | the ResourceSlice "pool-n1" is deleted                    |

  @DRA-224 @needs:virtual-clock @component:control-plane
  Scenario: The eviction is cancelled when the claim is no longer reserved for the pod
    Given node "n1" with 2 devices
    And pod "brief" runs on device "dev-0" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    And pod "gone" runs on device "dev-1" of "n1" tolerating '{key: health, operator: Exists, effect: NoExecute, tolerationSeconds: 30}'
    # No component reserves a claim that is being deleted again.
    And the ResourceClaim "brief" is being deleted
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    And device "dev-1" of "n1" is tainted "health=bad:NoExecute"
    And "status.reservedFor" of the ResourceClaim "brief" is set to null
    Then pod "brief" gets a Normal event "DeviceTaintManagerEviction" that contains "Cancelling deletion"
    When 60 seconds pass
    Then the Pod "brief" still exists
    And pod "gone" is being deleted or gone
