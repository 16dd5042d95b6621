@profile:nvml @component:nvml
Feature: NVML's GPUs
  A driver finds GPUs by index, UUID and PCI address, sizes them by their memory, and places work near them. Every way
  must lead to the same GPU, and what NVML says must fit what the machine's files say.

  @NVML-021
  Scenario: A UUID is one GPU's for ever
    Given NVML
    Then every GPU has a UUID of its own, the same in every session

  @NVML-022
  Scenario: All ways lead to the same GPU
    Given NVML
    Then every way to a GPU leads to the same one

  @NVML-023
  Scenario Outline: What does not exist is told apart: <way>
    Given NVML
    Then a GPU that does not exist is <error> by <way>

    Examples:
      | way     | error            |
      | index   | INVALID_ARGUMENT |
      | uuid    | NOT_FOUND        |
      | address | NOT_FOUND        |

  @NVML-024
  Scenario: PCI addresses come in two widths
    Given NVML
    Then every PCI address is written in eight and in four digits, and its numbers agree

  @NVML-025
  Scenario: Memory adds up
    Given NVML
    Then the parts of every GPU's memory make up its total in both versions

  @NVML-026
  Scenario: A GPU is one board in every respect
    Given NVML
    Then every GPU is what one row of the board table says

  @NVML-027
  Scenario: Versions can be read
    Given NVML
    Then the driver version is one, and the CUDA version is 1000 times its major and 10 times its minor

  @NVML-029
  Scenario: A minor number is a device file
    Given NVML
    Then the device file of every GPU's minor number exists

  @NVML-030
  Scenario: NVML and sysfs tell the same CPUs
    Given NVML
    Then NVML and sysfs agree on the CPUs near every GPU

  @NVML-061 @needs:fake-nvml
  Scenario: One lost GPU takes no other with it
    Given NVML
    When GPU 2 falls off the bus
    Then GPU 2 is lost, and every other GPU answers as before

  @NVML-066
  Scenario: The fabric's versions agree
    Given NVML
    Then all versions of the fabric's structure tell the same

  @NVML-067 @needs:fake-nvml
  Scenario: A node with switches of its own is no cluster
    Given NVML on the GPUs of "dgx-h100"
    Then the fabric of every GPU is complete and has no cluster

  @NVML-068 @needs:fake-nvml
  Scenario: A rack's node is in one clique
    Given NVML on the GPUs of "gb200-nvl72-node"
    Then all GPUs are in one cluster and one clique

  @NVML-069 @needs:several-gpus
  Scenario: A link has two ends
    Given NVML
    Then GPUs reach each other over NVLink in both directions or not at all

  @NVML-069 @needs:fake-nvml
  Scenario: A GPU without links is out of reach
    Given NVML on the GPUs of "dgx-h100"
    When every NVLink of GPU 2 goes down
    Then no GPU reaches GPU 2 over NVLink, and the others reach each other

  @NVML-070 @needs:fake-nvml
  Scenario: A node's fabric is its own
    Given NVML on the GPUs of "gb200-nvl72-node"
    And another node of the rack
    When the fabric of this node is in progress again
    Then the fabric of the other node is complete, and of this one in progress

  @NVML-080 @needs:fake-nvml
  Scenario: Eight GPUs are not the most
    Given NVML on the GPUs of "h100-16"
    Then every way to a GPU leads to the same one

  @NVML-083
  Scenario: Programs that list GPUs are answered
    Given NVML
    Then programs that list GPUs get an answer to all that they ask

  @NVML-083 @needs:fake-nvml
  Scenario Outline: Programs that list GPUs are answered on <gpus>
    Given NVML on the GPUs of "<gpus>"
    Then programs that list GPUs get an answer to all that they ask

    Examples:
      | gpus             |
      | mixed            |
      | gb200-nvl72-node |

  @NVML-082 @needs:fake-nvml
  Scenario: The H200 that was recorded
    Given NVML on the GPUs of "h200"
    Then it answers what a GPU of its board answered when it was recorded

  @NVML-082
  Scenario: What is known of a board holds here
    Given NVML
    Then it answers what a GPU of its board answered when it was recorded

  @NVML-028 @needs:fake-nvml
  Scenario: It looks as it looked to nvidia-smi
    Given NVML on the GPUs of "h200"
    Then what nvidia-smi would print of it is what it printed of an H200
