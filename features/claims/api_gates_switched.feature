@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: A feature gate that is switched off while objects use its feature
  New objects lose the fields of a disabled feature, see api_gates_off.feature. Objects that have them keep them: a cluster
  can be downgraded, or a gate switched off, without a change of what is stored. These scenarios restart an API server that
  the run started.

  @DRA-037b @gate:DRADeviceTaints
  Scenario Outline: Tolerations of <what> stay while device taints are off
    Given the manifest "<manifest>"
    And "<path>" is [{key: k, operator: Exists}]
    And it is created
    When the API server is restarted with feature gate "DRADeviceTaints" off
    And its "metadata.labels" is updated to {changed: "yes"}
    Then its "metadata.labels.changed" reads "yes"
    And its "<path>[0].key" reads k
    When the API server is restarted with feature gate "DRADeviceTaints" on
    Then its "<path>[0].key" reads k

    Examples:
      | what       | manifest        | path                                              |
      | a claim    | claims/claim    | spec.devices.requests[0].exactly.tolerations      |
      | a template | claims/template | spec.spec.devices.requests[0].exactly.tolerations |

  @DRA-802 @gate:DRAPrioritizedList @until:1.36
  Scenario: The alternatives of one of two requests stay while prioritized lists are off
    Given the manifest "claims/claim"
    And "spec.devices.requests[1]" is {name: s, firstAvailable: [{name: a, deviceClassName: gpu.example.com}]}
    And it is created
    When the API server is restarted with feature gate "DRAPrioritizedList" off
    And its "metadata.labels" is updated to {changed: "yes"}
    Then its "metadata.labels.changed" reads "yes"
    And its "spec.devices.requests[1].firstAvailable[*].name" reads [a]

  @DRA-077b
  Scenario Outline: <what> stay while <gate> is off, until no device has them
    Given the manifest "claims/slice"
    And "spec.devices" is [{name: d}, <device>]
    And it is created
    When the API server is restarted with feature gate "<gate>" off
    And its "spec.devices" is updated to [<other>, <device>, {name: f}]
    Then its "spec.devices[0].<field>" reads <value>
    And its "spec.devices[1].<field>" reads <value>
    And its "spec.devices[2].<field>" reads null
    When its "spec.devices" is updated to [{name: d}, {name: e}]
    And its "spec.devices" is updated to [{name: d}, <device>]
    Then its "spec.devices[*].name" reads [d, e]
    And its "spec.devices[1].<field>" reads null

    @gate:DRADeviceTaints
    Examples: taints of devices
      | what   | gate            | device                                            | other                                             | field            | value      |
      | taints | DRADeviceTaints | {name: e, taints: [{key: k, effect: NoSchedule}]} | {name: d, taints: [{key: k, effect: NoSchedule}]} | taints[0].effect | NoSchedule |

    @gate:DRAConsumableCapacity
    Examples: shared devices
      | what                    | gate                  | device                                    | other                                     | field                    | value |
      | marks of shared devices | DRAConsumableCapacity | {name: e, allowMultipleAllocations: true} | {name: d, allowMultipleAllocations: true} | allowMultipleAllocations | true  |
