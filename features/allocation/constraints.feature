@profile:scheduler-core @component:scheduler @component:binder
Feature: Constraints over attributes
  Constraints over attributes apply to all devices of their requests together, not only to neighbours.

  @DRA-174
  Scenario: distinctAttribute compares all devices of a claim, not neighbours
    Given node "n1"
    And a ResourceSlice "boards" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0, attributes: {dra.test/board: {string: a}}}
        - {name: d1, attributes: {dra.test/board: {string: b}}}
        - {name: d2, attributes: {dra.test/board: {string: a}}}
        - {name: d3, attributes: {dra.test/board: {string: c}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "three" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 3}}]
      constraints: [{distinctAttribute: dra.test/board}]
      """
    And a ResourceClaim "four" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: 4}}]
      constraints: [{distinctAttribute: dra.test/board}]
      """
    When a pod "greedy" using claim "four" is created
    Then claim "four" stays unallocated
    When a pod "train" using claim "three" is created
    Then the allocation of claim "three" is valid

  @DRA-469 @since:1.37
  Scenario: distinctAttribute compares the devices of all requests
    Given node "n1"
    And a ResourceSlice "boards" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d0, attributes: {dra.test/board: {string: a}, dra.test/rack: {int: 1}}}
        - {name: d1, attributes: {dra.test/board: {string: b}, dra.test/rack: {int: 1}}}
        - {name: d2, attributes: {dra.test/board: {string: a}, dra.test/rack: {int: 2}}}
        - {name: d3, attributes: {dra.test/board: {string: b}, dra.test/rack: {int: 2}}}
        - {name: d4, attributes: {dra.test/board: {string: c}, dra.test/rack: {int: 2}}}
        - {name: d5, attributes: {dra.test/board: {string: d}, dra.test/rack: {int: 3}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "three" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:accelerator), count: 2, selectors: [{cel: {expression: 'device.attributes["dra.test"].rack == 1'}}]}}
        - {name: two, exactly: {deviceClassName: $(class:accelerator), count: 2, selectors: [{cel: {expression: 'device.attributes["dra.test"].rack == 2'}}]}}
      constraints: [{distinctAttribute: dra.test/board}]
      """
    And a ResourceClaim "four" with:
      """
      requests:
        - {name: one, exactly: {deviceClassName: $(class:accelerator), count: 2, selectors: [{cel: {expression: 'device.attributes["dra.test"].rack == 1'}}]}}
        - {name: two, exactly: {deviceClassName: $(class:accelerator), count: 2, selectors: [{cel: {expression: 'device.attributes["dra.test"].rack > 1'}}]}}
      constraints: [{distinctAttribute: dra.test/board}]
      """
    When a pod "greedy" using claim "three" is created
    Then claim "three" stays unallocated
    When a pod "train" using claim "four" is created
    Then request "one" of claim "four" is allocated the devices "d0, d1"
    And request "two" of claim "four" is allocated the devices "d4, d5"

  @gate:DRAListTypeAttributes
  Scenario Outline: Lists match if they have a value in common: <what>
    Given node "n1"
    And a ResourceSlice "lists" with:
      """
      nodeName: $(node:n1)
      devices:
        - {name: d1, attributes: {dra.test/numa: {<type>: <one>}}}
        - {name: d2, attributes: {dra.test/numa: {<type>: <two>}}}
        - {name: d3, attributes: {dra.test/numa: {<type>: <three>}}}
        - {name: d4, attributes: {dra.test/numa: {<type>: <four>}}}
      """
    And a DeviceClass "accelerator" for those devices
    And a ResourceClaim "near" with:
      """
      requests: [{name: gpu, exactly: {deviceClassName: $(class:accelerator), count: <count>}}]
      constraints: [{matchAttribute: dra.test/numa}]
      """
    When a pod "train" using claim "near" is created
    Then claim "near" is allocated the devices "<devices>"

    @DRA-175
    Examples:
      | what                         | type     | one     | two            | three   | four    | count | devices |
      | one of two values in common  | ints     | [9]     | [1, 2]         | [8]     | [2]     | 2     | d2, d4  |
      | strings                      | strings  | [a]     | [b, c]         | [d]     | [c]     | 2     | d2, d4  |
      | versions                     | versions | [1.0.0] | [1.1.0, 2.0.0] | [3.0.0] | [2.0.0] | 2     | d2, d4  |

    @DRA-176
    Examples:
      | what                             | type | one    | two | three | four | count | devices    |
      | the first choice has no solution | ints | [1, 2] | [1] | [2]   | [2]  | 3     | d1, d3, d4 |
