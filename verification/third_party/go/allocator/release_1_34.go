//go:build kubernetes_1_34

package main

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Features as a case spells them. This release has two features where later ones have DeviceBindingAndStatus, and no
// list attributes.
type Features struct {
	structured.Features
	DeviceBindingAndStatus bool
	ListTypeAttributes     bool
}

func (f Features) known() structured.Features {
	f.Features.DeviceBinding = f.DeviceBindingAndStatus
	f.Features.DeviceStatus = f.DeviceBindingAndStatus
	return f.Features
}

func force(variant string) error {
	if variant != "" {
		return errors.New("this release picks its allocator by the features alone")
	}
	return nil
}

func celFeatures(consumableCapacity, _ bool) cel.Features {
	return cel.Features{EnableConsumableCapacity: consumableCapacity}
}

// Every error of this release ends the whole attempt.
func concernsNodeOnly(error) bool { return false }
