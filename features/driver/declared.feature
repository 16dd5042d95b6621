@profile:driver-core @component:driver
Feature: Declared capabilities of a driver
  The suite cannot detect capabilities beyond the kubelet plugin API, and the format of the driver's configuration. The
  vendor declares them. A declared capability is tested; without the samples that it needs, it is untestable.

  @NV-071b @NV-071c @needs:several-gpus
  Scenario: Valid sample configurations are prepared, invalid ones refused
    Given node "n1" running the driver
    When a claim with each declared sample configuration is prepared and unprepared on "n1"
    Then every valid sample is prepared [NV-071b]
    And every invalid sample is refused [NV-071c]

  @DRA-574b @DRA-573b @driver-gate:NVMLDeviceHealthCheck
  Scenario: A driver that reports health announces its health service
    Given node "n1" running the driver
    Then GetInfo of the driver on "n1" returns as "supported_versions" one of "v1.DRAResourceHealth, v1alpha1.DRAResourceHealth" [DRA-574b]
    And GetInfo of the driver on "n1" returns as "supported_versions" one of "v1.DRAResourceHealth" [DRA-573b]

  @DRA-295b @DRA-295c @DRA-295d @driver-gate:NVMLDeviceHealthCheck @needs:own-kubelet @needs:virtual-clock
  Scenario: The health of every device is streamed
    Given node "n1" running the driver
    Then the driver on "n1" streams the health of every device that it publishes [DRA-295b]
    And the driver on "n1" gives the time of each health report [DRA-295d]
    When 40 seconds pass
    Then the health of no device that the driver on "n1" streamed is out of date [DRA-295c]
    And the driver on "n1" gives the time of each health report [DRA-295d]
    # Kubelets up to 1.36 read another version than later ones.
    When each health service that the driver on "n1" announces is watched in place of the kubelet
    Then each of these health services has reported every device that the driver publishes [DRA-295b]
