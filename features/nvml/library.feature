@profile:nvml @component:nvml
Feature: NVML as a library
  Programs in C, Go and Python load one shared library. What it does with versions, buffers and sessions is the same
  whether NVIDIA's driver stands behind it or a file.

  @NVML-002
  Scenario: It can be loaded in every way
    Given NVML
    Then NVML can be loaded at once and lazily, and lacks no function of its own

  @NVML-003 @needs:fake-nvml
  Scenario: It exports nothing else
    Given NVML
    Then NVML exports its own functions and nothing else

  @NVML-004
  Scenario: The file has the driver's version
    Given NVML
    Then the library's file is the one of the driver's version, under the name that programs ask for

  @NVML-005 @needs:fake-nvml
  Scenario: Numbers arrive where they belong
    Given NVML
    Then each number that a GPU has arrives in its own field

  @NVML-016 @needs:fake-nvml
  Scenario: A guest in its process
    Given NVML
    Then NVML leaves the threads and signals of its process alone

  @NVML-017 @needs:fake-nvml
  Scenario: It is at home in two C libraries
    Given NVML
    Then NVML asks the C library only for what glibc and musl both have

  @NVML-081 @needs:fake-nvml
  Scenario: Asking is reading memory
    Given NVML
    Then asking a GPU makes no system call

  @NVML-018
  Scenario: Many threads ask at once
    Given NVML
    Then 32 threads at once get the answers that one gets alone

  @NVML-006
  Scenario: A wrong version is refused and nothing is written
    Given NVML
    Then NVML refuses every wrong version of a structure and writes nothing

  @NVML-007
  Scenario: A caller's older structure is not overrun
    Given NVML
    Then NVML never writes beyond the structure of the caller's version

  @NVML-008 @needs:fake-nvml
  Scenario: Each version of the process list has its own layout
    Given NVML
    And 3 processes on GPU 0
    Then the first version of the process list has entries of 16 bytes, the later ones of 24

  @NVML-009
  Scenario: NULL is an argument error
    Given NVML
    Then NVML answers INVALID_ARGUMENT to NULL in every place for a result

  @NVML-010
  Scenario: A text that does not fit is not written in part
    Given NVML
    Then NVML leaves a text buffer alone that is too short by one

  @NVML-011
  Scenario: Without nvmlInit there are no answers
    Given NVML that nobody initialised
    Then NVML answers UNINITIALIZED to every question

  @NVML-012
  Scenario: Every init has its shutdown
    Given NVML that nobody initialised
    When NVML is initialised 3 times
    Then NVML works until it was shut down 3 times

  @NVML-014
  Scenario: Sessions leave nothing behind
    Given NVML that nobody initialised
    Then NVML leaks nothing over 200 sessions

  @NVML-015
  Scenario: A forked child begins anew
    Given NVML
    Then NVML of a forked child answers UNINITIALIZED until the child initialises it

  @NVML-001 @needs:fake-nvml
  Scenario: No function is missing
    Given NVML
    Then the library has every function that pynvml knows

  @NVML-020 @needs:fake-nvml
  Scenario: What the fake does not have it says
    Given NVML
    Then a function that the fake does not implement answers NOT_SUPPORTED and stands in the call log

  @NVML-077 @needs:fake-nvml
  Scenario: A fault rule does what it says and can be taken back
    Given NVML
    When every 4th call of nvmlDeviceGetName is made to fail with UNKNOWN
    Then of 20 calls of nvmlDeviceGetName 5 fail, are counted, and none fails once the rule is cleared

  @NVML-013 @needs:fake-nvml
  Scenario: Without GPUs NVML begins only where that is allowed
    Given NVML without GPUs that nobody initialised
    Then NVML begins with the flag for no GPUs and not without it

  @NVML-079 @needs:fake-nvml
  Scenario Outline: A mistake in an inventory is named with its line: <mistake>
    Given NVML
    Then an inventory whose GPU has "<mistake>" is refused with file, line and key

    Examples:
      | mistake                         |
      | colour: red                     |
      | values: {temprature_gpu: 40}    |
      | values: {power_limit: 700 MHz}  |
      | uuid: GPU-1                     |

  @NVML-052 @needs:fake-nvml
  Scenario Outline: A MIG layout that does not fit is refused: <layout>
    Given NVML
    Then an inventory whose GPU has "mig: <layout>" is refused with file, line and key

    Examples:
      | layout                                |
      | [7g.80gb, 1g.10gb]                    |
      | [4g.40gb, 4g.40gb]                    |
      | [{profile: 3g.40gb, start: 2}]        |
      | [1g.10gb+me, 1g.10gb+me]              |
