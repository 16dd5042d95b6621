@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: Containers get the edits of valid CDI specifications
  A driver returns CDI device IDs. The container runtime of the node looks them up in the specifications of its CDI
  folders and edits the containers.

  Background:
    Given node "n1" with a kubelet
    And a scripted driver "sim" on "n1"

  @DRA-271d @needs:virtual-clock
  Scenario: A container does not start while its CDI device is in no valid specification
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a pod "valid" with the reserved claims "a"
    And a pod "invalid" with CDI devices of the scripted driver "sim" on "n1":
      | device             | version | edits                                                        | document                       |
      | unknown-version    | 0.99.0  | {env: [A=1]}                                                 |                                |
      | no-version         | one     | {env: [A=1]}                                                 |                                |
      | early-mount-type   | 0.3.0   | {mounts: [{hostPath: /tmp, containerPath: /x, type: bind}]}  |                                |
      | early-host-path    | 0.4.0   | {deviceNodes: [{path: /dev/x, hostPath: /dev/null}]}         |                                |
      | early-annotations  | 0.5.0   | {env: [A=1]}                                                 | {annotations: {a: b}}          |
      | early-groups       | 0.6.0   | {additionalGids: [5]}                                        |                                |
      | early-intel-rdt    | 0.6.0   | {intelRdt: {closID: a}}                                      |                                |
      | early-monitoring   | 1.0.0   | {intelRdt: {enableMonitoring: true}}                         |                                |
      | early-schemata     | 1.0.0   | {intelRdt: {schemata: ["L3:0=f"]}}                           |                                |
      | early-interface    | 1.0.0   | {netDevices: [{hostInterfaceName: a, name: b}]}              |                                |
      | early-class        | 0.5.0   | {env: [A=1]}                                                 | {kind: $(driver)/a.b}          |
      | no-edits           | 0.5.0   | {}                                                           |                                |
      | empty-edits        | 0.5.0   | {env: []}                                                    |                                |
      | no-value           | 0.5.0   | {env: [A]}                                                   |                                |
      | no-variable        | 0.5.0   | {env: ["=1"]}                                                |                                |
      | no-node            | 0.5.0   | {deviceNodes: [{hostPath: /dev/null}]}                       |                                |
      | node-type          | 0.5.0   | {deviceNodes: [{path: /dev/x, type: x}]}                     |                                |
      | node-permissions   | 0.5.0   | {deviceNodes: [{path: /dev/x, permissions: rx}]}             |                                |
      | no-mount-path      | 0.5.0   | {mounts: [{hostPath: /tmp}]}                                 |                                |
      | no-mount-source    | 0.5.0   | {mounts: [{containerPath: /x}]}                              |                                |
      | unknown-hook       | 0.5.0   | {hooks: [{hookName: before, path: /bin/true}]}               |                                |
      | no-hook-path       | 0.5.0   | {hooks: [{hookName: prestart}]}                              |                                |
      | text-as-env        | 0.5.0   | {env: A=1}                                                   |                                |
      | text-as-option     | 0.5.0   | {mounts: [{hostPath: /tmp, containerPath: /x, options: ro}]} |                                |
      | object-as-mounts   | 0.5.0   | {mounts: {hostPath: /tmp, containerPath: /x}}                |                                |
      | text-as-node       | 0.5.0   | {deviceNodes: [/dev/x]}                                      |                                |
      | empty-path         | 0.5.0   | {deviceNodes: [{path: ""}]}                                  |                                |
      | text-as-uid        | 0.5.0   | {deviceNodes: [{path: /dev/x, uid: "0"}]}                    |                                |
      | text-as-major      | 0.5.0   | {deviceNodes: [{path: /dev/x, major: "1"}]}                  |                                |
      | large-major        | 0.5.0   | {deviceNodes: [{path: /dev/x, major: 9223372036854775808}]}  |                                |
      | negative-group     | 0.7.0   | {additionalGids: [5, -1]}                                    |                                |
      | large-group        | 0.7.0   | {additionalGids: [5, 4294967296]}                            |                                |
      | text-as-timeout    | 0.5.0   | {hooks: [{hookName: prestart, path: /bin/true, timeout: "5"}]} |                                |
      | text-as-boolean    | 1.1.0   | {intelRdt: {enableMonitoring: "true"}}                       |                                |
      | unknown-edit       | 0.5.0   | {env: [A=1], color: red}                                     |                                |
      | unknown-field      | 0.5.0   | {env: [A=1]}                                                 | {color: red}                   |
      | kind-without-class | 0.5.0   | {env: [A=1]}                                                 | {kind: vendor}                 |
      | same-device-twice  | 0.5.0   | {env: [A=1]}                                                 | {devices: [{name: $(device), containerEdits: {env: [A=1]}}, {name: x, containerEdits: {env: [A=1]}}, {name: x, containerEdits: {env: [A=2]}}]} |
      | number-as-env      | 0.5.0   | {env: [5]}                                                   |                                |
      | list-as-option     | 0.5.0   | {mounts: [{hostPath: /tmp, containerPath: /x, options: [[ro]]}]} |                                |
      | list-as-path       | 0.5.0   | {deviceNodes: [{path: [/dev/x]}]}                            |                                |
      | small-major        | 0.5.0   | {deviceNodes: [{path: /dev/x, major: -9300000000000000000}]} |                                |
      | text-annotations   | 0.6.0   | {env: [A=1]}                                                 | {annotations: a}               |
      | list-as-annotation | 0.6.0   | {env: [A=1]}                                                 | {annotations: {a: [b]}}        |
      | device-annotations | 0.5.0   | {env: [A=1]}                                                 | {devices: [{name: $(device), annotations: {a: b}, containerEdits: {env: [A=1]}}]} |
      | common-edits       | 0.6.0   | {env: [A=1]}                                                 | {containerEdits: {additionalGids: [5]}} |
      | dash-in-name       | 0.6.0   | {env: [A=1]}                                                 | {devices: [{name: $(device), containerEdits: {env: [A=1]}}, {name: -x, containerEdits: {env: [A=1]}}]} |
      | dash-ends-name     | 0.6.0   | {env: [A=1]}                                                 | {devices: [{name: $(device), containerEdits: {env: [A=1]}}, {name: x-, containerEdits: {env: [A=1]}}]} |
      | second-device      | 0.5.0   | {env: [A=1]}                                                 | {devices: [{name: $(device), containerEdits: {env: [A=1]}}, {name: x, containerEdits: {}}]} |
      | number-in-name     | 0.4.0   | {env: [A=1]}                                                 | {devices: [{name: $(device), containerEdits: {env: [A=1]}}, {name: "0", containerEdits: {env: [A=1]}}]} |
      | another-device     | 0.5.0   | {env: [A=1]}                                                 | {devices: [{name: x, containerEdits: {env: [A=1]}}]} |
      | another-kind       | 0.5.0   | {env: [A=1]}                                                 | {kind: vendor.dra.test/other}  |
    # No specification can have these kinds.
    And a pod "never" with CDI devices of the scripted driver "sim" on "n1":
      | device           | version | edits        | document             |
      | number-in-class  | 0.6.0   | {env: [A=1]} | {kind: $(driver)/1a} |
      | number-in-vendor | 0.6.0   | {env: [A=1]} | {kind: 1$(driver)/a} |
      | dash-in-class    | 0.6.0   | {env: [A=1]} | {kind: $(driver)/a-} |
    When pod "invalid" is bound by hand to "n1"
    Then an event of pod "invalid" names all of its CDI devices as unresolvable
    When pod "never" is bound by hand to "n1"
    Then an event of pod "never" names all of its CDI devices as unresolvable
    When pod "valid" is bound by hand to "n1"
    Then pod "valid" reaches phase Running
    And pod "invalid" does not run
    When the CDI specifications of pod "invalid" are replaced by valid ones
    And 30 seconds pass
    Then pod "invalid" reaches phase Running
    And pod "never" does not run

  @DRA-271c
  Scenario: Specifications of each version are used with the fields of this version
    Given pods with a CDI device of the scripted driver "sim" on "n1":
      | pod          | version | edits                                                  | unused device                                          | document                          |
      | version-3    | 0.3.0   | {env: [A=1]}                                           | {hooks: [{hookName: prestart, path: /bin/true, args: [a], env: [B=1], timeout: 5}]} |      |
      | version-4    | 0.4.0   | {env: [A=1]}                                           | {mounts: [{hostPath: /tmp, containerPath: /x, type: bind, options: [ro]}]} |               |
      | version-5    | 0.5.0   | {env: [A=1]}                                           | {deviceNodes: [{path: /dev/x, hostPath: /dev/null, type: c, major: 1, minor: 3, fileMode: 384, permissions: r, uid: 4294967295, gid: 0}, {path: /dev/b, type: b}, {path: /dev/u, type: u}, {path: /dev/p, type: p}, {path: /dev/n, type: "", major: 9223372036854775807}]} | {containerEdits: {env: [B=1]}} |
      | version-6    | 0.6.0   | {env: [A=1]}                                           | {env: [B=1], mounts: null, deviceNodes: null, hooks: null, additionalGids: null} | {annotations: {vendor.dra.test/a: b}} |
      | version-7    | 0.7.0   | {env: [A=1]}                                           | {additionalGids: [5], intelRdt: {closID: a, l3CacheSchema: b, memBwSchema: c}} |           |
      | version-8    | 0.8.0   | {env: [A=1]}                                           | {hooks: [{hookName: poststop, path: /bin/true, args: null}, {hookName: createRuntime, path: /bin/true, env: null}], mounts: [{hostPath: /tmp, containerPath: /x, options: null}], env: null} | {annotations: null} |
      | version-10   | 1.0.0   | {env: [A=1]}                                           | {hooks: [{hookName: createContainer, path: /bin/true}, {hookName: startContainer, path: /bin/true}, {hookName: poststart, path: /bin/true}]} | |
      | version-11   | 1.1.0   | {env: [A=1]}                                           | {netDevices: [{hostInterfaceName: a, name: b}], intelRdt: {enableMonitoring: true, schemata: [a]}} | |
      | 5-as-name    | 0.5.0   | {env: [A=1]}                                           |                                                        |                                   |
      | with-a-v     | v0.5.0  | {env: [A=1]}                                           |                                                        |                                   |
      | class-dot    | 0.6.0   | {env: [A=1]}                                           |                                                        | {kind: $(driver)/a.b}             |
    When all these pods are bound by hand to "n1"
    Then all these pods reach phase Running
    And container "main" of each of these pods on "n1" has the variable "A"

  @DRA-271d @needs:virtual-clock
  Scenario: Only files with the ending json or yaml are specifications, and two of them must not declare one device
    Given a ResourceClaim "a" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "c" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "e" allocated to the scripted driver "sim" on "n1"
    And the scripted driver "sim" writes no CDI file for "a"
    And the scripted driver "sim" writes no CDI file for "b"
    And the scripted driver "sim" writes no CDI file for "c"
    And the scripted driver "sim" writes no CDI file for "e"
    And the CDI file "a.yaml" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: a-gpu, containerEdits: {env: [A=1]}}]}
    And the CDI file "b.yml" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: b-gpu, containerEdits: {env: [B=1]}}]}
    And the CDI file "c.json" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: c-gpu, containerEdits: {env: [C=1]}}]}
    And the CDI file "d.yaml" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: c-gpu, containerEdits: {env: [C=1]}}, {name: e-gpu, containerEdits: {env: [E=1]}}]}
    And the CDI file "broken.json" of the scripted driver "sim" is [
    And a pod "yaml" with the reserved claims "a"
    And a pod "yml" with the reserved claims "b"
    And a pod "twice" with the reserved claims "c"
    And a pod "beside" with the reserved claims "e"
    When pod "yaml" is bound by hand to "n1"
    Then pod "yaml" reaches phase Running
    When pod "yml" is bound by hand to "n1"
    Then an event of pod "yml" says "dra.test/device=b-gpu"
    When pod "twice" is bound by hand to "n1"
    Then an event of pod "twice" says "dra.test/device=c-gpu"
    # The other device of the file is declared once.
    When pod "beside" is bound by hand to "n1"
    Then pod "beside" reaches phase Running
    And container "main" of pod "beside" on "n1" has:
      | kind     | name | value |
      | variable | E    | 1     |
    And pod "yml" does not run
    And pod "twice" does not run
    When the CDI file "b.json" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: b-gpu, containerEdits: {env: [B=1]}}]}
    And the CDI file "d.yaml" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: e-gpu, containerEdits: {env: [E=1]}}]}
    And 30 seconds pass
    Then pod "yml" reaches phase Running
    And pod "twice" reaches phase Running

  @DRA-271c
  Scenario: The edits of two devices and of their specification are combined
    Given a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And the scripted driver "sim" writes no CDI file for "a"
    And claim "a" gets the CDI ids "$(kind)=a-big, $(kind)=a-extra, $(kind)=a-big, $(kind)=a-small" from the scripted driver "sim"
    And the CDI file "a.json" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), containerEdits: {env: [COMMON=specification, BOTH=specification]}, devices: [{name: a-big, containerEdits: {env: [BOTH=big, SIZE=big], deviceNodes: [{path: /dev/both, hostPath: /dev/null, permissions: r}, {path: /dev/big, hostPath: /dev/null}]}}, {name: a-small, containerEdits: {env: [SIZE=small, LAST=a=b], deviceNodes: [{path: /dev/both, hostPath: /dev/zero, type: c, major: 1, minor: 5, permissions: rw}], mounts: [{hostPath: /etc, containerPath: /outer/bin, options: [bind, ro]}, {hostPath: /usr, containerPath: /outer/, options: [bind, ro]}]}}, {name: a-extra, containerEdits: {env: [EXTRA=yes]}}, {name: a-unused, containerEdits: {env: [UNUSED=yes]}}]}
    And a pod "train" with the reserved claims "a, b" and the containers:
      | name | claims | env              |
      | main | a, b   | OWN=pod, SIZE=pod |
      | none |        | OWN=none         |
    When pod "train" is bound by hand to "n1"
    Then container "main" of pod "train" on "n1" has:
      | kind        | name            | value         |
      | variable    | OWN             | pod           |
      | variable    | COMMON          | specification |
      | variable    | BOTH            | big           |
      | variable    | SIZE            | small         |
      | variable    | LAST            | a=b           |
      | variable    | EXTRA           | yes           |
      | variable    | DEVICE_B_GPU    | yes           |
      | device node | /dev/both       | like 'rw.*'   |
      | device node | /dev/big        | like 'rw.*'   |
      | device node | /dev/b-gpu      | like 'rw.*'   |
      | device numbers | /dev/both    | c 1:5         |
      | mount       | /scripted/b-gpu | like '.*/cdi' |
      # The mount of the folder comes before the mount in it.
      | file        | /outer/bin/group | set          |
    And of the variables "UNUSED", container "main" of pod "train" on "n1" has only ""
    And of the variables "[BCDELS]*", container "none" of pod "train" on "n1" has only ""

  @DRA-271f
  Scenario: Of two CDI folders the later one declares the device
    Given a ResourceClaim "a" with requests "big, small" allocated to the scripted driver "sim" on "n1"
    And the scripted driver "sim" writes no CDI file for "a"
    And the CDI file "a.json" of the scripted driver "sim" is {cdiVersion: 0.5.0, kind: $(kind), containerEdits: {env: [EARLIER=yes]}, devices: [{name: a-big, containerEdits: {env: [BIG=earlier]}}, {name: a-small, containerEdits: {env: [SMALL=earlier]}}]}
    And the second CDI folder has the file "a.json" of the scripted driver "sim" with {cdiVersion: 0.5.0, kind: $(kind), containerEdits: {env: [LATER=yes]}, devices: [{name: a-big, containerEdits: {env: [BIG=later]}}]}
    And a pod "train" with the reserved claims "a" and the containers:
      | name | claims  |
      | main | a       |
      | big  | a/big   |
    When pod "train" is bound by hand to "n1"
    Then container "main" of pod "train" on "n1" has:
      | kind     | name    | value   |
      | variable | BIG     | later   |
      | variable | SMALL   | earlier |
      | variable | LATER   | yes     |
      | variable | EARLIER | yes     |
    And container "big" of pod "train" on "n1" has:
      | kind     | name  | value |
      | variable | BIG   | later |
    And of the variables "[EL]A*ER", container "big" of pod "train" on "n1" has only "LATER"
    # Two files of the later folder are in conflict, as those of the first are.
    Given a ResourceClaim "b" allocated to the scripted driver "sim" on "n1"
    And the scripted driver "sim" writes no CDI file for "b"
    And the second CDI folder has the file "b.json" of the scripted driver "sim" with {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: b-gpu, containerEdits: {env: [B=1]}}]}
    And the second CDI folder has the file "c.json" of the scripted driver "sim" with {cdiVersion: 0.5.0, kind: $(kind), devices: [{name: b-gpu, containerEdits: {env: [B=1]}}]}
    And a pod "twice" with the reserved claims "b"
    When pod "twice" is bound by hand to "n1"
    Then an event of pod "twice" says "dra.test/device=b-gpu"
