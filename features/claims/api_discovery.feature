@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: What the API server reports about its API
  Clients find the resources of a server, their names and their types in its discovery documents. kubectl, controllers and
  garbage collectors that find another scope, verb or kind there send requests that the server refuses.

  @DRA-700
  Scenario Outline: Discovery of <group> lists <resource>
    When a GET request is sent to "<path>" with the body null
    Then the response is a APIResourceList with "groupVersion" <group>
    And the response is a APIResourceList with "resources[name=<resource>]" containing [<entry>]

    Examples:
      | group                       | path                              | resource                      | entry |
      | v1                          | /api/v1                           | pods                          | {kind: Pod, namespaced: true, singularName: pod, shortNames: [po], categories: [all], verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |
      | v1                          | /api/v1                           | pods/status                   | {kind: Pod, namespaced: true, singularName: "", verbs: [get, patch, update]} |
      | v1                          | /api/v1                           | pods/binding                  | {kind: Binding, namespaced: true, verbs: [create]} |
      | v1                          | /api/v1                           | pods/eviction                 | {kind: Eviction, group: policy, version: v1, namespaced: true, verbs: [create]} |
      | v1                          | /api/v1                           | bindings                      | {kind: Binding, namespaced: true, singularName: binding, verbs: [create]} |
      | v1                          | /api/v1                           | nodes                         | {kind: Node, namespaced: false, singularName: node, shortNames: ["no"], verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |
      | v1                          | /api/v1                           | namespaces                    | {kind: Namespace, namespaced: false, shortNames: [ns], verbs: [create, delete, get, list, patch, update, watch]} |
      | v1                          | /api/v1                           | namespaces/finalize           | {kind: Namespace, namespaced: false, verbs: [update]} |
      | v1                          | /api/v1                           | serviceaccounts/token         | {kind: TokenRequest, group: authentication.k8s.io, version: v1, namespaced: true, verbs: [create]} |
      | authorization.k8s.io/v1     | /apis/authorization.k8s.io/v1     | subjectaccessreviews          | {kind: SubjectAccessReview, namespaced: false, singularName: subjectaccessreview, verbs: [create]} |
      | authorization.k8s.io/v1     | /apis/authorization.k8s.io/v1     | localsubjectaccessreviews     | {kind: LocalSubjectAccessReview, namespaced: true, verbs: [create]} |
      | authorization.k8s.io/v1     | /apis/authorization.k8s.io/v1     | selfsubjectrulesreviews       | {kind: SelfSubjectRulesReview, namespaced: false, verbs: [create]} |
      | authentication.k8s.io/v1    | /apis/authentication.k8s.io/v1    | tokenreviews                  | {kind: TokenReview, namespaced: false, verbs: [create]} |
      | coordination.k8s.io/v1      | /apis/coordination.k8s.io/v1      | leases                        | {kind: Lease, namespaced: true, singularName: lease, verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |

  @DRA-700 @needs:served-version
  Scenario Outline: Discovery of resource.k8s.io/v1 lists <resource>
    When a GET request is sent to "/apis/resource.k8s.io/v1" with the body null
    Then the response is a APIResourceList with "groupVersion" resource.k8s.io/v1
    And the response is a APIResourceList with "resources[name=<resource>]" containing [<entry>]

    Examples:
      | resource               | entry |
      | resourceclaims         | {kind: ResourceClaim, namespaced: true, singularName: resourceclaim, verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |
      | resourceclaims/status  | {kind: ResourceClaim, namespaced: true, singularName: "", verbs: [get, patch, update]} |
      | resourceclaimtemplates | {kind: ResourceClaimTemplate, namespaced: true, singularName: resourceclaimtemplate, verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |
      | resourceslices         | {kind: ResourceSlice, namespaced: false, singularName: resourceslice, verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |
      | deviceclasses          | {kind: DeviceClass, namespaced: false, singularName: deviceclass, verbs: [create, delete, deletecollection, get, list, patch, update, watch]} |

  @DRA-700 @needs:served-version
  Scenario: The API group of devices has its versions, the preferred one first
    When a GET request is sent to "/apis/resource.k8s.io" with the body null
    Then the response is a APIGroup with "name" resource.k8s.io
    And the response is a APIGroup with "preferredVersion" {groupVersion: resource.k8s.io/v1, version: v1}
    And the response is a APIGroup with "versions[0]" {groupVersion: resource.k8s.io/v1, version: v1}
    When a GET request is sent to "/apis" with the body null
    Then the response is a APIGroupList with "groups[name=resource.k8s.io][0].preferredVersion" {groupVersion: resource.k8s.io/v1, version: v1}
    And the response is a APIGroupList with "groups[name=resource.k8s.io][0].versions[0]" {groupVersion: resource.k8s.io/v1, version: v1}
    When a GET request is sent to "/apis/resource.k8s.io/v1" with the body null
    Then the response is a APIResourceList with "resources[name=resourceclaimtemplates/status]" empty
    And the response is a APIResourceList with "resources[name=pods]" empty

  @DRA-700
  Scenario: The groups of reviews and the core versions are listed
    When a GET request is sent to "/apis" with the body null
    Then the response is a APIGroupList with "groups[name=authorization.k8s.io][0].versions" [{groupVersion: authorization.k8s.io/v1, version: v1}]
    And the response is a APIGroupList with "groups[name=authentication.k8s.io][0].preferredVersion" {groupVersion: authentication.k8s.io/v1, version: v1}
    When a GET request is sent to "/api" with the body null
    Then the response is a APIVersions with "versions" [v1]

  @DRA-700
  Scenario: Discovery of a version that is not served is refused
    When a GET request is sent to "/apis/coordination.k8s.io/v999" with the body null
    Then the API server refuses it with 404 NotFound

  @DRA-701
  Scenario: Aggregated discovery has all groups, versions and resources
    When a GET request that accepts "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" is sent to "/apis"
    Then the response is a APIGroupDiscoveryList with "items[metadata.name=coordination.k8s.io][0].versions[version=v1][0].resources[resource=leases]" containing [{responseKind: {kind: Lease}, scope: Namespaced, singularResource: lease, verbs: [create, delete, deletecollection, get, list, patch, update, watch]}]
    And the response is a APIGroupDiscoveryList with "items[metadata.name=coordination.k8s.io][0].versions[version=v1][0].freshness" Current
    When a GET request that accepts "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" is sent to "/api"
    Then the response is a APIGroupDiscoveryList with "items[0].versions[*].version" [v1]
    And the response is a APIGroupDiscoveryList with "items[0].versions[0].resources[resource=nodes]" containing [{responseKind: {kind: Node}, scope: Cluster, singularResource: node, shortNames: ["no"]}]
    And the response is a APIGroupDiscoveryList with "items[0].versions[0].resources[resource=pods]" containing [{responseKind: {kind: Pod}, scope: Namespaced, shortNames: [po], categories: [all]}]
    And the response is a APIGroupDiscoveryList with "items[0].versions[0].resources[resource=pods][0].subresources[subresource=status]" containing [{responseKind: {kind: Pod}, verbs: [get, patch, update]}]
    And the response is a APIGroupDiscoveryList with "items[0].versions[0].resources[resource=pods][0].subresources[subresource=eviction]" containing [{responseKind: {group: policy, version: v1, kind: Eviction}, verbs: [create]}]

  @DRA-701 @needs:served-version
  Scenario: Aggregated discovery has the resources of devices
    When a GET request is sent to "/apis/resource.k8s.io/v1" with the body null
    Then the response is a APIResourceList
    When a GET request that accepts "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" is sent to "/apis"
    Then the response is a APIGroupDiscoveryList with "items[metadata.name=resource.k8s.io][0].versions[version=v1][0].resources[resource=resourceclaims]" containing [{responseKind: {kind: ResourceClaim}, scope: Namespaced, singularResource: resourceclaim}]
    And the response is a APIGroupDiscoveryList with "items[metadata.name=resource.k8s.io][0].versions[version=v1][0].resources[resource=resourceclaims][0].subresources[subresource=status]" containing [{responseKind: {kind: ResourceClaim}, verbs: [get, patch, update]}]
    And the response is a APIGroupDiscoveryList with "items[metadata.name=resource.k8s.io][0].versions[version=v1][0].resources[resource=resourceslices]" containing [{responseKind: {kind: ResourceSlice}, scope: Cluster}]

  @DRA-702
  Scenario: OpenAPI describes the types and paths of each version
    When a GET request is sent to "/openapi/v3" with the body null
    Then the response has "paths" containing {api/v1: {}, apis/coordination.k8s.io/v1: {}}
    And the response has "paths['apis/coordination.k8s.io/v1'].serverRelativeURL" like "/openapi/v3/apis/coordination\\.k8s\\.io/v1\\?hash=[0-9A-F]+"
    When a GET request is sent to "/openapi/v3/apis/coordination.k8s.io/v1" with the body null
    Then the response has "openapi" like "3\\..*"
    And the response has "paths" containing {"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}": {}, "/apis/coordination.k8s.io/v1/leases": {}}
    And the response has "components.schemas['io.k8s.api.coordination.v1.Lease']" containing {type: object, x-kubernetes-group-version-kind: [{group: coordination.k8s.io, kind: Lease, version: v1}]}
    And the response has "components.schemas['io.k8s.api.coordination.v1.LeaseSpec'].properties.holderIdentity.type" string
    When a GET request is sent to "/openapi/v3/api/v1" with the body null
    Then the response has "paths" containing {"/api/v1/namespaces/{namespace}/pods/{name}/status": {}, "/api/v1/nodes/{name}": {}}
    When a GET request is sent to "/openapi/v2" with the body null
    Then the response has "swagger" "2.0"
    And the response has "definitions['io.k8s.api.core.v1.Pod']" containing {type: object}

  @DRA-702 @needs:served-version
  Scenario: OpenAPI describes claims
    When a GET request is sent to "/openapi/v3/apis/resource.k8s.io/v1" with the body null
    Then the response has "components.schemas['io.k8s.api.resource.v1.ResourceClaim']" containing {type: object, x-kubernetes-group-version-kind: [{group: resource.k8s.io, kind: ResourceClaim, version: v1}]}
    And the response has "components.schemas['io.k8s.api.resource.v1.ResourceClaimStatus'].properties.devices" containing {x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [driver, device, pool, shareID]}
    And the response has "paths" containing {"/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}": {}, "/apis/resource.k8s.io/v1/namespaces/{namespace}/resourceclaims/{name}/status": {}, "/apis/resource.k8s.io/v1/resourceslices/{name}": {}}

  @DRA-703
  Scenario Outline: A <manifest> is read and written back in protobuf
    Given the manifest "claims/<manifest>"
    And "<path>" is <value>
    And it is created
    When it is read and written back in protobuf
    Then the API server accepts it
    And it is stored unchanged

    Examples:
      | manifest            | path              | value |
      | slice               | spec.devices      | [{name: d, attributes: {a: {int: 5}, b: {bool: true}, c: {string: x}, dra.test/v: {version: 1.2.3}, n: {int: -7}}, capacity: {memory: {value: 40Gi}}}, {name: e}] |
      | class               | spec.config       | [{opaque: {driver: d.test, parameters: {a: [1, {b: c}], t: "1"}}}] |
      | claim               | spec.devices      | {requests: [{name: r, exactly: {deviceClassName: c, count: 3, selectors: [{cel: {expression: "true"}}]}}], constraints: [{requests: [r], matchAttribute: dra.test/a}]} |
      | template            | metadata.labels   | {a: b, c: ""} |
      | pod-with-references | spec.tolerations  | [{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 0}] |
      | secret              | data              | {a: AAEC/w==, b: ""} |
      | lease               | spec              | {holderIdentity: a, leaseDurationSeconds: 15, renewTime: "2020-01-02T03:04:05.000006Z"} |

  @DRA-703
  Scenario: The status of a claim is read and written back in protobuf
    Given the manifest "claims/claim"
    And it is created
    And its status "status" is {allocation: {allocationTimestamp: "2020-01-02T03:04:05Z", devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: a, uid: u-1}], devices: [{driver: d.test, pool: p, device: d, data: {k: [1, 2]}, conditions: [{type: Ready, status: "True", reason: A, message: m, lastTransitionTime: "2020-01-02T03:04:05Z"}], networkData: {interfaceName: eth0, ips: [10.9.8.0/24]}}]}
    When its status is read and written back in protobuf
    Then the API server accepts it
    And it is stored unchanged

  @DRA-703
  Scenario: The allocation of a claim without devices is read and written back in protobuf
    Given the manifest "claims/claim"
    And it is created
    And its status "status" is {allocation: {devices: {}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: a, uid: u-1}]}
    When its status is read and written back in protobuf
    Then the API server accepts it
    And it is stored unchanged
