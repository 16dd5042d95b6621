@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The node shows the devices of plugins
  The kubelet writes the devices of the last list to capacity and allocatable of the Node, and their health to the status
  of pods.

  Background:
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 3 devices of "example.com/gpu"

  @DP-019 @DP-020 @DP-021 @DP-022 @DP-027 @DP-031
  Scenario: Capacity counts all devices, allocatable the healthy ones
    Given a scripted device plugin "nic" on "n1" with 2 devices of "example.com/nic"
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Unhealthy, gpu-2 Healthy"
    Then node "n1" has 3 of "example.com/gpu", 2 allocatable [DP-019]
    And node "n1" keeps 2 of "example.com/nic", 2 allocatable [DP-019]
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 healthy, gpu-2 , gpu-3 OK"
    Then node "n1" has 4 of "example.com/gpu", 1 allocatable [DP-020]
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-0 Healthy, gpu-1 Healthy"
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable [DP-021]
    When the scripted device plugin "gpu" lists nothing
    Then node "n1" has 0 of "example.com/gpu", 0 allocatable [DP-031]
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Healthy"
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable [DP-027]
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-0 Unhealthy, gpu-1 Unhealthy, gpu-1 Healthy, gpu-2 Healthy"
    Then node "n1" has 3 of "example.com/gpu", 1 allocatable [DP-022]

  @DP-019b @needs:faults
  Scenario: The counts of devices are written although the API server refuses them once
    Then node "n1" has 3 of "example.com/gpu", 3 allocatable
    Given the API server answers 500 to the next 1 status updates of Node
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Unhealthy"
    And every fault has affected a request
    Then node "n1" has 2 of "example.com/gpu", 1 allocatable

  @DP-024 @DP-025 @DP-026 @DP-027
  Scenario: The pod status shows the health of its devices
    Given a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    And the scripted device plugin "gpu" lists "dev-0 Healthy"
    And the scripted device plugin "nic" lists "dev-0 Healthy"
    And a pod "train" with resources of the containers:
      | name  | resources          |
      | cuda  | example.com/gpu: 1 |
      | other | example.com/nic: 1 |
    And pod "train" is bound by hand to "n1"
    Then the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-0, health: Healthy}]}] [DP-026]
    When the scripted device plugin "gpu" lists "dev-0 Unhealthy"
    Then the Pod "train" keeps "status.phase" Running [DP-025]
    And pod "train" on "n1" has the devices "dev-0" of "gpu" [DP-025]
    And the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-0, health: Unhealthy}]}] [DP-026]
    And the Pod "train" has "status.containerStatuses[1].allocatedResourcesStatus" [{name: example.com/nic, resources: [{resourceID: dev-0, health: Healthy}]}] [DP-024]
    When the scripted device plugin "gpu" lists "dev-0 Healthy"
    Then the Pod "train" has "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-0, health: Healthy}]}] [DP-027]

  @DP-026
  Scenario: The status of each of two pods shows the health of its own device
    Given the scripted device plugin "gpu" lists "dev-0 Healthy"
    And pod "first" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "first" reaches phase Running
    Given the scripted device plugin "gpu" lists "dev-0 Healthy, dev-1 Healthy"
    And pod "second" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    When the scripted device plugin "gpu" lists "dev-0 Healthy, dev-1 Unhealthy"
    Then the Pod "second" has "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-1, health: Unhealthy}]}]
    And the Pod "first" keeps "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-0, health: Healthy}]}]
    When the scripted device plugin "gpu" lists "dev-0 Unhealthy, dev-1 Healthy"
    Then the Pod "first" has "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-0, health: Unhealthy}]}]
    And the Pod "second" has "status.containerStatuses[0].allocatedResourcesStatus" [{name: example.com/gpu, resources: [{resourceID: dev-1, health: Healthy}]}]

  @DP-029
  Scenario: A device that is in use and vanishes is not given to another pod when it returns
    Given pod "a" with 3 of "example.com/gpu" is bound by hand to "n1"
    And the devices of "gpu" of pod "a" on "n1" are remembered
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Healthy"
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable
    And pod "a" on "n1" has its devices of "gpu" from before
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Healthy, gpu-2 Healthy"
    And pod "b" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" is not admitted

  @DP-036 @needs:virtual-clock
  Scenario: A plugin that returns has its devices back
    Given pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    And the devices of "gpu" of pod "a" on "n1" are remembered
    When the scripted device plugin "gpu" ends
    And 60 seconds pass
    Then node "n1" has 3 of "example.com/gpu", 0 allocatable
    When the scripted device plugin "gpu" starts again
    Then node "n1" has 3 of "example.com/gpu", 3 allocatable
    And pod "a" on "n1" has its devices of "gpu" from before
    When pod "b" with 3 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" is not admitted
    When pod "c" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "c" reaches phase Running

  @DP-034 @DP-035 @DP-036 @needs:virtual-clock
  Scenario: A resource without a plugin is dropped after five minutes
    Given pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    And the devices of "gpu" of pod "a" on "n1" are remembered
    When the scripted device plugin "gpu" ends
    Then node "n1" has 3 of "example.com/gpu", 0 allocatable [DP-034]
    When 240 seconds pass
    And the scripted device plugin "gpu" starts again
    Then node "n1" has 3 of "example.com/gpu", 3 allocatable [DP-036]
    And pod "a" on "n1" has its devices of "gpu" from before [DP-036]
    When pod "b" with 3 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" is not admitted [DP-036]
    When 240 seconds pass
    Then node "n1" keeps 3 of "example.com/gpu", 3 allocatable [DP-036]
    When the scripted device plugin "gpu" ends
    And 240 seconds pass
    Then node "n1" keeps 3 of "example.com/gpu", 0 allocatable [DP-035]
    When 90 seconds pass
    Then node "n1" has 0 of "example.com/gpu", 0 allocatable [DP-035]

  @DP-037 @DP-034 @needs:virtual-clock
  Scenario: The kubelet does not call ListAndWatch again when the stream has ended
    When the scripted device plugin "gpu" ends its streams
    Then node "n1" has 3 of "example.com/gpu", 0 allocatable [DP-034]
    When 60 seconds pass
    Then the scripted device plugin "gpu" has received 1 ListAndWatch calls [DP-037]

  @DP-152
  Scenario Outline: A plugin that <what> does not affect another plugin
    Given pod "first" with 1 of "example.com/gpu" is bound by hand to "n1"
    And a scripted device plugin "bad" on "n1" with 1 devices of "example.com/bad"
    Then pod "first" reaches phase Running
    When the scripted device plugin "bad" <behaviour>
    And pod "other" with 1 of "example.com/bad" is bound by hand to "n1"
    Then node "n1" keeps 3 of "example.com/gpu", 3 allocatable
    When the scripted device plugin "gpu" lists "gpu-0 Healthy, gpu-1 Healthy, gpu-2 Healthy, gpu-3 Healthy"
    Then node "n1" has 4 of "example.com/gpu", 4 allocatable
    When pod "second" with 3 of "example.com/gpu" is bound by hand to "n1"
    Then pod "second" reaches phase Running
    And pods "first, second" on "n1" share no device of "gpu"
    And the Pod "first" keeps "status.phase" Running
    And the scripted device plugin "gpu" has received 2 Allocate calls
    And the scripted device plugin "gpu" has received 1 ListAndWatch calls

    Examples:
      | what                             | behaviour                                                 |
      | lists health in other words      | lists "bad-0 healthy, bad-1 , bad-2 OK"                   |
      | lists an id twice                | lists "bad-0 Healthy, bad-0 Unhealthy, bad-1 Healthy"     |
      | lists 10000 devices              | lists 10000 devices                                       |
      | lists ids of a MiB               | lists 1024 devices with ids of 1024 characters            |
      | ends its streams                 | ends its streams                                          |
      | fails each Allocate              | fails each Allocate                                       |
      | answers Allocate with nothing    | answers the next Allocate with nothing                    |
