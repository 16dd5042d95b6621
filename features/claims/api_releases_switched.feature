@profile:api-enforcement @component:control-plane @needs:own-control-plane @since:1.35
Feature: An API server of another release on the same storage
  A cluster is upgraded, and downgraded if something goes wrong. Stored objects do not change by that. These scenarios
  restart an API server that the run started, as the previous minor release and as its own. Without a program of the
  previous release, kube-apiserver emulates it (--emulated-version).

  @DRA-645
  Scenario: An allocation of the previous release survives an upgrade and a downgrade
    When the API server is restarted as the previous release
    Given the manifest "claims/protected"
    And it is created
    And its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: w, uid: u}], devices: [{driver: d.test, pool: p, device: d, networkData: {interfaceName: net-1, ips: [10.9.8.1/24]}}]}
    When the API server is restarted as the own release
    Then its "status.allocation.devices.results" reads [{request: r, driver: d.test, pool: p, device: d}]
    And its "status.reservedFor[*].uid" reads [u]
    And its "status.devices[0].networkData.interfaceName" reads net-1
    And in version v1beta1 its "spec.devices.requests[0].deviceClassName" reads gpu.example.com
    When its "metadata.labels" is updated to {changed: "yes"}
    Then its "metadata.labels.changed" reads "yes"
    When the API server is restarted as the previous release
    Then its "status.allocation.devices.results" reads [{request: r, driver: d.test, pool: p, device: d}]
    And its "status.reservedFor[*].uid" reads [u]
    And its "status.devices[0].networkData.ips" reads [10.9.8.1/24]
    When its status "status" is updated to {}
    Then its "status.allocation" reads null

  @DRA-645
  Scenario: An allocation of the own release can be used and ended by the previous release
    Given the manifest "claims/protected"
    And it is created
    And its status "status" is {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: w, uid: u}]}
    When the API server is restarted as the previous release
    Then its "status.allocation.devices.results" reads [{request: r, driver: d.test, pool: p, device: d}]
    When its status "status.reservedFor" is updated to [{apiGroup: dra.test, resource: widgets, name: w, uid: u}, {apiGroup: dra.test, resource: widgets, name: x, uid: v}]
    Then its "status.reservedFor[*].uid" reads [u, v]
    When the API server is restarted as the own release
    Then its "status.reservedFor[*].uid" reads [u, v]
    When its status "status" is updated to {}
    Then its "status.allocation" reads null

  @DRA-646 @since:1.37
  Scenario Outline: <what> of the previous release survive an upgrade and a downgrade
    When the API server is restarted as the previous release
    Given the manifest "<manifest>"
    And "<path>" is <value>
    And it is created
    When the API server is restarted as the own release
    Then its "<path>" reads <value>
    When its "metadata.labels" is updated to {changed: "yes"}
    And the API server is restarted as the previous release
    Then its "metadata.labels.changed" reads "yes"
    And its "<path>" reads <value>

    Examples: attributes and capacities
      | what    | manifest     | path         | value                                                                                                                                       |
      | devices | claims/slice | spec.devices | [{name: d, attributes: {a: {int: 7}, b: {bool: true}, c: {string: x}, d: {version: 1.2.3}}, capacity: {memory: {value: 40Gi}}}, {name: e}] |

    @gate:DRADeviceTaints
    Examples: taints of devices
      | what   | manifest     | path                   | value                                                                      |
      | taints | claims/slice | spec.devices[0].taints | [{key: k, value: v, effect: NoExecute, timeAdded: "2020-01-02T03:04:05Z"}] |

    @gate:DRAPartitionableDevices
    Examples: counters
      | what         | manifest        | path                | value                                          |
      | counter sets | claims/counters | spec.sharedCounters | [{name: s, counters: {memory: {value: 40Gi}}}] |

    @gate:DRAExtendedResource
    Examples: extended resources
      | what    | manifest     | path                      | value           |
      | classes | claims/class | spec.extendedResourceName | example.com/gpu |

  @DRA-647 @gate:DRADeviceTaintRules @since:1.37
  Scenario Outline: A DeviceTaintRule of <version> survives an upgrade and a downgrade
    When the API server is restarted as the previous release
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/<version>
    And it is created
    When the API server is restarted as the own release
    Then in version v1 its "spec" reads {deviceSelector: {driver: api.dra.test, pool: p, device: d}, taint: {key: upkeep, value: soon, effect: NoSchedule, timeAdded: "2020-01-02T03:04:05Z"}}
    When its "spec.taint.value" is updated to later
    Then in version v1 its "spec.taint.value" reads later
    When the API server is restarted as the previous release
    Then in version v1beta2 its "spec.taint.value" reads later
    And in version v1alpha3 its "spec.deviceSelector" reads {driver: api.dra.test, pool: p, device: d}

    Examples:
      | version  |
      | v1beta2  |
      | v1alpha3 |

  @DRA-648 @gate:DRADeviceTaintRules @since:1.37
  Scenario Outline: A DeviceTaintRule of <version> on a server that serves only v1
    Given the manifest "claims/taint-rule-v1"
    And "apiVersion" is resource.k8s.io/<version>
    And it is created
    When the API server is restarted with only v1 of resource.k8s.io
    Then in version v1 its "spec.taint" reads {key: upkeep, value: soon, effect: NoSchedule, timeAdded: "2020-01-02T03:04:05Z"}
    When its "spec.taint.value" is updated to later
    Then the API server refuses it with 404 NotFound
    When the API server is restarted as the own release
    And its "metadata.labels" is updated to {changed: "yes"}
    Then in version <version> its "spec.taint" reads {key: upkeep, value: soon, effect: NoSchedule, timeAdded: "2020-01-02T03:04:05Z"}

    Examples:
      | version  |
      | v1beta2  |
      | v1alpha3 |
