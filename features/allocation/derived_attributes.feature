@profile:scheduler-core @component:scheduler @component:binder @since:1.37 @gate:DRADerivedAttributes
Feature: Derived attributes
  A request can compute attributes of its candidates with CEL expressions. Constraints compare them like published ones
  (alpha in 1.37).

  Background:
    Given node "n1"

  Scenario Outline: Devices whose drivers name an attribute differently are chosen by <constraint>
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: g0, attributes: {dra.test/numa: {int: 0}}}
        - {name: g1, attributes: {dra.test/numa: {int: 1}}}
        - {name: n1, attributes: {dra.test/numaNode: {int: 1}}}
        - {name: n2, attributes: {dra.test/numaNode: {int: 2}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" with:
      """
      requests:
        - name: gpu
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: '"numa" in device.attributes["dra.test"]'}}],
            derivedAttributes: [{name: derived.dra.test/numa, expression: '<of gpu>'}]}
        - name: nic
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: '"numaNode" in device.attributes["dra.test"]'}}],
            derivedAttributes: [{name: derived.dra.test/numa, expression: '<of nic>'}]}
      constraints: [{<constraint>: derived.dra.test/numa}]
      """
    When a pod "train" using claim "pair" is created
    Then request "gpu" of claim "pair" is allocated the devices "<gpu>"
    And request "nic" of claim "pair" is allocated the devices "<nic>"

    @DRA-509
    Examples:
      | constraint     | of gpu                              | of nic                                  | gpu | nic |
      | matchAttribute | device.attributes["dra.test"].numa | device.attributes["dra.test"].numaNode | g1  | n1  |

    @DRA-509 @gate:DRAConsumableCapacity
    Examples:
      | constraint        | of gpu | of nic                                       | gpu | nic |
      | distinctAttribute | 1      | device.attributes["dra.test"].numaNode + 0 | g0  | n2  |

  @DRA-510
  Scenario: A derived attribute hides the published one in its own request only
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0, attributes: {dra.test/place: {int: 1}, dra.test/role: {string: a}}}
        - {name: d1, attributes: {dra.test/place: {int: 1}, dra.test/role: {string: b}}}
        - {name: d2, attributes: {dra.test/place: {int: 7}, dra.test/role: {string: b}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" with:
      """
      requests:
        - name: a
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "a"'}}],
            derivedAttributes: [{name: dra.test/place, expression: "7"}]}
        - name: b
          exactly: {deviceClassName: $(class:accelerator),
            selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "b"'}}]}
      constraints: [{matchAttribute: dra.test/place}]
      """
    When a pod "train" using claim "pair" is created
    Then request "b" of claim "pair" is allocated the devices "d2"

  @DRA-511
  Scenario: An expression that fails on a candidate ends the attempt, and the pod is tried again once it does not
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0}
        - {name: d1, attributes: {dra.test/place: {int: 1}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "derived" with:
      """
      requests:
        - name: a
          exactly: {deviceClassName: $(class:accelerator),
            derivedAttributes: [{name: derived.dra.test/place, expression: 'device.attributes["dra.test"].place'}]}
      constraints: [{matchAttribute: derived.dra.test/place}]
      """
    When a pod "train" using claim "derived" is created
    Then claim "derived" stays unallocated
    When the ResourceSlice "devices" is deleted
    And a ResourceSlice "corrected" is published with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0, attributes: {dra.test/place: {int: 1}}}
        - {name: d1, attributes: {dra.test/place: {int: 1}}}
      """
    Then claim "derived" is allocated the devices "d0"

  @DRA-512
  Scenario: Derived values of different types are not equal
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: a0, attributes: {dra.test/place: {int: 1}, dra.test/role: {string: a}}}
        - {name: b0, attributes: {dra.test/place: {string: "1"}, dra.test/role: {string: b}}}
        - {name: b1, attributes: {dra.test/place: {bool: true}, dra.test/role: {string: b}}}
        - {name: b2, attributes: {dra.test/place: {int: 1}, dra.test/role: {string: b}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" with:
      """
      requests:
        - name: a
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "a"'}}],
            derivedAttributes: [{name: derived.dra.test/place, expression: 'device.attributes["dra.test"].place'}]}
        - name: b
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "b"'}}],
            derivedAttributes: [{name: derived.dra.test/place, expression: 'device.attributes["dra.test"].place'}]}
      constraints: [{matchAttribute: derived.dra.test/place}]
      """
    When a pod "train" using claim "pair" is created
    Then request "b" of claim "pair" is allocated the devices "b2"

  @DRA-513
  Scenario: An expression is not evaluated for devices that selectors exclude
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0}
        - {name: d1, attributes: {dra.test/place: {int: 1}}}
        - {name: d2, attributes: {dra.test/place: {int: 1}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "two" with:
      """
      requests:
        - name: a
          exactly: {deviceClassName: $(class:accelerator), count: 2, selectors: [{cel: {expression: '"place" in device.attributes["dra.test"]'}}],
            derivedAttributes: [{name: derived.dra.test/place, expression: 'device.attributes["dra.test"].place'}]}
      constraints: [{matchAttribute: derived.dra.test/place}]
      """
    When a pod "train" using claim "two" is created
    Then claim "two" is allocated the devices "d1, d2"

  @DRA-514
  Scenario: Selectors do not see derived attributes
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices: [{name: d0}, {name: d1}]
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "seen" with:
      """
      requests:
        - name: a
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: '"derived.dra.test" in device.attributes'}}],
            derivedAttributes: [{name: derived.dra.test/place, expression: "1"}]}
      constraints: [{matchAttribute: derived.dra.test/place}]
      """
    And a ResourceClaim "unseen" with:
      """
      requests:
        - name: a
          exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: '!("derived.dra.test" in device.attributes)'}}],
            derivedAttributes: [{name: derived.dra.test/place, expression: "1"}]}
      constraints: [{matchAttribute: derived.dra.test/place}]
      """
    When a pod "one" using claim "seen" is created
    And a pod "two" using claim "unseen" is created
    Then claim "unseen" is allocated the devices "d0"
    And claim "seen" stays unallocated

  @DRA-515 @gate:DRAPrioritizedList
  Scenario: Each alternative of a request has its own expression for an attribute
    Given a ResourceSlice "devices" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0, attributes: {dra.test/place: {int: 1}, dra.test/role: {string: a}}}
        - {name: d1, attributes: {dra.test/place: {int: 1}, dra.test/role: {string: b}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "pair" with:
      """
      requests:
        - {name: a, exactly: {deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "a"'}}]}}
        - name: b
          firstAvailable:
            - {name: other, deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "b"'}}],
               derivedAttributes: [{name: dra.test/place, expression: 'device.attributes["dra.test"].place + 1'}]}
            - {name: same, deviceClassName: $(class:accelerator), selectors: [{cel: {expression: 'device.attributes["dra.test"].role == "b"'}}],
               derivedAttributes: [{name: dra.test/place, expression: 'device.attributes["dra.test"].place + 0'}]}
      constraints: [{matchAttribute: dra.test/place}]
      """
    When a pod "train" using claim "pair" is created
    Then the ResourceClaim "pair" has "status.allocation.devices.results[*].request" [a, b/same]
