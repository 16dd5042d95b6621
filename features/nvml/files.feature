@profile:nvml @component:nvml
Feature: Files of the machine that belong to NVML's GPUs
  Container runtimes and drivers read device files, /proc/driver/nvidia and sysfs in addition to NVML: the PCIe root, the NUMA node,
  the device files of MIG instances. Each file belongs to the GPU that NVML reports.

  @NVML-087
  Scenario: sysfs and /proc describe the GPUs that NVML reports
    Given NVML
    Then these values agree for every GPU
      | value                                               | expected                                               |
      | PCI device and subsystem by sysfs                   | PCI device and subsystem by NVML, as sysfs writes them |
      | sysfs class                                         | 0x030200                                               |
      | sysfs current_link_width                            | nvmlDeviceGetCurrPcieLinkWidth()                       |
      | sysfs max_link_width                                | nvmlDeviceGetMaxPcieLinkWidth()                        |
      | driver of its PCI device                            | nvidia                                                 |
      | information file of the GPU                         | identities of the GPU by NVML                          |
      | files with the driver version that have another one | none                                                   |
      | device files of the driver that are missing         | none                                                   |
      | device files with the numbers of another device     | none                                                   |

  @NVML-087 @needs:chosen-gpus
  Scenario: GPUs on one PCIe switch are below one root port
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these values agree for GPU 0
      | value                           | expected                                 |
      | sysfs numa_node                 | 5                                        |
      | sysfs local_cpulist             | 2-5,67,130-131                           |
      | sysfs irq                       | 77                                       |
      | sysfs enable                    | 1                                        |
      | sysfs current_link_width        | 4                                        |
      | sysfs max_link_width            | 12                                       |
      | sysfs uevent                    | DRIVER=nvidia PCI_SLOT_NAME=a2b3:3c:1d.0 |
      | GPUs below its PCIe root port   | 0                                        |
      | PCIe root of its device         | pcia2b3:3b                               |
      | capability mig/config           | 1                                        |
      | capability mig/monitor          | 2                                        |
      | capability fabric-imex-mgmt     | 4323                                     |
      | major number of nvidia-frontend | 195                                      |
      | device files that belong to no GPU | nvidia-caps, nvidia-caps-imex-channels, nvidia-modeset, nvidia-uvm, nvidia-uvm-tools, nvidiactl |
      | device files of GPUs            | 1, 3, 7, 205                             |
      | access of capability files      | DeviceFileMode: 256 DeviceFileModify: 1  |
      | instances that mig-minors lacks | none                                     |
      | other lines of the information file | PCIe, 52 bits, 0xfffffffffffff, No   |
      | file proc/driver/nvidia/params  | ModifyDeviceFiles: 1 DeviceFileUID: 0 DeviceFileGID: 0 DeviceFileMode: 438 |
      | file proc/driver/nvidia-caps/sys-minors | fabric-imex-mgmt 4323 |
      | file proc/devices               | Character devices: 195 nvidia-frontend 509 nvidia-caps-imex-channels 510 nvidia-uvm 511 nvidia-caps Block devices: |
      | file sys/module/nvidia/version  | 571.82.63                                |
      | file sys/module/nvidia/refcnt   | 1                                        |
    And these values agree for GPU 1
      | value                         | expected   |
      | GPUs below its PCIe root port | 1, 2       |
      | PCIe root of its device       | pci0002:04 |
      | sysfs local_cpulist           | 64         |
      | sysfs numa_node               | 3          |
      | sysfs current_link_width      | 16         |
    And these values agree for GPU 3
      | value                         | expected   |
      | GPUs below its PCIe root port | 3          |
      | PCIe root of its device       | pci0002:12 |
      | sysfs local_cpulist           | 8-9,70-139 |
      | instances that mig-minors lacks | none     |
    And these values agree for every GPU
      | value                                               | expected                                               |
      | PCI device and subsystem by sysfs                   | PCI device and subsystem by NVML, as sysfs writes them |
      | driver of its PCI device                            | nvidia                                                 |
      | sysfs current_link_speed                            | current link speed by NVML                             |
      | information file of the GPU                         | identities of the GPU by NVML                          |
      | files with the driver version that have another one | none                                                   |
      | device files of the driver that are missing         | none                                                   |
      | device files with the numbers of another device     | none                                                   |

  @NVML-087 @needs:chosen-gpus
  Scenario: GPUs without a PCIe switch are each below a root port of their own
    Given NVML on the GPUs of "gb200-nvl72-node"
    Then these values agree for GPU 0
      | value                         | expected |
      | GPUs below its PCIe root port | 0        |
    And these values agree for GPU 2
      | value                         | expected |
      | GPUs below its PCIe root port | 2        |

  @NVML-050 @needs:chosen-gpus
  Scenario: A MIG layout that exists from the start has capability files
    Given NVML on the GPUs of "dgx-h100-mig"
    Then these values agree for GPU 0
      | value                                                    | expected                                                       |
      | MIG capabilities of its instances                        | gi1 12, gi1/ci0 13, gi13 120, gi13/ci0 121, gi5 48, gi5/ci0 49 |
      | device files of capabilities that no instance has        | none                                                           |
      | device files of capabilities that several instances have | none                                                           |
    And these values agree for every GPU but GPU 0
      | value                             | expected |
      | MIG capabilities of its instances | none     |

  @NVML-050 @needs:chosen-gpus
  Scenario: Instances of two GPUs have capability files of their own
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these values agree for GPU 1
      | value                             | expected                                                                               |
      | MIG capabilities of its instances | /gi1 [0-9]+, gi1/ci0 [0-9]+, gi13 [0-9]+, gi13/ci0 [0-9]+, gi5 [0-9]+, gi5/ci0 [0-9]+/ |
    And these values agree for GPU 2
      | value                                                    | expected                                                                               |
      | MIG capabilities of its instances                        | /gi1 [0-9]+, gi1/ci0 [0-9]+, gi12 [0-9]+, gi12/ci0 [0-9]+, gi6 [0-9]+, gi6/ci0 [0-9]+/ |
      | device files of capabilities that no instance has        | none                                                                                   |
      | device files of capabilities that several instances have | none                                                                                   |
    And these calls return
      | call                                                  | returns |
      | nvmlDeviceGetGpuInstanceById(gpu2, 1, &made)          | SUCCESS |
      | nvmlGpuInstanceGetComputeInstanceById(made, 0, &part) | SUCCESS |
      | nvmlComputeInstanceDestroy(part)                      | SUCCESS |
      | nvmlGpuInstanceCreateComputeInstance(made, 0, &part)  | SUCCESS |
      | nvmlGpuInstanceCreateComputeInstance(made, 0, &other) | SUCCESS |
    When the fake node changes
      """
      - {at: 0, reset: {gpu: 1}}
      """
    Then these values agree for GPU 1
      | value                                             | expected |
      | MIG capabilities of its instances                 | none     |
      | GPU instances                                     | none     |
      | device files of capabilities that no instance has | none     |
    And these values agree for GPU 2
      | value                                                    | expected                                                                               |
      | MIG capabilities of its instances                        | /gi1 [0-9]+, gi1/ci0 [0-9]+, gi1/ci1 [0-9]+, gi12 [0-9]+, gi12/ci0 [0-9]+, gi6 [0-9]+, gi6/ci0 [0-9]+/ |
      | device files of capabilities that no instance has        | none                                                                                   |
      | device files of capabilities that several instances have | none                                                                                   |
    When the fake node changes
      """
      - {at: 0, reset: {}}
      """
    Then these values agree for GPU 1
      | value                                             | expected                                                                               |
      | MIG capabilities of its instances                 | /gi1 [0-9]+, gi1/ci0 [0-9]+, gi13 [0-9]+, gi13/ci0 [0-9]+, gi5 [0-9]+, gi5/ci0 [0-9]+/ |
      | GPU instances                                     | 1 of profile 9 at 0:4, 5 of profile 14 at 4:2, 13 of profile 19 at 6:1                 |
      | device files of capabilities that no instance has | none                                                                                   |

  @NVML-089 @needs:chosen-gpus
  Scenario: The simulated kernel binds and unbinds PCI drivers as Linux does
    Given NVML on the GPUs of this suite's inventory "distinct"
    Then these values agree for GPU 2
      | value                           | expected |
      | whether its kernel is simulated | False    |
      | nvmlDeviceGetPersistenceMode()  | 1        |
    Given its node has an IOMMU
    Then these values agree for GPU 0
      | value                           | expected |
      | IOMMU group of its PCI device   | sys/kernel/iommu_groups/3 a2b3:3c:1d.0 |
      | whether its kernel is simulated | True     |
      | sysfs module vfio_pci           | exists   |
      | sysfs driver_override           | (null)   |
      | sysfs sriov_numvfs              | 0        |
      | sysfs resource                  | 0x0000000000000000 0x0000000000ffffff 0x0000000000040200 0x0000010000000000 0x0000011fffffffff 0x000000000014220c 0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000030000000000 0x0000030001ffffff 0x000000000014220c 0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000000000000000 0x0000050000000000 0x0000057fffffffff 0x000000000014220c |
    And these values agree for GPU 2
      | value                         | expected |
      | IOMMU group of its PCI device | sys/kernel/iommu_groups/1 0002:0f:00.0 |
      | files of vfio                 | vfio/vfio |
    And these writes below sys/bus/pci return
      | file                          | text         | returns |
      | drivers/vfio-pci/bind         | GPU 2        | ENODEV  |
      | drivers/vfio-pci/unbind       | GPU 2        | ENODEV  |
      | drivers/nvidia/bind           | GPU 2        | ENODEV  |
      | devices/GPU 3/driver_override | vfio-pci     | OK      |
      | drivers/vfio-pci/bind         | GPU 3        | ENODEV  |
      | devices/GPU 3/driver_override |              | OK      |
      | drivers/nvidia/unbind         | 0002:10:00.0 | ENODEV  |
      | drivers/nvidia/unbind         | GPU 2        | OK      |
      | drivers/nvidia/unbind         | GPU 2        | ENODEV  |
      | drivers/vfio-pci/bind         | GPU 2        | ENODEV  |
      | devices/GPU 2/driver_override | vfio-pci     | OK      |
      | drivers/nvidia/bind           | GPU 2        | ENODEV  |
    And these values agree for GPU 2
      | value                    | expected  |
      | driver of its PCI device | none      |
      | files of vfio            | vfio/vfio |
    And these writes below sys/bus/pci return
      | file                     | text        | returns |
      | drivers/vfio-pci/refuses | GPU 1 GPU 2 | OK      |
      | drivers/vfio-pci/bind    | GPU 2       | EBUSY   |
      | drivers/vfio-pci/refuses | GPU 1 GPU 3 | OK      |
      | drivers/vfio-pci/bind    | GPU 2       | OK      |
      | drivers/vfio-pci/bind    | GPU 2       | ENODEV  |
    And these values agree for GPU 2
      | value                    | expected          |
      | driver of its PCI device | vfio-pci          |
      | files of vfio            | vfio/1, vfio/vfio |
    And these values agree for GPU 3
      | value                    | expected |
      | driver of its PCI device | nvidia   |
    And these writes below sys/bus/pci return
      | file                          | text     | returns |
      | drivers/nvidia/unbind         | GPU 2    | ENODEV  |
      | drivers/vfio-pci/unbind       | GPU 2    | OK      |
      | devices/GPU 2/driver_override |          | OK      |
      | drivers/vfio-pci/bind         | GPU 2    | ENODEV  |
      | drivers/nvidia/bind           | GPU 2    | OK      |
    And these values agree for GPU 2
      | value                          | expected  |
      | driver of its PCI device       | nvidia    |
      | files of vfio                  | vfio/vfio |
      | nvmlDeviceGetPersistenceMode() | 0         |
    And these values agree for GPU 3
      | value                          | expected |
      | nvmlDeviceGetPersistenceMode() | 1        |

  @NVML-089 @needs:chosen-gpus
  Scenario: With iommufd each GPU of vfio-pci has a device file of its own
    Given NVML on the GPUs of this suite's inventory "distinct"
    And its node has an IOMMU with iommufd
    Then these values agree for GPU 2
      | value         | expected         |
      | files of vfio | iommu, vfio/vfio |
    And these writes below sys/bus/pci return
      | file                          | text     | returns |
      | devices/GPU 1/driver_override | vfio-pci | OK      |
      | devices/GPU 2/driver_override | vfio-pci | OK      |
      | drivers/nvidia/unbind         | GPU 1    | OK      |
      | drivers/nvidia/unbind         | GPU 2    | OK      |
      | drivers/vfio-pci/bind         | GPU 1    | OK      |
      | drivers/vfio-pci/bind         | GPU 2    | OK      |
    And these values agree for GPU 2
      | value         | expected                                                                                 |
      | files of vfio | iommu, vfio/0, vfio/1, vfio/devices, vfio/devices/vfio0, vfio/devices/vfio1, vfio/vfio, vfio1 |
    And these writes below sys/bus/pci return
      | file                          | text    | returns |
      | drivers/vfio-pci/unbind       | GPU 2   | OK      |
      | devices/GPU 2/driver_override | (null)  | OK      |
      | drivers/nvidia/bind           | GPU 2   | OK      |
    And these values agree for GPU 2
      | value         | expected                                                            |
      | files of vfio | iommu, vfio/0, vfio/devices, vfio/devices/vfio0, vfio/vfio |
    And these values agree for GPU 1
      | value                    | expected                                                              |
      | driver of its PCI device | vfio-pci                                                              |
      | files of vfio            | iommu, vfio/0, vfio/devices, vfio/devices/vfio0, vfio/vfio, vfio0 |

  @NVML-089 @needs:chosen-gpus
  Scenario: Writes of a program that has the bind files mounted act before they return
    Given NVML on the GPUs of this suite's inventory "distinct"
    And its node has an IOMMU
    Then these writes of a program that has the files mounted return
      | file                          | text         | returns |
      | drivers/vfio-pci/bind         | GPU 2        | ENODEV  |
      | drivers/nvidia/unbind         | 0002:10:00.0 | ENODEV  |
      | devices/GPU 2/driver_override | vfio-pci     | OK      |
      | drivers/nvidia/unbind         | GPU 2        | OK      |
      | drivers/nvidia/unbind         | GPU 2        | ENODEV  |
      | drivers/nvidia/bind           | GPU 2        | ENODEV  |
      | drivers/vfio-pci/refuses      | GPU 2        | OK      |
      | drivers/vfio-pci/bind         | GPU 2        | EBUSY   |
      | drivers/vfio-pci/refuses      | none         | OK      |
      | drivers/vfio-pci/bind         | GPU 2        | OK      |
      | devices/GPU 1/driver_override | vfio-pci     | OK      |
      | drivers/nvidia/unbind         | GPU 1        | OK      |
      | drivers/vfio-pci/bind         | GPU 1        | OK      |
      | drivers/vfio-pci/unbind       | GPU 1        | OK      |
    And these values agree for GPU 2
      | value                    | expected          |
      | driver of its PCI device | vfio-pci          |
      | files of vfio            | vfio/1, vfio/vfio |
    And these values agree for GPU 1
      | value                    | expected |
      | driver of its PCI device | none     |
    And these values agree for GPU 3
      | value                    | expected |
      | driver of its PCI device | nvidia   |
