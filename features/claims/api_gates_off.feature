@profile:gates-off @component:control-plane
Feature: Fields of features that are switched off
  An API server drops the fields of a disabled feature before it validates an object. Run this feature on a control
  plane with the gates off: --profile gates-off --feature-gates DRADeviceTaints=false,... The gates DRAPrioritizedList,
  DRAExtendedResource and DRAResourceClaimDeviceStatus are locked since 1.37: --kubernetes-version 1.36 judges them.

  Scenario Outline: <what> is dropped
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then its "<path>" reads null

    @DRA-037 @gate-off:DRADeviceTaints
    Examples: tolerations without DRADeviceTaints
      | what                              | manifest        | path                                              | value                                     |
      | a toleration of a claim           | claims/claim    | spec.devices.requests[0].exactly.tolerations      | [{key: k, operator: Exists}]              |
      | a toleration of a template        | claims/template | spec.spec.devices.requests[0].exactly.tolerations | [{key: k, operator: Exists}]              |

    @DRA-043 @gate-off:DRAExtendedResource @until:1.36
    Examples: extendedResourceName without DRAExtendedResource
      | what                              | manifest        | path                                              | value                                     |
      | the extended resource of a class  | claims/class    | spec.extendedResourceName                         | example.com/gpu                           |

    @DRA-077 @gate-off:DRADeviceTaints
    Examples: taints of devices without DRADeviceTaints
      | what                              | manifest        | path                                              | value                                     |
      | a taint of a device               | claims/slice    | spec.devices[0].taints                            | [{key: k, effect: NoSchedule}]            |

    @DRA-077 @gate-off:DRAConsumableCapacity
    Examples: shared devices without DRAConsumableCapacity
      | what                              | manifest        | path                                              | value                                     |
      | the sharing of a device           | claims/slice    | spec.devices[0].allowMultipleAllocations          | true                                      |

    @DRA-077 @gate-off:DRAPartitionableDevices
    Examples: counters without DRAPartitionableDevices
      | what                              | manifest        | path                                              | value                                     |
      | the counters of a device          | claims/slice    | spec.devices[0].consumesCounters                  | [{counterSet: a, counters: {m: {value: 1}}}] |
      | the counters of a pool            | claims/slice    | spec.sharedCounters                               | [{name: a, counters: {m: {value: 1}}}]    |

    @DRA-077 @gate-off:DRADeviceBindingConditions
    Examples: binding conditions without DRADeviceBindingConditions
      | what                              | manifest        | path                                              | value                                     |
      | a condition before binding        | claims/slice    | spec.devices[0].bindsToNode                       | true                                      |

    @DRA-406 @gate-off:DRAOptionalNodeOperations @since:1.37
    Examples: skipped operations without DRAOptionalNodeOperations
      | what                              | manifest        | path                                              | value                                     |
      | the skipped operations of a slice | claims/slice    | spec.skipNodeOperations                           | ["*"]                                     |

    @DRA-443 @gate-off:DRADerivedAttributes @since:1.37
    Examples: derived attributes without DRADerivedAttributes
      | what                               | manifest        | path                                                    | value                                            |
      | a derived attribute of a claim     | claims/claim    | spec.devices.requests[0].exactly.derivedAttributes      | [{name: derived.dra.test/one, expression: "1"}]  |
      | a derived attribute of a template  | claims/template | spec.spec.devices.requests[0].exactly.derivedAttributes | [{name: derived.dra.test/one, expression: "1"}]  |

  @DRA-537c @gate-off:DRANodeAllocatableResources @since:1.37
  Scenario: What devices use of their node is dropped from the status of a pod
    Given the manifest "claims/pod"
    And it is created
    When its status "status" is updated to {phase: Running, nodeAllocatableResourceClaimStatuses: [{resourceClaimName: some-claim, mapping: [{name: cpu, quantity: "1"}]}]}
    Then its "status.phase" reads Running
    And its "status.nodeAllocatableResourceClaimStatuses" reads null

  @DRA-410 @gate-off:DRADeviceCompatibilityGroups @gate:DRAPartitionableDevices @since:1.37
  Scenario: The compatibility groups of all devices are dropped
    Given the manifest "claims/slice"
    And "spec.devices" is [{name: d, consumesCounters: [{counterSet: a, counters: {m: {value: "1"}}, compatibilityGroups: [x]}]}, {name: e, consumesCounters: [{counterSet: a, counters: {m: {value: "2"}}}, {counterSet: b, counters: {m: {value: "3"}}, compatibilityGroups: [x, y]}]}]
    When it is created
    Then its "spec.devices" reads [{name: d, consumesCounters: [{counterSet: a, counters: {m: {value: "1"}}}]}, {name: e, consumesCounters: [{counterSet: a, counters: {m: {value: "2"}}}, {counterSet: b, counters: {m: {value: "3"}}}]}]

  @DRA-446 @gate-off:DRAOptionalNodeOperations @since:1.37
  Scenario: The skipped operations of an allocation result are dropped
    Given the manifest "claims/claim"
    And it is created
    When its status "status.allocation.devices.results" is updated to [{request: r, driver: d.test, pool: p, device: d, skipNodeOperations: ["*"]}]
    Then its "status.allocation.devices.results" reads [{request: r, driver: d.test, pool: p, device: d}]

  @DRA-077 @gate-off:DRADeviceTaints @gate-off:DRAConsumableCapacity
  Scenario: The second of two devices loses its disabled fields only
    Given the manifest "claims/slice"
    And "spec.devices" is [{name: d}, {name: e, allowMultipleAllocations: true, attributes: {a: {int: 1}}, taints: [{key: k, effect: NoSchedule}]}]
    When it is created
    Then its "spec.devices" reads [{name: d}, {name: e, attributes: {a: {int: 1}}}]

  Scenario Outline: <what> is refused
    Given the manifest "<manifest>"
    And "<path>" is <value>
    When it is created
    Then the API server refuses it: Required at "<field>"

    @DRA-025 @gate-off:DRAConsumableCapacity
    Examples: a constraint that only has distinctAttribute
      | what                              | manifest        | path                     | value                                  | field                                      |
      | distinctAttribute alone           | claims/claim    | spec.devices.constraints | [{distinctAttribute: gpu.example.com/a}] | spec.devices.constraints[0].matchAttribute |

    @DRA-077c @gate-off:DRAPartitionableDevices
    Examples: a slice whose devices have nodes
      | what                              | manifest        | path                     | value                                  | field                                      |
      | a slice whose devices have nodes  | claims/slice    | spec                     | {driver: api.dra.test, pool: {name: p, generation: 1, resourceSliceCount: 1}, perDeviceNodeSelection: true, devices: [{name: d, nodeName: n}]} | spec |

    @DRA-038 @gate-off:DRAPrioritizedList @until:1.36
    Examples: a request that only has alternatives
      | what                              | manifest        | path                     | value                                              | field                    |
      | a request with alternatives alone | claims/claim    | spec.devices.requests[0] | {name: r, firstAvailable: [{name: s, deviceClassName: c}]} | spec.devices.requests[0] |

  @DRA-095 @gate-off:DRAResourceClaimDeviceStatus @until:1.36
  Scenario: The device status of an allocated claim is dropped
    Given the manifest "claims/claim"
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: x}]}}
    When its status "status.devices" is updated to [{driver: d.test, pool: p, device: x, data: {a: 1}}]
    Then the API server accepts it
    And its "status.devices" reads null
