@profile:nvml @component:nvml
Feature: NVML's events
  A driver that guards the health of GPUs waits for events. It must get each that it asked for, once and in order, and
  nothing else; and the counters must have moved by then.

  @NVML-055
  Scenario: Only what a GPU can report can be asked for
    Given NVML
    Then an event that the GPU does not have cannot be registered

  @NVML-057
  Scenario: A wait without an event takes its time
    Given NVML
    And an event set for the XIDs of every GPU
    Then waiting for 200 ms without an event takes so long and ends in TIMEOUT

  @NVML-059 @needs:fake-nvml
  Scenario: Who waits sleeps
    Given NVML
    Then a process that waits for an event sleeps until XID 43 wakes it

  @NVML-056 @needs:fake-nvml
  Scenario: Only what was asked for, and only from then on
    Given NVML
    When XID 31 is reported on GPU 0
    Given an event set for the XIDs of GPU 0 alone
    When XID 13 is reported on GPU 1
    And XID 43 is reported on GPU 0
    Then each event set reports exactly the XIDs "43" in this order

  @NVML-058 @needs:fake-nvml
  Scenario: Every set gets every event once
    Given NVML
    And an event set for the XIDs of every GPU
    And an event set for the XIDs of every GPU
    When XID 13 is reported on GPU 0
    And XID 31 is reported on GPU 3
    And XID 43 is reported on GPU 1
    Then each event set reports exactly the XIDs "13, 31, 43" in this order

  @NVML-060 @needs:fake-nvml
  Scenario: An event of a whole GPU names no instance
    Given NVML
    And an event set for the XIDs of every GPU
    When XID 13 is reported on GPU 2
    Then the event names GPU 2 as a whole

  @NVML-062 @needs:fake-nvml
  Scenario: An ECC error has moved its counters
    Given NVML
    When XID 48 is reported on GPU 1
    Then GPU 1 has one more uncorrected error, volatile and aggregate, and a pending row remap

  @NVML-063 @needs:fake-nvml
  Scenario: Volatile counters begin with the driver
    Given NVML
    When XID 48 is reported on GPU 1
    And the driver is reloaded
    Then GPU 1 has forgotten its volatile errors and kept its aggregate ones

  @NVML-064 @needs:fake-nvml
  Scenario: A set that is freed lets its waiter go
    Given NVML
    And an event set for the XIDs of every GPU
    Then a thread that waits on the set comes back with an error when the set is freed

  @NVML-065 @needs:fake-nvml
  Scenario: Who is too slow loses the oldest events
    Given NVML
    And an event set for the XIDs of every GPU
    When 9000 events are reported on GPU 1 at once
    Then the set has the newest 1000 events up to 9000, in order and without a gap
