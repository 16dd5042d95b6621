@profile:device-plugins @component:device-plugin
Feature: Device plugins register with the kubelet
  A device plugin serves a socket in a folder of the kubelet and registers a resource. The kubelet connects to the plugin
  while it waits for the response.

  @DP-001a
  Scenario: A plugin that starts beside a kubelet registers and lists devices
    Given the device manager runs on node "n1"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" registers

  @DP-001a
  Scenario: The program of a plugin registers and lists devices
    Given the device manager runs on node "n1"
    When the device plugin of "n1" is started as a process
    Then the device plugin of "n1" registers

  @DP-001
  Scenario: A plugin serves before it registers
    Given the device plugin runs on node "n1"
    Then every device plugin on "n1" served before it registered

  @DP-003a
  Scenario: A plugin registers with the version of the API
    Given the device plugin runs on node "n1"
    Then every registration on "n1" has "version" v1beta1

  @DP-004a
  Scenario: A plugin registers an extended resource
    Given the device plugin runs on node "n1"
    Then every registration on "n1" names an extended resource

  @DP-008a
  Scenario: A plugin registers the name of its socket
    Given the device plugin runs on node "n1"
    Then every registration on "n1" names a socket in the folder of the kubelet

  @DP-006a
  Scenario: A plugin registers the options that it returns
    Given the device plugin runs on node "n1"
    Then the options of every registration on "n1" are those of GetDevicePluginOptions

  @DP-041
  Scenario: A plugin whose registration is refused registers later, or ends
    Given the device manager runs on node "n1"
    And the device manager of "n1" refuses the next registration
    When the device plugin of "n1" is started
    Then the device plugin of "n1" registers later, or ends

  @DP-041a
  Scenario: A plugin that starts before the kubelet registers later, or ends
    Given node "n1" has a folder of device plugins and no kubelet
    When the device plugin of "n1" is started
    And the device manager of "n1" is started
    Then the device plugin of "n1" registers later, or ends
