//go:build !kubernetes_1_34 && !kubernetes_1_35

package main

import (
	"errors"

	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// What is spelled differently in the library of each release stands in release*.go; this is the newest.

// Features as a case spells them: those of the newest library.
type Features struct{ structured.Features }

func (f Features) known() structured.Features { return f.Features }

func force(variant string) error {
	if variant != "" {
		structured.EnableAllocators(variant)
	} else {
		structured.EnableAllocators()
	}
	return nil
}

func celFeatures(consumableCapacity, lists bool) cel.Features {
	return cel.Features{EnableConsumableCapacity: consumableCapacity, EnableListTypeAttributes: lists}
}

func concernsNodeOnly(err error) bool { return errors.Is(err, structured.ErrFailedAllocationOnNode) }
