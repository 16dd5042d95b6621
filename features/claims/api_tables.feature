@profile:api @component:control-plane
Feature: Tables
  kubectl shows the objects as the API server renders them.

  @DRA-399c
  Scenario Outline: The table shows a claim that <what> as <state>
    Given the manifest "claims/claim"
    And it is created
    And the ResourceClaims "create other"
    When its status "status" is updated to <status>
    And the ResourceClaims are listed as a table
    Then the table has the columns "Name, State, Age"
    And the row of "subject" has <state> as "State"
    And the row of "other" has pending as "State"

    Examples:
      | what         | status                                                                                                                                                        | state              |
      | is new       | {}                                                                                                                                                            | pending            |
      | is allocated | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}}                                                                        | allocated          |
      | is reserved  | {allocation: {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}, reservedFor: [{apiGroup: dra.test, resource: widgets, name: w, uid: w}]} | allocated,reserved |

  @DRA-399c
  Scenario: The table shows a claim that is being deleted
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [example.com/a]
    And it is created
    And its status "status.allocation" is {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    When it is deleted
    And the ResourceClaims are listed as a table
    Then the row of "subject" has deleted,allocated as "State"

  @DRA-399c
  Scenario: A table has a header, rows and the version of the list
    Given the manifest "claims/claim"
    And the ResourceClaims "create a x=1, create b x=2, create c x=1"
    When the ResourceClaims with labels "x=1" are listed as a table
    Then the table has the rows "a, c"
    And each row of the table has the metadata of its object

  @DRA-399c
  Scenario: The table of slices shows node, driver and pool
    Given the objects of the manifest "claims/slices-of-two-nodes"
    When the ResourceSlices of driver "one-$(suffix).dra.test" are listed as a table
    Then the table has the columns "Name, Node, Driver, Pool, Age"
    And the row of "$(slice:one)" has $(node:one) as "Node"
    And the row of "$(slice:two)" has $(node:two) as "Node"
    And the row of "$(slice:two)" has one-$(suffix).dra.test as "Driver"
    And the row of "$(slice:two)" has $(node:two) as "Pool"

  @DRA-399c
  Scenario: As PartialObjectMetadata, claims have their metadata only
    Given the manifest "claims/claim"
    And "metadata.labels" is {x: "1"}
    And it is created
    When the ResourceClaims are listed as PartialObjectMetadata
    Then each of the objects has its metadata only

  @DRA-399c
  Scenario: A list in a form that the API server does not have is refused
    Given the manifest "claims/claim"
    And it is created
    When the ResourceClaims are listed as Chart
    Then the API server refuses it with 406 NotAcceptable

  @DRA-704 @needs:own-control-plane
  Scenario Outline: The table shows a pod that <what> as <status>
    Given the manifest "claims/plain-pod"
    And "spec.nodeName" is <node>
    And it is created
    And its status "status" is <written>
    When a GET request that accepts "application/json;as=Table;g=meta.k8s.io;v=v1" is sent to "/api/v1/namespaces/$(namespace)/pods"
    Then the response is a Table with "columnDefinitions[*].name" [Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates]
    And the response is a Table with "columnDefinitions[*].priority" [0, 0, 0, 0, 0, 1, 1, 1, 1]
    And the response is a Table with "rows[0].cells[0]" subject
    And the response is a Table with "rows[0].cells[1]" <ready>
    And the response is a Table with "rows[0].cells[2]" <status>
    And the response is a Table with "rows[0].cells[3]" "<restarts>"
    And the response is a Table with "rows[0].cells[5]" <ip>
    And the response is a Table with "rows[0].cells[6]" <shown>

    Examples:
      | what        | node                    | written                                                                                                                                            | ready | status           | restarts | ip       | shown                   |
      | is new      | null                    | {phase: Pending}                                                                                                                                   | 0/1   | Pending          | 0        | <none>   | <none>                  |
      | runs        | $(node:without-kubelet) | {phase: Running, podIP: 10.0.0.9, podIPs: [{ip: 10.0.0.9}], containerStatuses: [{name: main, ready: true, restartCount: 0, image: i, imageID: "", state: {running: {}}}]} | 1/1   | Running          | 0        | 10.0.0.9 | $(node:without-kubelet) |
      | waits       | $(node:without-kubelet) | {phase: Pending, containerStatuses: [{name: main, ready: false, restartCount: 0, image: i, imageID: "", state: {waiting: {reason: ErrImagePull}}}]}  | 0/1   | ErrImagePull     | 0        | <none>   | $(node:without-kubelet) |
      | was evicted | $(node:without-kubelet) | {phase: Failed, reason: Evicted}                                                                                                                   | 0/1   | Evicted          | 0        | <none>   | $(node:without-kubelet) |
