@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: Pods that a claim serves run on a node that had or has a device plugin
  A node moves from a device plugin to a DRA driver, or back. A pod gets a resource from a
  claim, although a plugin offered the same resource before, or registers for it now.

  Scenario Outline: A pod that a claim serves starts if the plugin ended <when>
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that wants "PreStartContainer"
    And pod "plain" with 1 of "example.com/gpu" is bound by hand to "n1"
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "claimed" with resources of the containers:
      | name | resources          |
      | main | example.com/gpu: 1 |
    And claim "a" is reserved by hand for pods "claimed"
    And pod "claimed" uses the claim "a" for extended resources:
      | container | resource        | request |
      | main      | example.com/gpu | main    |
    Then pod "plain" reaches phase Running
    When the scripted device plugin "gpu" ends
    And <seconds> seconds pass
    And pod "claimed" is bound by hand to "n1"
    Then pod "claimed" reaches phase Running
    And the scripted device plugin "gpu" has received 1 Allocate calls

    @DP-116 @needs:virtual-clock
    Examples:
      | when             | seconds |
      | one minute ago   | 60      |

    @DP-117 @needs:virtual-clock
    Examples:
      | when             | seconds |
      | six minutes ago  | 360     |

  @DP-118
  Scenario: A pod that a claim serves is not aligned by the devices of a plugin
    Given node "n1" with a kubelet that aligns the devices of each container by "restricted"
    And a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    And the scripted device plugin "gpu" lists "gpu-0 Healthy 0, gpu-1 Healthy 1"
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "claimed" with resources of the containers:
      | name | resources          |
      | main | example.com/gpu: 1 |
    And claim "a" is reserved by hand for pods "claimed"
    And pod "claimed" uses the claim "a" for extended resources:
      | container | resource        | request |
      | main      | example.com/gpu | main    |
    When the scripted device plugin "gpu" ends
    And pod "claimed" is bound by hand to "n1"
    Then pod "claimed" reaches phase Running

  @DP-156
  Scenario: A pod that a claim serves runs on when the kubelet restarts after a plugin has registered
    Given node "n1" with a kubelet that serves device plugins
    And a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "claimed" with resources of the containers:
      | name | resources          |
      | main | example.com/gpu: 1 |
    And claim "a" is reserved by hand for pods "claimed"
    And pod "claimed" uses the claim "a" for extended resources:
      | container | resource        | request |
      | main      | example.com/gpu | main    |
    And pod "claimed" is bound by hand to "n1"
    Then pod "claimed" reaches phase Running
    # kubelet 1.37.2 counts the devices of claims as well when it compares a pod with its node.
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable
    When pod "plain" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "plain" reaches phase Running
    When the kubelet of "n1" is stopped
    And a kubelet starts on "n1"
    Then node "n1" has 0 of "example.com/gpu", 0 allocatable
    And the Pod "claimed" keeps "status.phase" Running
    When the scripted device plugin "gpu" starts again
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable
    And the Pod "claimed" keeps "status.phase" Running
    And the scripted device plugin "gpu" has received 1 Allocate calls
