@profile:driver-gpu @component:driver @needs:gpu-driver
Feature: The driver gpu.nvidia.com publishes and prepares GPUs
  Users write selectors with names and attributes of devices; these follow NVML.

  @NV-020 @NV-021 @NV-022 @NV-026 @needs:seen-nvml
  Scenario: Devices match what NVML reports
    Given node "n1" running the driver
    Then the gpu devices on "n1" are the GPUs of NVML, with its "uuid" as "attributes.uuid.string" [NV-020]
    And the gpu devices on "n1" are the GPUs of NVML, with its "name" as "attributes.productName.string" [NV-020]
    And every gpu device on "n1" has: [NV-021]
      | field                                    | value     |
      | attributes.type.string                   | like '.+' |
      | attributes.uuid.string                   | like '.+' |
      | attributes.productName.string            | like '.+' |
      | attributes.brand.string                  | like '.+' |
      | attributes.architecture.string           | like '.+' |
      | attributes.cudaComputeCapability.version | like '.+' |
      | attributes.driverVersion.version         | like '.+' |
      | attributes.cudaDriverVersion.version     | like '.+' |
    And the gpu devices on "n1" are the GPUs of NVML, with its "compute capability" as "attributes.cudaComputeCapability.version" [NV-021]
    And the gpu devices on "n1" are the GPUs of NVML, with its "CUDA version" as "attributes.cudaDriverVersion.version" [NV-021]
    And the gpu devices on "n1" are the GPUs of NVML, with its "PCI address" as "attributes['resource.kubernetes.io/pciBusID'].string" [NV-021]
    And the gpu devices on "n1" are the GPUs of NVML, with its "driver version" as "attributes.driverVersion.version" [NV-022]
    # Three numbers without leading zeros, as the API's version type requires.
    And every gpu device on "n1" has: [NV-022]
      | field                            | value                                                  |
      | attributes.driverVersion.version | like '(?!0[0-9]\|.*[.]0[0-9])[0-9]+[.][0-9]+[.][0-9]+' |
    And the gpu devices on "n1" are the GPUs of NVML, with its "memory" as "capacity.memory.value" [NV-026]
    And every gpu device on "n1" has: [NV-026]
      | field    | value                  |
      | capacity | with the keys [memory] |

  @NV-020 @NV-021 @NV-021b @NV-026 @needs:fake-nvml
  Scenario: Brand and architecture have the names of NVIDIA's library for Go
    Given the GPUs of "n1" are those of "dgx-h100"
    And the GPUs of "n1" have in NVML:
      | brand | architecture |
      | 1     | 2            |
      | 2     | 3            |
      | 3     | 4            |
      | 4     | 5            |
      | 5     | 6            |
      | 6     | 7            |
      | 7     | 8            |
      | 8     | 9            |
    And node "n1" running the driver
    Then the GPUs on "n1" are published with: [NV-021b]
      | brand       | architecture |
      | Quadro      | Kepler       |
      | Tesla       | Maxwell      |
      | NVS         | Pascal       |
      | Grid        | Volta        |
      | GeForce     | Turing       |
      | Titan       | Ampere       |
      | NvidiaVApps | Ada Lovelace |
      | NvidiaVPC   | Hopper       |
    Given the GPUs of "n2" are those of "dgx-h100"
    And the GPUs of "n2" have in NVML:
      | brand | architecture |
      | 9     | 10           |
      | 10    | 9            |
      | 11    | 9            |
      | 12    | 9            |
      | 13    | 9            |
      | 14    | 9            |
      | 15    | 9            |
      | 16    | 4294967295   |
    And node "n2" running the driver
    Then the GPUs on "n2" are published with: [NV-021b]
      | brand             | architecture |
      | NvidiaVCS         | Blackwell    |
      | NvidiaVWS         | Hopper       |
      | NvidiaCloudGaming | Hopper       |
      | QuadroRTX         | Hopper       |
      | NvidiaRTX         | Hopper       |
      | Nvidia            | Hopper       |
      | GeForceRTX        | Hopper       |
      | TitanRTX          | Unknown      |
    Given the GPUs of "n3" are those of "mixed"
    And the GPUs of "n3" have in NVML:
      | brand |
      | 0     |
    And node "n3" running the driver
    Then the GPUs on "n3" are published with: [NV-021b]
      | brand   | architecture |
      | Unknown | Hopper       |
      | Nvidia  | Hopper       |
      | Nvidia  | Ampere       |
      | Nvidia  | Ada Lovelace |
      | Nvidia  | Turing       |
    And the gpu devices on "n3" are the GPUs of NVML, with its "uuid" as "attributes.uuid.string" [NV-020]
    And the gpu devices on "n3" are the GPUs of NVML, with its "name" as "attributes.productName.string" [NV-020]
    And the gpu devices on "n3" are the GPUs of NVML, with its "compute capability" as "attributes.cudaComputeCapability.version" [NV-021]
    And the gpu devices on "n3" are the GPUs of NVML, with its "PCI address" as "attributes['resource.kubernetes.io/pciBusID'].string" [NV-021]
    And the gpu devices on "n3" are the GPUs of NVML, with its "memory" as "capacity.memory.value" [NV-026]

  @NV-020 @NV-021 @needs:fake-nvml
  Scenario: A CUDA version with two digits, minor numbers that are not indices and PCI domains above 9 are published as they are
    Given the GPUs of "n1" are those of this suite's inventory "other-minors"
    And node "n1" running the driver
    Then the gpu devices on "n1" are the GPUs of NVML, with its "CUDA version" as "attributes.cudaDriverVersion.version" [NV-021]
    And the gpu devices on "n1" are the GPUs of NVML, with its "PCI address" as "attributes['resource.kubernetes.io/pciBusID'].string" [NV-021]
    And the driver on "n1" comes to publish "gpu-2, gpu-5" and not "gpu-0, gpu-1" [NV-020]

  @NV-050 @NV-094 @NV-095
  Scenario: A claim gets a CDI device of its own
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    When claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-050]
    And each device of the response for claim "train" has 1 CDI ids, one of them of the claim alone [NV-050]
    And the CDI ids of claim "train" on "n1" are in a file of its own [NV-094]
    And of the device nodes "/dev/nvidia[0-9]*", claim "train" adds only "/dev/nvidia$(minor)" on "n1" [NV-095]
    And a container with claim "train" on "n1" has: [NV-095]
      | kind     | name                   | value |
      | variable | NVIDIA_VISIBLE_DEVICES | void  |

  @NV-095 @NV-095b @NV-095c @NV-095d @needs:fake-nvml
  Scenario: A container with two GPUs of a claim has their device nodes, the control nodes and the driver's files
    Given node "n1" has a fake "nvidia-smi"
    And node "n1" has libcuda of the driver's version
    And node "n1" running the driver
    And a ResourceClaim "train" allocated the devices "gpu-2, gpu-5" on "n1"
    And a ResourceClaim "infer" allocated the devices "gpu-3" on "n1"
    When claims "train, infer" are prepared on "n1" in one call
    Then claim "train" is prepared [NV-095]
    And claim "infer" is prepared [NV-095]
    And of the device nodes "/dev/nvidia[0-9]*", claim "train" adds only "/dev/nvidia2, /dev/nvidia5" on "n1" [NV-095]
    And of the device nodes "/dev/nvidia[0-9]*", claim "infer" adds only "/dev/nvidia3" on "n1" [NV-095]
    And the device nodes of claim "train" on "n1" have the numbers: [NV-095b]
      | path                  | major       | minor |
      | /dev/nvidia2          | 195         | 2     |
      | /dev/nvidia5          | 195         | 5     |
      | /dev/nvidiactl        | 195         | 255   |
      | /dev/nvidia-modeset   | 195         | 254   |
      | /dev/nvidia-uvm       | nvidia-uvm  | 0     |
      | /dev/nvidia-uvm-tools | nvidia-uvm  | 1     |
    And the mounts of claim "train" on "n1" have the files of the driver root: [NV-095c]
      | file                       |
      | libcuda.so.$(version)      |
      | libnvidia-ml.so.$(version) |
      | nvidia-smi                 |
    # Before the start: a driver may list the files of its installation once.
    Given node "n2" has a fake "nvidia-smi"
    And node "n2" has the fault "/dev/nvidia-modeset missing"
    And node "n2" running the driver
    And a ResourceClaim "plain" allocated the devices "gpu-1, gpu-6" on "n2"
    And claim "plain" is prepared on "n2"
    Given a ResourceClaim "next" allocated the devices "gpu-4" on "n2"
    When claim "next" is prepared on "n2"
    Then of the device nodes "*", claim "next" adds only "/dev/nvidia4, /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-uvm-tools" on "n2" [NV-095]
    When claim "plain" is unprepared on "n2"
    Then claim "plain" gets the driver's files on "n2" from these folders in turn: [NV-095d]
      | library                   | program  |
      | .                         | opt/bin  |
      | usr/lib/x86_64-linux-gnu  | usr/sbin |
      | usr/lib/aarch64-linux-gnu | bin      |
      | lib64                     | sbin     |
      | lib/x86_64-linux-gnu      | usr/bin  |
      | lib/aarch64-linux-gnu     | sbin     |
      | usr/lib64                 | opt/bin  |

  @NV-095e @needs:fake-nvml
  Scenario: Plain files stand for device files on a node without privileges
    Given node "n1" has the fault "plain files in place of device files"
    And node "n1" running the driver
    And a ResourceClaim "plain" allocated the devices "gpu-1, gpu-6" on "n1"
    When claim "plain" is prepared on "n1"
    Then the device nodes of claim "plain" on "n1" have the numbers:
      | path                  | major       | minor |
      | /dev/nvidia1          | 195         | 1     |
      | /dev/nvidia6          | 195         | 6     |
      | /dev/nvidiactl        | 195         | 255   |
      | /dev/nvidia-modeset   | 195         | 254   |
      | /dev/nvidia-uvm       | nvidia-uvm  | 0     |
      | /dev/nvidia-uvm-tools | nvidia-uvm  | 1     |

  @NV-060b
  Scenario: The refusal of a device in use names its owner
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated the same device as claim "first" on "n1"
    # Unfinished claims are in the checkpoint beside that of the owner.
    And a ResourceClaim "bad" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "worse" allocated a device that the driver on "n1" does not have
    And a ResourceClaim "worst" allocated a device that the driver on "n1" does not have
    When claims "bad, worse, worst, first" are prepared on "n1" in one call
    And claim "second" is prepared on "n1"
    Then claim "second" is refused, naming "$(uid:first)"

  @NV-059
  Scenario: The refusal of an unknown device names the device
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated a device that the driver on "n1" does not have
    When claim "train" is prepared on "n1"
    Then claim "train" is refused, naming "no-such-device"

  @NV-058
  Scenario: A claim without a device of the driver is refused
    Given node "n1" running the driver
    And a ResourceClaim "alien" allocated on "n1" with:
      """
      results: [{request: gpu, driver: other.dra.test, device: other-0}]
      """
    When claim "alien" is prepared on "n1"
    Then claim "alien" is refused on its own

  @DRA-284
  Scenario: A replaced, unallocated or missing claim fails the whole call
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "replaced" allocated the same device as claim "train" on "n1"
    And a ResourceClaim "waiting" that is not allocated
    And the kubelet refers to claim "replaced" by a uid that no claim has
    And the kubelet refers to claim "ghost" by a uid that no claim has
    And the CDI files of "n1" are remembered
    When claim "replaced" is prepared on "n1"
    Then the whole call fails because "got replaced"
    When claims "train, waiting" are prepared on "n1" in one call
    Then the whole call fails because "not allocated"
    And the CDI files of "n1" are the remembered ones within 0 seconds
    When claim "ghost" is prepared on "n1"
    Then the whole call fails because "retrieve claim"

  @NV-099 @NV-100 @needs:process-driver
  Scenario: The checkpoint of NVIDIA's driver has the state of each claim
    Given node "n1" running the driver
    And a ResourceClaim "good" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "bad" allocated a device that the driver on "n1" does not have
    When claim "good" is prepared on "n1"
    Then the checkpoint of the driver on "n1" has claim "good" as PrepareCompleted [NV-100]
    When claim "bad" is prepared on "n1"
    Then the checkpoint of the driver on "n1" has claim "bad" as PrepareStarted [NV-099]

  @NV-024 @NV-027 @NV-028 @needs:fake-nvml
  Scenario: A GPU is published without the attributes that NVML and sysfs do not report
    Given the GPUs of "n1" are those of "dgx-h100"
    And node "n1" has the fault "GPU 0 missing in sysfs"
    And node "n1" has the fault "NVML does not support memory_total of GPU 3"
    And node "n1" has the fault "NVML does not support addressing_mode of GPU 4"
    And GPU 5 of "n1" has addressing_mode 1
    And GPU 6 of "n1" has addressing_mode 2
    And GPU 7 of "n1" has addressing_mode 0
    And node "n1" has the fault "nvmlDeviceGetMigMode of GPU 2 answers NOT_SUPPORTED"
    And node "n1" with a kubelet
    When the driver on "n1" is started
    Then the driver on "n1" comes to be registered [NV-028]
    And the driver on "n1" comes to publish "gpu-0" and not "" [NV-024]
    And the driver on "n1" comes to publish "gpu-0, gpu-7" and not "" [NV-028]
    And GPU 0 on "n1" is published with: [NV-024]
      | field                                         | value |
      | attributes["resource.kubernetes.io/pcieRoot"] | null  |
      | attributes["resource.kubernetes.io/numaNode"] | null  |
    And GPU 5 on "n1" is published with: [NV-024]
      | field                                                | value      |
      | attributes["resource.kubernetes.io/pcieRoot"].string | pci0000:a7 |
    And GPU 6 on "n1" is published with: [NV-024]
      | field                                                | value      |
      | attributes["resource.kubernetes.io/pcieRoot"].string | pci0000:b8 |
    And GPU 3 on "n1" is published with: [NV-027]
      | field    | value      |
      | capacity | null or {} |
    And GPU 4 on "n1" is published with: [NV-028]
      | field                     | value |
      | attributes.addressingMode | null  |
    And GPU 5 on "n1" is published with: [NV-028]
      | field                            | value |
      | attributes.addressingMode.string | HMM   |
    And GPU 6 on "n1" is published with: [NV-028]
      | field                            | value |
      | attributes.addressingMode.string | ATS   |
    And GPU 7 on "n1" is published with: [NV-028]
      | field                            | value  |
      | attributes.addressingMode.string | 'None' |

  @NV-025 @NV-304 @needs:fake-nvml
  Scenario: A GPU has the NUMA node of sysfs
    Given the GPUs of "n1" are those of "dgx-h100"
    And GPU 1 of "n1" has numa_node -1
    And GPU 2 of "n1" has numa_node 1
    And GPU 3 of "n1" has numa_node none
    And GPU 4 of "n1" has numa_node 1
    And GPU 4 of "n1" has resource none
    And GPU 6 of "n1" has numa_node 0
    And node "n1" running the driver
    Then GPU 1 on "n1" is published with: [NV-025]
      | field                                         | value |
      | attributes["resource.kubernetes.io/numaNode"] | null  |
      | attributes["resource.kubernetes.io/pcieRoot"] | set   |
    # A list with the driver's feature gate DRAListTypeAttributes.
    And GPU 2 on "n1" is published with: [NV-025]
      | field                                         | value                   |
      | attributes["resource.kubernetes.io/numaNode"] | {int: 1} or {ints: [1]} |
    And GPU 3 on "n1" is published with: [NV-025]
      | field                                         | value |
      | attributes["resource.kubernetes.io/numaNode"] | null  |
    And GPU 6 on "n1" is published with: [NV-025]
      | field                                         | value                   |
      | attributes["resource.kubernetes.io/numaNode"] | {int: 0} or {ints: [0]} |
    And GPU 4 on "n1" is published with: [NV-304]
      | field                                         | value                   |
      | attributes["resource.kubernetes.io/numaNode"] | {int: 1} or {ints: [1]} |

  @NV-302 @needs:fake-nvml @needs:driver-flags
  Scenario: MIG devices and devices for pass-through have the NUMA node of their GPU
    Given the GPUs of "n1" are those of "dgx-h100-mig"
    And GPU 0 of "n1" has numa_node 1
    And GPU 1 of "n1" has numa_node -1
    And node "n1" running the driver
    Then the devices of the GPUs on "n1" have in "attributes['resource.kubernetes.io/numaNode']":
      | gpu | type | value                   |
      | 0   | mig  | {int: 1} or {ints: [1]} |
      | 1   | gpu  | null                    |
    Given the GPUs of "n2" are those of "dgx-h100"
    And GPU 0 of "n2" has numa_node 1
    And GPU 1 of "n2" has numa_node -1
    And node "n2" has an IOMMU with the VFIO interface
    And node "n2" running the driver with "--feature-gates=PassthroughSupport=true,NVMLDeviceHealthCheck=false"
    Then the devices of the GPUs on "n2" have in "attributes['resource.kubernetes.io/numaNode']":
      | gpu | type | value                   |
      | 0   | gpu  | {int: 1} or {ints: [1]} |
      | 0   | vfio | {int: 1} or {ints: [1]} |
      | 1   | gpu  | null                    |
      | 1   | vfio | null                    |

  @NV-303 @needs:fake-nvml @needs:driver-flags @gate:DRAListTypeAttributes
  Scenario: The list of NUMA nodes begins with the GPU's own and has the nearest of its socket
    Given the GPUs of "n1" are those of "dgx-h100"
    # Two sockets with two nodes each, and a node without CPUs; node 3 is as near to node 1 as node 0 is.
    And node "n1" has the NUMA nodes:
      | distances      | cpu  | socket |
      | 10 12 20 20 40 | 0    | 0      |
      | 12 10 20 12 40 | 4    | 0      |
      | 20 20 10 12 40 | 8    | 1      |
      | 20 12 12 10 40 | 12   | 1      |
      | 40 40 40 40 10 | none | 0      |
    And GPU 0 of "n1" has numa_node 0
    And GPU 1 of "n1" has numa_node 1
    And GPU 2 of "n1" has numa_node 2
    And GPU 3 of "n1" has numa_node 5
    And GPU 4 of "n1" has numa_node -1
    And node "n1" running the driver with "--feature-gates=DRAListTypeAttributes=true"
    Then the devices of the GPUs on "n1" have in "attributes['resource.kubernetes.io/numaNode']":
      | gpu | type | value          |
      | 0   | gpu  | {ints: [0, 1]} |
      | 1   | gpu  | {ints: [1, 0]} |
      | 2   | gpu  | {ints: [2, 3]} |
      | 3   | gpu  | {ints: [5]}    |
      | 4   | gpu  | null           |

  @NV-028c @needs:fake-nvml
  Scenario: A GPU is published although the library of its driver does not know a query
    Given the GPUs of "n1" are those of "dgx-h100"
    # The driver's library is older than the query, or knows another version of it.
    And node "n1" has the fault "nvmlDeviceGetAddressingMode of GPU 2 answers FUNCTION_NOT_FOUND"
    And node "n1" has the fault "nvmlDeviceGetAddressingMode of GPU 3 answers ARGUMENT_VERSION_MISMATCH"
    And node "n1" has the fault "nvmlDeviceGetAddressingMode of GPU 0 answers INVALID_ARGUMENT"
    And node "n1" has the fault "nvmlDeviceGetMigMode of GPU 1 answers FUNCTION_NOT_FOUND"
    And node "n1" with a kubelet
    When the driver on "n1" is started
    Then the driver on "n1" comes to publish "gpu-0, gpu-1, gpu-2, gpu-3" and not ""
    And GPU 2 on "n1" is published with:
      | field                     | value |
      | attributes.addressingMode | null  |
    And GPU 3 on "n1" is published with:
      | field                     | value |
      | attributes.addressingMode | null  |
    And GPU 0 on "n1" is published with:
      | field                     | value |
      | attributes.addressingMode | null  |

  @NV-028b @needs:fake-nvml
  Scenario: The driver does not start while NVML fails
    Given node "n1" has the fault "nvmlInitWithFlags answers DRIVER_NOT_LOADED"
    And node "n1" with a kubelet
    Then the driver on "n1" does not start with:
      | flags | error |
      |       | NVML  |
    And the driver on "n1" publishes nothing
    Given node "n2" has the fault "nvmlDeviceGetMemoryInfo of GPU 5 answers UNKNOWN"
    And node "n2" with a kubelet
    Then the driver on "n2" does not start with:
      | flags | error |
      |       | GPU   |
    And the driver on "n2" publishes nothing

  @NV-098 @needs:fake-nvml
  Scenario: A claim is refused while the driver libraries are missing
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And node "n1" has the fault "driver libraries missing"
    When claim "train" is prepared on "n1"
    Then claim "train" is refused on its own
    And the driver on "n1" has a record of claim "train"
    When node "n1" recovers from "driver libraries missing"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared

  @NV-069 @NV-069b @needs:fake-nvml @needs:virtual-clock
  Scenario: Prepare fails after ten seconds while another plugin of the node has the lock
    Given node "n1" running the driver
    And a ResourceClaim "train" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    # A driver may make its lock file with the first claim.
    And claim "first" is prepared on "n1"
    And node "n1" has the fault "plugin lock held by another process"
    When claim "train" is prepared on "n1" while 11 seconds pass
    Then claim "train" is refused on its own [NV-069]
    And the driver waited for at least 9 seconds [NV-069]
    When node "n1" recovers from "plugin lock held by another process"
    And claim "train" is prepared on "n1"
    Then claim "train" is prepared [NV-069b]

  @NV-108c @NV-051 @needs:several-gpus
  Scenario: Two of three claims are unprepared in one call
    Given node "n1" running the driver
    And a ResourceClaim "first" allocated 1 devices of the driver on "n1"
    And a ResourceClaim "second" allocated on "n1" with:
      """
      results: [{request: one, device: free}, {request: two, device: free}]
      """
    And a ResourceClaim "third" allocated 1 devices of the driver on "n1"
    And claims "first, second, third" are prepared on "n1"
    When claims "second, first" are unprepared on "n1" in one call
    Then claim "second" is unprepared [NV-108c]
    And claim "first" is unprepared [NV-108c]
    And every CDI id of the response for claim "third" resolves on "n1" [NV-108c]
    When claims "third, second" are prepared on "n1" in one call
    Then claim "third" is prepared [NV-051]
    And all responses for claim "third" are the same [NV-051]
    And claim "second" is prepared [NV-051]
