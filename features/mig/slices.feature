@profile:driver-mig @component:driver @needs:gpu-driver @needs:fake-nvml
Feature: Existing MIG devices are published
  An administrator partitioned GPU 0 of this node into three MIG devices. The driver publishes them instead of the GPU,
  with the attributes and capacities by which a scheduler selects one.

  Background:
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"

  @NV-029
  Scenario: MIG devices are published instead of their GPU
    Then the devices of GPU 0 on "n1" are "1g.10gb, 2g.20gb, 3g.40gb"
    And every GPU of "n1" but GPU 0 is published whole

  @NV-029
  Scenario Outline: MIG devices are published whichever of them was destroyed before: <destroyed>
    Given the GPUs of "n2" are those of "dgx-h100-mig"
    # The others keep their indices in NVML, so that there is a gap.
    And the MIG device "<destroyed>" is destroyed by hand on GPU 0 of "n2"
    And node "n2" running the driver
    Then the devices of GPU 0 on "n2" are "<left>"
    And every GPU of "n2" but GPU 0 is published whole

    Examples:
      | destroyed | left             |
      | 9-0       | 1g.10gb, 2g.20gb |
      | 14-4      | 1g.10gb, 3g.40gb |

  @NV-031
  Scenario: A MIG device has a capacity for each of its memory slices
    Then the MIG devices on "n1" have these values
      | profile | memory slices |
      | 3g.40gb | 0, 1, 2, 3    |
      | 2g.20gb | 4, 5          |
      | 1g.10gb | 6             |

  @NV-032 @NV-033
  Scenario: A MIG device has the parent, the profile and the memory that NVML reports
    Then these published values agree for every MIG device on "n1" [NV-032]
      | value      | expected                |
      | parentUUID | UUID of its GPU in NVML |
      | profile    | profile in NVML's name  |
    And these published values agree for every MIG device on "n1" [NV-033]
      | value   | expected                         |
      | memory  | memorySizeMB of NVML in bytes    |
      | engines | engines of its profile in NVML   |

  @NV-041
  Scenario: A MIG device's name has its GPU, profile and placement
    Then the MIG devices on "n1" have these values
      | profile | name                  |
      | 3g.40gb | gpu-0-mig-3g40gb-9-0  |
      | 2g.20gb | gpu-0-mig-2g20gb-14-4 |
      | 1g.10gb | gpu-0-mig-1g10gb-19-6 |
