@profile:api-enforcement @component:control-plane @needs:own-control-plane
Feature: Quotas for ResourceClaims
  A ResourceQuota limits the claims of a namespace and the devices that they request. The API server charges a claim when
  it is created; the quota controller calculates the use again when a claim is deleted.

  @DRA-620
  Scenario: A claim beyond the number that a quota allows is refused
    Given a ResourceQuota "one" with limits {count/resourceclaims.resource.k8s.io: 1}
    And the manifest "claims/claim"
    And it is created
    And "metadata" is {name: second, namespace: $(namespace)}
    When it is created
    Then the API server refuses it with 403 Forbidden
    And it is not stored
    And the ResourceQuota "one" reports the use {count/resourceclaims.resource.k8s.io: 1}

  Scenario Outline: A claim for <what> is charged <gpus> devices of one class and <fpgas> of another
    Given a ResourceQuota "devices" with limits {gpu.deviceclass.resource.k8s.io/devices: <gpus>, fpga.deviceclass.resource.k8s.io/devices: 32}
    And the manifest "claims/claim"
    And "spec.devices.requests" is <requests>
    When it is created
    Then the API server accepts it
    And the ResourceQuota "devices" reports the use {gpu.deviceclass.resource.k8s.io/devices: <gpus>, fpga.deviceclass.resource.k8s.io/devices: <fpgas>}

    @DRA-621
    Examples:
      | what                     | gpus | fpgas | requests                                                                                                                                                              |
      | two devices of one class | 2    | 0     | [{name: r, exactly: {deviceClassName: gpu, count: 2}}]                                                                                                                |
      | several requests         | 5    | 1     | [{name: r, exactly: {deviceClassName: gpu, count: 2}}, {name: s, exactly: {deviceClassName: gpu, count: 3}}, {name: t, exactly: {deviceClassName: fpga}}]              |

    @DRA-622
    Examples:
      | what                        | gpus | fpgas | requests                                                                                                        |
      | all devices                 | 32   | 0     | [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]                                               |
      | all devices and one device  | 33   | 0     | [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}, {name: s, exactly: {deviceClassName: gpu}}]   |

    @DRA-623
    Examples:
      | what                            | gpus | fpgas | requests                                                                                                                                                                                |
      | alternatives of one class       | 4    | 0     | [{name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 1}, {name: b, deviceClassName: gpu, count: 4}, {name: c, deviceClassName: gpu, count: 2}]}]                          |
      | alternatives of two classes     | 2    | 3     | [{name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 2}, {name: b, deviceClassName: fpga, count: 3}]}]                                                                    |
      | all devices as an alternative   | 32   | 0     | [{name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 1}, {name: b, deviceClassName: gpu, allocationMode: All}]}]                                                          |
      | two requests with alternatives  | 6    | 1     | [{name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 4}, {name: b, deviceClassName: fpga}]}, {name: s, firstAvailable: [{name: c, deviceClassName: gpu, count: 2}]}]       |

  Scenario Outline: A claim for <what> is refused by a quota of <limit> devices
    Given a ResourceQuota "devices" with limits {gpu.deviceclass.resource.k8s.io/devices: <limit>}
    And the manifest "claims/claim"
    And "spec.devices.requests" is <requests>
    When it is created
    Then the API server refuses it with 403 Forbidden
    And the ResourceQuota "devices" reports the use {gpu.deviceclass.resource.k8s.io/devices: 0}

    @DRA-621
    Examples:
      | what             | limit | requests                                                                                                        |
      | two requests     | 4     | [{name: r, exactly: {deviceClassName: gpu, count: 2}}, {name: s, exactly: {deviceClassName: gpu, count: 3}}]    |

    @DRA-622
    Examples:
      | what             | limit | requests                                                            |
      | all devices      | 31    | [{name: r, exactly: {deviceClassName: gpu, allocationMode: All}}]   |

    @DRA-623
    Examples:
      | what                 | limit | requests                                                                                                                   |
      | a costly alternative | 3     | [{name: r, firstAvailable: [{name: a, deviceClassName: gpu, count: 1}, {name: b, deviceClassName: gpu, count: 4}]}]        |

  @DRA-624
  Scenario: Devices with admin access are charged as others
    Given the namespace has label "resource.kubernetes.io/admin-access" set to "true"
    And a ResourceQuota "devices" with limits {gpu.deviceclass.resource.k8s.io/devices: 3}
    And the manifest "claims/claim"
    And "spec.devices.requests" is [{name: r, exactly: {deviceClassName: gpu, count: 2, adminAccess: true}}]
    And it is created
    And "metadata" is {name: second, namespace: $(namespace)}
    When it is created
    Then the API server refuses it with 403 Forbidden
    And the ResourceQuota "devices" reports the use {gpu.deviceclass.resource.k8s.io/devices: 2}

  @DRA-625
  Scenario: The devices of a class with an extended resource are charged as this resource
    Given the manifest "claims/class"
    And "spec.extendedResourceName" is example.com/gpu-$(suffix)
    And it is created
    And a ResourceQuota "devices" with limits {requests.example.com/gpu-$(suffix): 2, requests.deviceclass.resource.kubernetes.io/$(class:subject): 9}
    And the manifest "claims/claim"
    And "spec.devices.requests" is [{name: r, exactly: {deviceClassName: $(class:subject), count: 3}}]
    Then the API server comes to refuse a dry run of it with 403 Forbidden
    Given "spec.devices.requests" is [{name: r, exactly: {deviceClassName: $(class:subject), count: 2}}]
    When it is created
    Then the API server accepts it
    And the ResourceQuota "devices" reports the use {requests.example.com/gpu-$(suffix): 2, requests.deviceclass.resource.kubernetes.io/$(class:subject): 2}

  @DRA-626
  Scenario: A pod beyond the extended resources that a quota allows is refused
    Given a ResourceQuota "devices" with limits {requests.example.com/gpu: 3}
    And the manifest "claims/pod"
    And "spec.resourceClaims" is null
    And "spec.containers[0].resources" is {limits: {example.com/gpu: 2}}
    And it is created
    And "metadata" is {name: second, namespace: $(namespace)}
    When it is created
    Then the API server refuses it with 403 Forbidden
    And the ResourceQuota "devices" reports the use {requests.example.com/gpu: 2}

  @DRA-626
  Scenario: A pod is charged for what its containers use at a time
    Given a ResourceQuota "devices" with limits {requests.example.com/gpu: 9}
    And the manifest "claims/pod"
    And "spec.resourceClaims" is null
    And "spec.initContainers" is [{name: load, image: "a:1", resources: {limits: {example.com/gpu: 2}}}, {name: warm, image: "a:1", resources: {limits: {example.com/gpu: 4}}}]
    And "spec.containers[0].resources" is {limits: {example.com/gpu: 1}}
    And "spec.containers[1]" is {name: side, image: "a:1", resources: {limits: {example.com/gpu: 2}}}
    When it is created
    Then the API server accepts it
    And the ResourceQuota "devices" reports the use {requests.example.com/gpu: 4}

  Scenario Outline: A claim that names a pod as the owner of its extended resources is charged <what>
    Given the manifest "claims/class"
    And "spec.extendedResourceName" is example.com/gpu-$(suffix)
    And it is created
    And a ResourceQuota "devices" with limits {requests.example.com/gpu-$(suffix): 2}
    And the manifest "claims/pod"
    And "spec.resourceClaims" is null
    And "spec.containers[0].resources" is {limits: {example.com/gpu-$(suffix): 2}}
    And it is created
    And the manifest "claims/claim"
    And "spec.devices.requests" is [{name: r, exactly: {deviceClassName: $(class:subject), count: <devices>}}]
    Then the API server comes to refuse a dry run of it with 403 Forbidden
    Given "metadata.annotations" is {resource.kubernetes.io/extended-resource-claim: "<annotated>"}
    And "metadata.ownerReferences" is [{apiVersion: v1, kind: Pod, name: subject, uid: <uid>, controller: true}]
    Then the API server comes to <answer>
    And the ResourceQuota "devices" reports the use {requests.example.com/gpu-$(suffix): 2}

    @DRA-627
    Examples:
      | what                           | devices | annotated | uid            | answer                                        |
      | only once                      | 2       | true      | $(uid:subject) | accept it                                     |
      | for more devices than the pod  | 3       | true      | $(uid:subject) | refuse a dry run of it with 403 Forbidden     |
      | without the annotation         | 1       | false     | $(uid:subject) | refuse a dry run of it with 403 Forbidden     |
      | with the uid of another pod    | 1       | true      | another-uid    | refuse a dry run of it with 403 Forbidden     |

  Scenario Outline: A second claim for the extended resources of a pod <when> is charged
    Given the manifest "claims/class"
    And "spec.extendedResourceName" is example.com/gpu-$(suffix)
    And it is created
    And a ResourceQuota "devices" with limits {requests.example.com/gpu-$(suffix): 2}
    And the manifest "claims/pod"
    And "spec.resourceClaims" is null
    And "spec.containers[0].resources" is {limits: {example.com/gpu-$(suffix): 2}}
    And it is created
    And its status "status" is <status>
    And the manifest "claims/claim"
    And "metadata.name" is first
    And "metadata.annotations" is {resource.kubernetes.io/extended-resource-claim: "true"}
    And "metadata.ownerReferences" is [{apiVersion: v1, kind: Pod, name: subject, uid: $(uid:subject), controller: true}]
    And "spec.devices.requests" is [{name: r, exactly: {deviceClassName: $(class:subject), count: 2}}]
    Then the API server comes to accept it
    Given "metadata.name" is second
    Then the API server comes to refuse a dry run of it with 403 Forbidden
    And the ResourceQuota "devices" reports the use {requests.example.com/gpu-$(suffix): 2}

    @DRA-628
    Examples:
      | when                        | status                                                                                                                                                                                    |
      | whose status names none     | {phase: Pending}                                                                                                                                                                          |
      | whose status names another  | {phase: Pending, extendedResourceClaimStatus: {resourceClaimName: first, requestMappings: [{containerName: main, resourceName: example.com/gpu-$(suffix), requestName: r}]}}              |

  @DRA-629
  Scenario: The deletion of a claim makes room for another
    Given a ResourceQuota "one" with limits {count/resourceclaims.resource.k8s.io: 1, gpu.deviceclass.resource.k8s.io/devices: 2}
    And a ResourceQuota "two" with limits {gpu.deviceclass.resource.k8s.io/devices: 2}
    And the manifest "claims/claim"
    And "spec.devices.requests" is [{name: r, exactly: {deviceClassName: gpu, count: 2}}]
    And it is created
    When it is deleted
    Then the ResourceQuota "one" reports the use {count/resourceclaims.resource.k8s.io: 0, gpu.deviceclass.resource.k8s.io/devices: 0}
    And the ResourceQuota "two" reports the use {gpu.deviceclass.resource.k8s.io/devices: 0}
    Given "metadata" is {name: second, namespace: $(namespace)}
    Then the API server comes to accept it

  @DRA-630
  Scenario: A dry run is compared with the quota and not charged
    Given a ResourceQuota "one" with limits {count/resourceclaims.resource.k8s.io: 1}
    And the manifest "claims/claim"
    When a dry run creates it
    Then the API server accepts it
    And the ResourceQuota "one" reports the use {count/resourceclaims.resource.k8s.io: 0}
    When it is created
    Then the API server accepts it
    Given "metadata" is {name: second, namespace: $(namespace)}
    When a dry run creates it
    Then the API server refuses it with 403 Forbidden

  @DRA-631
  Scenario: A claim that exists can be updated and allocated when its quota is exceeded
    Given the manifest "claims/claim"
    And it is created
    And a ResourceQuota "none" with limits {count/resourceclaims.resource.k8s.io: 0, gpu.example.com.deviceclass.resource.k8s.io/devices: 0}
    When its "metadata.labels" is updated to {team: a}
    Then the API server accepts it
    When its status "status.allocation" is updated to {devices: {results: [{request: r, driver: d.test, pool: p, device: d}]}}
    Then the API server accepts it

  @DRA-632
  Scenario: A claim that one quota refuses is charged to no other
    Given a ResourceQuota "a-wide" with limits {count/resourceclaims.resource.k8s.io: 9}
    And a ResourceQuota "b-narrow" with limits {gpu.deviceclass.resource.k8s.io/devices: 1}
    And a ResourceQuota "c-wide" with limits {count/resourceclaims.resource.k8s.io: 9}
    And the manifest "claims/claim"
    And "spec.devices.requests" is [{name: r, exactly: {deviceClassName: gpu, count: 2}}]
    When it is created
    Then the API server refuses it with 403 Forbidden
    And the ResourceQuota "a-wide" reports the use {count/resourceclaims.resource.k8s.io: 0}
    And the ResourceQuota "c-wide" reports the use {count/resourceclaims.resource.k8s.io: 0}
    Given "spec.devices.requests" is [{name: r, exactly: {deviceClassName: gpu}}]
    When it is created
    Then the API server accepts it
    And the ResourceQuota "a-wide" reports the use {count/resourceclaims.resource.k8s.io: 1}
    And the ResourceQuota "b-narrow" reports the use {gpu.deviceclass.resource.k8s.io/devices: 1}
    And the ResourceQuota "c-wide" reports the use {count/resourceclaims.resource.k8s.io: 1}
