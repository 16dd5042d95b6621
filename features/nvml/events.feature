@profile:nvml @component:nvml
Feature: NVML's events
  A driver that monitors the health of GPUs waits for events. It receives each event that it registered for, once and in
  order, and no other; when an event arrives, the counters have changed already.

  @NVML-055
  Scenario: Only supported event types can be registered
    Given NVML
    Then these calls return
      | call                                               | returns       |
      | nvmlEventSetCreate(&set)                           | SUCCESS       |
      | nvmlDeviceGetSupportedEventTypes(gpu0, &mask)      | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, mask, set)          | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, 0x10000000000, set) | NOT_SUPPORTED |
      | nvmlDeviceRegisterEvents(gpu0, 0x10000000008, set) | NOT_SUPPORTED |

  @NVML-055 @needs:chosen-gpus
  Scenario: Each GPU has its own supported event types
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these calls return
      | call                                     | returns       |
      | nvmlEventSetCreate(&set)                 | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, 0, set)   | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, 25, set)  | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, 0, set)   | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, 8, set)   | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu0, 2, set)   | NOT_SUPPORTED |
      | nvmlDeviceRegisterEvents(gpu0, 10, set)  | NOT_SUPPORTED |
      | nvmlDeviceRegisterEvents(gpu0, 128, set) | NOT_SUPPORTED |
      | nvmlDeviceRegisterEvents(gpu1, 10, set)  | SUCCESS       |
      | nvmlDeviceRegisterEvents(gpu1, 512, set) | NOT_SUPPORTED |
      | nvmlDeviceRegisterEvents(gpu2, 522, set) | SUCCESS       |

  @NVML-056 @needs:fake-nvml
  Scenario: An event set receives the registered types only, of every GPU that was registered
    Given NVML
    And an event set for the event types 2 of GPU 0
    And XIDs are registered with it for GPU 1
    When XID 48 is reported on GPU 0
    And XID 48 is reported on GPU 1
    And XID 48 is reported on GPU 2
    And the fake node changes
      """
      - {at: 0, event: {gpu: 0, type: 2, data: 7}}
      - {at: 0, event: {gpu: 1, type: 2, data: 8}}
      - {at: 0, event: {gpu: 1, type: 8}}
      """
    Then each event set receives these events
      | GPU | type | XID |
      | 0   | 2    | 0   |
      | 1   | 8    | 48  |
      | 0   | 2    | 7   |
      | 1   | 8    | 0   |

  @NVML-057
  Scenario Outline: A wait of <milliseconds> ms without an event times out
    Given NVML
    And an event set for the XIDs of every GPU
    When a thread waits <milliseconds> ms for an event
    Then the wait ends with TIMEOUT

    Examples:
      | milliseconds |
      | 0            |
      | 200          |

  @NVML-056 @needs:fake-nvml
  Scenario: An event set receives registered events only, from the registration on
    Given NVML
    When XID 31 is reported on GPU 0
    Given an event set for the XIDs of GPU 0
    When XID 13 is reported on GPU 1
    And XID 43 is reported on GPU 0
    Then each event set receives these events
      | GPU | XID | GPU instance | compute instance |
      | 0   | 43  | none         | none             |

  @NVML-058 @needs:fake-nvml
  Scenario: Each event set receives each event once
    Given NVML
    And an event set for the XIDs of every GPU
    And an event set for the XIDs of every GPU
    When XID 13 is reported on GPU 0
    # reset restores the first values of the node, and keeps its events.
    And the fake node changes
      """
      - {at: 0, reset: {}}
      """
    And XID 31 is reported on GPU 3
    And XID 43 is reported on GPU 1
    Then each event set receives these events
      | GPU | XID | GPU instance | compute instance |
      | 0   | 13  | none         | none             |
      | 3   | 31  | none         | none             |
      | 1   | 43  | none         | none             |

  @NVML-060 @needs:fake-nvml
  Scenario: The event of a whole GPU names no instance
    Given NVML
    And an event set for the XIDs of every GPU
    When XID 13 is reported on GPU 2
    Then each event set receives these events
      | GPU | XID | GPU instance | compute instance |
      | 2   | 13  | none         | none             |
    When the fake node changes
      """
      - {at: 0, xid: {gpu: 1, number: 94, gi: 3, ci: 0}}
      - {at: 0, xid: {gpu: 1, number: 94, gi: 0, ci: 1}}
      """
    Then each event set receives these events
      | GPU | XID | GPU instance | compute instance |
      | 1   | 94  | 3            | 0                |
      | 1   | 94  | 0            | 1                |

  @NVML-062 @needs:fake-nvml
  Scenario: An uncorrectable memory error increments its counters
    Given NVML
    When XID 48 is reported on GPU 1
    Then these values agree for GPU 1
      | value                             | expected |
      | nvmlDeviceGetTotalEccErrors(1, 0) | 1        |
      | nvmlDeviceGetTotalEccErrors(1, 1) | 1        |
      | nvmlDeviceGetRemappedRows()[2]    | 1        |

  @NVML-062 @needs:fake-nvml
  Scenario: A thread that gets an event reads the changed counters
    Given NVML
    And an event set for the XIDs of every GPU
    When a thread waits 60000 ms for an event
    And XID 95 is reported on GPU 1
    Then the thread gets an event and then reads 1 uncorrected errors

  @NVML-062 @needs:fake-nvml
  Scenario: Errors of one GPU add up, corrected and uncorrected ones apart
    Given NVML
    When XID 48 is reported on GPU 1
    And XID 94 is reported on GPU 1
    And XID 92 is reported on GPU 1
    And XID 63 is reported on GPU 1
    And XID 92 is reported on GPU 2
    Then these values agree for GPU 1
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 1        |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 1        |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0        |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 1        |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 1        |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 1        |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 1        |
      | nvmlDeviceGetRemappedRows()[1]           | 2        |
      | nvmlDeviceGetRemappedRows()[3]           | 0        |
    And these values agree for GPU 2
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 1        |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0        |

  @NVML-058 @NVML-060 @NVML-062 @needs:chosen-gpus
  Scenario: Each XID is reported with its own effects on its GPU
    Given NVML on the GPUs of "dgx-h100"
    And an event set for the event types 10 of every GPU
    When the fake node changes as in "xids_of_eight_gpus"
    # Type 8 is an XID, type 2 the double-bit error that XID 48 stands for.
    Then each event set receives these events [NVML-058, NVML-060]
      | GPU | type | XID | GPU instance | compute instance |
      | 0   | 8    | 48  | 2            | 1                |
      | 0   | 2    | 0   | 2            | 1                |
      | 1   | 8    | 63  | none         | none             |
      | 2   | 8    | 64  | none         | none             |
      | 3   | 8    | 92  | none         | none             |
      | 4   | 8    | 94  | none         | none             |
      | 5   | 8    | 95  | none         | none             |
      | 6   | 8    | 154 | none         | none             |
      | 7   | 8    | 48  | none         | none             |
      | 7   | 2    | 0   | none         | none             |
      | 7   | 8    | 95  | none         | none             |
      | 4   | 8    | 94  | none         | 5                |
    And these values agree for GPU 0 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 0 |
      | nvmlDeviceGetRemappedRows() | 0, 1, 1, 0 |
      | field value 230 | 0 |
    And these values agree for GPU 1 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 0 |
      | nvmlDeviceGetRemappedRows() | 0, 1, 1, 0 |
      | field value 230 | 0 |
    And these values agree for GPU 2 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 0 |
      | nvmlDeviceGetRemappedRows() | 0, 0, 0, 1 |
      | field value 230 | 0 |
    And these values agree for GPU 3 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 0 |
      | nvmlDeviceGetRemappedRows() | 0, 0, 0, 0 |
      | field value 230 | 0 |
    And these values agree for GPU 4 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 2 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 2 |
      | nvmlDeviceGetRemappedRows() | 0, 0, 0, 0 |
      | field value 230 | 0 |
    And these values agree for GPU 5 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 1 |
      | nvmlDeviceGetRemappedRows() | 0, 0, 0, 0 |
      | field value 230 | 1 |
    And these values agree for GPU 6 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 0 |
      | nvmlDeviceGetRemappedRows() | 0, 0, 0, 0 |
      | field value 230 | 1 |
    And these values agree for GPU 7 [NVML-062]
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | NOT_SUPPORTED |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 1 |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 1 |
      | nvmlDeviceGetRemappedRows() | 0, 1, 0, 0 |
      | field value 230 | NOT_SUPPORTED |

  @NVML-063 @needs:chosen-gpus
  Scenario: A driver reload resets volatile counters and keeps aggregate ones
    Given NVML on the GPUs of this suite's inventory "distinct"
    When XID 48 is reported on GPU 2
    And XID 94 is reported on GPU 3
    And XID 92 is reported on GPU 3
    And the fake node changes
      """
      - {at: 0, set: {gpu: 3, ecc_corrected_volatile_sram: N/A}}
      - {at: 0, reload_driver: {}}
      """
    Then these values agree for GPU 0
      | value                                    | expected |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | 0        |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0        |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 7) | 1300     |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 5000     |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 7) | 0        |
      | nvmlDeviceGetMemoryErrorCounter(1, 0, 2) | 0        |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 7) | 2300     |
      | nvmlDeviceGetMemoryErrorCounter(1, 1, 2) | 6000     |
      | nvmlDeviceGetRemappedRows()              | 72, 73, 1, 1 |
    And these values agree for GPU 2
      | value                                    | expected |
      | nvmlDeviceGetTotalEccErrors(1, 0)        | 0        |
      | nvmlDeviceGetTotalEccErrors(1, 1)        | 1        |
    And these values agree for GPU 3
      | value                                    | expected      |
      | nvmlDeviceGetTotalEccErrors(1, 0)        | 0             |
      | nvmlDeviceGetTotalEccErrors(1, 1)        | 1             |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 2) | 0             |
      | nvmlDeviceGetMemoryErrorCounter(0, 1, 2) | 1             |
      | nvmlDeviceGetMemoryErrorCounter(0, 0, 7) | NOT_SUPPORTED |

  @NVML-064
  Scenario Outline: <call> returns <when> the wait of another thread
    Given NVML
    When the program "<call> beside a wait" runs in another process
    Then it prints "<call> 0, <when> the wait, which ends with 10"

    Examples:
      | call             | when   |
      | EventSetFree     | after  |
      | EventSetCreate   | after  |
      | RegisterEvents   | after  |
      | Shutdown         | after  |
      | DeviceGetCount   | during |
      | Init             | during |
