@profile:kubelet @component:kubelet @needs:run-kubelet
Feature: Containers read files of all drivers of their claims
  Two drivers have devices for one request of a claim. Each describes its devices in a file of its own and mounts it
  through CDI (KEP-5304); the kubelet gives a container the CDI devices of both.

  @DRA-720
  Scenario: Containers have the files of each driver of their requests, and no others
    Given node "n1" with a kubelet
    And the driver "nic.dra.test" with device metadata and the devices "nic" on "n1"
    And the driver "fpga.dra.test" with device metadata and the devices "fpga" on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results:
        - {request: both, driver: nic.dra.test, device: nic-0}
        - {request: both, driver: fpga.dra.test, device: board-0-a}
        - {request: fast/big, driver: fpga.dra.test, device: board-0-b}
        - {request: other, driver: nic.dra.test, device: nic-1}
      """
    And a pod "train" with the reserved claims "train" and the containers:
      | name | claims                  |
      | both | train/both              |
      | fast | train/fast              |
      | two  | train/fast, train/other |
      | main | train                   |
    When pod "train" is bound by hand to "n1"
    Then container "both" of pod "train" on "n1" has the metadata files:
      | path                                                  |
      | resourceclaims/train/both/fpga.dra.test-metadata.json |
      | resourceclaims/train/both/nic.dra.test-metadata.json  |
    And container "fast" of pod "train" on "n1" has the metadata files:
      | path                                                  |
      | resourceclaims/train/fast/fpga.dra.test-metadata.json |
    And container "two" of pod "train" on "n1" has the metadata files:
      | path                                                  |
      | resourceclaims/train/fast/fpga.dra.test-metadata.json |
      | resourceclaims/train/other/nic.dra.test-metadata.json |
    And each file of container "main" of pod "train" on "n1" with metadata of claim "train" is about the devices of its driver
