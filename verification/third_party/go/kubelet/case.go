package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	_ "unsafe" // for go:linkname

	cadvisorapi "github.com/google/cadvisor/lib/model"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

// Case is a machine, its device plugins, and pods that are admitted one after the other.
type Case struct {
	Policy  string            `json:"policy"`
	Scope   string            `json:"scope"`
	Options map[string]string `json:"options"`
	NUMA    []struct {
		ID        int      `json:"id"`
		Distances []uint64 `json:"distances"`
	} `json:"numa"`
	// Plugins has the devices by the name of their resource.
	Plugins map[string][]Device `json:"plugins"`
	Pods    []Admission         `json:"pods"`
}

// Device is a device as ListAndWatch sends it.
type Device struct {
	ID     string  `json:"id"`
	Health string  `json:"health"`
	Nodes  []int64 `json:"nodes"`
}

// Admission is a pod, and the uids of those that have ended before.
type Admission struct {
	Pod   v1.Pod   `json:"pod"`
	Ended []string `json:"ended"`
}

// Answer has what happened to each pod. Outcome is "refused" if the topology manager does not start with its settings.
type Answer struct {
	Outcome string   `json:"outcome"`
	Message string   `json:"message,omitempty"`
	Pods    []Result `json:"pods,omitempty"`
}

// Result is what the kubelet did with a pod: NUMA nodes (null for any) and devices by container.
type Result struct {
	Admitted bool                           `json:"admitted"`
	Reason   string                         `json:"reason"`
	Message  string                         `json:"message,omitempty"`
	Nodes    map[string][]int               `json:"nodes"`
	Devices  map[string]map[string][]string `json:"devices"`
}

// newDeviceManager is the constructor with a folder; the exported one has the folder of a machine's kubelet.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(logger klog.Logger, socketPath string, topology []cadvisorapi.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

func (c *Case) play() (Answer, error) {
	ctx := context.Background()
	logger := klog.FromContext(ctx)
	folder, err := os.MkdirTemp("", "dra-device-manager-")
	if err != nil {
		return Answer{}, err
	}
	defer os.RemoveAll(folder)
	var machine []cadvisorapi.Node
	for _, node := range c.NUMA {
		machine = append(machine, cadvisorapi.Node{Id: node.ID, Distances: node.Distances})
	}
	topology, err := topologymanager.NewManager(logger, machine, c.Policy, c.Scope, c.Options)
	if err != nil {
		return Answer{Outcome: "refused", Message: err.Error()}, nil
	}
	devices, err := newDeviceManager(logger, filepath.Join(folder, "kubelet.sock"), machine, topology)
	if err != nil {
		return Answer{}, err
	}
	topology.AddHintProvider(logger, devices)
	var active []*v1.Pod
	running := func() []*v1.Pod { return active }
	if err := devices.Start(logger, running, ready{}, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		return Answer{}, err
	}
	defer devices.Stop(logger)
	for resource, list := range c.Plugins {
		if err := devices.PluginConnected(ctx, resource, plugin{resource: resource}); err != nil {
			return Answer{}, err
		}
		devices.PluginListAndWatchReceiver(logger, resource, listed(list))
	}
	found := Answer{Outcome: "admitted"}
	for i := range c.Pods {
		one := &c.Pods[i]
		active = slices.DeleteFunc(active, func(pod *v1.Pod) bool { return slices.Contains(one.Ended, string(pod.UID)) })
		active = append(active, &one.Pod)
		result := topology.Admit(ctx, &lifecycle.PodAdmitAttributes{Pod: &one.Pod, Operation: lifecycle.AddOperation})
		if !result.Admit {
			active = active[:len(active)-1]
		}
		found.Pods = append(found.Pods, resultOf(logger, &one.Pod, result, topology, devices))
	}
	return found, nil
}

func listed(list []Device) *pluginapi.ListAndWatchResponse {
	found := &pluginapi.ListAndWatchResponse{}
	for _, one := range list {
		device := &pluginapi.Device{ID: one.ID, Health: one.Health}
		if len(one.Nodes) > 0 {
			device.Topology = &pluginapi.TopologyInfo{}
			for _, node := range one.Nodes {
				device.Topology.Nodes = append(device.Topology.Nodes, &pluginapi.NUMANode{ID: node})
			}
		}
		found.Devices = append(found.Devices, device)
	}
	return found
}

func resultOf(logger klog.Logger, pod *v1.Pod, admitted lifecycle.PodAdmitResult, store topologymanager.Store, devices *devicemanager.ManagerImpl) Result {
	found := Result{
		Admitted: admitted.Admit,
		Reason:   admitted.Reason,
		Message:  admitted.Message,
		Nodes:    map[string][]int{},
		Devices:  map[string]map[string][]string{},
	}
	if !admitted.Admit {
		return found
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		found.Nodes[container.Name] = nil
		if hint := store.GetAffinity(logger, string(pod.UID), container.Name); hint.NUMANodeAffinity != nil {
			found.Nodes[container.Name] = hint.NUMANodeAffinity.GetBits()
		}
		found.Devices[container.Name] = map[string][]string{}
		for resource, instances := range devices.GetDevices(string(pod.UID), container.Name) {
			ids := []string{}
			for id := range instances {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			found.Devices[container.Name][resource] = ids
		}
	}
	return found
}
