@profile:scheduler-core @component:claim-controller @component:scheduler @component:binder @gate:DRAExtendedResource
Feature: Extended resources backed by devices
  A pod requests an extended resource as it would from a device plugin. If the node has no such plugin and a class
  provides the resource, the scheduler creates, allocates and deletes a claim for the pod (KEP-5004).

  @DRA-239 @DRA-242 @DRA-246
  Scenario: A claim is created for an extended resource, and deleted when the pod has ended
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 2} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1" [DRA-239]
    And pod "train" is bound to "n1" [DRA-239]
    And the status of pod "train" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-242]
    When "status.phase" of the Pod "train" is set to Succeeded
    Then the ResourceClaim of pod "train" is gone [DRA-246]

  @DRA-239 @DRA-242
  Scenario: One claim serves all containers and all resources of a pod
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the objects of the manifest "allocation/second_resource"
    When a pod "train" is created with the containers:
      | container | kind | requests                                                 |
      | one       | main | {$(suffix).dra.test/gpu: 1}                              |
      | none      | main | {cpu: 100m}                                              |
      | two       | main | {$(suffix).dra.test/gpu: 2, $(suffix).dra.test/other: 1} |
    Then the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1, dev-2, nic" [DRA-239]
    And the ResourceClaim of pod "train" has: [DRA-239]
      | field                                                                        | value                  |
      | spec.devices.requests[name=container-0-request-0][*].exactly.deviceClassName | [$(class:accelerator)] |
      | spec.devices.requests[name=container-0-request-0][*].exactly.count           | [1]                    |
      | spec.devices.requests[name=container-2-request-0][*].exactly.deviceClassName | [$(class:accelerator)] |
      | spec.devices.requests[name=container-2-request-0][*].exactly.count           | [2]                    |
      | spec.devices.requests[name=container-2-request-1][*].exactly.deviceClassName | [$(class:other)]       |
      | status.allocation.devices.results[request=container-2-request-1][*].device   | [nic]                  |
    And the status of pod "train" maps container "one" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-242]
    And the status of pod "train" maps container "none" to [] of "$(suffix).dra.test/gpu" [DRA-242]
    And the status of pod "train" maps container "two" to [container-2-request-0] of "$(suffix).dra.test/gpu" [DRA-242]
    And the status of pod "train" maps container "two" to [container-2-request-1] of "$(suffix).dra.test/other" [DRA-242]

  @DRA-240
  Scenario: Every class provides a resource of its own name
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices
    When a pod "train" requesting {deviceclass.resource.kubernetes.io/$(class:accelerator): 1} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev-0"

  @DRA-240b
  Scenario Outline: Each of several classes with one resource name provides the resource of its own name (<class>)
    Given node "n1" with 1 devices
    And the objects of the manifest "allocation/classes_of_one_resource"
    When a pod "train" requesting {deviceclass.resource.kubernetes.io/$(class:<class>): 1} is created
    Then pod "train" is bound to "n1"
    And the ResourceClaim of pod "train" has "spec.devices.requests[*].exactly.deviceClassName" [$(class:<class>)]

    Examples:
      | class |
      | a     |
      | b     |
      | c     |

  @DRA-241 @DRA-245
  Scenario: No claim is created for device plugin resources, nor for a quantity of zero
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "none" requesting {$(suffix).dra.test/gpu: 0} is created
    Then pod "none" is bound to "n1" [DRA-245]
    And pod "none" has no claim [DRA-245]
    And the Pod "none" has "status.extendedResourceClaimStatus" null [DRA-245]
    Given node "n1" has {$(suffix).dra.test/gpu: 2} of a device plugin
    When a pod "train" requesting {$(suffix).dra.test/gpu: 2} is created
    Then pod "train" is bound to "n1" [DRA-241]
    And pod "train" has no claim [DRA-241]
    And the Pod "train" has "status.extendedResourceClaimStatus" null [DRA-241]
    # The device plugin has no more, and the free device is the plugin's as well.
    When a pod "late" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "late" stays unbound [DRA-241]
    And pod "late" has no claim [DRA-241]

  @DRA-241
  Scenario: Of two resources only the one without device plugin is in the claim
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the objects of the manifest "allocation/second_resource"
    And node "n1" has {$(suffix).dra.test/gpu: 2} of a device plugin
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1, $(suffix).dra.test/other: 1} is created
    Then the extended resource claim of pod "train" is allocated the devices "nic"
    And pod "train" is bound to "n1"
    And the status of pod "train" maps container "main" to [container-0-request-1] of "$(suffix).dra.test/other"
    And the status of pod "train" maps container "main" to [] of "$(suffix).dra.test/gpu"

  @DRA-241b
  Scenario: A resource of which a device plugin has left the amount 0 is provided by devices
    Given node "n1" with 2 devices
    And node "n1" has {$(suffix).dra.test/gpu: 0} of a device plugin
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "train" is bound to "n1"
    And the extended resource claim of pod "train" is allocated the devices "dev-0"

  @DRA-243
  Scenario: Of two classes with the same age, the first by name is used
    Given node "n1" with 2 devices
    And a DeviceClass "b" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the objects of the manifest "allocation/first_of_two_classes"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev-1"

  @DRA-243 @needs:virtual-clock @component:control-plane
  Scenario: Of two classes, the younger is used
    Given node "n1" with 2 devices
    And the objects of the manifest "allocation/first_of_two_classes"
    When 2 seconds pass
    And a DeviceClass "z" for those devices with extended resource "$(suffix).dra.test/gpu" is created
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev-0"

  # Kubernetes has no event or status about such a pair of classes. What a user sees is the condition of pods that wait.
  @DRA-243
  Scenario: A second class for a resource changes no pod that runs, and serves all later pods
    Given node "n1" with 3 devices
    And a DeviceClass "b" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "early" requesting {$(suffix).dra.test/gpu: 1}
    Then the extended resource claim of pod "early" is allocated the devices "dev-0"
    And pod "early" is bound to "n1"
    Given a ResourceSlice "others" with:
      """
      driver: net-$(suffix).dra.test
      nodeName: $(node:n1)
      devices: [{name: other-0}]
      """
    # The younger one, or of the same age and first by name.
    And a DeviceClass "a" selecting 'device.driver == "net-$(suffix).dra.test"'
    When "spec.extendedResourceName" of the DeviceClass "a" is set to $(suffix).dra.test/gpu
    And a pod "late" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "late" is allocated the devices "other-0"
    And pod "late" is bound to "n1"
    # Devices of the other class are free.
    When a pod "third" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "third" stays unbound
    And the Pod "third" has condition PodScheduled False with reason "Unschedulable"
    And pod "third" has no claim
    And pod "early" keeps one claim
    And the extended resource claim of pod "early" is allocated the devices "dev-0"
    And the ResourceClaim of pod "early" has "spec.devices.requests[*].exactly.deviceClassName" [$(class:b)]

  @DRA-244
  Scenario: An init container shares the devices of later containers and adds missing ones
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" is created with the containers:
      | container | kind | requests                    |
      | first     | init | {$(suffix).dra.test/gpu: 2} |
      | main      | main | {$(suffix).dra.test/gpu: 1} |
    Then the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1"
    And the status of pod "train" maps container "first" to [container-0-request-0, container-1-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "main" to [container-1-request-0] of "$(suffix).dra.test/gpu"

  @DRA-248 @DRA-249
  Scenario: Pods wait for a class with the resource, and for devices
    Given node "n1" with 2 devices
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "train" stays unbound [DRA-248]
    When a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu" is created
    Then pod "train" is bound to "n1" [DRA-248]
    When a pod "large" requesting {$(suffix).dra.test/gpu: 2} is created
    Then pod "large" stays unbound [DRA-249]
    When pod "train" is force-deleted
    Then pod "large" is bound to "n1" [DRA-249]

  # Through BindRequests the binder would refuse a device that is in use, and hide what the scheduler chose.
  @DRA-249 @needs:direct-binding
  Scenario: A pod waits for devices that a pod with extended resources uses
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    Then pod "train" is bound to "n1"
    When a pod "large" requesting {$(suffix).dra.test/gpu: 2} is created
    Then pod "large" stays unbound
    When pod "train" is force-deleted
    Then pod "large" is bound to "n1"

  @DRA-247 @needs:direct-binding
  Scenario: The claim of an interrupted attempt is deleted first
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    And a claim "left" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    And "metadata.finalizers" of the ResourceClaim "left" is set to [resource.kubernetes.io/delete-protection]
    And claim "left" holds the devices "dev-1" of "n1"
    And claim "left" is reserved by hand for pods "train"
    When a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu" is created
    Then the ResourceClaim "left" is gone
    When a ResourceSlice "more" is published with:
      """
      nodeName: $(node:n1)
      devices: [{name: extra}]
      """
    Then pod "train" is bound to "n1"
    And the ResourceClaim of pod "train" has "status.allocation.devices.results[0].device" set

  @DRA-244
  Scenario: Init containers use the devices of later sidecars and containers, and share what is missing
    Given node "n1" with 6 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" is created with the containers:
      | container | kind    | requests                    |
      | first     | init    | {$(suffix).dra.test/gpu: 5} |
      | long      | sidecar | {$(suffix).dra.test/gpu: 1} |
      | second    | init    | {$(suffix).dra.test/gpu: 5} |
      | third     | init    | {$(suffix).dra.test/gpu: 1} |
      | main      | main    | {$(suffix).dra.test/gpu: 1} |
      | side      | main    | {$(suffix).dra.test/gpu: 1} |
    Then the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1, dev-2, dev-3, dev-4, dev-5"
    And pod "train" is bound to "n1"
    And the status of pod "train" maps container "long" to [container-1-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "main" to [container-4-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "side" to [container-5-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "third" to [container-4-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "first" to [container-1-request-0, container-2-request-0, container-4-request-0, container-5-request-0] of "$(suffix).dra.test/gpu"
    And the status of pod "train" maps container "second" to [container-2-request-0, container-4-request-0, container-5-request-0] of "$(suffix).dra.test/gpu"

  @DRA-241
  Scenario: Of two nodes, only the one with a device plugin needs no claim
    Given node "n1" with 3 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And node "n1" has {$(suffix).dra.test/gpu: 1} of a device plugin
    When a pod "large" requesting {$(suffix).dra.test/gpu: 2} is created
    Then pod "large" is bound to "n2"
    And the extended resource claim of pod "large" is allocated the devices "dev-0, dev-1"
    When a pod "small" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "small" is bound to "n1"
    And pod "small" has no claim
    When a pod "late" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "late" stays unbound
    And pod "late" has no claim

  @DRA-239 @DRA-240
  Scenario: A pod requests a resource by its name and by the name of the class
    Given node "n1" with 3 devices
    And a DeviceClass "accelerator" for those devices with extended resource "zz-$(suffix).dra.test/gpu"
    When a pod "train" requesting {zz-$(suffix).dra.test/gpu: 1, deviceclass.resource.kubernetes.io/$(class:accelerator): 2} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1, dev-2" [DRA-239]
    And the status of pod "train" maps container "main" to [container-0-request-1] of "zz-$(suffix).dra.test/gpu" [DRA-240]
    And the status of pod "train" maps container "main" to [container-0-request-0] of "deviceclass.resource.kubernetes.io/$(class:accelerator)" [DRA-240]

  @DRA-239
  Scenario: A pod has devices of a claim of its own beside those of an extended resource
    Given node "n1" with 3 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a ResourceClaim "mine" for 2 of "accelerator"
    When a pod "train" using claim "mine" is created with:
      """
      containers:
        - {name: main, image: "registry.k8s.io/pause:3.10", resources: {claims: [{name: mine}], limits: {$(suffix).dra.test/gpu: "1"}}}
      """
    Then pod "train" is bound to "n1"
    And claim "mine" is allocated the devices "dev-0, dev-1"
    And claim "mine" is reserved for exactly the pods "train"
    And the extended resource claim of pod "train" is allocated the devices "dev-2"
    When a pod "serve" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "serve" is bound to "n2"

  @DRA-239 @DRA-246
  Scenario: A pod that is created again under its name has a claim of its own
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "train" is allocated the devices "dev-0" [DRA-239]
    # kube-scheduler waits for two minutes for a claim that is deleted before its cache has it, and holds the device.
    And pod "train" is bound to "n1" [DRA-239]
    When pod "train" is force-deleted
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "train" is bound to "n1" [DRA-246]
    And the extended resource claim of pod "train" is allocated the devices "dev-0" [DRA-239]
    And the status of pod "train" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-239]

  @DRA-248
  Scenario: A pod that waits for a resource is scheduled once a class is changed to provide it
    Given node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/other"
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "train" stays unbound
    When "spec.extendedResourceName" of the DeviceClass "accelerator" is set to $(suffix).dra.test/gpu
    Then pod "train" is bound to "n1"
    And the extended resource claim of pod "train" is allocated the devices "dev-0"
    When a pod "late" requesting {$(suffix).dra.test/other: 1} is created
    Then pod "late" stays unbound

  @DRA-248b
  Scenario Outline: A class that is deleted provides its resource no longer (the <deleted> of two)
    Given node "n1" with 3 devices
    And a DeviceClass "first" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a DeviceClass "second" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "early" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "early" is bound to "n1"
    When the DeviceClass "<deleted>" is deleted
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "train" is bound to "n1"
    And the ResourceClaim of pod "train" has "spec.devices.requests[*].exactly.deviceClassName" [$(class:<other>)]

    Examples:
      | deleted | other  |
      | first   | second |
      | second  | first  |

  @DRA-239 @DRA-247 @needs:direct-binding @needs:faults
  Scenario Outline: A pod keeps one claim for its extended resources when the API server <does> <what>
    Given the scheduler binds pods itself
    And node "n1" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the API server <does> the next 1 <what>
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "train" is bound to "n1" [DRA-239]
    When every fault has affected a request
    Then the extended resource claim of pod "train" is allocated the devices "dev-0" [DRA-239]
    And the status of pod "train" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-239]
    And pod "train" keeps one claim [DRA-247]

    Examples:
      | does                 | what                            |
      | answers 403 to       | creations of ResourceClaim      |
      | loses its answers to | status updates of ResourceClaim |
      | answers 403 to       | status updates of ResourceClaim |
      | answers 409 to       | status updates of ResourceClaim |
      | answers 403 to       | bindings of Pod                 |

  @DRA-239 @DRA-249 @needs:restartable-scheduler
  Scenario: After a restart of the scheduler, claims for extended resources stay, and waiting pods are scheduled
    Given node "n1" with 4 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "one" requesting {$(suffix).dra.test/gpu: 2}
    Then the extended resource claim of pod "one" is allocated the devices "dev-0, dev-1" [DRA-239]
    And pod "one" is bound to "n1" [DRA-239]
    When a pod "two" requesting {$(suffix).dra.test/gpu: 3} is created
    Then pod "two" stays unbound [DRA-249]
    When the scheduler is started again
    And a pod "three" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "three" is allocated the devices "dev-2" [DRA-239]
    And pod "three" is bound to "n1" [DRA-239]
    And pod "two" stays unbound [DRA-249]
    And pod "two" has no claim [DRA-249]
    And pod "one" keeps one claim [DRA-239]
    And the extended resource claim of pod "one" is allocated the devices "dev-0, dev-1" [DRA-239]
    When pod "one" is force-deleted
    Then the extended resource claim of pod "two" is allocated the devices "dev-0, dev-1, dev-3" [DRA-239]
    And pod "two" is bound to "n1" [DRA-239]
    And the status of pod "two" maps container "main" to [container-0-request-0] of "$(suffix).dra.test/gpu" [DRA-239]

  @DRA-248 @needs:restartable-scheduler
  Scenario: A scheduler that starts uses the class that provides the resource then
    Given node "n1" with 3 devices
    And a DeviceClass "first" for those devices with extended resource "$(suffix).dra.test/gpu"
    And a pod "early" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "early" is bound to "n1"
    Given the scheduler is stopped
    When the DeviceClass "first" is deleted
    And a DeviceClass "second" for those devices with extended resource "$(suffix).dra.test/gpu" is created
    And a pod "late" requesting {$(suffix).dra.test/gpu: 2} is created
    And the scheduler is started
    Then pod "late" is bound to "n1"
    And the ResourceClaim of pod "late" has "spec.devices.requests[*].exactly.deviceClassName" [$(class:second)]
    And the extended resource claim of pod "late" is allocated the devices "dev-1, dev-2"
    And the ResourceClaim of pod "early" has "spec.devices.requests[*].exactly.deviceClassName" [$(class:first)]

  @DRA-247 @needs:direct-binding @needs:restartable-scheduler
  Scenario: A scheduler that starts replaces the claim of an attempt that its stop has interrupted
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a pod "train" requesting {$(suffix).dra.test/gpu: 1}
    Then pod "train" stays unbound
    Given the scheduler is stopped
    And a claim "left" that an earlier attempt left for the extended resources of pod "train" on class "accelerator"
    And claim "left" holds the devices "dev-1" of "n1"
    When a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu" is created
    And the scheduler is started
    Then the ResourceClaim "left" is gone

  @DRA-247b @needs:direct-binding @needs:faults
  Scenario: The claim of a pod that cannot be bound keeps the finalizers of others
    Given the scheduler binds pods itself
    And node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And the claim of pod "train" gets the name "kept" and a finalizer of others before its refused binding
    When a pod "train" requesting {$(suffix).dra.test/gpu: 1} is created
    And claim "kept" of pod "train" has its name
    Then the ResourceClaim "kept" is being deleted or gone
    And the ResourceClaim "kept" keeps "metadata.finalizers" [example.com/audit]
