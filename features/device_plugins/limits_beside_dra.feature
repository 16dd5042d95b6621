Feature: Limits of device plugins, and what DRA does instead
  A device plugin publishes a number of devices with one name. A DRA driver publishes the devices. For each limit
  of a plugin, the first scenario shows the limit and the second one the same need with DRA.

  # 1. Which devices fit together. The scheduler sees two free GPUs on the node; the kubelet sees that they are on two NUMA
  # nodes, when the pod is bound already.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-090
  Scenario: With a device plugin, a pod is refused on its node because its devices are too far apart
    Given node "n1" with a kubelet that aligns the devices of each container by "single-numa-node"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1"
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable
    When pod "train" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then the Pod "train" has "status.reason" TopologyAffinityError

  @profile:scheduler-core @component:scheduler @component:binder @DRA-168
  Scenario: With DRA, the scheduler chooses the node whose devices are near each other
    Given node "n1"
    And node "n2"
    And a ResourceSlice "far" with:
      """
      nodeName: $(node:n1)
      pool: {name: far}
      devices: [{name: a, attributes: {dra.test/numaNode: {int: 0}}}, {name: b, attributes: {dra.test/numaNode: {int: 1}}}]
      """
    And a ResourceSlice "near" with:
      """
      nodeName: $(node:n2)
      pool: {name: near}
      devices: [{name: c, attributes: {dra.test/numaNode: {int: 0}}}, {name: d, attributes: {dra.test/numaNode: {int: 0}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" with:
      """
      requests: [{name: gpus, exactly: {deviceClassName: $(class:accelerator), count: 2}}]
      constraints: [{matchAttribute: dra.test/numaNode}]
      """
    When a pod "train" using claim "pair" is created
    Then pod "train" is bound to "n2"
    And claim "pair" is allocated the devices "c, d"

  # 2. Parameters. A container requests a number of a name. Whether the device is large or small is not part of the API.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-052
  Scenario: With a device plugin, a container requests a number of devices and no more
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-small Healthy, gpu-large Healthy"
    When pod "train" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And every Allocate call of the scripted device plugin "gpu" is for 1 devices of one container

  @profile:scheduler-core @component:scheduler @component:binder @DRA-163
  Scenario: With DRA, a claim selects a device by its memory
    Given node "n1"
    And a ResourceSlice "gpus" with:
      """
      nodeName: $(node:n1)
      devices: [{name: small, capacity: {memory: {value: 16Gi}}}, {name: large, capacity: {memory: {value: 80Gi}}}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "large" for 1 of "accelerator" selecting 'device.capacity["$(sim)"].memory.compareTo(quantity("40Gi")) >= 0'
    When a pod "train" using claim "large" is created
    Then claim "large" is allocated the devices "large"

  # 3. Sharing by capacity. A device belongs to one container. Replicas of a plugin count users, not what they use.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-060
  Scenario: With a device plugin, the second pod that needs a part of a device is refused
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    When pod "first" with 1 of "example.com/nic" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    When pod "second" with 1 of "example.com/nic" is bound by hand to "n1"
    Then pod "second" is not admitted

  @profile:scheduler-core @component:scheduler @component:binder @gate:DRAConsumableCapacity @DRA-201 @component:claim-controller
  Scenario: With DRA, pods share a device as long as it has enough bandwidth for each
    Given node "n1"
    And a ResourceSlice "nic" with:
      """
      nodeName: $(node:n1)
      devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 100G}}}]
      """
    And a DeviceClass "nic" for those devices
    And a ResourceClaim "one" for 1 of "nic" with capacity {bandwidth: 40G}
    And a ResourceClaim "two" for 1 of "nic" with capacity {bandwidth: 40G}
    And a ResourceClaim "three" for 1 of "nic" with capacity {bandwidth: 40G}
    And a pod "first" using claim "one"
    And a pod "second" using claim "two"
    Then claim "one" is allocated the devices "nic"
    And claim "two" is allocated the devices "nic"
    When a pod "third" using claim "three" is created
    Then claim "three" stays unallocated

  # 4. One device for several pods or containers that know each other.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-071
  Scenario: With a device plugin, two containers of a pod cannot have the same device
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And a pod "train" with resources of the containers:
      | name   | resources          |
      | work   | example.com/gpu: 1 |
      | helper | example.com/gpu: 1 |
    When pod "train" is bound by hand to "n1"
    Then containers "work, helper" of pod "train" on "n1" have 2 different devices of "gpu"

  @profile:scheduler-core @component:scheduler @component:binder @DRA-130
  Scenario: With DRA, two pods use one claim, and so one device
    Given node "n1" with 1 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "shared" for 1 of "accelerator"
    And a pod "work" using claim "shared"
    Then pod "work" is bound
    When a pod "helper" using claim "shared" is created
    Then pod "helper" is bound to the node of pod "work"
    And claim "shared" is reserved for exactly the pods "helper, work"

  # 5. Parts and wholes. Each resource has a number of its own; nothing says that both are one device.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-019
  Scenario: With device plugins, a device and its halves are counted, and given out, side by side
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "whole" on "n1" with 1 devices of "example.com/gpu"
    And a scripted device plugin "half" on "n1" with 2 devices of "example.com/half-gpu"
    Then node "n1" has 1 of "example.com/gpu", 1 allocatable
    And node "n1" has 2 of "example.com/half-gpu", 2 allocatable
    When pod "large" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "large" reaches phase Running
    And node "n1" keeps 2 of "example.com/half-gpu", 2 allocatable
    When pod "small" with 1 of "example.com/half-gpu" is bound by hand to "n1"
    Then pod "small" reaches phase Running

  @profile:scheduler-core @component:scheduler @component:binder @gate:DRAPartitionableDevices @DRA-190
  Scenario: With DRA, a device is given out whole or in halves
    Given node "n1"
    And the objects of the manifest "allocation/halves"
    And a ResourceClaim "half" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "half"'
    And a ResourceClaim "whole" for 1 of "accelerator" selecting 'device.attributes["$(sim)"].profile == "whole"'
    And a pod "small" using claim "half"
    Then claim "half" is allocated the devices "half-0"
    When a pod "large" using claim "whole" is created
    Then claim "whole" stays unallocated

  # 6. Initialisation. A pod whose Allocate fails is lost, and a controller has to create another one.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-053
  Scenario: With a device plugin, a pod whose device cannot be initialised has failed
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And the scripted device plugin "gpu" fails the next Allocate
    When pod "train" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "train" is not admitted
    And the Pod "train" keeps "status.phase" Failed

  @profile:kubelet @component:kubelet @needs:run-kubelet @DRA-265 @needs:virtual-clock
  Scenario: With DRA, a pod whose device cannot be initialised waits until it can
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And the scripted driver "sim" fails every claim
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" receives another Prepare call for "a"
    And pod "train" does not run
    When the scripted driver "sim" works
    And 30 seconds pass
    Then pod "train" reaches phase Running

  # 7. Clean-up. The device plugin API has no call for the end of a pod.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-050
  Scenario: With a device plugin, a device goes from one pod to the next without a call in between
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    When pod "first" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    When pod "first" is deleted
    Then the Pod "first" is gone
    When pod "second" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    And pod "second" on "n1" has the devices "gpu-0" of "gpu"
    And the scripted device plugin "gpu" has received 2 Allocate calls

  @profile:kubelet @component:kubelet @needs:run-kubelet @DRA-275
  Scenario: With DRA, the driver is called to clean up before a pod has gone
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When pod "train" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a"
    And the Pod "train" is gone

  # 8. Health. A device that fails is not given to further pods; the pod that has it runs on.
  @profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-kubelet @DP-025
  Scenario: With a device plugin, a pod runs on when its device fails
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    When pod "train" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    When the scripted device plugin "gpu" lists "gpu-0 Unhealthy"
    Then node "n1" has 1 of "example.com/gpu", 0 allocatable
    And the Pod "train" keeps "status.phase" Running

  @profile:device-taints @component:taint-eviction @DRA-214
  Scenario: With DRA, a taint evicts the pod from a device that has failed
    Given node "n1" with 2 devices
    And pod "on-bad" runs on device "dev-0" of "n1"
    And pod "on-good" runs on device "dev-1" of "n1"
    When device "dev-0" of "n1" is tainted "health=bad:NoExecute"
    Then pod "on-bad" is being deleted or gone
    And the Pod "on-good" still exists
