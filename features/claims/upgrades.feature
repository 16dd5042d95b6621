@profile:claim-lifecycle @component:claim-controller
Feature: A claim controller of another release, or with another feature gate, takes over
  A claim controller has no state except the objects of the API server. The controller that takes over after an
  upgrade, a downgrade or a change of a feature gate continues with them. The API server is not changed. Without
  programs of the previous release, kube-controller-manager emulates it (--emulated-version).

  @DRA-695 @needs:claim-controller-releases @since:1.36
  Scenario: Claims and reservations stay over an upgrade and a downgrade of the claim controller
    Given the claim-controller is restarted as the previous release
    And node "n1" with 2 devices
    And the objects of the manifest "claims/labelled-template"
    And a ResourceClaimTemplate "single" for 1 of "gpu"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a pod "train" using template "labelled, single" as "left, right"
    And pod "train" has its claim "generated" for entry "left"
    And a pod "serve" using claim "mine"
    And claim "generated" is allocated by hand on "n1" for pods "train"
    And claim "mine" is allocated by hand on "n1" for pods "serve"
    And pod "train" is bound by hand to "n1"
    And pod "serve" is bound by hand to "n1"
    When the claim-controller is restarted as the own release
    And a pod "late" using template "labelled" is created
    Then every pod has each of its claims once
    And claim "generated" is reserved for exactly the pods "train"
    And claim "mine" stays reserved for exactly the pods "serve"
    When the claim-controller is restarted as the previous release
    And a pod "last" using template "single" is created
    Then every pod has each of its claims once
    And claim "mine" is reserved for exactly the pods "serve"
    And claim "generated" stays reserved for exactly the pods "train"

  @DRA-696 @needs:claim-controller-releases @since:1.36
  Scenario Outline: Claims of pods that ended under the <former> release, or under none, are released by the <later> one
    Given the claim-controller is restarted as the <former> release
    And node "n1" with 4 devices
    And the objects of the manifest "claims/labelled-template"
    And a ResourceClaim "mine" for 1 of "gpu"
    And a ResourceClaim "shared" for 1 of "gpu"
    And a pod "train" using template "labelled"
    And pod "train" has its claim "ended"
    And a pod "stays" using template "labelled"
    And pod "stays" has its claim "running"
    And a pod "one" using claim "mine, shared"
    And a pod "two" using claim "shared"
    And claim "ended" is allocated by hand on "n1" for pods "train"
    And claim "running" is allocated by hand on "n1" for pods "stays"
    And claim "mine" is allocated by hand on "n1" for pods "one"
    And claim "shared" is allocated by hand on "n1" for pods "one, two"
    And pod "train" is bound by hand to "n1"
    And pod "stays" is bound by hand to "n1"
    And pod "one" is bound by hand to "n1"
    And pod "two" is bound by hand to "n1"
    And the claim-controller is stopped
    When "status.phase" of the Pod "train" is set to Succeeded
    And pod "one" is force-deleted
    And the claim-controller is restarted as the <later> release
    Then the ResourceClaim "ended" is gone
    And claim "mine" is deallocated
    And claim "shared" is reserved for exactly the pods "two"
    And claim "running" stays reserved for exactly the pods "stays"
    When pod "two" is force-deleted
    Then claim "shared" is deallocated

    Examples:
      | former   | later    |
      | previous | own      |
      | own      | previous |

  @DRA-697 @needs:claim-controller-gates @since:1.37 @gate:DRAWorkloadResourceClaims
  Scenario: The claim of a PodGroup while claims of PodGroups are switched off and on again
    Given node "n1" with 2 devices
    And the objects of the manifest "claims/labelled-template"
    And a workload PodGroup "train" using template "labelled" as "gpu"
    And workload PodGroup "train" has its claim "shared" for entry "gpu"
    And a pod "first" of workload PodGroup "train" using template "labelled" as "gpu"
    And a pod "leaves" of workload PodGroup "train" using template "labelled" as "gpu"
    Then pods "first, leaves" record claim "shared" for entry "gpu" [DRA-697]
    Given claim "shared" is allocated by hand on "n1" for workload PodGroup "train"
    And pod "first" is bound by hand to "n1"
    And pod "leaves" is bound by hand to "n1"
    When the claim-controller is restarted with feature gate "DRAWorkloadResourceClaims" off
    And a pod "stuck" of workload PodGroup "train" using template "labelled" as "gpu" is created
    And pod "leaves" is force-deleted
    Then pod "stuck" has no claim [DRA-697]
    And claim "shared" stays reserved for exactly workload PodGroup "train" [DRA-697]
    When pod "stuck" is force-deleted
    And the claim-controller is restarted with feature gate "DRAWorkloadResourceClaims" on
    And a pod "second" of workload PodGroup "train" using template "labelled" as "gpu" is created
    Then pods "first, second" record claim "shared" for entry "gpu" [DRA-697]
    And workload PodGroup "train" has each of its claims once [DRA-697]
    And claim "shared" stays reserved for exactly workload PodGroup "train" [DRA-697]
