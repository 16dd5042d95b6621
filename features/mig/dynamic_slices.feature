@profile:driver-mig @component:driver @needs:gpu-driver @needs:driver-flags @gate:DRAPartitionableDevices @needs:fake-nvml
Feature: What a GPU can be cut into is published before it is cut
  With the gate DynamicMIG the driver makes MIG devices when they are needed. Every place that one could have is in the
  slice, with the counters that it would take of its GPU; so a scheduler gives out only what fits together.

  @NV-034 @NV-035 @NV-036 @NV-037 @NV-038 @NV-032
  Scenario Outline: The places of an <gpu> are published as NVIDIA's table has them
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "<inventory>"
    Then GPU 0 on "n1" is published whole and cut as "<table>" [NV-032]
    And every MIG device on "n1" is a place without uuid that takes counters of its own GPU [NV-034]
    And the counters on "n1" are named after the capacities, and none is taken that is not there [NV-037]
    And every MIG device on "n1" takes its own memory slices and no other [NV-035]
    And every whole GPU on "n1" takes all that its counters have [NV-036]
    And the slices of the driver on "n1" are one of counters and one for each GPU [NV-038]

    Examples:
      | gpu  | inventory | table                                                                                                                  |
      | H100 | dgx-h100  | 1g10gb-19: 0-6; 1g10gb-me-20: 0-6; 1g20gb-15: 0,2,4,6; 2g20gb-14: 0,2,4; 3g40gb-9: 0,4; 4g40gb-5: 0; 7g80gb-0: 0        |
      | H200 | h200      | 1g18gb-19: 0-6; 1g18gb-me-20: 0-6; 1g35gb-15: 0,2,4,6; 2g35gb-14: 0,2,4; 3g71gb-9: 0,4; 4g71gb-5: 0; 7g141gb-0: 0       |

  @NV-039
  Scenario: Before Kubernetes 1.35 counters lie in the slice of their devices
    Given node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false" on the GPUs of "dgx-h100"
    Then the slices of the driver on "n1" are one for each GPU with its counters and devices

  @NV-040
  Scenario: A GPU that changes MIG mode only by a reset is not offered whole while MIG is on
    Given the GPUs of "n1" are those of "dgx-a100-40gb"
    And MIG was turned on for GPU 3 of "n1" and the GPU reset
    And node "n1" running the driver with "--feature-gates=DynamicMIG=true,NVMLDeviceHealthCheck=false"
    Then GPU 3 on "n1" is published as MIG devices with their counters, and not whole
    And every other GPU of "n1" than GPU 3 is published whole
