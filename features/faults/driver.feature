@component:driver @needs:faults
Feature: A driver whose requests fail
  Devices that are not published cannot be used, and devices that are published twice could be used twice. Whichever
  request fails, the driver's pools become complete, with each device once.

  @DRA-347
  Scenario Outline: Devices are published again when the API server <does> the creation of a slice
    Given node "n1" running the driver
    And the slices of the driver on "n1" are remembered
    And the API server <does> the next 1 creations of ResourceSlice
    When the slices of the driver on "n1" are deleted
    Then the devices of "n1" are published again within 75 seconds
    And every pool of the driver on "n1" comes to be complete
    And no two devices of one pool of the driver on "n1" share a name

    @profile:faults
    Examples:
      | does                 |
      | answers 500 to       |
      | loses its answers to |

    @profile:fault-sweep
    Examples:
      | does                         |
      | breaks the connection before |

  @DRA-347 @needs:own-control-plane @disruptive @profile:fault-sweep
  Scenario: Devices are published once when the API server is killed during the creation of a slice
    Given node "n1" running the driver
    And the API server crashes after it has stored the next creations of ResourceSlice
    When the slices of the driver on "n1" are deleted
    And the crashed API server is started again
    Then every pool of the driver on "n1" comes to be complete
    And no two devices of one pool of the driver on "n1" share a name

  @DRA-348
  Scenario Outline: Slices that are deleted while all watches <how> are published again
    Given node "n1" running the driver
    And the slices of the driver on "n1" are remembered
    When all watches <how> and are not served
    And the slices of the driver on "n1" are deleted
    And watches are served again
    Then the devices of "n1" are published again within 75 seconds

    @profile:faults
    Examples:
      | how    |
      | expire |

    @profile:fault-sweep
    Examples:
      | how   |
      | break |

  @DRA-349
  Scenario Outline: A claim is prepared at the next attempt when the API server <does> the read of the claim
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And the API server <does> the next 1 readings of ResourceClaim
    When claim "train" is prepared on "n1"
    And claim "train" is prepared on "n1"
    And every fault has affected a request
    Then claim "train" is prepared

    @profile:faults
    Examples:
      | does           |
      | answers 503 to |

    @profile:fault-sweep
    Examples:
      | does                         |
      | breaks the connection before |

  @NV-104b @needs:gpu-driver @needs:process-driver @needs:virtual-clock @profile:faults
  Scenario: An unfinished claim that cannot be read at start is removed later, if it was deleted
    Given node "n1" running the driver
    And a ResourceClaim "gone" allocated a device that the driver on "n1" does not have
    When claim "gone" is prepared on "n1"
    And the claim "gone" is deleted although it is in use
    Given the API server answers 500 to the next 1 readings of the ResourceClaim "gone"
    When the driver on "n1" is restarted
    And every fault has affected a request
    Then the driver on "n1" comes to have no record of claim "gone" after 600 seconds

  @NV-105 @needs:gpu-driver @needs:process-driver @profile:faults
  Scenario: The record of an unfinished claim stays if the claim cannot be read at start
    Given node "n1" running the driver
    And a ResourceClaim "there" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "gone" allocated a device that the driver on "n1" does not have
    When claim "there" is prepared on "n1"
    And claim "gone" is prepared on "n1"
    And the claim "gone" is deleted although it is in use
    Given the API server answers 500 to the next 1 readings of the ResourceClaim "there"
    When the driver on "n1" is restarted
    And every fault has affected a request
    # The driver has decided about its unfinished claims.
    Then the driver on "n1" comes to have no record of claim "gone"
    And the driver on "n1" has a record of claim "there"

  @DRA-372 @gate:DRADeviceTaints @driver-gate:NVMLDeviceHealthCheck @needs:gpu-driver @needs:fake-nvml
  Scenario Outline: A taint is published when the API server <does> the update of the slice
    Given node "n1" running the driver
    # Three updates, because a driver may update the slice right after it created it, and this must fail as well.
    And the API server <does> the next 3 updates of ResourceSlice
    When XID 48 happens on GPU 2 of "n1"
    And every fault has affected a request
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And no device on "n1" but device "gpu-2" is tainted
    And every pool of the driver on "n1" comes to be complete

    @profile:faults
    Examples:
      | does                 |
      | answers 409 to       |
      | loses its answers to |

    @profile:fault-sweep
    Examples:
      | does                                 |
      | answers 500 to                       |
      | answers 503 to                       |
      | breaks the connection before         |
      | delays its answers by 0.2 seconds to |

  @DRA-372 @gate:DRADeviceTaints @driver-gate:NVMLDeviceHealthCheck @needs:gpu-driver @needs:fake-nvml @needs:own-control-plane @disruptive
  @profile:fault-sweep
  Scenario: A taint is published when the API server is killed during the update of the slice
    Given node "n1" running the driver
    And the API server crashes after it has stored the next updates of ResourceSlice
    When XID 48 happens on GPU 2 of "n1"
    And the crashed API server is started again
    Then the driver taints device "gpu-2" on "n1" with "gpu.nvidia.com/xid=48:NoSchedule" only
    And every pool of the driver on "n1" comes to be complete

  @DRA-291 @profile:fault-sweep
  Scenario Outline: Slices of a former pool are deleted when the API server <does> their deletion
    Given node "n1" with a kubelet
    And a slice of the pool "former" that the driver had on "n1"
    And the API server <does> the next 1 deletions of ResourceSlice
    When the driver on "n1" is started
    And every fault has affected a request
    Then no slice of the pool "former" is left after 75 seconds
    And every pool of the driver on "n1" comes to be complete

    Examples:
      | does                 |
      | answers 409 to       |
      | answers 500 to       |
      | loses its answers to |
