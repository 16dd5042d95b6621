@profile:nvml @component:nvml
Feature: NVML among processes
  Programs of one node share its GPUs: who may not change them is told so, and a change is whole for everybody, whoever
  dies in the middle of it. What stands behind the fake is one file, and it is held to the same.

  @NVML-019 @needs:fake-nvml
  Scenario Outline: A state that is <case> is no machine
    Given NVML
    Then a state file that is "<case>" is refused with <error>

    Examples:
      | case              | error                   |
      | missing           | DRIVER_NOT_LOADED       |
      | empty             | LIB_RM_VERSION_MISMATCH |
      | cut short         | LIB_RM_VERSION_MISMATCH |
      | of something else | LIB_RM_VERSION_MISMATCH |
      | of a newer layout | LIB_RM_VERSION_MISMATCH |

  @NVML-085 @needs:fake-nvml
  Scenario Outline: A state file is a plain file, not <case>
    Given NVML
    Then a state file that is "<case>" is refused with DRIVER_NOT_LOADED

    Examples:
      | case            |
      | a symbolic link |
      | a folder        |
      | a pipe          |

  @NVML-075 @needs:fake-nvml
  Scenario: A damaged state ends nobody
    Given NVML on the GPUs of "dgx-h100-mig"
    Then no damage to the state ends a process that reads it

  @NVML-053
  Scenario: Changes need rights
    Given NVML
    Then a process without rights is refused every change with NO_PERMISSION

  @NVML-076 @needs:fake-nvml
  Scenario: Looking needs no rights
    Given NVML
    Then a process without rights reads the GPU and hears of XID 43

  @NVML-074 @needs:fake-nvml
  Scenario: Who looks holds up nobody
    Given NVML
    Then a process that may only read holds up nobody who writes

  @NVML-071 @needs:fake-nvml
  Scenario: A killed process leaves no half change
    Given NVML on the GPUs of "dgx-h100"
    Then no kill of a process that changes the state leaves half a change, or holds up the next

  @NVML-072 @needs:fake-nvml
  Scenario: One call reads one state
    Given NVML
    Then two numbers that change together are never read apart

  @NVML-073 @needs:fake-nvml
  Scenario: All ways to change a node are one
    Given NVML
    Then a change by NVML, by Python and by command is one generation of the state each

  @NVML-078 @needs:fake-nvml
  Scenario: A call that hangs holds up nobody
    Given NVML
    When another process hangs in nvmlDeviceGetName
    Then others change the node meanwhile, and the call comes back when the rule is cleared

  @NVML-084 @needs:fake-nvml
  Scenario: What nobody saw is marked
    Given NVML
    Then every value of every shipped board has its source, and what nobody saw on hardware is marked
