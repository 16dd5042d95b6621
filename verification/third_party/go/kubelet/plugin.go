package main

import (
	"context"
	"slices"

	"google.golang.org/grpc"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// plugin is a device plugin in this process. It prefers the first ids by name, so that cases have one result.
type plugin struct {
	pluginapi.DevicePluginClient
	resource string
}

func (p plugin) API() pluginapi.DevicePluginClient { return p }
func (p plugin) Resource() string                  { return p.resource }
func (p plugin) SocketPath() string                { return p.resource }

func (p plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty, ...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: true}, nil
}

func (p plugin) GetPreferredAllocation(_ context.Context, in *pluginapi.PreferredAllocationRequest, _ ...grpc.CallOption) (*pluginapi.PreferredAllocationResponse, error) {
	request := in.ContainerRequests[0]
	chosen := slices.Clone(request.MustIncludeDeviceIDs)
	slices.Sort(request.AvailableDeviceIDs)
	for _, id := range request.AvailableDeviceIDs {
		if len(chosen) < int(request.AllocationSize) && !slices.Contains(chosen, id) {
			chosen = append(chosen, id)
		}
	}
	return &pluginapi.PreferredAllocationResponse{
		ContainerResponses: []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: chosen}},
	}, nil
}

func (p plugin) Allocate(context.Context, *pluginapi.AllocateRequest, ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	return &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}, nil
}
