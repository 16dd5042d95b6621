package main

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Expression is one selector and the device that it is asked about.
type Expression struct {
	Text   string             `json:"expression"`
	Driver string             `json:"driver"`
	Device resourceapi.Device `json:"device"`
	Lists  bool               `json:"lists"` // DRAListTypeAttributes
}

// Verdict is what upstream's CEL makes of an expression. MaxCost is the estimate, Cost what evaluation took.
type Verdict struct {
	Outcome string `json:"outcome"` // true, false, compile-error, error, panic, malformed
	Message string `json:"message,omitempty"`
	MaxCost uint64 `json:"maxCost"`
	Cost    uint64 `json:"cost"`
}

func (e *Expression) judge() (verdict Verdict) {
	defer func() {
		if problem := recover(); problem != nil {
			verdict.Outcome, verdict.Message = "panic", fmt.Sprint(problem)
		}
	}()
	compiler := cel.GetCompiler(celFeatures(true, e.Lists))
	kind := environment.NewExpressions
	program := compiler.CompileCELExpression(e.Text, cel.Options{EnvType: &kind})
	if program.Error != nil {
		return Verdict{Outcome: "compile-error", Message: program.Error.Error()}
	}
	verdict.MaxCost = program.MaxCost
	matches, details, err := program.DeviceMatches(context.Background(), cel.Device{
		Driver:                   e.Driver,
		AllowMultipleAllocations: e.Device.AllowMultipleAllocations,
		Attributes:               e.Device.Attributes,
		Capacity:                 e.Device.Capacity,
	})
	if details != nil && details.ActualCost() != nil {
		verdict.Cost = *details.ActualCost()
	}
	if err != nil {
		verdict.Outcome, verdict.Message = "error", err.Error()
		return verdict
	}
	verdict.Outcome = fmt.Sprint(matches)
	return verdict
}
