@profile:driver-mig @component:driver @needs:gpu-driver @needs:fake-nvml
Feature: A GPU in MIG mode that nobody has cut yet
  With MIG on, CUDA cannot use the GPU as a whole; with no instance there is nothing else of it.

  @NV-030
  Scenario: Nothing is published of a GPU in MIG mode without instances
    Given the GPUs of "n1" are those of "dgx-h100"
    And MIG is on without any instance on GPU 3 of "n1"
    And node "n1" running the driver
    Then the driver publishes nothing of GPU 3 on "n1"
    And every other GPU of "n1" than GPU 3 is published whole
