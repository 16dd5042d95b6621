package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Case is one cluster, what is in use there, and the claims of one pod. Objects are as the API server serves them,
// with defaults filled in. Every node is asked, unless FirstFit.
type Case struct {
	Features  Features                                    `json:"features"`
	Variant   string                                      `json:"variant"` // force one of upstream's three allocators
	Nodes     []*corev1.Node                              `json:"nodes"`
	Slices    []*resourceapi.ResourceSlice                `json:"slices"`
	Classes   []*resourceapi.DeviceClass                  `json:"classes"`
	Claims    []*resourceapi.ResourceClaim                `json:"claims"`
	Taken     []resourceapi.DeviceRequestAllocationResult `json:"taken"`
	FirstFit  bool                                        `json:"firstFit"`  // stop at the first node that fits
	Repeat    int                                         `json:"repeat"`    // measure so often; 0 is once
	TimeoutMS int64                                       `json:"timeoutMs"` // for each node; 0 is 10 s
}

// Answer is what upstream makes of a case. Nanoseconds has an entry for each repetition: NewAllocator and Allocate.
type Answer struct {
	Outcome     string     `json:"outcome,omitempty"` // malformed, or nothing
	Message     string     `json:"message,omitempty"`
	Nodes       []NodeFact `json:"nodes"`
	Nanoseconds []int64    `json:"nanoseconds"`
}

// NodeFact is what came of one node. Message says why not; NodeOnly that it is about this node alone.
type NodeFact struct {
	Node        string                         `json:"node"`
	Outcome     string                         `json:"outcome"` // allocated, unallocatable, error, timeout, panic
	NodeOnly    bool                           `json:"nodeOnly,omitempty"`
	Message     string                         `json:"message,omitempty"`
	Allocations []resourceapi.AllocationResult `json:"allocations,omitempty"`
}

type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	var all []*resourceapi.DeviceClass
	for _, class := range c {
		all = append(all, class)
	}
	return all, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass %q not found", name)
}

// One cache for each set of features, as large as no case can fill: compiling is not what is compared.
var caches = map[cel.Features]*cel.Cache{}

func cacheFor(features cel.Features) *cel.Cache {
	if caches[features] == nil {
		caches[features] = cel.NewCache(1000, features)
	}
	return caches[features]
}

// inUse follows kube-scheduler's dra_manager: results with admin access do not count, shares count by consumption.
func (c *Case) inUse() structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, result := range c.Taken {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil || !c.Features.ConsumableCapacity {
			state.AllocatedDevices.Insert(id)
			continue
		}
		state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
	return state
}

func (c *Case) allocate() (result Answer) {
	if err := force(c.Variant); err != nil {
		return Answer{Outcome: "malformed", Message: err.Error()}
	}
	lister := classes{}
	for _, class := range c.Classes {
		lister[class.Name] = class
	}
	state := c.inUse()
	cache := cacheFor(celFeatures(c.Features.ConsumableCapacity, c.Features.ListTypeAttributes))
	timeout := 10 * time.Second
	if c.TimeoutMS > 0 {
		timeout = time.Duration(c.TimeoutMS) * time.Millisecond
	}
	for range max(c.Repeat, 1) {
		started := time.Now()
		allocator, err := structured.NewAllocator(context.Background(), c.Features.known(), state, lister, c.Slices, cache)
		if err != nil {
			return Answer{Outcome: "malformed", Message: err.Error()}
		}
		result.Nodes = nil
		for _, node := range c.Nodes {
			fact := ask(allocator, node, c.Claims, timeout)
			result.Nodes = append(result.Nodes, fact)
			if c.FirstFit && fact.Outcome == "allocated" {
				break
			}
		}
		result.Nanoseconds = append(result.Nanoseconds, time.Since(started).Nanoseconds())
		if time.Since(started) > timeout {
			break // once is enough
		}
	}
	return result
}

func ask(allocator structured.Allocator, node *corev1.Node, claims []*resourceapi.ResourceClaim, timeout time.Duration) (fact NodeFact) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	fact = NodeFact{Node: node.Name, Outcome: "unallocatable"}
	defer func() {
		if problem := recover(); problem != nil {
			fact.Outcome, fact.Message = "panic", fmt.Sprint(problem)
		}
	}()
	allocations, err := allocator.Allocate(ctx, node, claims)
	switch {
	case ctx.Err() != nil && err != nil:
		fact.Outcome, fact.Message = "timeout", err.Error()
	case concernsNodeOnly(err):
		fact.NodeOnly, fact.Message = true, err.Error()
	case err != nil:
		fact.Outcome, fact.Message = "error", err.Error()
	case allocations != nil:
		fact.Outcome, fact.Allocations = "allocated", allocations
	}
	return fact
}
