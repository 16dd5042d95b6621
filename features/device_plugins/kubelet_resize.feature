@profile:kubelet @component:kubelet @needs:run-kubelet @needs:own-control-plane @since:1.35
Feature: A pod keeps its devices when its CPU and memory are resized
  The subresource resize changes CPU and memory of a running pod. DP-075 judges that it changes nothing else. The kubelet gives
  the containers the new amounts when the node has room, and leaves their devices alone.

  Background:
    Given node "n1" with a kubelet that serves device plugins

  @DP-074
  Scenario: A resize does not change the devices of a plugin
    Given a scripted device plugin "gpu" on "n1" with 3 devices of "example.com/gpu"
    And a pod "train" with resources of the containers:
      | name | resources                                   |
      | main | cpu: 100m, memory: 64Mi, example.com/gpu: 2 |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    Given the devices of "gpu" of pod "train" on "n1" are remembered
    When cpu of container "main" of pod "train" is resized to 200m
    Then the Pod "train" has "status.containerStatuses[0].resources.limits.cpu" 200m
    And pod "train" on "n1" has its devices of "gpu" from before
    And the scripted device plugin "gpu" has received 1 Allocate calls
    And the Pod "train" has "status.containerStatuses[0].restartCount" 0
    # Two of three devices are still in use.
    When pod "next" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "next" reaches phase Running
    When pod "more" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "more" is not admitted

  @DP-074
  Scenario: A resize does not change the devices of an extended resource that a claim serves
    Given a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with resources of the containers:
      | name | resources                                   |
      | main | cpu: 100m, memory: 64Mi, example.com/gpu: 1 |
    And claim "a" is reserved by hand for pods "train"
    And pod "train" uses the claim "a" for extended resources:
      | container | resource        | request |
      | main      | example.com/gpu | main    |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And the scripted driver "sim" has received in this order: Prepare a
    When cpu of container "main" of pod "train" is resized to 200m
    Then the Pod "train" has "status.containerStatuses[0].resources.limits.cpu" 200m
    And the scripted driver "sim" has received in this order: Prepare a
    And the Pod "train" has "status.extendedResourceClaimStatus.resourceClaimName" a
    And the Pod "train" has "status.containerStatuses[0].resources.limits['example.com/gpu']" '1'
    And the Pod "train" has "status.containerStatuses[0].restartCount" 0

  @DP-074b
  Scenario: A pod runs on with its devices while the node has no room for its resize
    Given a scripted device plugin "gpu" on "n1" with 1 devices of "example.com/gpu"
    And a pod "train" with resources of the containers:
      | name | resources                     |
      | main | cpu: 500m, example.com/gpu: 1 |
    And a pod "rest" with the CPU that "n1" has left beside pods "train"
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    Given the devices of "gpu" of pod "train" on "n1" are remembered
    When pod "rest" is bound by hand to "n1"
    Then pod "rest" reaches phase Running
    When cpu of container "main" of pod "train" is resized to 600m
    Then the Pod "train" has condition PodResizePending True with reason "Deferred"
    And the Pod "train" keeps "status.containerStatuses[0].resources.limits.cpu" 500m
    And the Pod "train" has "status.phase" Running
    And pod "train" on "n1" has its devices of "gpu" from before
    When pod "rest" is deleted
    Then the Pod "rest" is gone
    And the Pod "train" has "status.containerStatuses[0].resources.limits.cpu" 600m
    And the Pod "train" has "status.conditions[type=PodResizePending]" []
    And pod "train" on "n1" has its devices of "gpu" from before
    And the scripted device plugin "gpu" has received 1 Allocate calls
