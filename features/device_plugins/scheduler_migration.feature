@profile:scheduler-core @component:claim-controller @component:scheduler @component:binder @gate:DRAExtendedResource
Feature: Pods are scheduled while nodes move between a device plugin and a DRA driver
  A class provides a resource that a device plugin also offers. Node by node the plugin is replaced by a DRA driver, or
  the driver by the plugin. The kubelet writes 0 devices for a plugin that has gone; it does not remove the resource.

  @DP-109
  Scenario: A node whose device plugin has gone is served by the driver
    Given node "n1" with 2 devices
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And node "n1" has {$(suffix).dra.test/gpu: 0} of a device plugin
    When a pod "large" requesting {$(suffix).dra.test/gpu: 2} is created
    Then pod "large" is bound to "n1"
    And the extended resource claim of pod "large" is allocated the devices "dev-0, dev-1"
    When a pod "small" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "small" is bound to "n2"
    And the extended resource claim of pod "small" is allocated the devices "dev-0"

  @DP-113
  Scenario: A pod waits while the only device plugin with free devices restarts
    Given node "n1"
    And node "n2" with 1 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And node "n1" has {$(suffix).dra.test/gpu: 0} of a device plugin
    When a pod "early" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "early" is bound to "n2"
    And the extended resource claim of pod "early" is allocated the devices "dev-0"
    When a pod "late" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "late" stays unbound
    And pod "late" has no claim
    Given node "n1" has {$(suffix).dra.test/gpu: 1} of a device plugin
    Then pod "late" is bound to "n1"
    And pod "late" has no claim
    And the Pod "late" has "status.extendedResourceClaimStatus" null

  @DP-114
  Scenario: A pod that waits is scheduled once the device plugin of a node has gone
    Given node "n1" with 2 devices
    And node "n2" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And node "n1" has {$(suffix).dra.test/gpu: 1} of a device plugin
    And node "n2" has {$(suffix).dra.test/gpu: 1} of a device plugin
    And a pod "train" requesting {$(suffix).dra.test/gpu: 2}
    Then pod "train" stays unbound
    Given node "n2" has {$(suffix).dra.test/gpu: 0} of a device plugin
    Then pod "train" is bound to "n2"
    And the extended resource claim of pod "train" is allocated the devices "dev-0, dev-1"

  @DP-125
  Scenario: A device of a claim counts as used when the node has a device plugin again
    Given node "n1" with 2 devices
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    When a pod "claimed" requesting {$(suffix).dra.test/gpu: 1} is created
    Then the extended resource claim of pod "claimed" is allocated the devices "dev-0"
    And pod "claimed" is bound to "n1"
    Given node "n1" has {$(suffix).dra.test/gpu: 2} of a device plugin
    When a pod "first" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "first" is bound to "n1"
    And pod "first" has no claim
    When a pod "second" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "second" stays unbound
    And pod "second" has no claim
    When pod "claimed" is force-deleted
    Then pod "second" is bound to "n1"
    And pod "second" has no claim

  # Nothing in Kubernetes compares the two. The administrator has to let one of them serve a node; `check`, `doctor` and
  # `kubectl dra conflicts` find nodes with both.
  @DP-166
  Scenario: A node that offers its devices by a plugin and by a driver can give one device out twice
    Given node "n1" with 2 devices
    And node "n2"
    And a DeviceClass "accelerator" for those devices with extended resource "$(suffix).dra.test/gpu"
    And node "n1" has {$(suffix).dra.test/gpu: 2} of a device plugin
    Then node "n1" offers "$(suffix).dra.test/gpu" both by a device plugin and by DRA
    # The plugin serves this resource on the node, and never more devices than it has.
    When a pod "plain" requesting {$(suffix).dra.test/gpu: 2} is created
    Then pod "plain" is bound to "n1"
    And pod "plain" has no claim
    When a pod "late" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "late" stays unbound
    And pod "late" has no claim
    # With a claim, the pod gets a device of the driver, which the plugin has already given to another pod.
    Given a ResourceClaim "mine" for 1 of "accelerator"
    When a pod "claimed" using claim "mine" is created
    Then pod "claimed" is bound to "n1"
    And claim "mine" is allocated the devices "dev-0"
    When the kubelet reports the devices "dev-0, dev-1" of "$(suffix).dra.test/gpu" in the status of pod "plain"
    Then device "dev-0" of "n1" is used by pod "plain" and by claim "mine"
    # Without the plugin, each device is used once.
    When pod "late" is force-deleted
    And pod "plain" is force-deleted
    Given node "n1" has {$(suffix).dra.test/gpu: 0} of a device plugin
    Then node "n1" offers "$(suffix).dra.test/gpu" by DRA only
    When a pod "next" requesting {$(suffix).dra.test/gpu: 1} is created
    Then pod "next" is bound to "n1"
    And the extended resource claim of pod "next" is allocated the devices "dev-1"
