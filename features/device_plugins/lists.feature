@profile:device-plugins @component:device-plugin
Feature: Device plugins list their devices
  The kubelet learns about devices only from the lists of ListAndWatch. Each message replaces the one before.

  @DP-017
  Scenario: A plugin keeps the stream open
    Given the device manager runs on node "n1"
    When the device plugin of "n1" is started
    Then the ListAndWatch streams of "n1" stay open

  @DP-017a
  Scenario: Every stream begins with the complete list
    Given the device plugin runs on node "n1"
    When a further ListAndWatch stream is opened on "n1"
    Then its first list has all devices of "n1"

  @DP-023
  Scenario: Ids are unique and short
    Given the device plugin runs on node "n1"
    Then every list of "n1" has unique ids of 1 to 63 characters

  @DP-020a @needs:fake-nvml
  Scenario: Health has one of two values
    Given the device plugin runs on node "n1"
    When GPU 1 of "n1" reports XID 48 until a list follows
    And a changed list of "n1" arrives
    Then every list of "n1" has only the health values of the API

  @DP-018 @needs:fake-nvml
  Scenario: A list that reports a change has all devices
    Given the device plugin runs on node "n1"
    When GPU 1 of "n1" reports XID 48 until a list follows
    And a changed list of "n1" arrives
    Then every list of "n1" has the same ids

  @DP-143a @DP-143b @needs:fake-nvml
  Scenario: A critical XID makes the devices of its GPU Unhealthy
    Given the device plugin runs on node "n1"
    When GPU 1 of "n1" reports XID 48 until a list follows
    Then the devices of one GPU of "n1" become Unhealthy [DP-143a]
    And only the devices of one GPU of "n1" are Unhealthy [DP-143b]

  @DP-089a @needs:fake-nvml
  Scenario: Devices name their NUMA nodes
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1"
    Then the devices of "n1" name the NUMA nodes of their GPUs

  @DP-089a @needs:fake-nvml
  Scenario: A device names no NUMA node if its GPU has none
    Given the GPUs of "n1" are those of "dgx-h100"
    And GPU 1 of "n1" has numa_node -1
    And the device plugin runs on node "n1"
    Then the devices of "n1" name the NUMA nodes of their GPUs
