@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: The kubelet registers device plugins
  A scripted device plugin calls Register. The kubelet connects to it before it answers, or refuses it.

  Background:
    Given node "n1" with a kubelet that serves device plugins

  Scenario Outline: Register fails for <what>
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that is not registered
    When the scripted device plugin "gpu" registers with <fields>
    Then Register of the scripted device plugin "gpu" failed
    And the scripted device plugin "gpu" has received 0 ListAndWatch calls
    When the scripted device plugin "gpu" registers
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable

    @DP-003
    Examples:
      | what            | fields            |
      | another version | version "v1alpha" |
      | no version      | version ""        |

    @DP-004
    Examples:
      | what                        | fields         |
      | a resource without a domain | resource "gpu" |

    @DP-005
    Examples:
      | what                                  | fields                           |
      | a resource of Kubernetes              | resource "sub.kubernetes.io/gpu" |
      | a resource with the prefix of a quota | resource "requests.a.com/gpu"    |

  @DP-002 @DP-007
  Scenario: The kubelet calls GetDevicePluginOptions before it answers
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu" that is not registered
    And the scripted device plugin "gpu" fails the next GetDevicePluginOptions
    When the scripted device plugin "gpu" registers
    Then Register of the scripted device plugin "gpu" failed [DP-002]
    And node "n1" does not have "example.com/gpu" [DP-007]
    When the scripted device plugin "gpu" registers
    Then Register of the scripted device plugin "gpu" succeeded [DP-007]
    And node "n1" has 2 of "example.com/gpu", 2 allocatable [DP-007]
    And the scripted device plugin "gpu" has received GetDevicePluginOptions before ListAndWatch [DP-002]

  @DP-010
  Scenario: A plugin that is connected is not connected twice
    Given a scripted device plugin "gpu" on "n1" with 2 devices of "example.com/gpu"
    When the scripted device plugin "gpu" registers
    Then Register of the scripted device plugin "gpu" failed
    When the scripted device plugin "gpu" lists "gpu-0 Healthy"
    Then node "n1" has 1 of "example.com/gpu", 1 allocatable
    When the scripted device plugin "gpu" ends
    Then node "n1" has 1 of "example.com/gpu", 0 allocatable
    When the scripted device plugin "gpu" starts again
    Then node "n1" has 1 of "example.com/gpu", 1 allocatable

  @DP-011 @DP-012 @DP-013
  Scenario: Of two plugins of a resource the newest is called
    Given a scripted device plugin "old" on "n1" with 3 devices of "example.com/gpu"
    And a scripted device plugin "new" on "n1" with 2 devices of "example.com/gpu"
    Then node "n1" has 2 of "example.com/gpu", 2 allocatable [DP-013]
    When pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" reaches phase Running [DP-011]
    And the scripted device plugin "new" has received 1 Allocate calls [DP-011]
    When the scripted device plugin "new" ends
    Then node "n1" keeps 2 of "example.com/gpu", 2 allocatable [DP-012]
    When pod "b" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" reaches phase Running [DP-012]
    And the scripted device plugin "old" has received 1 Allocate calls [DP-012]
