@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Access reviews
  Components request access reviews. The response follows from the roles that are bound to the user.

  Background:
    Given the objects of the manifest "claims/access"

  @DRA-399
  Scenario Outline: <who> with <what> is allowed
    Then a review comes to allow <subject> to <access>

    Examples:
      | who                        | what                           | subject                                                           | access                                                                                                   |
      | a user                     | a verb of a resource           | {user: alice-$(suffix)}                                           | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default}                         |
      | a user                     | a verb in all namespaces       | {user: alice-$(suffix)}                                           | {verb: list, group: resource.k8s.io, resource: resourceclaims}                                            |
      | a user                     | any verb of a subresource      | {user: alice-$(suffix)}                                           | {verb: patch, group: resource.k8s.io, resource: resourceclaims, subresource: status, namespace: default}  |
      | a user                     | a named object                 | {user: alice-$(suffix)}                                           | {verb: update, group: resource.k8s.io, resource: resourceslices, name: named}                             |
      | a user                     | a path                         | {user: alice-$(suffix)}                                           | {verb: get, path: /some/path}                                                                             |
      | a user                     | a path below another           | {user: alice-$(suffix)}                                           | {verb: get, path: /below/a/b}                                                                             |
      | a member of a group        | a verb of the group            | {user: eve-$(suffix), groups: [other, team-$(suffix)]}            | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default}                         |
      | a group                    | a verb of the group            | {groups: [team-$(suffix)]}                                        | {verb: list, group: resource.k8s.io, resource: resourceclaims}                                            |
      | a service account          | a verb in its namespace        | {user: "system:serviceaccount:$(namespace):worker"}               | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)}                    |
      | a visiting service account | a verb in the namespace of its role | {user: "system:serviceaccount:default:visitor"}              | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)} |
      | a user                     | a role of the namespace        | {user: bob-$(suffix)}                                             | {verb: create, resource: pods, namespace: $(namespace)}                                                   |
      | a user                     | any resource of a group        | {user: bob-$(suffix)}                                             | {verb: watch, group: resource.k8s.io, resource: deviceclasses, namespace: $(namespace)}                   |

  @DRA-399
  Scenario Outline: <who> with <what> is not allowed
    # A sign that the authorizer has received the roles.
    Then a review comes to allow {user: alice-$(suffix)} to {verb: get, path: /some/path}
    And a review comes to allow {user: bob-$(suffix)} to {verb: create, resource: pods, namespace: $(namespace)}
    And a review comes to allow {user: "system:serviceaccount:$(namespace):worker"} to {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)}
    And a review does not allow <subject> to <access>

    Examples:
      | who                        | what                           | subject                                                           | access                                                                                                   |
      | a user                     | another verb                   | {user: alice-$(suffix)}                                           | {verb: delete, group: resource.k8s.io, resource: resourceclaims, namespace: default}                      |
      | a user                     | another API group              | {user: alice-$(suffix)}                                           | {verb: get, group: other.dra.test, resource: resourceclaims, namespace: default}                          |
      | a user                     | another resource               | {user: alice-$(suffix)}                                           | {verb: get, group: resource.k8s.io, resource: resourceclaimtemplates, namespace: default}                 |
      | a user                     | another subresource            | {user: alice-$(suffix)}                                           | {verb: get, group: resource.k8s.io, resource: resourceclaims, subresource: binding, namespace: default}   |
      | a user                     | another name                   | {user: alice-$(suffix)}                                           | {verb: update, group: resource.k8s.io, resource: resourceslices, name: other}                             |
      | a user                     | no name                        | {user: alice-$(suffix)}                                           | {verb: update, group: resource.k8s.io, resource: resourceslices}                                          |
      | a user                     | another path                   | {user: alice-$(suffix)}                                           | {verb: get, path: /some/path/below}                                                                       |
      | a user                     | a path with the same beginning | {user: alice-$(suffix)}                                           | {verb: get, path: /belowground}                                                                           |
      | a user                     | another verb of a path         | {user: alice-$(suffix)}                                           | {verb: post, path: /some/path}                                                                            |
      | a user of another name     | a verb of a resource           | {user: eve-$(suffix)}                                             | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default}                         |
      | a user of a group's name   | a verb of the group            | {user: team-$(suffix)}                                            | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default}                         |
      | a group of a user's name   | a verb of the user             | {groups: [alice-$(suffix)]}                                       | {verb: get, path: /some/path}                                                                             |
      | a service account          | a verb in another namespace    | {user: "system:serviceaccount:$(namespace):worker"}               | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default}                         |
      | a service account          | a verb in all namespaces       | {user: "system:serviceaccount:$(namespace):worker"}               | {verb: get, group: resource.k8s.io, resource: resourceclaims}                                             |
      | another service account    | a verb in its namespace        | {user: "system:serviceaccount:$(namespace):other"}                | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)}                    |
      | a visitor's namesake       | a verb in its namespace        | {user: "system:serviceaccount:$(namespace):visitor"}              | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: $(namespace)} |
      | a visiting service account | a verb in its own namespace    | {user: "system:serviceaccount:default:visitor"}                   | {verb: get, group: resource.k8s.io, resource: resourceclaims, namespace: default} |
      | a user                     | a role of another namespace    | {user: bob-$(suffix)}                                             | {verb: create, resource: pods, namespace: default}                                                        |

  @DRA-399
  Scenario: A user reviews its own access
    Then a review comes to allow {user: bob-$(suffix)} to {verb: create, resource: pods, namespace: $(namespace)}
    And a review of its own allows user "bob" to {verb: create, resource: pods, namespace: $(namespace)}
    And a review of its own does not allow user "bob" to {verb: delete, resource: pods, namespace: $(namespace)}

  @DRA-399
  Scenario Outline: A review <what> is refused
    When the access of <subject> to <access> is reviewed
    Then the API server refuses it with 422 Invalid

    Examples:
      | what              | subject                 | access                        |
      | without a subject | {}                      | {verb: get, path: /some/path} |
      | without an access | {user: alice-$(suffix)} | {}                            |
