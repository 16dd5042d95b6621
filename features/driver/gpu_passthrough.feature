@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @needs:fake-nvml
Feature: The driver gpu.nvidia.com passes GPUs through to virtual machines
  A virtual machine needs the PCI device itself, so its GPU is bound to vfio-pci instead of nvidia until the claim
  ends. A GPU and its device for pass-through are the same hardware under two names. In these scenarios /sys is a tree
  of plain files with a simulated kernel.

  @NV-175 @NV-175b @NV-175c
  Scenario: Each GPU is also published as a device for pass-through
    Given node "n1" has PCI devices that are no NVIDIA GPUs
    And node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    Then the gpu and vfio devices on "n1" have the same "attributes['resource.kubernetes.io/pciBusID'].string" [NV-175]
    And every vfio device on "n1" has: [NV-175]
      | field                                                | value              |
      | name                                                 | like 'gpu-vfio-.*' |
      | attributes.uuid.string                               | set                |
      | attributes.vendorID.string                           | '0x10de'           |
      | attributes.deviceID.string                           | '0x2330'           |
      | attributes.productName.string                        | set                |
      | attributes.iommuFDEnabled.bool                       | false              |
      | attributes["resource.kubernetes.io/pciBusID"].string | set                |
      | capacity.addressableMemory.value                     | 256Gi              |
    And the gpu and vfio devices on "n1" have the same "attributes['resource.kubernetes.io/pcieRoot'].string" [NV-175]
    And the vfio devices on "n1" are in the order of their PCI addresses, each with a uuid of its own [NV-175]
    Given the GPUs of "n3" are those of "dgx-h100-mig"
    And node "n3" has an IOMMU with the IOMMUFD interface
    And node "n3" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    Then every vfio device on "n3" has: [NV-175]
      | field                          | value |
      | attributes.iommuFDEnabled.bool | true  |
    Given node "n2" has an IOMMU with the VFIO interface
    And node "n2" running the driver with "--feature-gates=NVMLDeviceHealthCheck=false"
    Then every published device on "n2" has: [NV-175b]
      | field                  | value |
      | attributes.type.string | gpu   |
    And the driver on "n3" comes to publish "gpu-vfio-1, gpu-vfio-7" and not "gpu-vfio-0" [NV-175c]

  @NV-175
  Scenario Outline: BARs of <size> are published as <memory> of addressable memory
    Given the GPUs of "n1" are those of "h100"
    And node "n1" has an IOMMU with the VFIO interface
    And GPU 0 of "n1" has resource <size>
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    Then every vfio device on "n1" has:
      | field                            | value    |
      | capacity.addressableMemory.value | <memory> |

    Examples:
      | size | memory |
      | 64Gi | 64Gi   |
      | 65Gi | 128Gi  |

  @NV-183
  Scenario: The driver does not start with pass-through on a node without an IOMMU
    Given node "n1" with a kubelet
    Then the driver on "n1" does not start with:
      | flags                                                               | error                |
      | --feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false | IOMMU                |
    Given node "n2" has an empty list of IOMMU groups
    And node "n2" with a kubelet
    Then the driver on "n2" does not start with:
      | flags                                                               | error                |
      | --feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false | IOMMU                |

  @NV-176 @NV-177 @NV-178
  Scenario: A GPU is bound to vfio-pci by Prepare and to nvidia by Unprepare
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-1" on "n1"
    And a ResourceClaim "pair" allocated the devices "gpu-vfio-3, gpu-vfio-5" on "n1"
    When claims "vm, pair" are prepared on "n1" in one call
    Then claim "vm" is prepared [NV-176]
    And claim "pair" is prepared [NV-176]
    And GPU 1 of "n1" is bound to vfio-pci [NV-176]
    And GPU 3 of "n1" is bound to vfio-pci [NV-176]
    And GPU 5 of "n1" is bound to vfio-pci [NV-176]
    And GPU 0 of "n1" is bound to nvidia [NV-176]
    And of the device nodes "*", claim "vm" adds only "/dev/vfio/1" on "n1" [NV-176]
    And of the device nodes "*", claim "pair" adds only "/dev/vfio/3, /dev/vfio/5" on "n1" [NV-176]
    And of the mounts "*", claim "vm" adds only "" on "n1" [NV-176]
    And the driver on "n1" comes to publish "gpu-vfio-1, gpu-0, gpu-vfio-0" and not "gpu-1" [NV-178]
    When claim "vm" is unprepared on "n1"
    Then claim "vm" is unprepared [NV-177]
    And GPU 1 of "n1" is bound to nvidia [NV-177]
    And GPU 3 of "n1" is bound to vfio-pci [NV-177]
    And GPU 5 of "n1" is bound to vfio-pci [NV-177]
    And the driver on "n1" comes to publish "gpu-vfio-1, gpu-1" and not "gpu-3, gpu-5" [NV-178]
    When claim "pair" is unprepared on "n1"
    Then GPU 3 of "n1" is bound to nvidia [NV-177]
    And GPU 5 of "n1" is bound to nvidia [NV-177]

  @NV-176c
  Scenario: A claim for a GPU and a device for pass-through gets the device files of both
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    # Names of CDI devices that begin with a digit need a newer version of CDI; a claim's uid may be part of the name.
    And a ResourceClaim "mixed" with a letter first in its uid allocated the devices "gpu-4, gpu-vfio-6" on "n1"
    When claim "mixed" is prepared on "n1"
    Then claim "mixed" is prepared
    And of the device nodes "/dev/vfio/*", claim "mixed" adds only "/dev/vfio/6" on "n1"
    And of the device nodes "/dev/nvidia*", claim "mixed" adds only "/dev/nvidia4, /dev/nvidiactl, /dev/nvidia-modeset, /dev/nvidia-uvm, /dev/nvidia-uvm-tools" on "n1"
    And GPU 4 of "n1" is bound to nvidia
    And GPU 6 of "n1" is bound to vfio-pci

  @NV-177b
  Scenario: GPUs that were passed through are in persistence mode again after Unprepare
    Given the GPUs of "n1" are those of "h100-16"
    And node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-1, gpu-vfio-3" on "n1"
    # Its address is that of GPU 1 in another PCI domain.
    And a ResourceClaim "late" allocated the devices "gpu-vfio-9" on "n1"
    When claims "vm, late" are prepared on "n1" in one call
    Then GPU 1 of "n1" is bound to vfio-pci
    And GPU 3 of "n1" is bound to vfio-pci
    And GPU 9 of "n1" is bound to vfio-pci
    When claim "vm" is unprepared on "n1"
    Then GPU 1 of "n1" is bound to nvidia
    And GPU 3 of "n1" is bound to nvidia
    When claim "late" is unprepared on "n1"
    Then GPU 9 of "n1" is bound to nvidia
    And GPU 1 of "n1" is in persistence mode
    And GPU 3 of "n1" is in persistence mode
    And GPU 9 of "n1" is in persistence mode

  @NV-420
  Scenario: A GPU that was not in persistence mode is not in it after Unprepare
    Given node "n1" has an IOMMU with the VFIO interface
    And GPU 1 of "n1" has persistence_mode 0
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0, gpu-vfio-1" on "n1"
    When claim "vm" is prepared on "n1"
    Then claim "vm" is prepared
    When claim "vm" is unprepared on "n1"
    Then GPU 1 of "n1" is bound to nvidia
    And GPU 1 of "n1" is not in persistence mode
    And GPU 0 of "n1" is in persistence mode

  @NV-407
  Scenario: A GPU that NVML lists late is published again
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0, gpu-vfio-1" on "n1"
    And claim "vm" is prepared on "n1"
    # As after it was bound to nvidia; Unprepare may fail until NVML lists the GPU.
    When node "n1" gets the fault "NVML does not show GPU 1"
    And claim "vm" is unprepared on "n1"
    And node "n1" recovers from "NVML does not show GPU 1"
    And claim "vm" is unprepared on "n1"
    Then claim "vm" is unprepared
    And GPU 0 of "n1" is bound to nvidia
    And GPU 1 of "n1" is bound to nvidia
    And the driver on "n1" comes to publish "gpu-0, gpu-1, gpu-vfio-0, gpu-vfio-1" and not ""

  @NV-178b @NV-179
  Scenario: A GPU and its device for pass-through are not prepared at the same time
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "train" allocated the devices "gpu-0" on "n1"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0" on "n1"
    And a ResourceClaim "other" allocated the devices "gpu-vfio-1" on "n1"
    And a ResourceClaim "late" allocated the devices "gpu-1" on "n1"
    When claims "train, vm, other, late" are prepared on "n1" in one call
    Then claim "train" is prepared [NV-179]
    And claim "vm" is refused, naming "gpu-vfio-0" [NV-179]
    And claim "other" is prepared [NV-179]
    And claim "late" is refused, naming "gpu-1" [NV-179]
    And GPU 0 of "n1" is bound to nvidia [NV-179]
    And the driver on "n1" comes to publish "gpu-0, gpu-vfio-1" and not "gpu-vfio-0, gpu-1" [NV-178b]

  @NV-180 @NV-180b
  Scenario: The container gets the IOMMU interface that its configuration selects
    Given node "n1" has an IOMMU with the IOMMUFD interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "legacy" allocated on "n1" with:
      """
      results: [{request: vm, device: gpu-vfio-0}]
      config:
        - requests: [vm]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig, iommu: {enableAPIDevice: true}}
      """
    And a ResourceClaim "modern" allocated on "n1" with:
      """
      results: [{request: vm, device: gpu-vfio-1}]
      config:
        - requests: [vm]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: VfioDeviceConfig
            iommu: {backendPolicy: PreferIommuFD, enableAPIDevice: true}
      """
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: vm, device: gpu-vfio-2}, {request: vm, device: gpu-vfio-4}]
      config:
        - requests: [vm]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig, iommu: {backendPolicy: PreferIommuFD}}
      """
    And a ResourceClaim "plain" allocated the devices "gpu-vfio-3, gpu-vfio-5" on "n1"
    When claims "legacy, modern, two, plain" are prepared on "n1" in one call
    Then claim "legacy" is prepared [NV-180]
    And claim "modern" is prepared [NV-180b]
    And of the device nodes "*", claim "legacy" adds only "/dev/vfio/0, /dev/vfio/vfio" on "n1" [NV-180]
    And of the device nodes "*", claim "plain" adds only "/dev/vfio/3, /dev/vfio/5" on "n1" [NV-180]
    And of the device nodes "*", claim "modern" adds only "/dev/vfio/devices/vfio1, /dev/iommu" on "n1" [NV-180b]
    And of the device nodes "*", claim "two" adds only "/dev/vfio/devices/vfio2, /dev/vfio/devices/vfio4" on "n1" [NV-180b]
    Given node "n2" has an IOMMU with the VFIO interface
    And node "n2" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "without" allocated on "n2" with:
      """
      results: [{request: vm, device: gpu-vfio-1}]
      config:
        - requests: [vm]
          parameters:
            apiVersion: resource.nvidia.com/v1beta1
            kind: VfioDeviceConfig
            iommu: {backendPolicy: PreferIommuFD, enableAPIDevice: true}
      """
    When claim "without" is prepared on "n2"
    Then claim "without" is prepared [NV-180b]
    And of the device nodes "*", claim "without" adds only "/dev/vfio/1, /dev/vfio/vfio" on "n2" [NV-180b]

  @NV-180c
  Scenario: Invalid configuration of pass-through is refused
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "field" allocated on "n1" with:
      """
      results: [{request: vm, device: gpu-vfio-0}]
      config:
        - requests: [vm]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig, iommu: {enableApiDevice: true}}
      """
    And a ResourceClaim "policy" allocated on "n1" with:
      """
      results: [{request: vm, device: gpu-vfio-1}]
      config:
        - requests: [vm]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig, iommu: {backendPolicy: Newest}}
      """
    And a ResourceClaim "kind" allocated on "n1" with:
      """
      results: [{request: vm, device: gpu-vfio-2}]
      config:
        - requests: [vm]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
      """
    When claims "field, policy, kind" are prepared on "n1" in one call
    Then claim "field" is refused, naming "enableApiDevice"
    And claim "policy" is refused, naming "LegacyOnly, PreferIommuFD"
    And claim "kind" is refused, naming "GpuConfig"

  @NV-180d
  Scenario: Different configurations of pass-through in one claim are refused
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "two" allocated on "n1" with:
      """
      results: [{request: vm-0, device: gpu-vfio-3}, {request: vm-1, device: gpu-vfio-4}]
      config:
        - requests: [vm-0]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig}
        - requests: [vm-1]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: VfioDeviceConfig, iommu: {enableAPIDevice: true}}
      """
    When claim "two" is prepared on "n1"
    Then claim "two" is refused on its own

  @NV-181
  Scenario: A GPU that vfio-pci rejects stays bound to nvidia
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0, gpu-vfio-1" on "n1"
    And a ResourceClaim "train" allocated the devices "gpu-0" on "n1"
    When node "n1" gets the fault "vfio-pci rejects GPU 1"
    And claim "vm" is prepared on "n1"
    Then claim "vm" is refused on its own
    And GPU 0 of "n1" is bound to nvidia
    And GPU 1 of "n1" is bound to nvidia
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    When claim "train" is unprepared on "n1"
    And node "n1" recovers from "vfio-pci rejects GPU 1"
    And claim "vm" is prepared on "n1"
    Then claim "vm" is prepared
    And GPU 1 of "n1" is bound to vfio-pci

  @NV-408
  Scenario: A claim of which one GPU could not be bound can be unprepared
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0, gpu-vfio-1" on "n1"
    And a ResourceClaim "train" allocated the devices "gpu-0" on "n1"
    When node "n1" gets the fault "vfio-pci rejects GPU 1"
    And claim "vm" is prepared on "n1"
    Then claim "vm" is refused on its own
    When claim "vm" is unprepared on "n1"
    Then claim "vm" is unprepared
    And GPU 0 of "n1" is bound to nvidia
    And GPU 1 of "n1" is bound to nvidia
    And the driver on "n1" comes to publish "gpu-0, gpu-1, gpu-vfio-0, gpu-vfio-1" and not ""
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-408 @needs:process-driver
  Scenario: The GPUs of a deleted claim of which one could not be bound are given back at start
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0, gpu-vfio-1" on "n1"
    When node "n1" gets the fault "vfio-pci rejects GPU 1"
    And claim "vm" is prepared on "n1"
    Then claim "vm" is refused on its own
    When the claim "vm" is deleted although it is in use
    And the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    And the driver on "n1" comes to have no record of claim "vm"
    And GPU 0 of "n1" is bound to nvidia
    And the driver on "n1" comes to publish "gpu-0, gpu-1, gpu-vfio-0, gpu-vfio-1" and not ""

  @NV-181b @needs:process-driver
  Scenario: The GPU of an unfinished claim is bound to nvidia at the next start
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0" on "n1"
    And a ResourceClaim "other" allocated the devices "gpu-vfio-1" on "n1"
    And claim "other" is prepared on "n1"
    When the driver on "n1" is stopped
    And the driver on "n1" is started again as a process
    Then the driver on "n1" comes to be registered
    When node "n1" gets the fault "vfio-pci hangs"
    And the driver on "n1" is killed while GPU 0 has no driver for claim "vm"
    And node "n1" recovers from "vfio-pci hangs"
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And GPU 0 of "n1" is bound to nvidia
    And GPU 1 of "n1" is bound to vfio-pci
    When claim "vm" is prepared on "n1"
    Then claim "vm" is prepared
    And GPU 0 of "n1" is bound to vfio-pci

  @NV-182
  Scenario: A GPU that is in use otherwise is not passed through
    Given node "n1" has an IOMMU with the VFIO interface
    And GPU 0 of "n1" has sriov_numvfs 1
    And GPU 1 of "n1" has driver nouveau
    And GPU 2 of "n1" has process 4711
    And GPU 3 of "n1" has driver vfio-pci
    # A GPU without virtual functions has no such file.
    And GPU 4 of "n1" has sriov_numvfs none
    And GPU 6 of "n1" has sriov_numvfs 2
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "virtual" allocated the devices "gpu-vfio-0" on "n1"
    And a ResourceClaim "foreign" allocated the devices "gpu-vfio-1" on "n1"
    And a ResourceClaim "busy" allocated the devices "gpu-vfio-2" on "n1"
    And a ResourceClaim "free" allocated the devices "gpu-vfio-3, gpu-vfio-4" on "n1"
    And a ResourceClaim "pair" allocated the devices "gpu-vfio-5, gpu-vfio-6" on "n1"
    When claims "virtual, foreign, free, pair" are prepared on "n1" in one call
    Then claim "virtual" is refused on its own
    And claim "pair" is refused on its own
    And GPU 6 of "n1" is bound to nvidia
    And claim "foreign" is refused, naming "nouveau"
    And claim "free" is prepared
    And GPU 3 of "n1" is bound to vfio-pci
    And GPU 4 of "n1" is bound to vfio-pci
    # A call for this claim only, because a driver may wait for the process to end.
    When claim "busy" is prepared on "n1"
    Then claim "busy" is refused, naming "4711"
    And GPU 2 of "n1" is bound to nvidia

  @NV-184
  Scenario: A restarted driver keeps GPUs passed through
    Given node "n1" has an IOMMU with the VFIO interface
    And node "n1" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-0" on "n1"
    And claim "vm" is prepared on "n1"
    When the driver on "n1" is stopped
    And the CDI files of "n1" are lost
    # NVML shows the GPUs of the driver nvidia only.
    And node "n1" gets the fault "NVML does not show GPU 0"
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    And the driver on "n1" comes to publish "gpu-vfio-0, gpu-1" and not "gpu-0"
    And GPU 0 of "n1" is bound to vfio-pci
    When claim "vm" is prepared on "n1"
    Then all responses for claim "vm" are the same
    And of the device nodes "*", claim "vm" adds only "/dev/vfio/0" on "n1"
    When node "n1" recovers from "NVML does not show GPU 0"
    And claim "vm" is unprepared on "n1"
    Then GPU 0 of "n1" is bound to nvidia
    And the driver on "n1" comes to publish "gpu-0, gpu-vfio-0" and not ""
