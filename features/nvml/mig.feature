@profile:nvml @component:nvml
Feature: NVML's MIG
  A GPU is cut into instances by memory slices. A driver that makes and destroys instances stands on these rules; a
  fake that breaks one teaches it the wrong thing. What is made on a real GPU is taken back at the end.

  @NVML-031 @needs:fake-nvml
  Scenario: A board without MIG says so in every call
    Given NVML on the GPUs of "t4"
    Then no MIG call is supported on GPU 0

  @NVML-032 @needs:fake-nvml
  Scenario: Ampere switches with a reset
    Given NVML on the GPUs of "dgx-a100-40gb"
    Then switching MIG on is only pending until GPU 0 is reset

  @NVML-032 @disruptive
  Scenario: Hopper switches at once
    Given NVML
    And MIG is on for GPU 0, without instances
    Then MIG is on at once, current and pending

  @NVML-033 @disruptive
  Scenario: A mode in use stays
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 19 is made
    Then MIG cannot be switched off while the instance is there

  @NVML-034
  Scenario: A profile's number is not its id
    Given NVML
    Then a profile that is asked by its number has the id by which instances are made

  @NVML-035
  Scenario: Numbers without a profile are of two kinds
    Given NVML
    Then a profile number beyond the last is INVALID_ARGUMENT, one that the board lacks NOT_SUPPORTED

  @NVML-036
  Scenario: A profile is the same in every version
    Given NVML
    Then both versions of every profile tell the same

  @NVML-037
  Scenario: Placements can be counted before they are listed
    Given NVML
    Then placements are counted with NULL, listed in ascending order, and told with MIG off too

  @NVML-038 @disruptive
  Scenario: Instances never overlap
    Given NVML
    And MIG is on for GPU 0, without instances
    Then no two GPU instances overlap, whatever is made and destroyed

  @NVML-039 @disruptive
  Scenario: A taken place is a lack of resources
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is made at 4
    Then another one at 4 fails with INSUFFICIENT_RESOURCES

  @NVML-040 @disruptive
  Scenario: The remaining capacity can be made
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is made
    Then as many more GPU instances of profile 19 can be made as the remaining capacity says

  @NVML-041 @disruptive
  Scenario: Media extensions go to one instance
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 20 is made
    Then a second GPU instance of profile 20 is refused

  @NVML-042 @disruptive
  Scenario: A compute instance makes the device
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 19 is made
    Then GPU 0 has 0 MIG devices
    When a compute instance over all of it is made
    Then GPU 0 has 1 MIG devices

  @NVML-043 @disruptive
  Scenario: A compute instance knows its device
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 14 is made
    And a compute instance over all of it is made
    Then the compute instance names its MIG device

  @NVML-044 @disruptive
  Scenario: Instances go in order
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 14 is made
    And a compute instance over all of it is made
    Then the GPU instance can be destroyed after its compute instance only

  @NVML-045 @disruptive
  Scenario: A stale handle reaches nobody
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is made at 0
    Then a handle to a destroyed GPU instance is refused, though its place is taken again

  @NVML-046 @disruptive
  Scenario: An instance's id is of its size and place
    Given NVML
    And MIG is on for GPU 0, without instances
    Then ids of instances are those of their size, one for each, and come again with the place

  @NVML-049 @disruptive
  Scenario: Every process sees the instances of the others
    Given NVML
    And MIG is on for GPU 0, without instances
    And another process that counts the GPU instances of profile 19
    When a GPU instance of profile 19 is made
    Then the other process counts 1 of them
    When the GPU instance is destroyed
    Then the other process counts 0 of them

  @NVML-054
  Scenario: Drivers compute the profiles' names
    Given NVML
    Then the name of every profile follows from its memory as drivers compute it

  @NVML-047
  Scenario: With MIG off there are no MIG devices
    Given NVML
    Then with MIG off there is no room for MIG devices, and none by index

  @NVML-048 @disruptive
  Scenario: A MIG device is a slice of its GPU
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is made
    And a compute instance over all of it is made
    Then the MIG device has the memory of its slice and the PCI address of its GPU

  @NVML-051 @disruptive
  Scenario: Remapped rows are not told beside instances
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 9 is made
    Then remapped rows are not told while the instance is there

  @NVML-050 @disruptive
  Scenario: Capability files come and go with the instances
    Given NVML
    And MIG is on for GPU 0, without instances
    When a GPU instance of profile 14 is made
    And a compute instance over all of it is made
    Then the instance and its compute instance have capability files, and lose them when they are destroyed
