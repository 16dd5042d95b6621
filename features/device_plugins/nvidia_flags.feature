@profile:device-plugins @component:device-plugin @needs:device-plugin-flags @needs:fake-nvml
Feature: Flags of NVIDIA's device plugin
  NVIDIA's plugin offers MIG devices by one of three strategies, shares GPUs in time and names devices in several ways.
  Each flag must have its documented effect.

  @DP-131
  Scenario: Without a MIG strategy, a GPU with MIG devices is a whole GPU
    Given the GPUs of "n1" are those of this suite's inventory "parts-and-whole"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=none"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 3}

  @DP-132
  Scenario: By the strategy single, equal MIG devices are GPUs
    Given the GPUs of "n1" are those of this suite's inventory "equal-parts"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=single"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 4}

  @DP-132
  Scenario: By the strategy single, GPUs without MIG are GPUs
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=single"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 8}

  @DP-133
  Scenario Outline: The strategy single refuses <what>
    Given the GPUs of "n1" are those of this suite's inventory "<inventory>"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=single"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" does not offer anything, and ends

    Examples:
      | what                                    | inventory                |
      | MIG devices of two profiles             | parts-of-two-profiles    |
      | a GPU of one profile and one of another | one-profile-for-each-gpu |
      | MIG on some GPUs only                   | parts-and-whole          |

  @DP-133b
  Scenario: The strategy single refuses a GPU in MIG mode without MIG devices
    Given the GPUs of "n1" are those of "h200"
    And MIG is on for GPU 0 of "n1", without instances
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=single"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" does not offer anything, and ends

  @DP-134
  Scenario: By the strategy mixed, each MIG profile is a resource
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 7, nvidia.com/mig-3g.40gb: 1, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 1}

  @DP-134a
  Scenario: By the strategy mixed, a profile with media extensions is a resource of its own
    Given the GPUs of "n1" are those of this suite's inventory "parts-and-whole"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 2, nvidia.com/mig-3g.40gb: 1, nvidia.com/mig-1g.10gb: 1, nvidia.com/mig-1g.10gb.me: 1}

  @DP-134b
  Scenario: By the strategy mixed, a GPU in MIG mode without MIG devices is no whole GPU
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And MIG is on for GPU 3 of "n1", without instances
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" ends without an offer, or offers {nvidia.com/gpu: 6, nvidia.com/mig-3g.40gb: 1, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 1}

  @DP-135
  Scenario: Time-slicing offers each GPU several times
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}}
    And the device manager runs on node "n1"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 24}

  @DP-135
  Scenario: A configuration file without a version is one of v1
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}
    And the device manager runs on node "n1"
    When the device plugin of "n1" is started as a process
    Then the device plugin of "n1" offers {nvidia.com/gpu: 16}

  @DP-135
  Scenario: Time-slicing offers each resource of its list several times
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}, {name: nvidia.com/mig-3g.40gb, replicas: 4}, {name: nvidia.com/mig-1g.10gb, replicas: 3}]}}}
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 14, nvidia.com/mig-3g.40gb: 4, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 3}

  @DP-135b
  Scenario Outline: Replicas are refused if <what>
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: <resources>}}}
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" does not offer anything, and ends

    Examples:
      | what                       | resources                                                                        |
      | a resource has 0           | [{name: nvidia.com/gpu, replicas: 0}]                                            |
      | a resource has 1           | [{name: nvidia.com/gpu, replicas: 1}]                                            |
      | the second resource has 1  | [{name: nvidia.com/gpu, replicas: 2}, {name: nvidia.com/mig-3g.40gb, replicas: 1}] |

  @DP-135
  Scenario Outline: Each GPU is offered once by a configuration file with <what>
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file <document>
    And the device manager runs on node "n1"
    When the device plugin of "n1" is started as a process
    Then the device plugin of "n1" offers {nvidia.com/gpu: 8}

    Examples:
      | what               | document                   |
      | its version only   | {version: v1}              |
      | no kind of sharing | {version: v1, sharing: {}} |

  @DP-135
  Scenario: Each GPU is offered once if replicas are those of another resource
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/mig-1g.10gb, replicas: 2}]}}}
    And the device manager runs on node "n1"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 8}

  @DP-135c
  Scenario Outline: A configuration file is refused if <what>
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file <document>
    And the device manager runs on node "n1"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" does not offer anything, and ends

    Examples:
      | what                           | document                                                                                     |
      | its version is unknown         | {version: v2, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}    |
      | time-slicing has no resources  | {version: v1, sharing: {timeSlicing: {resources: []}}}                                       |
      | time-slicing does not list any | {version: v1, sharing: {timeSlicing: {renameByDefault: true}}}                               |
      | a resource has no name         | {version: v1, sharing: {timeSlicing: {resources: [{replicas: 2}]}}}                          |
      | a resource has no replicas     | {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu}]}}}                 |
      | replicas are no number         | {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: many}]}}} |
      | it is no YAML                  | {version: v1, sharing: [                                                                     |

  @DP-135c
  Scenario: A configuration file that does not exist is refused
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--config-file=/dev/null/device-plugin.yaml"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" does not offer anything, and ends

  @DP-142b
  Scenario Outline: A plugin with the flag <flag> does not run
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "<flag>"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" does not offer anything, and ends

    Examples:
      | flag                                      |
      | --mig-strategy=several                    |
      | --device-list-strategy=environment        |
      | --device-list-strategy=envvar,environment |
      | --device-list-strategy=envvar,            |

  @DP-142a
  Scenario Outline: A plugin with the flags <flags> offers its GPUs
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "<flags>"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 8}

    Examples:
      | flags                                                                               |
      | --mig-strategy=none --device-list-strategy=envvar --pass-device-specs=false         |
      | --mig-strategy=single --device-list-strategy=volume-mounts --pass-device-specs=true |
      | --mig-strategy=mixed --device-list-strategy=cdi-cri --pass-device-specs             |
      | --device-list-strategy=envvar,volume-mounts,cdi-cri                                 |

  @DP-142a
  Scenario: The program of a plugin with flags offers its GPUs
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed --device-list-strategy=envvar --pass-device-specs=false"
    When the device plugin of "n1" is started as a process
    Then the device plugin of "n1" offers {nvidia.com/gpu: 8}

  @DP-142c
  Scenario: By the strategy envvar the variable has the UUIDs of all GPUs of a container
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "--device-list-strategy=envvar"
    When Allocate on "n1" is called for 2 devices
    Then the variable of the answer has the UUIDs of the requested GPUs of "n1"

  @DP-142d
  Scenario: By the strategy volume-mounts each GPU of a container is a mount
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "--device-list-strategy=volume-mounts"
    When Allocate on "n1" is called for 2 devices
    Then the answer mounts the requested GPUs of "n1" for the NVIDIA container runtime

  @DP-081a
  Scenario: GPUs near each other are preferred for a container
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1"
    Then the preferred devices of "n1" for a container are of one NUMA node

  @DP-080 @DP-080a @DP-080b
  Scenario: Replicas of one GPU are preferred as requested
    Given the GPUs of "n1" are those of "h200"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}}
    And the device plugin runs on node "n1"
    Then preferred devices of "n1" include those that they must [DP-080]
    And preferred devices of "n1" are available ones [DP-080a]
    And preferred devices of "n1" are as many as requested [DP-080b]

  @DP-039
  Scenario: All resources are registered again after the kubelet was restarted
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin runs on node "n1" with "--mig-strategy=mixed"
    Then the device plugin of "n1" offers {nvidia.com/gpu: 7, nvidia.com/mig-3g.40gb: 1, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 1}
    When the device manager of "n1" is restarted
    Then the device plugin of "n1" registers

  @DP-041
  Scenario: A resource whose registration was refused is registered later beside the others
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device manager runs on node "n1"
    And the device manager of "n1" refuses the next registration
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" ends, or offers {nvidia.com/gpu: 7, nvidia.com/mig-3g.40gb: 1, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 1}

  @DP-148
  Scenario: A stopped plugin leaves no socket of any resource
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin runs on node "n1" with "--mig-strategy=mixed"
    Then the device plugin of "n1" offers {nvidia.com/gpu: 7, nvidia.com/mig-3g.40gb: 1, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 1}
    When the device plugin of "n1" is stopped
    Then the device plugin of "n1" leaves no socket

  @DP-136
  Scenario: Shared GPUs can have a name of their own
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/gpu, replicas: 2}]}}}
    And the device manager runs on node "n1"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu.shared: 16}

  @DP-136
  Scenario: Only a shared resource has the name of a shared one
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {renameByDefault: true, resources: [{name: nvidia.com/mig-3g.40gb, replicas: 2}]}}}
    And the device manager runs on node "n1"
    And the device plugin of "n1" has the flags "--mig-strategy=mixed"
    When the device plugin of "n1" is started
    Then the device plugin of "n1" offers {nvidia.com/gpu: 7, nvidia.com/mig-3g.40gb.shared: 2, nvidia.com/mig-2g.20gb: 1, nvidia.com/mig-1g.10gb: 1}

  @DP-138
  Scenario: A container can be refused more than one replica
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [{name: nvidia.com/gpu, replicas: 2}]}}}
    And the device plugin runs on node "n1"
    When Allocate on "n1" is called for a device
    Then Allocate succeeds
    When Allocate on "n1" is called for 2 devices
    Then Allocate fails
    # One replica for each of two containers.
    And Allocate on "n1" answers each container of a request, in order

  @DP-138
  Scenario: A container can have several devices of a resource that is not shared
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {failRequestsGreaterThanOne: true, resources: [{name: nvidia.com/mig-3g.40gb, replicas: 2}]}}}
    And the device plugin runs on node "n1" with "--mig-strategy=mixed"
    When Allocate on "n1" is called for 2 devices of "nvidia.com/gpu"
    Then Allocate succeeds
    When Allocate on "n1" is called for 2 devices of "nvidia.com/mig-3g.40gb"
    Then Allocate fails

  @DP-140
  Scenario: Two replicas of one GPU are one GPU for the container
    Given the GPUs of "n1" are those of "h200"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}
    And the device plugin runs on node "n1" with "--device-list-strategy=envvar"
    When Allocate on "n1" is called for 2 devices
    Then the answer names 1 GPUs of "n1" once each

  @DP-141
  Scenario: A replica of an idle GPU is preferred
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}
    And the device plugin runs on node "n1"
    Then the preferred device of "n1" beside replica 0 is of another GPU
    And the preferred device of "n1" beside replica 15 is of another GPU

  @DP-141
  Scenario: Replicas for one container are preferred of different GPUs
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 2}]}}}
    And the device plugin runs on node "n1"
    Then the preferred devices of "n1" for a container are of different GPUs

  @DP-146
  Scenario: An XID makes all replicas of a GPU Unhealthy
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin of "n1" has the configuration file {version: v1, sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 3}]}}}
    And the device plugin runs on node "n1"
    When GPU 1 of "n1" reports XID 48 until a list follows
    Then the devices of one GPU of "n1" become Unhealthy
    And only the devices of one GPU of "n1" are Unhealthy

  @DP-143a
  Scenario: An XID changes the list of the resource that its MIG device is of
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin runs on node "n1" with "--mig-strategy=mixed"
    # GPU 0 is the one with MIG devices.
    When GPU 0 of "n1" reports XID 48 until a list follows
    Then the devices of one GPU of "n1" become Unhealthy

  @DP-143a
  Scenario: An XID changes the list although the GPU is in MIG mode and offered as a whole
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And the device plugin runs on node "n1" with "--mig-strategy=none"
    # GPU 0 is the one with MIG devices.
    When GPU 0 of "n1" reports XID 48 until a list follows
    Then the devices of one GPU of "n1" become Unhealthy

  @DP-142
  Scenario Outline: Answers by the strategy <strategy> name devices by <fields>
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "--device-list-strategy=<strategy> --pass-device-specs=<specs>"
    When Allocate on "n1" is called for a device
    Then the answer names devices by <fields>

    Examples:
      | strategy             | specs | fields                     |
      | envvar               | false | envs                       |
      | volume-mounts        | false | envs, mounts               |
      | envvar,volume-mounts | false | envs, mounts               |
      | envvar               | true  | devices, envs              |
      | cdi-cri              | false | cdi_devices                |
      | cdi-cri              | true  | cdi_devices                |
      | envvar,cdi-cri       | false | cdi_devices, envs          |
      | envvar,cdi-cri       | true  | cdi_devices, devices, envs |

  @DP-087
  Scenario: CDI devices that a flag selects are defined
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "--device-list-strategy=cdi-cri"
    When Allocate on "n1" is called for a device
    Then every CDI device of the answer is defined on "n1"

  @DP-085a
  Scenario: Device files that a flag selects have paths and permissions
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "--device-list-strategy=envvar --pass-device-specs=true"
    When Allocate on "n1" is called for a device
    Then every device file of the answer has absolute paths and permissions of r, w and m

  @DP-085b
  Scenario: A container has the device files of its GPUs at the paths of the driver
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "--device-list-strategy=envvar --pass-device-specs=true"
    When Allocate on "n1" is called for 2 devices
    Then the answer has the device files of its GPUs of "n1" below /dev

  @DP-087a
  Scenario: The CDI device of a MIG device has the device files of its instances
    Given the GPUs of "n1" are those of this suite's inventory "equal-parts"
    And the device plugin runs on node "n1" with "--mig-strategy=single --device-list-strategy=cdi-cri"
    When Allocate on "n1" is called for a device
    Then every CDI device of the answer has the device files of a MIG device on "n1"

  @DP-088b
  Scenario: The answer for two MIG devices of one GPU has the mounts of both
    Given the GPUs of "n1" are those of this suite's inventory "equal-parts"
    And the device plugin runs on node "n1" with "--mig-strategy=single --device-list-strategy=volume-mounts"
    Then Allocate on "n1" answers two devices with the files, mounts and CDI devices of each

  @DP-088b
  Scenario Outline: The answer for two GPUs has the <what> of both that a flag selects
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1" with "<flags>"
    Then Allocate on "n1" answers two devices with the files, mounts and CDI devices of each

    Examples:
      | what         | flags                                                   |
      | device files | --device-list-strategy=envvar --pass-device-specs=true  |
      | CDI devices  | --device-list-strategy=cdi-cri                          |
      | mounts       | --device-list-strategy=volume-mounts                    |

  @DP-144
  Scenario Outline: XID <xid> of an application leaves the GPU Healthy
    Given the GPUs of "n1" are those of "dgx-h100"
    And the device plugin runs on node "n1"
    When GPU 1 of "n1" reports XID 48 until a list follows
    Then the devices of one GPU of "n1" become Unhealthy
    When XID <xid> happens on GPU 0 of "n1"
    Then only the devices of one GPU of "n1" are Unhealthy

    Examples:
      | xid |
      | 13  |
      | 31  |
      | 43  |
