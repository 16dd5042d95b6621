@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet registers drivers
  Scripted drivers announce services and respond to the kubelet as the scenario requires.

  @DRA-257
  Scenario: The kubelet calls GetInfo and reports the registration
    Given node "n1" with a kubelet
    When a scripted driver "sim" that announces "v1.DRAPlugin, v1beta1.DRAPlugin" starts on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""

  @DRA-258
  Scenario Outline: The kubelet calls the first known service of a driver's list: <announced>
    Given node "n1" with a kubelet
    When a scripted driver "sim" that announces "<announced>" starts on "n1"
    Then calls to the scripted driver "sim" on "n1" use service "<chosen>"

    Examples:
      | announced                       | chosen            |
      | v1.DRAPlugin, v1beta1.DRAPlugin | v1.DRAPlugin      |
      | v1beta1.DRAPlugin, v1.DRAPlugin | v1beta1.DRAPlugin |
      | v1beta1.DRAPlugin               | v1beta1.DRAPlugin |
      | v99.DRAPlugin, v1.DRAPlugin     | v1.DRAPlugin      |

  @DRA-259
  Scenario Outline: A driver without a known service is refused: <announced>
    Given node "n1" with a kubelet
    When a scripted driver "sim" that announces "<announced>" starts on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered false and the error "<reason>"

    Examples:
      | announced     | reason                  |
      | none          | empty list of supported |
      | v99.DRAPlugin | v99.DRAPlugin           |

  @DRA-262
  Scenario: One endpoint cannot be registered twice for one driver
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    When a scripted driver "sim" starts on "n1" with the endpoint of its first instance
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered false and the error "already registered"
    # One process can serve several drivers.
    When a scripted driver "other" starts on "n1" with the endpoint of "sim"
    Then NotifyRegistrationStatus of the scripted driver "other" has registered true and the error ""

  @DRA-261
  Scenario: Calls go to the newest instance and fall back when it stops
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    # A second instance of the same driver, as in a rolling update.
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "new" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "old" allocated to the scripted driver "sim" on "n1"
    And a pod "new" with the reserved claims "new"
    And a pod "old" with the reserved claims "old"
    When pod "new" is bound by hand to "n1"
    Then Prepare calls go to instance 2 of the scripted driver "sim"
    When the scripted driver "sim" stops
    And pod "old" is bound by hand to "n1"
    Then Prepare calls go to instance 1 of the scripted driver "sim"

  @DRA-260 @DRA-273
  Scenario: An unregistered driver is not called, and pods that wait for it can be deleted
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "train" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "train"
    When the scripted driver "sim" removes its registration socket
    Then driver "sim" is no longer registered on "n1" [DRA-260]
    When pod "train" is bound by hand to "n1"
    Then the scripted driver "sim" has received 0 Prepare calls [DRA-260]
    And an event of pod "train" says "is not registered" [DRA-273]
    When pod "train" is deleted
    Then the Pod "train" is gone [DRA-273]
    And the scripted driver "sim" has received 0 Unprepare calls [DRA-273]

  @DRA-259b
  Scenario: A plugin of an unknown type is refused
    Given node "n1" with a kubelet
    When a scripted driver "sim" of the plugin type "OtherPlugin" starts on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered false and the error "OtherPlugin"

  @DRA-258 @DRA-275
  Scenario Outline: Claims are prepared and unprepared through the announced service: <announced>
    Given node "n1" with a kubelet
    When a scripted driver "sim" that announces "<announced>" starts on "n1"
    Then calls to the scripted driver "sim" on "n1" use service "<announced>" [DRA-258]
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-258]
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_GPU" [DRA-258]
    When pod "train" is deleted
    Then the Pod "train" is gone [DRA-275]
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a [DRA-275]

    Examples:
      | announced         |
      | v1.DRAPlugin      |
      | v1beta1.DRAPlugin |

  @DRA-260 @DRA-260b @needs:virtual-clock
  Scenario: Of two drivers one is unregistered, and is called again after it registered again
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "other" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "beside" with the reserved claims "b"
    When the scripted driver "sim" stops
    And pod "train" is bound by hand to "n1"
    Then an event of pod "train" says "is not registered" [DRA-260]
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running [DRA-260]
    When the scripted driver "sim" is started again
    And 60 seconds pass
    Then pod "train" reaches phase Running [DRA-260b]
    And the scripted driver "sim" has received in this order: Prepare a [DRA-260b]

  @DRA-260b
  Scenario: A driver whose sockets were replaced is registered again
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a"
    When the scripted driver "sim" is replaced at its sockets
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running

  @DRA-260b
  Scenario: A driver that was refused registers with another service
    Given node "n1" with a kubelet
    When a scripted driver "sim" that announces "none" starts on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered false and the error "empty list"
    When the scripted driver "sim" stops
    And the scripted driver "sim" is started again with "v1beta1.DRAPlugin"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    And calls to the scripted driver "sim" on "n1" use service "v1beta1.DRAPlugin"
    When the scripted driver "sim" stops
    And the scripted driver "sim" is started again with "v1.DRAPlugin, v1beta1.DRAPlugin"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    And calls to the scripted driver "sim" on "n1" use service "v1.DRAPlugin"

  @DRA-257b @needs:virtual-clock
  Scenario Outline: A registration is tried again while the driver <behaviour> <method>
    Given node "n1" with a kubelet
    When a scripted driver "sim" that <behaviour> "<method>" starts on "n1"
    Then the kubelet calls "<method>" of the scripted driver "sim"
    When 5 seconds pass
    Then the kubelet calls "<method>" of the scripted driver "sim" again
    When the scripted driver "sim" works
    And 10 seconds pass
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    And calls to the scripted driver "sim" on "n1" use service "v1.DRAPlugin"

    Examples:
      | behaviour       | method                   |
      | fails           | GetInfo                  |
      | fails           | NotifyRegistrationStatus |
      | does not answer | GetInfo                  |
      | does not answer | NotifyRegistrationStatus |

  @DRA-257c
  Scenario: A driver whose registration socket is hidden is not registered
    Given node "n1" with a kubelet
    When a scripted driver "hidden" with a hidden registration socket starts on "n1"
    And a scripted driver "sim" that announces "v1.DRAPlugin" starts on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    And the kubelet does not call the registration service of the scripted driver "hidden"

  @DRA-257d @needs:virtual-clock
  Scenario: A driver that registers before it serves is called once it serves
    Given node "n1" with a kubelet
    And a scripted driver "other" on "n1"
    When a scripted driver "sim" that does not serve yet registers on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    Given a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a ResourceClaim "b" allocated to the scripted driver "other" on "n1"
    And a pod "train" with the reserved claims "a"
    And a pod "beside" with the reserved claims "b"
    When pod "train" is bound by hand to "n1"
    And pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    And pod "train" does not run
    When the scripted driver "sim" serves again
    And 60 seconds pass
    Then pod "train" reaches phase Running
    And of the variables "DEVICE_*", container "main" of pod "train" on "n1" has only "DEVICE_A_BIG, DEVICE_A_SMALL"
    When the scripted driver "sim" stops to serve
    And 40 seconds pass
    And the scripted driver "sim" serves again
    And 10 seconds pass
    And pod "train" is deleted
    Then the Pod "train" is gone
    And the scripted driver "sim" has received in this order: Prepare a, Unprepare a

  @DRA-286 @needs:virtual-clock
  Scenario: The slices of a driver that registers and never serves are deleted
    Given node "n1" with a kubelet
    And a scripted driver "other" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    And a slice "beside" of the scripted driver "other" for "n1"
    When a scripted driver "sim" that does not serve yet registers on "n1"
    Then NotifyRegistrationStatus of the scripted driver "sim" has registered true and the error ""
    When 20 seconds pass
    Then the ResourceSlice "own" still exists
    When 20 seconds pass
    Then the ResourceSlice "own" is gone
    And the ResourceSlice "beside" still exists

  @DRA-260b @DRA-257 @needs:virtual-clock
  Scenario: Drivers are registered again after a restart of the kubelet
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a scripted driver "other" on "n1"
    And a ResourceClaim "a" allocated on "n1" to:
      | request | driver |
      | big     | sim    |
      | small   | other  |
    And a pod "train" with the reserved claims "a"
    And a pod "late" with the reserved claims "a"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-260b]
    When the kubelet of "n1" is restarted
    Then calls to the scripted driver "sim" on "n1" use service "v1.DRAPlugin" [DRA-257]
    And calls to the scripted driver "other" on "n1" use service "v1.DRAPlugin" [DRA-257]
    When pod "late" is bound by hand to "n1"
    And 60 seconds pass
    Then pod "late" reaches phase Running [DRA-260b]
    When pod "train" is deleted
    Then the Pod "train" is gone [DRA-260b]
    When pod "late" is deleted
    Then the scripted driver "sim" receives one Unprepare call for "a" [DRA-260b]
    And the scripted driver "other" receives one Unprepare call for "a" [DRA-260b]

  @DRA-261 @needs:virtual-clock
  Scenario: Calls go to the newest instance that serves
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a scripted driver "sim" on "n1"
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "first" with the reserved claims "a"
    And a pod "second" with the reserved claims "b"
    When the scripted driver "sim" stops to serve
    And 5 seconds pass
    And pod "first" is bound by hand to "n1"
    And 20 seconds pass
    Then Prepare calls go to instance 2 of the scripted driver "sim"
    When the scripted driver "sim" serves again
    And 5 seconds pass
    And pod "first" is deleted
    Then the Pod "first" is gone

  @DRA-285
  Scenario: A starting kubelet deletes the slices of all drivers of its node
    Given a slice "own" of the scripted driver "sim" for "n1"
    And a slice "own-too" of the scripted driver "other" for "n1"
    And a slice "foreign" of the scripted driver "sim" for "n11"
    And a slice "shared" of the scripted driver "sim" for "all nodes"
    When the kubelet of "n1" is started
    Then the ResourceSlice "own" is gone
    And the ResourceSlice "own-too" is gone
    And the ResourceSlice "foreign" still exists
    And the ResourceSlice "shared" still exists

  @DRA-286 @needs:virtual-clock
  Scenario: Only the slices of the stopped driver and of this node are deleted
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a scripted driver "other" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    And a slice "own-too" of the scripted driver "sim" for "n1"
    And a slice "foreign" of the scripted driver "sim" for "n2"
    And a slice "beside" of the scripted driver "other" for "n1"
    When the scripted driver "sim" stops
    And 40 seconds pass
    Then the ResourceSlice "own" is gone
    And the ResourceSlice "own-too" is gone
    And the ResourceSlice "foreign" still exists
    And the ResourceSlice "beside" still exists

  @DRA-286 @needs:virtual-clock
  Scenario: The 30 seconds begin again with each loss of the driver
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    When the scripted driver "sim" stops
    And 20 seconds pass
    And the scripted driver "sim" starts again
    And 5 seconds pass
    And the scripted driver "sim" stops
    And 20 seconds pass
    Then the ResourceSlice "own" still exists
    When 15 seconds pass
    Then the ResourceSlice "own" is gone

  @DRA-286 @needs:virtual-clock
  Scenario Outline: The slices of a driver with one of two instances left are kept: the other <behaviour>
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a scripted driver "sim" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    When the scripted driver "sim" <behaviour>
    And 60 seconds pass
    Then the ResourceSlice "own" still exists

    # A driver that only stops to serve is still registered.
    Examples:
      | behaviour      |
      | stops          |
      | stops to serve |

  @DRA-286 @needs:virtual-clock
  Scenario: The 30 seconds do not begin again when a lost driver is unregistered
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    When the scripted driver "sim" stops to serve
    And 20 seconds pass
    Then the ResourceSlice "own" still exists
    When the scripted driver "sim" stops
    And 15 seconds pass
    Then the ResourceSlice "own" is gone

  @DRA-285
  Scenario: A starting kubelet deletes the slices of its node only
    Given a slice "own" of the scripted driver "sim" for "n1"
    And a slice "foreign" of the scripted driver "sim" for "n2"
    When the kubelet of "n1" is started
    Then the ResourceSlice "own" is gone
    And the ResourceSlice "foreign" still exists

  @DRA-286 @DRA-287 @needs:virtual-clock
  Scenario: The slices of a stopped driver are deleted after 30 seconds
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    And a slice "shared" of the scripted driver "sim" for "all nodes"
    When the scripted driver "sim" stops
    And 25 seconds pass
    Then the ResourceSlice "own" still exists [DRA-286]
    When 10 seconds pass
    Then the ResourceSlice "own" is gone [DRA-286]
    And the ResourceSlice "shared" still exists [DRA-287]

  @DRA-286 @needs:virtual-clock
  Scenario: The slices of a driver that restarts in time are kept
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    When the scripted driver "sim" stops
    And 20 seconds pass
    And the scripted driver "sim" starts again
    And 60 seconds pass
    Then the ResourceSlice "own" still exists

  # The real kubelet deletes slices as a collection, which no fault meets.
  @DRA-285 @DRA-286 @needs:virtual-clock @needs:faults @needs:own-kubelet
  Scenario: The deletion of slices is tried again after the API server failed
    Given a slice "stale" of the scripted driver "other" for "n1"
    And the API server answers 500 to the next 1 deletions of ResourceSlice
    When the kubelet of "n1" is started
    And every fault has affected a request
    And 10 seconds pass
    Then the ResourceSlice "stale" is gone [DRA-285]
    Given a scripted driver "sim" on "n1"
    And a slice "own" of the scripted driver "sim" for "n1"
    And the API server answers 500 to the next 1 deletions of ResourceSlice
    When the scripted driver "sim" stops
    And 40 seconds pass
    And every fault has affected a request
    And 10 seconds pass
    Then the ResourceSlice "own" is gone [DRA-286]
