@profile:driver-mig @component:driver @needs:gpu-driver @needs:fake-nvml
Feature: A GPU in MIG mode without instances
  With MIG on, CUDA cannot use the GPU as a whole; without instances there is no MIG device either.

  @NV-030
  Scenario: A GPU in MIG mode without instances is not published
    Given the GPUs of "n1" are those of "dgx-h100"
    And MIG is on for GPU 3 of "n1", without instances
    And node "n1" running the driver
    Then the devices of GPU 3 on "n1" are "none"
    And every GPU of "n1" but GPU 3 is published whole
