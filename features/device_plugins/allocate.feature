@profile:device-plugins @component:device-plugin
Feature: Device plugins allocate devices
  The kubelet chooses devices and calls Allocate before it admits a pod. The response has what the containers get.

  @DP-056
  Scenario: Each container of a request has its own answer
    Given the device plugin runs on node "n1"
    Then Allocate on "n1" answers each container of a request, in order

  @DP-057
  Scenario Outline: Allocate refuses <what>
    Given the device plugin runs on node "n1"
    When Allocate on "n1" is called for <what>
    Then Allocate fails
    When Allocate on "n1" is called for a device
    Then Allocate succeeds

    Examples:
      | what                         |
      | an unknown device            |
      | a known and an unknown device |

  @DP-057a @needs:fake-nvml
  Scenario Outline: Allocate fails for <what>
    Given the device plugin runs on node "n1"
    When GPU 1 of "n1" reports XID 48 until a list follows
    Then the devices of one GPU of "n1" become Unhealthy
    When Allocate on "n1" is called for <what>
    Then Allocate fails
    When Allocate on "n1" is called for a device
    Then Allocate succeeds

    Examples:
      | what                              |
      | an Unhealthy device               |
      | a Healthy and an Unhealthy device |

  @DP-058
  Scenario: Allocate can be repeated
    Given the device plugin runs on node "n1"
    Then Allocate on "n1" answers equal requests equally

  @DP-085a
  Scenario: Device files have paths and permissions
    Given the device plugin runs on node "n1"
    When Allocate on "n1" is called for a device
    Then every device file of the answer has absolute paths and permissions of r, w and m

  @DP-087
  Scenario: CDI devices of an answer are defined
    Given the device plugin runs on node "n1"
    When Allocate on "n1" is called for a device
    Then every CDI device of the answer is defined on "n1"

  @DP-088a @needs:fake-nvml
  Scenario: Answers for different GPUs differ
    Given the device plugin runs on node "n1"
    Then Allocate on "n1" answers devices of different GPUs differently

  @DP-088b
  Scenario: The answer for two devices has what either of them needs
    Given the device plugin runs on node "n1"
    Then Allocate on "n1" answers two devices with the files, mounts and CDI devices of each

  @DP-082a
  Scenario: A container may start more than once
    Given the device plugin runs on node "n1"
    Then a container with devices of "n1" may start, and start again

  @DP-082b
  Scenario: A container does not start with an unknown device
    Given the device plugin runs on node "n1"
    Then PreStartContainer on "n1" fails for an unknown device
