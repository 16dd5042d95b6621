@profile:device-plugins @component:device-plugin
Feature: Device plugins prefer devices
  A plugin that offers GetPreferredAllocation helps the kubelet to choose among free devices.

  @DP-080
  Scenario: Devices that must be included are in the answer
    Given the device plugin runs on node "n1"
    Then preferred devices of "n1" include those that they must

  @DP-080a
  Scenario: Only available devices are preferred
    Given the device plugin runs on node "n1"
    Then preferred devices of "n1" are available ones

  @DP-080b
  Scenario: As many devices as requested are preferred
    Given the device plugin runs on node "n1"
    Then preferred devices of "n1" are as many as requested
