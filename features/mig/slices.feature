@profile:driver-mig @component:driver @needs:gpu-driver @needs:fake-nvml
Feature: MIG devices are published as they were made
  An administrator cut GPU 0 of this node into three MIG devices. The driver publishes these in the GPU's place, with
  what a scheduler must know to choose one.

  Background:
    Given node "n1" running the driver on the GPUs of "dgx-h100-mig"

  @NV-029
  Scenario: MIG devices stand in for their GPU
    Then the driver publishes the MIG profiles "1g.10gb, 2g.20gb, 3g.40gb" of GPU 0 on "n1" and not the GPU itself
    And every other GPU of "n1" than GPU 0 is published whole

  @NV-031
  Scenario Outline: A MIG device says which memory slices it takes: <profile>
    Then the MIG device with profile "<profile>" on "n1" takes the memory slices "<slices>" and no other

    Examples:
      | profile | slices     |
      | 3g.40gb | 0, 1, 2, 3 |
      | 2g.20gb | 4, 5       |
      | 1g.10gb | 6          |

  @NV-032 @NV-033
  Scenario Outline: A MIG device names its GPU and its memory: <profile>
    Then the MIG device with profile "<profile>" on "n1" names GPU 0 as its parent [NV-032]
    And the MIG device with profile "<profile>" on "n1" is as large as NVML says [NV-033]

    Examples:
      | profile |
      | 3g.40gb |
      | 1g.10gb |

  @NV-032
  Scenario: A MIG device has NVML's name of its profile
    Then every MIG device on "n1" has the profile that NVML names it by

  @NV-041
  Scenario Outline: A MIG device is called after its GPU, profile and place: <profile>
    Then the MIG device with profile "<profile>" on "n1" is called "<name>"

    Examples:
      | profile | name                   |
      | 3g.40gb | gpu-0-mig-3g40gb-9-0   |
      | 2g.20gb | gpu-0-mig-2g20gb-14-4  |
      | 1g.10gb | gpu-0-mig-1g10gb-19-6  |
