@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: Admin access to GPUs is for monitoring and changes nothing on the node
  A claim with admin access gets a device that other claims use. If it could configure the device, or take a part of it,
  it would change the device under their containers.

  @NV-307
  Scenario: A claim with admin access and configuration for it is refused
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "all" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: train, adminAccess: true}]
      config: [{parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}}]
      """
    And a ResourceClaim "named" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: train, adminAccess: true}]
      config: [{requests: [gpu], parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}}]
      """
    And a ResourceClaim "class" allocated on "n1" with:
      """
      results: [{request: other, device: free}, {request: gpu, deviceOf: train, adminAccess: true}]
      config:
        - source: FromClass
          requests: [other, gpu]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
      """
    And a ResourceClaim "foreign" allocated on "n1" with:
      """
      results: [{request: gpu, deviceOf: train, adminAccess: true}]
      config: [{requests: [gpu], driver: other.dra.test, parameters: {kind: Other}}]
      """
    When claims "train, all, named, class, foreign" are prepared on "n1" in one call
    Then claim "train" is prepared
    And claim "all" is refused on its own
    And claim "named" is refused on its own
    And claim "class" is refused on its own
    And claim "foreign" is prepared

  @NV-309 @needs:fake-nvml @needs:driver-flags
  Scenario: Configuration for the ordinary request of a claim does not reach its device with admin access
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" running the driver with "--feature-gates=TimeSlicingSettings=true"
    And a ResourceClaim "one" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "two" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "both" allocated on "n1" with:
      """
      results: [{request: watch, deviceOf: two, adminAccess: true}, {request: train, deviceOf: one}]
      config:
        - requests: [train]
          parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig,
            sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}}
      """
    When claim "both" is prepared on "n1"
    Then claim "both" is prepared
    And nvidia-smi on "n1" was run for the GPU of claim "one" with "-c DEFAULT, --set-timeslice 1"
    And nvidia-smi on "n1" left the time slice of the GPU of claim "two" at its default

  @NV-306 @needs:fake-nvml @needs:driver-flags
  Scenario: Admin access to a MIG device or to a device for pass-through is refused
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And node "n1" running the driver
    And a ResourceClaim "train" allocated the devices "gpu-0-mig-3g40gb-9-0" on "n1"
    And a ResourceClaim "both" allocated on "n1" with:
      """
      results:
        - {request: gpu, device: gpu-1, adminAccess: true}
        - {request: mig, device: gpu-0-mig-3g40gb-9-0, adminAccess: true}
      """
    And a ResourceClaim "monitor" allocated on "n1" with:
      """
      results: [{request: gpu, device: gpu-1, adminAccess: true}]
      """
    When claims "train, both, monitor" are prepared on "n1" in one call
    Then claim "train" is prepared
    And claim "both" is refused on its own
    And claim "monitor" is prepared
    Given node "n2" has an IOMMU with the VFIO interface
    And node "n2" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    And a ResourceClaim "vm" allocated on "n2" with:
      """
      results: [{request: vm, device: gpu-vfio-0, adminAccess: true}]
      """
    When claim "vm" is prepared on "n2"
    Then claim "vm" is refused on its own
    And GPU 0 of "n2" is bound to nvidia
