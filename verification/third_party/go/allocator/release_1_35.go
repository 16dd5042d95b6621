//go:build kubernetes_1_35

package main

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Features as a case spells them; this release has no list attributes, and does not hear of them.
type Features struct {
	structured.Features
	ListTypeAttributes bool
}

func (f Features) known() structured.Features { return f.Features }

func force(variant string) error {
	if variant != "" {
		structured.EnableAllocators(variant)
	} else {
		structured.EnableAllocators()
	}
	return nil
}

func celFeatures(consumableCapacity, _ bool) cel.Features {
	return cel.Features{EnableConsumableCapacity: consumableCapacity}
}

func concernsNodeOnly(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }
