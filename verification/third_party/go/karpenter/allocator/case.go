package main

import (
	"context"
	"fmt"
	"unique"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/scheduling/dynamicresources"
)

// Case is one cluster, what is in use there, and the claims of one pod. Features are not read: Karpenter has no gates.
type Case struct {
	Nodes   []*corev1.Node                              `json:"nodes"`
	Slices  []*resourceapi.ResourceSlice                `json:"slices"`
	Classes []*resourceapi.DeviceClass                  `json:"classes"`
	Claims  []*resourceapi.ResourceClaim                `json:"claims"`
	Taken   []resourceapi.DeviceRequestAllocationResult `json:"taken"`
}

// Answer is what Karpenter makes of a case.
type Answer struct {
	Outcome string     `json:"outcome,omitempty"` // malformed, or nothing
	Message string     `json:"message,omitempty"`
	Nodes   []NodeFact `json:"nodes"`
}

// NodeFact is what came of one node. Karpenter reports every reason as an error. Devices has an entry for each claim.
type NodeFact struct {
	Node    string   `json:"node"`
	Outcome string   `json:"outcome"` // allocated, unallocatable, panic
	Message string   `json:"message,omitempty"`
	Devices [][]Pick `json:"devices,omitempty"`
}

// Pick is a device in the order of the claim's requests; Karpenter does not say for which request it is.
type Pick struct {
	Driver           string                                          `json:"driver"`
	Pool             string                                          `json:"pool"`
	Device           string                                          `json:"device"`
	ConsumedCapacity map[resourceapi.QualifiedName]resource.Quantity `json:"consumedCapacity,omitempty"`
}

// classes serves Get of DeviceClasses, which is all that the allocator asks of its client.
type classes struct {
	client.Client
	known map[string]*resourceapi.DeviceClass
}

func (c classes) Get(_ context.Context, key types.NamespacedName, into client.Object, _ ...client.GetOption) error {
	class, ok := c.known[key.Name]
	if !ok {
		return fmt.Errorf("deviceclass %q not found", key.Name)
	}
	class.DeepCopyInto(into.(*resourceapi.DeviceClass))
	return nil
}

// existing is a node that runs: one instance type, no devices that are still to be published.
type existing struct{ node *corev1.Node }

func (e existing) ID() dynamicresources.NodeClaimID        { return unique.Make(e.node.Name) }
func (e existing) NodeName() string                        { return e.node.Name }
func (e existing) NodePoolID() dynamicresources.NodePoolID { return unique.Make("pool") }
func (e existing) Requirements() scheduling.Requirements {
	return scheduling.NewLabelRequirements(e.node.Labels)
}
func (e existing) InstanceTypes() []dynamicresources.InstanceTypeID {
	return []dynamicresources.InstanceTypeID{kind}
}
func (e existing) ResourceSlices() map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice {
	return nil
}

var kind = unique.Make("type")

// inUse follows Karpenter's controller of allocated devices: shares by consumption, all others exclusively.
func (c *Case) inUse() dynamicresources.AllocatedDeviceState {
	state := dynamicresources.AllocatedDeviceState{
		ExclusiveDevices: sets.New[cloudprovider.DeviceID](),
		ConsumedCapacity: map[cloudprovider.DeviceID]map[resourceapi.QualifiedName]resource.Quantity{},
	}
	for _, result := range c.Taken {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := cloudprovider.DeviceID{
			Driver: unique.Make(result.Driver), Pool: unique.Make(result.Pool), Device: unique.Make(result.Device),
		}
		if result.ShareID == nil {
			state.ExclusiveDevices.Insert(id)
			continue
		}
		if state.ConsumedCapacity[id] == nil {
			state.ConsumedCapacity[id] = map[resourceapi.QualifiedName]resource.Quantity{}
		}
		for name, amount := range result.ConsumedCapacity {
			sum := state.ConsumedCapacity[id][name]
			sum.Add(amount)
			state.ConsumedCapacity[id][name] = sum
		}
	}
	return state
}

func (c *Case) allocate() (answer Answer) {
	known := map[string]*resourceapi.DeviceClass{}
	for _, class := range c.Classes {
		known[class.Name] = class
	}
	var slices []dynamicresources.ResourceSlice
	for _, slice := range c.Slices {
		slices = append(slices, dynamicresources.NewAPIServerSlice(slice))
	}
	for _, node := range c.Nodes {
		answer.Nodes = append(answer.Nodes, c.ask(node, slices, classes{known: known}))
	}
	return answer
}

func (c *Case) ask(node *corev1.Node, slices []dynamicresources.ResourceSlice, getter client.Client) (fact NodeFact) {
	ctx := context.Background()
	fact = NodeFact{Node: node.Name, Outcome: "unallocatable"}
	defer func() {
		if problem := recover(); problem != nil {
			fact.Outcome, fact.Message = "panic", fmt.Sprint(problem)
		}
	}()
	allocator := dynamicresources.NewAllocator(slices, c.inUse(), nil, getter, nil)
	result, err := allocator.Allocate(ctx, existing{node}, c.Claims)
	if err != nil {
		fact.Message = err.Error()
		return fact
	}
	result.Allocation.Commit(ctx)
	fact.Outcome = "allocated"
	for _, claim := range c.Claims {
		picks := []Pick{}
		made := allocator.ResourceClaimAllocationMetadataForClaim(types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name})
		for _, device := range made.Devices[kind] {
			picks = append(picks, Pick{
				Driver: device.DeviceID.Driver.Value(), Pool: device.DeviceID.Pool.Value(), Device: device.DeviceID.Device.Value(),
				ConsumedCapacity: device.ConsumedCapacity,
			})
		}
		fact.Devices = append(fact.Devices, picks)
	}
	return fact
}
