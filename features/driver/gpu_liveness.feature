@profile:driver-gpu @component:driver @needs:gpu-driver @needs:driver-flags @needs:own-kubelet
Feature: Liveness probes of the driver gpu.nvidia.com
  A kubelet restarts a pod whose liveness probe fails. If the probe checks less than the kubelet needs, a driver that
  the kubelet cannot call is never restarted.

  @NV-013
  Scenario: A driver whose sockets respond is healthy
    Given node "n1" running the driver with a port for health checks
    Then a health check of the driver on "n1" for "" returns SERVING
    And a health check of the driver on "n1" for "liveness" returns SERVING
    And a health check of the driver on "n1" for "readiness" returns NOT_FOUND

  @NV-013b
  Scenario Outline: A driver that cannot be reached at its <socket> socket is not healthy
    Given node "n1" running the driver with a port for health checks
    When the <socket> socket of the driver on "n1" is removed
    Then a health check of the driver on "n1" for "liveness" returns NOT_SERVING

    Examples:
      | socket       |
      | registration |
      | service      |
