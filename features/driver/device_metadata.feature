@profile:driver-core @component:driver
Feature: Containers read metadata of their devices
  A program in a container learns from a file which devices its claim has, such as the PCI address of a device that a
  virtual machine gets. The driver writes the files and mounts them through CDI (KEP-5304).

  @DRA-587 @DRA-587b
  Scenario: A container reads about the devices of the requests that it uses
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two, device: free}, {request: two, device: free}]
      """
    And a ResourceClaim "other" allocated on "n1" with:
      """
      results: [{request: fast/big, device: free}, {request: one, device: free}]
      """
    When claims "train, other" are prepared on "n1" in one call
    Then every CDI id of the response for claim "train" resolves on "n1" [DRA-587]
    And a container with request "one" of claim "train" on "n1" reads about the devices of this request [DRA-587]
    And a container with request "two" of claim "train" on "n1" reads about the devices of this request [DRA-587]
    And a container with request "one" of claim "other" on "n1" reads about the devices of this request [DRA-587]
    And a container with request "fast" of claim "other" on "n1" reads about the devices of this request [DRA-587b]

  @DRA-588 @DRA-588b @DRA-589b
  Scenario: Metadata is found by the name of the claim, or by the pod's name for a claim from a template
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "data" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two/big, device: free}]
      """
    And a ResourceClaim "train-gpu-x7k2p" allocated on "n1" with:
      """
      results: [{request: one, device: free}]
      """
    And "metadata.annotations" of the ResourceClaim "train-gpu-x7k2p" is set to {resource.kubernetes.io/pod-claim-name: gpu}
    When claims "data, train-gpu-x7k2p" are prepared on "n1" in one call
    Then a container with claim "data" on "n1" has the metadata files: [DRA-588]
      | path                                            |
      | resourceclaims/data/one/$(driver)-metadata.json |
      | resourceclaims/data/two/$(driver)-metadata.json |
    And a container with claim "train-gpu-x7k2p" on "n1" has the metadata files: [DRA-588]
      | path                                                   |
      | resourceclaimtemplates/gpu/one/$(driver)-metadata.json |
    And every user can read the metadata of claim "data" on "n1", and no container can change it [DRA-588b]
    And the metadata of request "one" of claim "data" on "n1" has: [DRA-589b]
      | field              | value        |
      | metadata.name      | data         |
      | metadata.namespace | $(namespace) |
      | metadata.uid       | $(uid:data)  |
      | podClaimName       | null         |
      | requests[0].name   | one          |
    And the metadata of request "two" of claim "data" on "n1" has: [DRA-589b]
      | field            | value       |
      | metadata.uid     | $(uid:data) |
      | requests[0].name | two/big     |
    And the metadata of request "one" of claim "train-gpu-x7k2p" on "n1" has: [DRA-589b]
      | field              | value                  |
      | metadata.name      | train-gpu-x7k2p        |
      | metadata.namespace | $(namespace)           |
      | metadata.uid       | $(uid:train-gpu-x7k2p) |
      | podClaimName       | gpu                    |

  @DRA-588c @component:claim-controller @component:scheduler @component:binder @needs:own-kubelet
  Scenario: A pod reads the metadata of its claim and of its claim from a template
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "data" that is not allocated
    And a ResourceClaimTemplate "device" for a device of the driver
    And a pod "first" using template "device" as "gpu, spare"
    And a pod "second" using claim "data" as "gpu"
    When scheduler and binder have bound pod "first" to "n1"
    And scheduler and binder have bound pod "second" to "n1"
    Then container "main" of pod "first" on "n1" has the metadata files:
      | path                                                     |
      | resourceclaimtemplates/gpu/gpu/$(driver)-metadata.json   |
      | resourceclaimtemplates/spare/gpu/$(driver)-metadata.json |
    And container "main" of pod "second" on "n1" has the metadata files:
      | path                                            |
      | resourceclaims/data/gpu/$(driver)-metadata.json |

  @DRA-589
  Scenario: Metadata is a stream of objects, one for each version of its API
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: one, device: free}, {request: two, device: free}]
      """
    When claim "train" is prepared on "n1"
    Then the metadata of request "one" of claim "train" on "n1" is the same in each version, newest first
    And the metadata of request "two" of claim "train" on "n1" is the same in each version, newest first

  @DRA-591
  Scenario: Unprepare removes the metadata of its claim only
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two, device: free}]
      """
    And a ResourceClaim "train-2" allocated on "n1" with:
      """
      results: [{request: one, device: free}]
      """
    And claims "train, train-2" are prepared on "n1"
    When the metadata files of claim "train" on "n1" are remembered
    And claim "train" is unprepared on "n1"
    Then claim "train" is unprepared
    And nothing is left of the metadata of claim "train" on "n1"
    And a container with request "one" of claim "train-2" on "n1" reads about the devices of this request
    When the metadata files of claim "train-2" on "n1" are remembered
    And claim "train-2" is unprepared on "n1"
    Then nothing is left of the metadata of claim "train-2" on "n1"

  @DRA-588d @DRA-591b @needs:own-kubelet
  Scenario: Containers read the metadata of two drivers of one claim, also for one request
    Given node "n1" running the driver with device metadata
    And the driver "nic.dra.test" with device metadata and the devices "nic" on "n1"
    And the driver "fpga.dra.test" with device metadata and the devices "fpga" on "n1"
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results:
        - {request: both, device: free}
        - {request: both, driver: nic.dra.test, device: nic-0}
        - {request: fast/big, driver: fpga.dra.test, device: board-0}
        - {request: fast/big, device: free}
        - {request: other, driver: nic.dra.test, device: nic-1}
      """
    And a pod "train" with the reserved claims "train" and the containers:
      | name  | claims      |
      | both  | train/both  |
      | fast  | train/fast  |
      | other | train/other |
      | main  | train       |
    When pod "train" is bound by hand to "n1"
    Then pod "train" reaches phase Running [DRA-588d]
    And container "both" of pod "train" on "n1" has the metadata files: [DRA-588d]
      | path                                                 |
      | resourceclaims/train/both/$(driver)-metadata.json    |
      | resourceclaims/train/both/nic.dra.test-metadata.json |
    And container "fast" of pod "train" on "n1" has the metadata files: [DRA-588d]
      | path                                                  |
      | resourceclaims/train/fast/$(driver)-metadata.json     |
      | resourceclaims/train/fast/fpga.dra.test-metadata.json |
    And container "other" of pod "train" on "n1" has the metadata files: [DRA-588d]
      | path                                                  |
      | resourceclaims/train/other/nic.dra.test-metadata.json |
    And each file of container "main" of pod "train" on "n1" with metadata of claim "train" is about the devices of its driver [DRA-588d]
    When claim "train" is unprepared on "n1"
    Then claim "train" is unprepared [DRA-591b]
    And container "main" of pod "train" on "n1" has the metadata files: [DRA-591b]
      | path                                                  |
      | resourceclaims/train/both/nic.dra.test-metadata.json  |
      | resourceclaims/train/fast/fpga.dra.test-metadata.json |
      | resourceclaims/train/other/nic.dra.test-metadata.json |
    And each file of container "main" of pod "train" on "n1" with metadata of claim "train" is about the devices of its driver [DRA-591b]

  @DRA-587c @needs:process-driver
  Scenario: A claim that is prepared again without its CDI files, or without its metadata files, has its metadata
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "train" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two, device: free}]
      """
    And claim "train" is prepared on "n1"
    When the driver on "n1" is stopped
    And the CDI files of "n1" are lost
    And the driver on "n1" is started
    Then the driver on "n1" comes to be registered
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And a container with request "one" of claim "train" on "n1" reads about the devices of this request
    And a container with request "two" of claim "train" on "n1" reads about the devices of this request
    When the metadata files of claim "train" on "n1" are lost
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared
    And a container with request "one" of claim "train" on "n1" reads about the devices of this request
    And a container with request "two" of claim "train" on "n1" reads about the devices of this request
    When the metadata files of claim "train" on "n1" are remembered
    And the driver on "n1" is restarted
    Then the driver on "n1" comes to be registered
    When claim "train" is unprepared on "n1"
    Then nothing is left of the metadata of claim "train" on "n1"

  @NV-007b @profile:driver-gpu @needs:gpu-driver @needs:driver-flags
  Scenario: Metadata of GPUs has two versions
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "pair" allocated 2 devices of the driver on "n1"
    When claims "train, pair" are prepared on "n1" in one call
    Then the metadata of request "gpu" of claim "train" on "n1" has the versions "v1beta1, v1alpha1"
    And the metadata of request "gpu" of claim "pair" on "n1" has the versions "v1beta1, v1alpha1"

  @NV-007c @profile:driver-gpu @needs:gpu-driver @needs:fake-nvml @needs:driver-flags
  Scenario: Metadata of devices for pass-through has their attributes
    Given node "n1" running the driver with device metadata
    And a ResourceClaim "vm" allocated the devices "gpu-vfio-1" on "n1"
    And a ResourceClaim "pair" allocated the devices "gpu-vfio-3, gpu-vfio-5" on "n1"
    When claims "vm, pair" are prepared on "n1" in one call
    Then the metadata of request "gpu" of claim "vm" on "n1" has the published attributes of its devices
    And the metadata of request "gpu" of claim "pair" on "n1" has the published attributes of its devices
