@profile:api @component:control-plane
Feature: What controllers rely on in the API server
  Schedulers, binders and drivers write objects that others change at the same time. They rely on resource versions,
  uids, watches and garbage collection of the API server, for ResourceClaims as for every other resource.

  @DRA-380
  Scenario: A dry run that creates stores nothing
    Given the manifest "claims/claim"
    When a dry run creates it
    Then the API server accepts it
    And it is not stored

  @DRA-380
  Scenario: A dry run that creates an object of a name that is taken is refused
    Given the manifest "claims/claim"
    And it is created
    When a dry run creates it
    Then the API server refuses it with 409 AlreadyExists
    And it is stored unchanged

  @DRA-380
  Scenario Outline: A dry run that <verb> an object changes nothing
    Given the manifest "claims/claim"
    And it is created
    When a dry run <verb> it
    Then the API server accepts it
    And it is stored unchanged

    Examples:
      | verb    |
      | labels  |
      | deletes |

  @DRA-380
  Scenario: A dry run that deletes an object with a finalizer does not mark it
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [example.com/a]
    And it is created
    When a dry run deletes it
    Then the API server accepts it
    And it is stored unchanged

  @DRA-380
  Scenario: A deletion takes dryRun from the query too
    Given the manifest "claims/claim"
    And it is created
    When a dry run in the query deletes it
    Then the API server accepts it
    And it is stored unchanged

  @DRA-381
  Scenario Outline: A deletion with the <field> of a replaced object deletes nothing
    Given the manifest "claims/claim"
    And it is created
    And it is deleted and created again
    When it is deleted with the <field> of the former object
    Then the API server refuses it with 409 Conflict
    And it is stored unchanged
    When it is deleted with the <field> of the current object
    Then the API server accepts it
    And it is not stored

    Examples:
      | field           |
      | uid             |
      | resourceVersion |

  @DRA-381b
  Scenario: A second, shorter deletion of a pod moves its end by the difference
    Given the manifest "claims/pod"
    And "spec.nodeName" is $(node:without-kubelet)
    And it is created
    When it is deleted with a grace period of 6000 s
    Then its deletion is due in 6000 s
    When it is deleted with a grace period of 9000 s
    Then its stored "metadata.deletionGracePeriodSeconds" reads 6000
    And its deletion is due 0 s earlier than at first
    When it is deleted with a grace period of 2000 s
    Then its stored "metadata.deletionGracePeriodSeconds" reads 2000
    And its deletion is due in 2000 s
    And its deletion is due 4000 s earlier than at first
    When it is deleted
    Then its stored "metadata.deletionGracePeriodSeconds" reads 2000
    And its deletion is due 4000 s earlier than at first
    When it is deleted with a grace period of 0 s
    Then it is not stored

  @DRA-381c
  Scenario Outline: A pod on a node with <what> has a grace period of <seconds> s
    Given the manifest "claims/pod"
    And "spec.nodeName" is $(node:without-kubelet)
    And "spec.terminationGracePeriodSeconds" is <period>
    And it is created
    And its status "status.phase" is <phase>
    When it is deleted with the options "<options>"
    Then its stored "metadata.deletionGracePeriodSeconds" reads <seconds>
    And its deletion is due in <seconds> s
    When it is deleted with a grace period of 0 s
    Then it is not stored

    Examples:
      | what                                 | period | phase   | options                | seconds |
      | no period                            | null   | Pending |                        | 30      |
      | a period of its own                  | 900    | Running |                        | 900     |
      | a period of its own, and one of both | 900    | Running | gracePeriodSeconds=600 | 600     |
      | a negative period in the request     | 900    | Running | gracePeriodSeconds=-5  | 1       |

  @DRA-381c
  Scenario Outline: A pod <what> is deleted at once
    Given the manifest "claims/pod"
    And "spec.nodeName" is <node>
    And it is created
    And its status "status.phase" is <phase>
    When it is deleted
    Then the API server accepts it
    And it is not stored

    Examples:
      | what               | node                    | phase     |
      | that has no node   | null                    | Pending   |
      | that has succeeded | $(node:without-kubelet) | Succeeded |
      | that has failed    | $(node:without-kubelet) | Failed    |

  @DRA-382
  Scenario Outline: An update with the <field> of a replaced object changes nothing
    Given the manifest "claims/claim"
    And it is created
    And it is deleted and created again
    When it is updated with the <field> of the former object
    Then the API server refuses it with 409 Conflict
    And it is stored unchanged
    When it is updated with the <field> of the current object
    Then the API server accepts it
    And its "metadata.labels" reads {changed: "yes"}

    Examples:
      | field           |
      | uid             |
      | resourceVersion |

  @DRA-382c
  Scenario: An update with the version of a later object changes nothing
    Given the manifest "claims/claim"
    And it is created
    When it is updated with the resourceVersion of an object that was created later
    Then the API server refuses it with 409 Conflict
    And it is stored unchanged

  @DRA-382b
  Scenario Outline: An update cannot change the <field> of an object
    Given the manifest "claims/slice"
    And it is created
    When its "metadata.<field>" is updated to <value>
    Then the API server accepts it
    And it is stored unchanged

    Examples:
      | field             | value                  |
      | creationTimestamp | "2020-01-02T03:04:05Z" |
      | generation        | 7                      |

  @DRA-382d
  Scenario Outline: An update cannot mark an object for deletion with <field>
    Given the manifest "claims/claim"
    And it is created
    When its "metadata.<field>" is updated to <value>
    Then the API server refuses it with 422 Invalid
    And it is stored unchanged

    Examples:
      | field                      | value                  |
      | deletionTimestamp          | "2020-01-02T03:04:05Z" |
      | deletionGracePeriodSeconds | 5                      |

  @DRA-382d
  Scenario Outline: An update of an object in deletion <what>
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [example.com/a]
    And it is created
    When it is deleted
    And its "metadata.deletionTimestamp" is updated to <value>
    Then the API server accepts it
    And its stored "metadata.deletionTimestamp" reads the present time
    And its stored "metadata.finalizers" reads [example.com/a]

    Examples:
      | what                                     | value                  |
      | does not take the mark away              | null                   |
      | does not change the time of its deletion | "2020-01-02T03:04:05Z" |

  @DRA-383
  Scenario: An update without a change keeps the resourceVersion and makes no event
    Given the manifest "claims/claim"
    And it is created
    And a list of ResourceClaims
    When it is updated without a change
    Then the API server accepts it
    And it is stored unchanged
    When the ResourceClaims "create other"
    Then a watch from the list with labels "" delivers "ADDED other"

  @DRA-384
  Scenario: An object with two finalizers is deleted when the last one is removed
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [example.com/a, example.com/b]
    And it is created
    When it is deleted
    Then the API server accepts it
    And its "metadata.deletionTimestamp" reads the present time
    When its "metadata.finalizers" is updated to [example.com/b]
    Then the API server accepts it
    And its "metadata.finalizers" reads [example.com/b]
    When its "metadata.finalizers" is updated to [example.com/b, example.com/c]
    Then the API server refuses it with 422 Invalid
    When its "metadata.finalizers" is updated to [example.com/c]
    Then the API server refuses it with 422 Invalid
    When its "metadata.finalizers" is updated to []
    Then the API server accepts it
    And it is not stored

  @DRA-385
  Scenario: A watch from the version of a list delivers every later change once, in order
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b"
    And a list of ResourceClaims
    When the ResourceClaims "label a x=1, delete b, create c, label a x=2, delete a, create a"
    Then a watch from the list with labels "" delivers "MODIFIED a, DELETED b, ADDED c, MODIFIED a, DELETED a, ADDED a"
    And a watch from each event delivers the events after it

  @DRA-385
  Scenario: A watch of one namespace delivers no changes of another one whose name begins in the same way
    Given the manifest "claims/claim"
    And a list of ResourceClaims
    When the ResourceClaim "elsewhere" is created in another namespace
    And the ResourceClaims "create b"
    Then a watch from the list with labels "" delivers "ADDED b"

  @DRA-385b
  Scenario: A watch from an earlier version delivers every later change, or none and 410
    Given the manifest "claims/claim"
    And the ResourceClaims "create a"
    And a list of ResourceClaims
    # More than some API servers keep for watches.
    When the ResourceClaim "a" is changed 14 times to an object of 200 kB
    Then a watch from each of these versions delivers all later ones, or none and 410

  @DRA-386
  Scenario: A watch with a selector delivers objects that begin and cease to match
    Given the manifest "claims/claim"
    And the ResourceClaims "create a x=1, create b x=2"
    And a list of ResourceClaims
    When the ResourceClaims "label b x=1, label a x=2, label b y=1, create c x=2, delete c, label a x=1, delete a"
    Then a watch from the list with labels "x=1" delivers "ADDED b, DELETED a, DELETED b, ADDED a, DELETED a"
    And a watch with labels "x=1" from each event delivers the events after it

  @DRA-398
  Scenario Outline: A watch with initial events and labels "<selector>" delivers the objects, a bookmark and the changes
    Given the manifest "claims/claim"
    And the ResourceClaims "create a x=1, create b x=2, create c x=1"
    Then a watch with initial events and labels "<selector>" delivers "<objects>", and after "label b x=1, label a x=2, create d x=2, delete c" "<events>"

    Examples:
      | selector | objects | events                                     |
      |          | a, b, c | MODIFIED b, MODIFIED a, ADDED d, DELETED c |
      | x=1      | a, c    | ADDED b, DELETED a, DELETED c              |
      | x=3      |         |                                            |

  @DRA-398c
  Scenario Outline: A watch from <version> with labels "<selector>" begins with the objects that exist
    Given the manifest "claims/claim"
    And the ResourceClaims "create a x=1, create b x=2, create c x=1"
    And the ResourceClaim "elsewhere" is created in another namespace
    Then a watch from <version> with labels "<selector>" delivers "<objects>", and after "label b x=1, delete c" "<events>"

    Examples:
      | version            | selector | objects | events               |
      | no resourceVersion |          | a, b, c | MODIFIED b, DELETED c |
      | no resourceVersion | x=1      | a, c    | ADDED b, DELETED c   |
      | resourceVersion 0  |          | a, b, c | MODIFIED b, DELETED c |
      | resourceVersion 0  | x=1      | a, c    | ADDED b, DELETED c   |

  @DRA-398d
  Scenario: A watch ends after its timeout
    Then a watch with a timeout of 1 s ends

  @DRA-398b
  Scenario: A list of a version that is still to come is not answered with older objects
    Given the manifest "claims/claim"
    And the ResourceClaims "create a"
    When the ResourceClaims are listed with resourceVersionMatch NotOlderThan and resourceVersion 900000000000000000
    Then the API server refuses it with 504 Timeout

  @DRA-398b
  Scenario: A list with resourceVersionMatch=Exact has the objects of that version
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b"
    And the ResourceClaim "elsewhere" is created in another namespace
    And a list of ResourceClaims
    When the ResourceClaims "delete a, create c"
    And the ResourceClaims are listed with resourceVersionMatch Exact
    Then the list has the ResourceClaims "a, b"
    When the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims "b, c"

  @DRA-398b
  Scenario: A list with resourceVersionMatch=Exact has the objects of that version after several changes of each
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b"
    And a list of ResourceClaims
    When the ResourceClaims "delete a, create a, delete b, create b, delete b, create c, delete c"
    And the ResourceClaims are listed with resourceVersionMatch Exact
    Then the list has the ResourceClaims "a, b"
    When the ResourceClaims with labels "" are listed
    Then the list has the ResourceClaims "a"

  @DRA-398b
  Scenario: A list with resourceVersionMatch=Exact has the objects as they were in that version
    Given the manifest "claims/claim"
    And the ResourceClaims "create a x=1, create b x=2, create c x=1"
    And a list of ResourceClaims
    When the ResourceClaims "label a x=2, label b x=1, label b x=3"
    And the ResourceClaims with labels "x=1" are listed with resourceVersionMatch Exact
    Then the list has the ResourceClaims "a, c"
    When the ResourceClaims with labels "x=2" are listed with resourceVersionMatch Exact
    Then the list has the ResourceClaims "b"

  @DRA-398b
  Scenario: A list with resourceVersionMatch=Exact has the change that made its version
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b, create c"
    When the ResourceClaims are listed with resourceVersionMatch Exact and that of the ResourceClaim b
    Then the list has the ResourceClaims "a, b"
    When the ResourceClaims "label a x=1, create d, delete c"
    And the ResourceClaims are listed with resourceVersionMatch Exact and that of the ResourceClaim a
    Then the list has the ResourceClaims "a, b, c"

  @DRA-398b
  Scenario Outline: A list with resourceVersionMatch <match> and <version> is refused
    Given the manifest "claims/claim"
    And the ResourceClaims "create a"
    And a list of ResourceClaims
    When the ResourceClaims are listed with resourceVersionMatch <match> and <version>
    Then the API server refuses it with 422 Invalid

    Examples:
      | match        | version             |
      | Exact        | no resourceVersion  |
      | NotOlderThan | no resourceVersion  |
      | Exact        | resourceVersion 0   |
      | Newer        | resourceVersion 0   |

  @DRA-387
  Scenario: The pages of a list of all namespaces have the objects of each namespace
    Given the manifest "claims/claim"
    And "metadata.labels" is {of: $(namespace)}
    And it is created
    And the ResourceClaim "elsewhere" is created in another namespace
    And the ResourceClaim "zone" is created in another namespace
    When the ResourceClaims of all namespaces with labels "of=$(namespace)" are listed in pages of 1
    Then the list has the ResourceClaims "elsewhere, subject, zone"

  @DRA-387
  Scenario Outline: A list in pages of <limit> is the list of one resourceVersion
    Given the manifest "claims/claim"
    And 7 copies of it are created
    When the copies are listed in pages of <limit>, with one deleted and one created after each page
    Then the pages have each object of the first page's version once

    Examples:
      | limit |
      | 1     |
      | 3     |
      | 6     |

  @DRA-387
  Scenario Outline: A list with a selector in pages of <limit> has the selected objects once
    Given the manifest "claims/claim"
    And the ResourceClaims "create a x=1, create b x=2, create c x=1, create d x=1, create e x=2, create f x=1, create g"
    When the ResourceClaims with labels "x=1" are listed in pages of <limit>
    Then the list has the ResourceClaims "a, c, d, f"

    Examples:
      | limit |
      | 1     |
      | 2     |
      | 3     |

  @DRA-388
  Scenario: An object is garbage-collected after its owner was replaced by one of the same name
    Given the manifest "claims/claim"
    And it is owned by the claims "a"
    # Before the object exists: the collector must find the new owner, and compare its uid.
    When the owner "a" is deleted and created again
    And it is created
    Then it is garbage-collected

  @DRA-388
  Scenario: An object stays as long as one of its owners exists
    Given the manifest "claims/claim"
    And it is owned by the claims "a, b, c"
    And it is created
    When the owner "b" is deleted and created again
    Then it stays, owned by the claims "a, c"
    When the owner "a" is deleted and created again
    Then it stays, owned by the claims "c"
    When the owner "c" is deleted and created again
    Then it is garbage-collected

  @DRA-388
  Scenario: An object that gets a missing owner later is garbage-collected
    Given the manifest "claims/claim"
    And the ResourceClaims "create other"
    And it is created
    When the claim "other" becomes its owner
    Then it stays, owned by the claims "other"
    When its owner becomes a claim that was deleted
    Then it is garbage-collected

  @DRA-388
  Scenario: An object is garbage-collected with the owner that has replaced its first one
    Given the manifest "claims/claim"
    And the ResourceClaims "create first, create second"
    And it is created
    When the claim "first" becomes its owner
    And the claim "second" becomes its owner
    And the ResourceClaims "delete first"
    Then it stays, owned by the claims "second"
    When the ResourceClaims "delete second"
    Then it is garbage-collected

  @DRA-388c
  Scenario: Foreground deletion keeps an owner until the dependents of its dependents are gone
    Given the manifest "claims/claim"
    And the ResourceClaims "create a"
    And ResourceClaims with owners:
      | name       | owners | blocks | finalizer     |
      | child      | a      | yes    |               |
      | grandchild | child  | yes    | example.com/x |
    When the ResourceClaim "a" is deleted with the propagation policy Foreground
    Then the ResourceClaim "grandchild" has "metadata.deletionTimestamp" set
    And the ResourceClaim "child" keeps "metadata.deletionTimestamp" set
    And the ResourceClaim "a" keeps "metadata.deletionTimestamp" set
    When "metadata.finalizers" of the ResourceClaim "grandchild" is set to null
    Then the ResourceClaim "grandchild" is gone
    And the ResourceClaim "child" is gone
    And the ResourceClaim "a" is gone

  @DRA-388b
  Scenario: Foreground deletion keeps an owner until the dependents that block it are gone
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b"
    And ResourceClaims with owners:
      | name  | owners | blocks | finalizer     |
      | one   | a      | yes    |               |
      | two   | a      | yes    | example.com/x |
      | three | a, b   | yes    |               |
      | four  | a      | no     | example.com/x |
    When the ResourceClaim "a" is deleted with the propagation policy Foreground
    Then the ResourceClaim "one" is gone
    And the ResourceClaim "three" has "metadata.ownerReferences[*].name" [b]
    And the ResourceClaim "two" has "metadata.deletionTimestamp" set
    And the ResourceClaim "a" keeps "metadata.deletionTimestamp" set
    # A second deletion without a policy does not end the wait.
    When the ResourceClaims "delete a"
    Then the ResourceClaim "a" keeps "metadata.deletionTimestamp" set
    When "metadata.finalizers" of the ResourceClaim "two" is set to null
    Then the ResourceClaim "two" is gone
    # The last one has a finalizer still, but does not block its owner.
    And the ResourceClaim "a" is gone
    And the ResourceClaim "four" has "metadata.deletionTimestamp" set
    And the ResourceClaim "three" still exists
    When "metadata.finalizers" of the ResourceClaim "four" is set to null
    Then the ResourceClaim "four" is gone

  @DRA-388b
  Scenario Outline: The policy <policy> of a deletion replaces the finalizer of orphan deletion
    Given the manifest "claims/claim"
    And "metadata.finalizers" is [orphan]
    And it is created
    And ResourceClaims with owners:
      | name | owners  | blocks | finalizer |
      | one  | subject | yes    |           |
      | two  | subject | no     |           |
    When the ResourceClaim "subject" is deleted with the propagation policy <policy>
    Then the ResourceClaim "subject" is gone
    And the ResourceClaim "one" is gone
    And the ResourceClaim "two" is gone

    Examples:
      | policy     |
      | Foreground |
      | Background |

  @DRA-388b
  Scenario: Orphan deletion keeps all dependents without the reference
    Given the manifest "claims/claim"
    And the ResourceClaims "create a, create b"
    And ResourceClaims with owners:
      | name  | owners | blocks | finalizer |
      | one   | a      | yes    |           |
      | two   | a, b   | no     |           |
      | three | a      | no     |           |
    When the ResourceClaim "a" is deleted with the propagation policy Orphan
    Then the ResourceClaim "a" is gone
    And the ResourceClaim "two" has "metadata.ownerReferences[*].name" [b]
    And the ResourceClaim "one" keeps "metadata.ownerReferences" null
    And the ResourceClaim "three" keeps "metadata.ownerReferences" null
