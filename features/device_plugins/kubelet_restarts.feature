@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: Devices of plugins over restarts of the kubelet
  The kubelet keeps in a checkpoint which pod has which devices. After a restart it has no plugin until each registers
  again.

  Background:
    Given node "n1" with a kubelet that serves device plugins
    And a scripted device plugin "gpu" on "n1" with 4 devices of "example.com/gpu"

  @DP-042 @DP-043 @DP-044 @DP-038 @DP-051
  Scenario: Running pods keep their devices over a restart
    Given a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    And pod "a" with 2 of "example.com/gpu" is bound by hand to "n1"
    And pod "gone" with 1 of "example.com/gpu" is bound by hand to "n1"
    And pod "ended" with 1 of "example.com/gpu" is bound by hand to "n1"
    And the devices of "gpu" of pod "a" on "n1" are remembered
    And the devices of "gpu" of pod "gone" on "n1" are remembered
    And the folder of device plugins of "n1" has the file "notes"
    When the kubelet of "n1" is stopped
    And pod "gone" is force-deleted
    And "status.phase" of the Pod "ended" is set to Succeeded
    And a kubelet starts on "n1"
    Then node "n1" has 0 of "example.com/gpu", 0 allocatable [DP-043]
    And the folder of device plugins of "n1" has "notes" besides those of the kubelet [DP-038]
    And pod "a" reaches phase Running [DP-044]
    When pod "early" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "early" is not admitted [DP-043]
    When the scripted device plugin "gpu" starts again
    Then node "n1" has 4 of "example.com/gpu", 4 allocatable [DP-042]
    And node "n1" keeps 0 of "example.com/nic", 0 allocatable [DP-043]
    And pod "a" on "n1" has its devices of "gpu" from before [DP-042]
    When pod "b" with 2 of "example.com/gpu" is bound by hand to "n1"
    Then pod "b" reaches phase Running [DP-051]
    And pods "a, b" on "n1" share no device of "gpu" [DP-042]
    When pod "c" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "c" is not admitted [DP-042]

  @DP-037b
  Scenario: A kubelet that stops ends the streams of its plugins
    Given a scripted device plugin "nic" on "n1" with 1 devices of "example.com/nic"
    Then the scripted device plugin "gpu" has 1 open ListAndWatch streams
    And the scripted device plugin "nic" has 1 open ListAndWatch streams
    When the kubelet of "n1" is stopped
    Then the scripted device plugin "gpu" has 0 open ListAndWatch streams
    And the scripted device plugin "nic" has 0 open ListAndWatch streams
    # The one that registers again has one stream, and not that of the earlier kubelet too.
    When a kubelet starts on "n1"
    And the scripted device plugin "gpu" starts again
    Then the scripted device plugin "gpu" has 1 open ListAndWatch streams
    And the scripted device plugin "nic" has 0 open ListAndWatch streams

  @DP-043b @needs:virtual-clock
  Scenario: A resource whose plugin does not register after a restart is dropped after five minutes
    When the kubelet of "n1" is stopped
    And a kubelet starts on "n1"
    Then node "n1" has 0 of "example.com/gpu", 0 allocatable
    When 240 seconds pass
    And pod "early" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "early" is not admitted
    When 90 seconds pass
    # The kubelet does not know the resource then, and leaves it to others.
    And pod "late" with 1 of "example.com/gpu" is bound by hand to "n1"
    Then pod "late" reaches phase Running

  @DP-046
  Scenario: After a reboot a pod does not start without its devices
    Given pod "a" with 1 of "example.com/gpu" is bound by hand to "n1"
    And the devices of "gpu" of pod "a" on "n1" are remembered
    When the kubelet of "n1" is rebooted
    Then pod "a" is not admitted

  @DRA-270b @needs:virtual-clock
  Scenario: The claims of a pod that is not admitted again after a reboot are unprepared
    Given a scripted driver "sim" on "n1"
    And a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims | resources       |
      | main | a      | example.com/gpu |
    And a pod "other" with the reserved claims "b"
    When pod "train" is bound by hand to "n1"
    And pod "other" is bound by hand to "n1"
    Then pod "train" reaches phase Running
    And pod "other" reaches phase Running
    # No plugin has listed devices then.
    When the kubelet of "n1" is rebooted
    # A kubelet may look for claims of pods that have ended once a minute, and report their phase after that.
    And 61 seconds pass
    Then pod "train" is not admitted
    And the scripted driver "sim" receives one Unprepare call for "a"
    And every Unprepare call of the scripted driver "sim" is for "a"

  @DP-047
  Scenario Outline: The kubelet starts with a checkpoint that is <what>
    When the kubelet of "n1" is stopped
    And the device checkpoint of "n1" is <what>
    And a kubelet starts on "n1"
    Then the kubelet of "n1" has started
    When the scripted device plugin "gpu" starts again
    And pod "a" with 4 of "example.com/gpu" is bound by hand to "n1"
    Then pod "a" reaches phase Running

    Examples:
      | what    |
      | damaged |
      | cut     |

  @DP-048
  # A kubelet takes a node for a new one if the folder has no file at all.
  Scenario: Without a checkpoint the node has no devices before a plugin lists them
    When the kubelet of "n1" is stopped
    And the folder of device plugins of "n1" is emptied
    And a kubelet starts on "n1"
    Then node "n1" has 0 of "example.com/gpu", 0 allocatable
    When the scripted device plugin "gpu" starts again
    Then node "n1" has 4 of "example.com/gpu", 4 allocatable
