@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet finds device plugins in plugins_registry
  A device plugin creates a socket in the folder of registration sockets, as a DRA driver does. It does not call Register.

  Background:
    Given node "n1" with a kubelet that serves device plugins

  @DP-014
  Scenario: A device plugin registers by its socket in plugins_registry
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that is not registered
    When the scripted device plugin "gpu" appears in plugins_registry
    Then the kubelet reports to the scripted device plugin "gpu" that its registration succeeded
    And node "n1" has 2 of "example.com/gpu", 2 allocatable
    When pod "train" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And the scripted device plugin "gpu" has received 1 Allocate calls

  Scenario Outline: A device plugin in plugins_registry with <what> is refused
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that is not registered
    When the scripted device plugin "gpu" appears in plugins_registry with <fields>
    Then the kubelet reports to the scripted device plugin "gpu" that its registration failed
    And the scripted device plugin "gpu" has received 0 ListAndWatch calls

    @DP-014
    Examples:
      | what                        | fields                        |
      | another version             | version "v1alpha"             |
      | a resource without a domain | resource "gpu"                |
      | a resource of Kubernetes    | resource "a.kubernetes.io/gpu" |

  @DP-015
  Scenario: A device plugin whose socket in plugins_registry is removed is disconnected
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that is not registered
    And a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    When the scripted device plugin "gpu" appears in plugins_registry
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable
    When the scripted device plugin "gpu" disappears from plugins_registry
    Then node "n1" has 2 of "example.com/gpu", 0 allocatable
    And node "n1" keeps 1 of "example.com/nic", 1 allocatable
    When the scripted device plugin "gpu" appears in plugins_registry
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable
