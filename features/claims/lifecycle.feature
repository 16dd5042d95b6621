@profile:claim-lifecycle @component:claim-controller
Feature: Lifecycle of claims
  A claim from a template is created and deleted with its pod. Every claim is deallocated when its last consumer is
  gone, and not before.

  @DRA-100 @DRA-101
  Scenario: A pod that names a template gets a claim of its own
    Given the objects of the manifest "claims/labelled-template"
    When a pod "train" using template "labelled" is created
    Then the ResourceClaim of pod "train" has: [DRA-100]
      | field                                                         | value    |
      | metadata.annotations['resource.kubernetes.io/pod-claim-name'] | gpu      |
      | metadata.labels.team                                          | a        |
      | metadata.annotations.purpose                                  | training |
      | spec.devices.requests[0].exactly.count                        | 2        |
      | metadata.ownerReferences[0].apiVersion                        | v1       |
      | metadata.ownerReferences[0].kind                              | Pod      |
      | metadata.ownerReferences[0].name                              | train    |
      | metadata.ownerReferences[0].controller                        | true     |
      | metadata.generateName                                         | train-gpu- |
    And the status of pod "train" names its claim as "gpu" [DRA-101]
    Given a ResourceClaim "mine" for 1 of "gpu"
    When a pod "mixed" using claim "mine" is created with:
      """
      resourceClaims: [{name: mine, resourceClaimName: mine}, {name: gpu, resourceClaimTemplateName: labelled}]
      """
    Then the ResourceClaim of pod "mixed" has "metadata.labels.team" a [DRA-100]
    And the status of pod "mixed" names its claim as "gpu" [DRA-101]

  @DRA-100 @DRA-101
  Scenario: Each template entry of each pod gets a claim of its own
    Given the objects of the manifest "claims/labelled-template"
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    And a pod "first" using template "labelled, single" as "left, right"
    And pod "first" has its claim "two" for entry "left"
    And pod "first" has its claim "one" for entry "right"
    And a pod "second" using template "single, labelled" as "left, right"
    Then every pod has each of its claims once [DRA-101]
    And the ResourceClaim "two" has "spec.devices.requests[0].exactly.count" 2 [DRA-100]
    And the ResourceClaim "two" has "metadata.labels.team" a [DRA-100]
    And the ResourceClaim "two" has "metadata.annotations" {purpose: training, resource.kubernetes.io/pod-claim-name: left} [DRA-100]
    And the ResourceClaim "one" has "spec.devices.requests[0].exactly.count" 1 [DRA-100]
    And the ResourceClaim "one" has "metadata.labels" null [DRA-100]
    And the ResourceClaim "one" has "metadata.annotations" {resource.kubernetes.io/pod-claim-name: right} [DRA-100]

  @DRA-100
  Scenario: Claims that are created at the same time from a template with annotations have those of their own entries
    Given the objects of the manifest "claims/labelled-template"
    # It finds all pods at once, and creates their claims side by side.
    And the claim-controller is stopped
    And pods "p" 1 to 20 each using template "labelled" as "left, right"
    When the claim-controller is started
    Then every pod has each of its claims once
    And each claim of every pod is annotated with the entry that it was created for

  @DRA-100
  Scenario: A recorded claim that has lost its annotation is not created again
    Given the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled"
    And pod "train" has its claim "generated"
    When "metadata.annotations" of the ResourceClaim "generated" is set to null
    And "metadata.annotations" of the Pod "train" is set to {touched: "yes"}
    Then pod "train" keeps one claim
    And the ResourceClaim "generated" still exists

  @DRA-100b
  Scenario: No claim is created for a pod that is being deleted
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled"
    And a pod "bound" using template "labelled"
    And a pod "other" using template "labelled"
    And pod "train" has its claim "lost"
    And pod "bound" has its claim "lost-too"
    And pod "other" has its claim "kept"
    And pod "bound" is bound by hand to "n1"
    And the Pod "train" is being deleted
    And the Pod "bound" is being deleted
    When the ResourceClaim "lost" is deleted
    And the ResourceClaim "lost-too" is deleted
    Then the ResourceClaim "lost" is gone
    And the ResourceClaim "lost-too" is gone
    And pod "train" has no claim
    And pod "bound" has no claim
    And the ResourceClaim "kept" still exists

  @DRA-101 @DRA-103
  Scenario: A claim whose template is created later is recorded beside the other
    Given the objects of the manifest "claims/labelled-template"
    And the manifest "claims/template"
    And a pod "early" using template "labelled, subject" as "left, right"
    Then pod "early" gets a Warning event "FailedResourceClaimCreation" that contains "subject" [DRA-103]
    And pod "early" gets a Warning event "FailedResourceClaimCreation" that contains "right" [DRA-103]
    When it is created
    Then every pod has each of its claims once [DRA-101]

  @DRA-101b
  Scenario: A lost entry of a pod's claim statuses is recorded beside the other
    Given a ResourceClaimTemplate "plain" for 1 of "gpu"
    And a pod "train" using template "plain" as "left, right"
    And pod "train" has its claim "one" for entry "left"
    And pod "train" has its claim "two" for entry "right"
    When the entry "left" is removed from the claim statuses of pod "train"
    Then the status of pod "train" has the entry "left" again, and no version without the entry "right"
    And every pod has each of its claims once
    When the entry "right" is removed from the claim statuses of pod "train"
    Then the status of pod "train" has the entry "right" again, and no version without the entry "left"
    And every pod has each of its claims once

  @DRA-120 @needs:faults
  Scenario: A pod gets its claims once the API server accepts them again
    Given the objects of the manifest "claims/labelled-template"
    And the API server answers 403 to the next 3 creations of ResourceClaim
    And a pod "train" using template "labelled" as "left, right"
    Then pod "train" gets a Warning event "FailedResourceClaimCreation" that contains "left"
    And every pod has each of its claims once

  @DRA-102
  Scenario: Long names of pod and entry are both shortened
    Given the objects of the manifest "claims/labelled-template"
    And the manifest "claims/long-names"
    When it is created
    Then the ResourceClaim of pod "podpodpod-podpodpod-podpodpod-podpodpod-podpodpod-podpodpodp" has "metadata.name" like "podpodpod-podpodpod-[-a-z0-9]*ent-entryentry-[-a-z0-9]*[a-z0-9]"
    And the ResourceClaim of pod "podpodpod-podpodpod-podpodpod-podpodpod-podpodpod-podpodpodp" has:
      | field         | value                  |
      | metadata.name | like "[-a-z0-9]{1,63}" |

  @DRA-102b
  Scenario: Names of pod and entry that fit are not shortened
    Given the objects of the manifest "claims/labelled-template"
    # With both hyphens 57 characters; a name has at most 63, of which five are random.
    And a pod "podpodpod-podpodpod-podpodpodp" using template "labelled" as "entryentry-entryentry-ent"
    And a pod "short" using template "labelled" as "entryentry-entryentry-ent"
    Then the ResourceClaim of pod "podpodpod-podpodpod-podpodpodp" has "metadata.name" like "podpodpod-podpodpod-podpodpodp-entryentry-entryentry-ent-[a-z0-9]{5}"
    And the ResourceClaim of pod "short" has "metadata.name" like "short-entryentry-entryentry-ent-[a-z0-9]{5}"

  @DRA-103
  Scenario: A pod can be created before its template
    Given a pod "early" using template "subject"
    And the manifest "claims/template"
    Then pod "early" gets a Warning event "FailedResourceClaimCreation"
    When the event "FailedResourceClaimCreation" of pod "early" is recorded again, or a second has passed
    And it is created
    Then the ResourceClaim of pod "early" has "metadata.annotations['resource.kubernetes.io/pod-claim-name']" gpu

  @DRA-103b @needs:own-control-plane
  Scenario: The attempts to create a claim are counted in one event of each pod
    Given a pod "early" using template "subject"
    And a pod "other" using template "subject"
    Then the event "FailedResourceClaimCreation" of pod "early" comes to count 3 attempts
    And the event "FailedResourceClaimCreation" of pod "other" comes to count 3 attempts
    When the event "FailedResourceClaimCreation" of pod "early" is deleted
    Then pod "early" gets a Warning event "FailedResourceClaimCreation" that contains "subject"
    And the event "FailedResourceClaimCreation" of pod "early" comes to count 2 attempts
    When pod "other" is force-deleted
    And a pod "other" using template "subject" is created
    Then pod "other" gets a Warning event "FailedResourceClaimCreation" that contains "subject"

  @DRA-103b @needs:virtual-clock
  Scenario: The event of a claim that cannot be created has the times of the first and the last attempt
    Given a pod "early" using template "subject"
    Then the event "FailedResourceClaimCreation" of pod "early" comes to count 2 attempts
    When 30 seconds pass
    Then the event "FailedResourceClaimCreation" of pod "early" comes to count 2 attempts, 10 seconds apart

  @DRA-104
  Scenario: A deleted claim of an existing pod is created again
    Given the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled" as "left, right"
    And pod "train" has its claim "lost" for entry "right"
    And pod "train" has its claim "kept" for entry "left"
    # Nothing else than the deletion of its only claim concerns this pod.
    And a pod "single" using template "labelled" as "only"
    And pod "single" has its claim "alone" for entry "only"
    When the ResourceClaim "lost" is deleted
    And the ResourceClaim "alone" is deleted
    Then the ResourceClaim "lost" is gone
    And the ResourceClaim "alone" is gone
    And every pod has each of its claims once
    And the ResourceClaim "kept" still exists

  @DRA-105
  Scenario Outline: A claim is adopted if the pod status has <status>
    Given a ResourceClaimTemplate "plain" for 1 of "gpu"
    And a pod "train" using template "plain" as "left, right"
    And a pod "other" using template "plain" as "right, left"
    And pod "train" has its claim "one" for entry "left"
    And pod "train" has its claim "two" for entry "right"
    And a ResourceClaim "foreign" for 1 of "gpu"
    When "status.resourceClaimStatuses" of the Pod "train" is set to <statuses>
    Then every pod has each of its claims once
    And the ResourceClaim "one" still exists
    And the ResourceClaim "two" still exists

    Examples:
      | status                         | statuses                                       |
      | no claims                      | []                                             |
      | a claim that is not there      | [{name: right, resourceClaimName: never-was}]  |
      | the claim of another owner     | [{name: left, resourceClaimName: foreign}]     |

  @DRA-100 @DRA-103 @DRA-107b
  Scenario: No claim is created for an entry that needs none
    Given a pod "plain" using template "labelled"
    Then pod "plain" gets a Warning event "FailedResourceClaimCreation" [DRA-103]
    When "status.resourceClaimStatuses" of the Pod "plain" is set to [{name: gpu}]
    # A sign that the controller has received this status: a later pod, while there is still no template.
    Given a pod "later" using template "labelled"
    Then pod "later" gets a Warning event "FailedResourceClaimCreation" [DRA-103]
    Given the objects of the manifest "claims/labelled-template"
    And a pod "other" using template "labelled"
    Then pod "other" keeps one claim [DRA-100]
    And pod "plain" has no claim [DRA-107b]

  @DRA-108 @DRA-109
  Scenario: A pod that is deleted before it is bound releases its devices
    Given node "n1"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "shared"
    And claim "shared" is allocated by hand on "n1" for pods "first"
    When pod "first" is deleted
    Then claim "shared" is reserved for exactly the pods "" [DRA-108]
    And claim "shared" is deallocated [DRA-109]
    And the ResourceClaim "shared" has "metadata.finalizers" without resource.kubernetes.io/delete-protection [DRA-109]

  @DRA-108 @DRA-110
  Scenario: Of two pods that are being deleted, the one without a node releases its devices
    Given node "n1"
    And a ResourceClaim "idle" for 1 of "gpu"
    And a ResourceClaim "busy" for 1 of "gpu"
    And a pod "waiting" using claim "idle"
    And a pod "running" using claim "busy"
    And claim "idle" is allocated by hand on "n1" for pods "waiting"
    And claim "busy" is allocated by hand on "n1" for pods "running"
    And pod "running" is bound by hand to "n1"
    And the Pod "running" is being deleted
    And the Pod "waiting" is being deleted
    # A change of the claim, so that the controller looks at it after the pod is being deleted.
    And "metadata.labels" of the ResourceClaim "busy" is set to {team: a}
    Then claim "idle" is reserved for exactly the pods "" [DRA-108]
    And claim "idle" is deallocated [DRA-108]
    And claim "busy" stays reserved for exactly the pods "running" [DRA-110]
    And the ResourceClaim "busy" keeps "status.allocation.devices.results" set [DRA-110]

  @DRA-109b
  Scenario: An allocation without delete protection is kept when its last pod ends
    Given node "n1"
    And a ResourceClaim "unprotected" for 1 of "gpu"
    And a ResourceClaim "protected" for 1 of "gpu"
    And a pod "first" using claim "unprotected"
    And a pod "second" using claim "protected"
    And claim "unprotected" holds the devices "dev-0" of "n1"
    And claim "unprotected" is reserved by hand for pods "first"
    And claim "protected" is allocated by hand on "n1" for pods "second"
    When pod "first" is deleted
    And pod "second" is deleted
    Then claim "unprotected" is reserved for exactly the pods ""
    And claim "protected" is deallocated
    And the ResourceClaim "unprotected" keeps "status.allocation.devices.results" set

  @DRA-108b
  Scenario: A pod that ended is not reserved again while another pod uses its claim
    Given node "n1"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "shared"
    And a pod "second" using claim "shared"
    And claim "shared" is allocated by hand on "n1" for pods "first, second"
    And pod "first" is bound by hand to "n1"
    And pod "second" is bound by hand to "n1"
    When "status.phase" of the Pod "first" is set to Succeeded
    Then claim "shared" stays reserved for exactly the pods "second"

  @DRA-108 @DRA-109
  Scenario Outline: A pod that ended as <phase> releases its devices
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a pod "train" using claim "mine"
    And claim "mine" is allocated by hand on "n1" for pods "train"
    And pod "train" is bound by hand to "n1"
    When "status.phase" of the Pod "train" is set to <phase>
    Then claim "mine" is reserved for exactly the pods "" [DRA-108]
    And claim "mine" is deallocated [DRA-109]
    And the ResourceClaim "mine" has "metadata.finalizers" without resource.kubernetes.io/delete-protection [DRA-109]

    Examples:
      | phase     |
      | Succeeded |
      | Failed    |

  @DRA-117
  Scenario: Claims that a user created outlive their pods
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "train" using claim "mine, other"
    And claim "mine" is allocated by hand on "n1" for pods "train"
    And claim "other" is allocated by hand on "n1" for pods "train"
    And pod "train" is bound by hand to "n1"
    When "status.phase" of the Pod "train" is set to Succeeded
    Then claim "mine" is deallocated
    And claim "other" is deallocated
    And the ResourceClaim "mine" still exists
    And the ResourceClaim "other" still exists

  @DRA-108 @DRA-109 @DRA-110
  Scenario Outline: A claim stays allocated as long as one consumer is left, whichever of two pods is deleted
    Given node "n1"
    And a ResourceClaim "own" for 1 of "gpu"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "own, shared"
    And a pod "second" using claim "own, shared"
    And claim "own" is allocated by hand on "n1" for pods "<deleted>"
    And claim "shared" is allocated by hand on "n1" for pods "first, second"
    When pod "<deleted>" is deleted
    Then claim "own" is reserved for exactly the pods "" [DRA-108]
    And claim "own" is deallocated [DRA-109]
    And claim "shared" is reserved for exactly the pods "<left>" [DRA-108, DRA-110]
    And the ResourceClaim "shared" keeps "status.allocation.devices.results" set [DRA-110]

    Examples:
      | deleted | left   |
      | first   | second |
      | second  | first  |

  @DRA-111
  Scenario: Consumers of unknown kinds are kept
    Given node "n1"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "shared"
    And claim "shared" is allocated by hand on "n1" for pods "first"
    And claim "shared" is also reserved for [{apiGroup: dra.test, resource: widgets, name: w, uid: w-1}, {apiGroup: dra.test, resource: pods, name: first, uid: w-2}, {resource: services, name: first, uid: w-3}]
    When pod "first" is deleted
    Then the ResourceClaim "shared" has:
      | field                     | value           |
      | status.reservedFor[*].uid | [w-1, w-2, w-3] |
    And the ResourceClaim "shared" keeps "status.allocation.devices.results" set

  @DRA-112
  Scenario: A pod that replaces another of its name does not keep its reservation
    Given node "n1"
    And a ResourceClaim "alone" for 1 of "gpu"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "alone, shared"
    And a pod "second" using claim "shared"
    And claim "alone" is allocated by hand on "n1" for pods "first"
    And claim "shared" is allocated by hand on "n1" for pods "second, first"
    When pod "first" is force-deleted
    And a pod "first" using claim "alone, shared" is created
    Then claim "alone" is reserved for exactly the pods ""
    And claim "alone" is deallocated
    And claim "shared" is reserved for exactly the pods "second"

  @DRA-112b @needs:faults
  Scenario: A reservation for a pod that the controller has not received yet is kept
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a ResourceClaim "other" for 1 of "gpu"
    And a pod "former" using claim "other"
    When the watches of Pod break and are not served
    Given a pod "new" using claim "mine"
    When pod "former" is force-deleted
    And a pod "former" using claim "other" is created
    Given claim "mine" is allocated by hand on "n1" for pods "new"
    And claim "other" is allocated by hand on "n1" for pods "former"
    Then claim "mine" stays reserved for exactly the pods "new"
    And claim "other" stays reserved for exactly the pods "former"

  @DRA-112
  Scenario: A reservation for another uid is removed
    Given node "n1"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "shared"
    And a pod "second" using claim "shared"
    And claim "shared" is allocated by hand on "n1" for pods "first"
    And claim "shared" is also reserved for {resource: pods, name: second, uid: 0b54bd26-6f0c-4f1c-9fc6-3e0b4a1c5a11}
    Then claim "shared" is reserved for exactly the pods "first"
    And the ResourceClaim "shared" keeps "status.allocation.devices.results" set

  @DRA-109 @DRA-113 @DRA-114
  Scenario: A claim that was allocated and never used stays allocated until it is deleted
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And claim "mine" is allocated by hand on "n1"
    And a ResourceClaim "used" for 1 of "gpu"
    And a pod "first" using claim "used"
    And claim "used" is allocated by hand on "n1" for pods "first"
    When pod "first" is deleted
    # The controller has observed the other claim, which was allocated later.
    Then claim "used" is deallocated [DRA-109]
    And the ResourceClaim "mine" keeps "status.allocation.devices.results" set [DRA-113]
    When the ResourceClaim "mine" is deleted
    Then the ResourceClaim "mine" is gone [DRA-114]

  @DRA-114
  Scenario: Only delete protection is removed from a claim without consumers that is being deleted
    Given node "n1"
    And a ResourceClaim "held" for 1 of "gpu"
    And a ResourceClaim "empty" for 1 of "gpu"
    And claim "held" is allocated by hand on "n1"
    And "metadata.finalizers" of the ResourceClaim "held" is set to [dra.test/first, resource.kubernetes.io/delete-protection, dra.test/last]
    And "metadata.finalizers" of the ResourceClaim "empty" is set to [resource.kubernetes.io/delete-protection]
    When the ResourceClaim "held" is deleted
    And the ResourceClaim "empty" is deleted
    Then the ResourceClaim "empty" is gone
    And claim "held" is deallocated
    And the ResourceClaim "held" has "metadata.finalizers" [dra.test/first, dra.test/last]
    When "metadata.finalizers" of the ResourceClaim "held" is set to null
    Then the ResourceClaim "held" is gone

  @DRA-115
  Scenario: A claim in use is deleted when its last pod is gone
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a pod "first" using claim "mine"
    And a pod "last" using claim "mine"
    And claim "mine" is allocated by hand on "n1" for pods "first, last"
    When the ResourceClaim "mine" is deleted
    And pod "first" is deleted
    Then claim "mine" is reserved for exactly the pods "last"
    And the ResourceClaim "mine" has "metadata.deletionTimestamp" set
    And the ResourceClaim "mine" keeps "status.allocation.devices.results" set
    When pod "last" is deleted
    Then the ResourceClaim "mine" is gone

  @DRA-116 @DRA-100b
  Scenario Outline: The claims of a pod that ended as <phase> are deleted while the pod still exists
    Given node "n1"
    And a ResourceClaimTemplate "plain" for 1 of "gpu"
    And a pod "train" using template "plain" as "left, right, unused"
    And a pod "other" using template "plain"
    And pod "train" has its claim "one" for entry "left"
    And pod "train" has its claim "two" for entry "right"
    And pod "train" has its claim "never-reserved" for entry "unused"
    And pod "other" has its claim "kept"
    And claim "one" is allocated by hand on "n1" for pods "train"
    And claim "two" is allocated by hand on "n1" for pods "train"
    And claim "kept" is allocated by hand on "n1" for pods "other"
    And pod "train" is bound by hand to "n1"
    And pod "other" is bound by hand to "n1"
    When "status.phase" of the Pod "train" is set to <phase>
    Then the ResourceClaim "one" is gone [DRA-116]
    And the ResourceClaim "two" is gone [DRA-116]
    And the ResourceClaim "never-reserved" is gone [DRA-116]
    And the Pod "train" still exists [DRA-116]
    And pod "train" has no claim [DRA-100b]
    And the ResourceClaim "kept" still exists [DRA-116]

    Examples:
      | phase     |
      | Succeeded |
      | Failed    |

  @DRA-116b
  Scenario: The claim of a pod that ended is kept while another consumer uses it
    Given node "n1"
    And a ResourceClaimTemplate "plain" for 1 of "gpu"
    And a pod "train" using template "plain"
    And pod "train" has its claim "used"
    And claim "used" is allocated by hand on "n1" for pods "train"
    And claim "used" is also reserved for [{apiGroup: dra.test, resource: widgets, name: w, uid: w-1}]
    And pod "train" is bound by hand to "n1"
    When "status.phase" of the Pod "train" is set to Succeeded
    Then the ResourceClaim "used" has "status.reservedFor[*].uid" [w-1]
    And the ResourceClaim "used" keeps "metadata.deletionTimestamp" null
    When "status.reservedFor" of the ResourceClaim "used" is set to null
    Then the ResourceClaim "used" is gone

  @DRA-116
  Scenario: A running pod keeps its claim
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled"
    And pod "train" has its claim "generated"
    And claim "generated" is allocated by hand on "n1" for pods "train"
    And pod "train" is bound by hand to "n1"
    When "status.phase" of the Pod "train" is set to Running
    # This very claim: another one made in its place does not count.
    Then the ResourceClaim "generated" keeps "metadata.deletionTimestamp" null
    And the ResourceClaim "generated" keeps "status.reservedFor[*].name" [train]

  @DRA-118
  Scenario: A pod that was created with a node gets a reservation of its allocated claims
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "first" using claim "shared"
    And claim "mine" is allocated by hand on "n1"
    And claim "shared" is allocated by hand on "n1" for pods "first"
    When a pod "placed" using claim "mine, shared" is created with:
      """
      nodeName: $(node:n1)
      """
    Then claim "mine" is reserved for exactly the pods "placed"
    And claim "shared" is reserved for exactly the pods "first, placed"

  @DRA-118
  Scenario: A claim that is allocated after its pods were bound is reserved for them
    Given node "n1"
    And a ResourceClaim "early" for 1 of "gpu"
    And a ResourceClaim "late" for 1 of "gpu"
    And a ResourceClaim "never" for 1 of "gpu"
    And a pod "first" using claim "never, early, late"
    And a pod "second" using claim "late"
    And a pod "unbound" using claim "late"
    And claim "early" is allocated by hand on "n1"
    And pod "first" is bound by hand to "n1"
    And pod "second" is bound by hand to "n1"
    Then claim "early" is reserved for exactly the pods "first"
    Given claim "late" is allocated by hand on "n1"
    Then claim "late" is reserved for pod "first"
    And claim "late" is reserved for pod "second"
    And claim "late" stays reserved for exactly the pods "first, second"

  @DRA-118 @DRA-118b
  Scenario: A pod that is bound by another component gets a reservation of its generated claims
    Given node "n1"
    And the objects of the manifest "claims/labelled-template"
    And a pod "train" using template "labelled" as "left, right"
    And pod "train" has its claim "one" for entry "left"
    And pod "train" has its claim "two" for entry "right"
    And a pod "owner" using template "labelled"
    And pod "owner" has its claim "owned"
    And a pod "misled" using template "labelled" as "left, right"
    And pod "misled" has its claim "own" for entry "left"
    And claim "one" is allocated by hand on "n1"
    And claim "two" is allocated by hand on "n1"
    And a ResourceClaim "foreign" for 1 of "gpu"
    And claim "foreign" is allocated by hand on "n1"
    And claim "owned" is allocated by hand on "n1"
    And pod "misled" is bound by hand to "n1"
    When "status.resourceClaimStatuses" of the Pod "misled" is set to [{name: left, resourceClaimName: foreign}, {name: right, resourceClaimName: $(claim:owned)}]
    And pod "train" is bound by hand to "n1"
    Then claim "one" is reserved for exactly the pods "train" [DRA-118]
    And claim "two" is reserved for exactly the pods "train" [DRA-118]
    # The status of the other pod, which names claims of other owners, was written first.
    And claim "foreign" stays reserved for exactly the pods "" [DRA-118b]
    And claim "owned" stays reserved for exactly the pods "" [DRA-118b]

  @DRA-118 @DRA-119
  Scenario: A claim is not allocated for a pod that was created with a node
    Given node "n1"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a ResourceClaim "allocated" for 1 of "gpu"
    And claim "allocated" is allocated by hand on "n1"
    When a pod "placed" using claim "mine, allocated" is created with:
      """
      nodeName: $(node:n1)
      """
    # The controller has processed the pod.
    Then claim "allocated" is reserved for pod "placed" [DRA-118]
    And claim "mine" stays unallocated [DRA-119]

  @DRA-121
  Scenario: A template with admin access creates no claim once the namespace has lost its label
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And the manifest "claims/template"
    And "spec.spec.devices.requests[0].exactly.adminAccess" is true
    And it is created
    When the namespace loses label "resource.kubernetes.io/admin-access"
    And a pod "snoop" using template "subject" is created
    Then pod "snoop" gets a Warning event "FailedResourceClaimCreation" that contains "resource.kubernetes.io/admin-access"
    And pod "snoop" has no claim
