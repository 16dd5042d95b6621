@profile:driver-mig @component:driver @needs:gpu-driver @needs:driver-flags @gate:DRAPartitionableDevices
@needs:fake-nvml
Feature: Possible MIG devices are published before they exist
  With the gate DynamicMIG the driver creates MIG devices when they are needed. Every possible placement is in the
  slice, with the counters that it would consume of its GPU, so that a scheduler allocates only devices that fit
  together.

  @NV-034 @NV-035 @NV-036 @NV-037 @NV-038 @NV-032
  Scenario Outline: The placements of an <gpu> are those of NVIDIA's table
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "<inventory>"
    Then GPU 0 on "n1" is published whole and as the placements "<table>" [NV-032]
    And these published values agree for every MIG device on "n1" [NV-034]
      | value                  | expected               |
      | uuid                   | none                   |
      | memorySlice capacities | none                   |
      | counter sets           | counter set of its GPU |
    And these published values agree for every counter set on "n1" [NV-037]
      | value                             | expected                                |
      | counters other than memory slices | capacities of MIG devices in kebab-case |
      | memory slices                     | memory slices from 0 without a gap      |
    And these published values agree for every device on "n1" [NV-037]
      | value                       | expected |
      | counters that its set lacks | none     |
    And these published values agree for every MIG device on "n1" [NV-035]
      | value                 | expected                       |
      | memory-slice counters | memory slices of its placement |
      | other counters        | capacities in kebab-case       |
      | engines               | engines of its profile in NVML |
      | memory                | memory of its profile in NVML  |
    And these published values agree for every whole GPU on "n1" [NV-036]
      | value             | expected                           |
      | consumed counters | all counters of its set            |
      | engines           | most engines of a profile in NVML  |
      | memory            | most memory of a profile in NVML   |
    And the slices of the driver on "n1" come to be [NV-038]
      | slices   | counter sets | devices |
      | 1        | all GPUs     | 0       |
      | each GPU | 0            | some    |

    Examples:
      | gpu  | inventory | table                                                                                                             |
      | H100 | dgx-h100  | 1g10gb-19: 0-6; 1g10gb-me-20: 0-6; 1g20gb-15: 0,2,4,6; 2g20gb-14: 0,2,4; 3g40gb-9: 0,4; 4g40gb-5: 0; 7g80gb-0: 0  |
      | H200 | h200      | 1g18gb-19: 0-6; 1g18gb-me-20: 0-6; 1g35gb-15: 0,2,4,6; 2g35gb-14: 0,2,4; 3g71gb-9: 0,4; 4g71gb-5: 0; 7g141gb-0: 0 |

  @NV-032 @NV-034 @NV-036 @NV-037
  Scenario: Counter sets are named by the minor numbers of GPUs
    Given the GPUs of "n1" are those of this suite's inventory "other-minors"
    And node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false"
    Then GPU 0 on "n1" is published whole and as the placements "1g10gb-19: 0-6; 1g10gb-me-20: 0-6; 1g20gb-15: 0,2,4,6; 2g20gb-14: 0,2,4; 3g40gb-9: 0,4; 4g40gb-5: 0; 7g80gb-0: 0" [NV-032]
    And these published values agree for every MIG device on "n1" [NV-034]
      | value        | expected               |
      | counter sets | counter set of its GPU |
    And these published values agree for every whole GPU on "n1" [NV-036]
      | value             | expected                |
      | consumed counters | all counters of its set |
    And these published values agree for every device on "n1" [NV-037]
      | value                       | expected |
      | counters that its set lacks | none     |

  @DRA-293
  Scenario: Every counter that a MIG device consumes is declared once in its pool
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "dgx-h100"
    Then every pool of the driver on "n1" comes to be complete
    And no two devices of one pool of the driver on "n1" share a name

  @NV-039
  Scenario: Before Kubernetes 1.35 counters are in the slice of their devices
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "dgx-h100"
    Then the slices of the driver on "n1" come to be
      | slices   | counter sets | devices |
      | each GPU | 1            | some    |

  @NV-040 @NV-040b @NV-037
  Scenario: A GPU before Hopper is published whole if its MIG mode is off, and as MIG devices if it is on
    Given the GPUs of "n1" are those of "mixed"
    And MIG is on for GPU 2 of "n1", without instances
    And GPU 0 of "n1" has virtualization_mode 2
    # A driver can list profiles with either of these two functions.
    And node "n1" has the fault "nvmlDeviceGetGpuInstanceProfileInfo of GPU 1 answers NOT_SUPPORTED"
    And node "n1" has the fault "nvmlDeviceGetGpuInstanceProfileInfoV of GPU 1 answers NOT_SUPPORTED"
    And node "n1" with a kubelet
    When the driver on "n1" is started with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false"
    Then the driver on "n1" comes to be registered [NV-040b]
    And the driver on "n1" comes to publish "gpu-2-mig-1g10gb-19-0, gpu-2-mig-7g80gb-0-0" and not "gpu-2" [NV-040]
    And the driver on "n1" comes to publish "gpu-0, gpu-1, gpu-3, gpu-4" and not "gpu-2" [NV-040b]
    And GPU 2 on "n1" is published as MIG devices with their counters, and not whole [NV-040]
    And every GPU of "n1" but GPU 2 is published whole [NV-040b]
    And these published values agree for every MIG device on "n1" [NV-037]
      | value                  | expected                       |
      | counter sets           | counter set of its GPU         |
      | engines                | engines of its profile in NVML |
      | memory                 | memory of its profile in NVML  |
    # A GPU that a hypervisor shares, one without MIG profiles, and two boards that have no MIG.
    And GPU 0 on "n1" is published with: [NV-040b]
      | field            | value |
      | consumesCounters | null  |
    And GPU 1 on "n1" is published with: [NV-040b]
      | field            | value |
      | consumesCounters | null  |
    And GPU 3 on "n1" is published with: [NV-040b]
      | field            | value |
      | consumesCounters | null  |
    And GPU 4 on "n1" is published with: [NV-040b]
      | field            | value |
      | consumesCounters | null  |
