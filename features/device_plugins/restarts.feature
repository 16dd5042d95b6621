@profile:device-plugins @component:device-plugin
Feature: Device plugins survive restarts
  A kubelet that starts removes all sockets in the folder of device plugins. Plugins register with it again.

  @DP-039 @DP-039a
  Scenario Outline: A plugin registers again after the kubelet was <restarted>
    Given the device plugin runs on node "n1"
    When the device manager of "n1" is <restarted>
    Then the device plugin of "n1" registers [DP-039]
    And the ids of "n1" are those from before [DP-039a]
    When Allocate on "n1" is called for a device
    Then Allocate succeeds [DP-039]

    Examples:
      | restarted       |
      | restarted       |
      | restarted twice |

  @DP-040
  Scenario: A plugin notices that its socket was removed
    Given the device plugin runs on node "n1"
    When the socket of the device plugin on "n1" is removed
    Then the device plugin of "n1" serves a new socket, or ends

  @DP-023a
  Scenario: A restarted plugin has the same ids
    Given the device plugin runs on node "n1"
    When the device plugin of "n1" is restarted
    Then the device plugin of "n1" registers
    And the ids of "n1" are those from before

  @DP-148
  Scenario: A stopped plugin leaves no socket
    Given the device plugin runs on node "n1"
    When the device plugin of "n1" is stopped
    Then the device plugin of "n1" leaves no socket

  @DP-148b @DP-148
  Scenario: A plugin ends after SIGTERM
    Given the device plugin runs on node "n1"
    When the device plugin of "n1" receives SIGTERM
    Then the device plugin has ended without an error [DP-148b]
    And the device plugin of "n1" leaves no socket [DP-148]

  @DP-148b @DP-148
  Scenario: The program of a plugin ends after SIGTERM
    Given the device plugin runs on node "n1" as a process
    When the device plugin of "n1" receives SIGTERM
    Then the device plugin has ended without an error [DP-148b]
    And the device plugin of "n1" leaves no socket [DP-148]

  @DP-148a
  Scenario: A plugin starts over the sockets of one that was killed
    Given the device plugin runs on node "n1" as a process
    When the device plugin of "n1" is killed
    And the device plugin of "n1" is started
    Then the device plugin of "n1" registers
