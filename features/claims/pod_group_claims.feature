@profile:claim-lifecycle @component:claim-controller @since:1.37
Feature: Claims of PodGroups
  A PodGroup of scheduling.k8s.io has one claim for each of its template entries, and its pods share it. The claim is
  reserved for the group, not for its pods, and stays allocated as long as the group exists.

  @DRA-548 @gate:DRAWorkloadResourceClaims
  Scenario: Each template entry of a PodGroup gets one claim before any pod exists
    Given the objects of the manifest "claims/labelled-template"
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    When a workload PodGroup "train" using template "labelled, single" as "left, right" is created
    And a workload PodGroup "other" using template "labelled" as "left" is created
    Then workload PodGroup "train" has each of its claims once
    And workload PodGroup "other" has each of its claims once
    Given workload PodGroup "train" has its claim "two" for entry "left"
    And workload PodGroup "train" has its claim "one" for entry "right"
    Then the ResourceClaim "two" has:
      | field                                  | value                       |
      | metadata.annotations                   | {purpose: training, resource.kubernetes.io/pod-claim-name: left} |
      | metadata.labels                        | {team: a}                   |
      | spec.devices.requests[0].exactly.count | 2                           |
      | metadata.ownerReferences[*].apiVersion | [scheduling.k8s.io/v1beta1] |
      | metadata.ownerReferences[0].kind       | PodGroup                    |
      | metadata.ownerReferences[0].name       | train                       |
      | metadata.ownerReferences[0].controller | true                        |
    And the ResourceClaim "one" has:
      | field                                  | value                                          |
      | metadata.annotations                   | {resource.kubernetes.io/pod-claim-name: right} |
      | spec.devices.requests[0].exactly.count | 1                                              |

  @DRA-549 @gate:DRAWorkloadResourceClaims
  Scenario: The pods of a PodGroup record the claims of their group
    Given the objects of the manifest "claims/labelled-template"
    And a workload PodGroup "train" using template "labelled" as "left, right"
    And a workload PodGroup "other" using template "labelled" as "left"
    And workload PodGroup "train" has its claim "one" for entry "left"
    And workload PodGroup "train" has its claim "two" for entry "right"
    And workload PodGroup "other" has its claim "three" for entry "left"
    When a pod "a" of workload PodGroup "train" using template "labelled" as "left, right" is created
    And a pod "b" of workload PodGroup "train" using template "labelled" as "right" is created
    And a pod "c" of workload PodGroup "other" using template "labelled" as "left" is created
    Then pods "a" record claim "one" for entry "left"
    And pods "a, b" record claim "two" for entry "right"
    And pods "c" record claim "three" for entry "left"
    And pod "a" has no claim
    And pod "b" has no claim
    And workload PodGroup "train" has each of its claims once

  @DRA-549 @gate:DRAWorkloadResourceClaims
  Scenario: Pods that are older than their PodGroup record its claim
    Given the objects of the manifest "claims/labelled-template"
    And a pod "a" of workload PodGroup "late" using template "labelled" as "gpu"
    And a pod "b" of workload PodGroup "late" using template "labelled" as "gpu"
    When a workload PodGroup "late" using template "labelled" as "gpu" is created
    Given workload PodGroup "late" has its claim "shared" for entry "gpu"
    Then pods "a, b" record claim "shared" for entry "gpu"
    And pod "a" has no claim
    And pod "b" has no claim

  @DRA-549 @DRA-850 @gate:DRAWorkloadResourceClaims
  Scenario: The claim of a PodGroup is recorded once its template exists
    Given a ResourceClaimTemplate "single" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "shared"
    And a pod "a" of workload PodGroup "train" using template "labelled, single" as "shared, own"
    Then the status of pod "a" names its claim as "own" [DRA-850]
    # An entry without the name of a claim would mean that the pod needs none.
    And the Pod "a" keeps "status.resourceClaimStatuses[*].name" [own] [DRA-850]
    Given the objects of the manifest "claims/labelled-template"
    And workload PodGroup "train" has its claim "late" for entry "shared"
    Then pods "a" record claim "late" for entry "shared" [DRA-549]
    And pod "a" keeps one claim [DRA-549]

  @DRA-550 @gate:DRAWorkloadResourceClaims
  Scenario: A pod's entry that differs from those of its PodGroup gets a claim of its own
    Given the objects of the manifest "claims/labelled-template"
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    When a pod "equal" of workload PodGroup "train" using template "labelled" as "gpu" is created
    And a pod "template" of workload PodGroup "train" using template "single" as "gpu" is created
    And a pod "name" of workload PodGroup "train" using template "labelled, labelled" as "mine, gpu" is created
    Then pods "equal, name" record claim "shared" for entry "gpu"
    And pod "equal" has no claim
    And the status of pod "template" names its claim as "gpu"
    And the ResourceClaim of pod "template" has "spec.devices.requests[0].exactly.count" 1
    And the ResourceClaim of pod "name" has "metadata.annotations['resource.kubernetes.io/pod-claim-name']" mine
    And pod "name" keeps one claim

  @DRA-553 @gate:DRAWorkloadResourceClaims
  Scenario Outline: The claim of a PodGroup stays allocated while the group exists, although its pods <end>
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And a workload PodGroup "named" using claim "mine" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    And a pod "a" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "b" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "c" of workload PodGroup "named" using claim "mine" as "gpu"
    And claim "shared" is allocated by hand on "n1" for workload PodGroup "train"
    And claim "mine" is allocated by hand on "n1" for workload PodGroup "named"
    When <first>
    # A change of the claim, so that the controller looks at it after the pod has ended.
    And "metadata.labels" of the ResourceClaim "shared" is set to {seen: one}
    Then claim "shared" stays reserved for exactly workload PodGroup "train"
    And the ResourceClaim "shared" keeps "status.allocation.devices.results" set
    When <second>
    And <third>
    And "metadata.labels" of the ResourceClaim "shared" is set to {seen: both}
    And "metadata.labels" of the ResourceClaim "mine" is set to {seen: all}
    Then claim "shared" stays reserved for exactly workload PodGroup "train"
    And the ResourceClaim "shared" keeps "status.allocation.devices.results" set
    And claim "mine" stays reserved for exactly workload PodGroup "named"
    And the ResourceClaim "mine" keeps "status.allocation.devices.results" set

    Examples:
      | end         | first                                             | second                                            | third                                             |
      | have ended  | "status.phase" of the Pod "a" is set to Succeeded | "status.phase" of the Pod "b" is set to Failed    | "status.phase" of the Pod "c" is set to Succeeded |
      | are deleted | pod "a" is force-deleted                          | pod "b" is force-deleted                          | pod "c" is force-deleted                          |

  @DRA-554 @gate:DRAWorkloadResourceClaims
  Scenario: The claims of a PodGroup are released when the group is gone
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And a workload PodGroup "named" using claim "mine" as "gpu"
    And a workload PodGroup "other" using template "labelled" as "gpu"
    And workload PodGroup "train" has its claim "generated" for entry "gpu"
    And workload PodGroup "other" has its claim "kept" for entry "gpu"
    And a pod "a" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "b" of workload PodGroup "named" using claim "mine" as "gpu"
    And claim "generated" is allocated by hand on "n1" for workload PodGroup "train"
    And claim "mine" is allocated by hand on "n1" for workload PodGroup "named"
    And claim "kept" is allocated by hand on "n1" for workload PodGroup "other"
    When pod "a" is force-deleted
    And pod "b" is force-deleted
    And workload PodGroup "train" is deleted
    And workload PodGroup "named" is deleted
    Then the ResourceClaim "generated" is gone
    And claim "mine" is reserved for exactly the pods ""
    And claim "mine" is deallocated
    And the ResourceClaim "mine" has "metadata.finalizers" without resource.kubernetes.io/delete-protection
    And the ResourceClaim "mine" still exists
    When "metadata.labels" of the ResourceClaim "kept" is set to {seen: both}
    Then claim "kept" stays reserved for exactly workload PodGroup "other"
    And the ResourceClaim "kept" keeps "status.allocation.devices.results" set

  @DRA-851 @gate:DRAWorkloadResourceClaims
  Scenario: The claim of a PodGroup is kept when a pod with the name of the group has ended
    Given the objects of the manifest "claims/labelled-template"
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    And a pod "train" of workload PodGroup "train" using template "single" as "own"
    And pod "train" has its claim "own" for entry "own"
    When "status.phase" of the Pod "train" is set to Succeeded
    Then the ResourceClaim "own" is gone
    When "metadata.labels" of the ResourceClaim "shared" is set to {seen: one}
    Then the ResourceClaim "shared" still exists

  @DRA-554b @component:control-plane @gate:DRAWorkloadResourceClaims
  Scenario: A PodGroup that is deleted exists until all of its pods have ended
    Given the objects of the manifest "claims/labelled-template"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And a workload PodGroup "other" using template "labelled" as "gpu"
    And a pod "a" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "b" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "c" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "d" of workload PodGroup "other" using template "labelled" as "gpu"
    And a pod "e" of workload PodGroup "train" in another namespace
    When workload PodGroup "train" is deleted
    Then workload PodGroup "train" stays in deletion
    When "status.phase" of the Pod "a" is set to Succeeded
    And "status.phase" of the Pod "b" is set to Failed
    Then workload PodGroup "train" stays in deletion
    When pod "c" is force-deleted
    Then workload PodGroup "train" is gone

  @DRA-554c @gate:DRAWorkloadResourceClaims
  Scenario: The claims of a PodGroup in deletion stay reserved for it
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    And a pod "a" of workload PodGroup "train" using template "labelled" as "gpu"
    And claim "shared" is allocated by hand on "n1" for workload PodGroup "train"
    And workload PodGroup "train" is being deleted
    Then claim "shared" stays reserved for exactly workload PodGroup "train"
    # A change of the claim, so that the controller looks at it after the group was deleted.
    When "metadata.labels" of the ResourceClaim "shared" is set to {seen: deleted}
    Then claim "shared" stays reserved for exactly workload PodGroup "train"
    And the ResourceClaim "shared" keeps "status.allocation.devices.results" set

  @DRA-555 @gate:DRAWorkloadResourceClaims
  Scenario: A PodGroup that replaces another of its name does not keep its reservation
    Given node "n1"
    And a ResourceClaim "old" for 1 of "gpu"
    And a ResourceClaim "new" for 1 of "gpu"
    And a workload PodGroup "train" using claim "old, new" as "left, right"
    And claim "old" is allocated by hand on "n1" for workload PodGroup "train"
    When workload PodGroup "train" is replaced by another of its name
    Then claim "old" is reserved for exactly the pods ""
    And claim "old" is deallocated
    Given claim "new" is allocated by hand on "n1" for workload PodGroup "train"
    When the former workload PodGroup "train" is added to the consumers of claim "new"
    Then claim "new" stays reserved for exactly workload PodGroup "train"
    And the ResourceClaim "new" keeps "status.allocation.devices.results" set

  @DRA-556 @gate:DRAWorkloadResourceClaims
  Scenario: A missing template is reported in an event of the PodGroup
    Given the objects of the manifest "claims/labelled-template"
    And the manifest "claims/template"
    And a workload PodGroup "early" using template "labelled, subject" as "left, right"
    Then workload PodGroup "early" gets a Warning event "FailedResourceClaimCreation" that contains "subject"
    And workload PodGroup "early" gets a Warning event "FailedResourceClaimCreation" that contains "right"
    When it is created
    Then workload PodGroup "early" has each of its claims once

  @DRA-740 @gate:DRAWorkloadResourceClaims @needs:faults
  Scenario: A PodGroup gets its claims once the API server accepts them again
    Given the objects of the manifest "claims/labelled-template"
    And the API server answers 403 to the next 3 creations of ResourceClaim
    And a workload PodGroup "train" using template "labelled" as "left, right"
    When every fault has affected a request
    Then workload PodGroup "train" has each of its claims once

  @DRA-548b @gate:DRAWorkloadResourceClaims
  Scenario Outline: A claim of a PodGroup that is created again is recorded beside the other, <lost> entry
    Given the objects of the manifest "claims/labelled-template"
    And a workload PodGroup "train" using template "labelled" as "left, right"
    And workload PodGroup "train" has its claim "lost" for entry "<lost>"
    And workload PodGroup "train" has its claim "kept" for entry "<kept>"
    When the ResourceClaim "lost" is deleted
    # A change of the group, so that the controller looks at it after the claim is gone.
    And workload PodGroup "train" gets another label
    Then workload PodGroup "train" has each of its claims once

    Examples:
      | lost  | kept  |
      | left  | right |
      | right | left  |

  @DRA-118c @gate:DRAWorkloadResourceClaims
  Scenario: A claim is reserved for the PodGroup of pods that another component bound
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a ResourceClaim "own" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And a workload PodGroup "named" using claim "mine" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    And a pod "a" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "b" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "c" of workload PodGroup "named" using claim "mine, own" as "gpu, other"
    And claim "shared" is allocated by hand on "n1"
    And claim "mine" is allocated by hand on "n1"
    And claim "own" is allocated by hand on "n1"
    When pod "a" is bound by hand to "n1"
    And pod "b" is bound by hand to "n1"
    And pod "c" is bound by hand to "n1"
    Then claim "shared" stays reserved for exactly workload PodGroup "train"
    And claim "mine" stays reserved for exactly workload PodGroup "named"
    And claim "own" stays reserved for exactly the pods "c"

  @DRA-557 @needs:claim-controller-gates @gate:DRAWorkloadResourceClaims
  Scenario: A pod gets no claim of its own for an entry of its PodGroup while such claims are disabled
    Given the claim controller has feature gates "DRAWorkloadResourceClaims" off
    And the objects of the manifest "claims/labelled-template"
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    When a pod "equal" of workload PodGroup "train" using template "labelled" as "gpu" is created
    And a pod "other" of workload PodGroup "train" using template "single" as "gpu" is created
    Then pod "equal" gets a Warning event "FailedResourceClaimCreation" that contains "DRAWorkloadResourceClaims"
    And the status of pod "other" names its claim as "gpu"
    And pod "equal" has no claim

  @DRA-546 @needs:claim-controller-gates @gate:DRAWorkloadResourceClaims
  Scenario: Pods of a PodGroup get no claims while PodGroups are disabled
    Given the claim controller has feature gates "GenericWorkload, DRAWorkloadResourceClaims" off
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    And a workload PodGroup "train" using template "single" as "shared"
    And a pod "plain" using template "single" as "own"
    When a pod "equal" of workload PodGroup "train" using template "single" as "shared" is created
    And a pod "other" of workload PodGroup "train" using template "single" as "own" is created
    Then the status of pod "plain" names its claim as "own"
    And pod "equal" has no claim
    And pod "other" has no claim
