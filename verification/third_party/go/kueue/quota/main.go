// Command dra-kueue-quota answers with Kueue's own functions how much quota the claims of a pod are charged.
//
// It reads one JSON document a line from stdin and writes one a line to stdout, in the same order: slices, classes,
// templates, the deviceClassMappings of Kueue's configuration, and the spec of a pod. It ends with the input and keeps
// nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/util/feature"
	"sigs.k8s.io/controller-runtime/pkg/client"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/dra"
	"sigs.k8s.io/kueue/pkg/features"
)

const library = "sigs.k8s.io/kueue"

type question struct {
	Slices    []resourcev1.ResourceSlice         `json:"slices"`
	Classes   []resourcev1.DeviceClass           `json:"classes"`
	Templates []resourcev1.ResourceClaimTemplate `json:"templates"`
	Mappings  []config.DeviceClassMapping        `json:"mappings"`
	Pod       corev1.PodSpec                     `json:"pod"`
}

type reply struct {
	Outcome string            `json:"outcome"`
	Charges map[string]string `json:"charges,omitempty"`
	Retried bool              `json:"retried,omitempty"`
	Message string            `json:"message,omitempty"`
}

// objects is a client of the objects of one question; Kueue's functions only read.
type objects struct {
	client.Client
	*question
}

func (o objects) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	switch into := obj.(type) {
	case *resourcev1.DeviceClass:
		for _, found := range o.Classes {
			if found.Name == key.Name {
				*into = found
				return nil
			}
		}
	case *resourcev1.ResourceClaimTemplate:
		for _, found := range o.Templates {
			if found.Name == key.Name {
				*into = found
				return nil
			}
		}
	}
	return fmt.Errorf("%s not found", key.Name)
}

func (o objects) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var selected client.ListOptions
	selected.ApplyOptions(options)
	wanted := func(field, value string) bool {
		if selected.FieldSelector == nil {
			return true
		}
		required, found := selected.FieldSelector.RequiresExactMatch(field)
		return !found || required == value
	}
	switch into := list.(type) {
	case *resourcev1.ResourceSliceList:
		for _, slice := range o.Slices {
			if wanted("spec.driver", slice.Spec.Driver) {
				into.Items = append(into.Items, slice)
			}
		}
	case *resourcev1.DeviceClassList:
		for _, class := range o.Classes {
			if name := class.Spec.ExtendedResourceName; name != nil && wanted("spec.extendedResourceName", *name) {
				into.Items = append(into.Items, class)
			}
		}
	}
	return nil
}

func main() {
	if len(os.Args) > 1 {
		if os.Args[1] == "version" {
			fmt.Println(version())
			return
		}
		fmt.Fprintln(os.Stderr, "usage: dra-kueue-quota [version] < cases.jsonl > answers.jsonl")
		os.Exit(4)
	}
	// The others are on by default in v0.19.
	gates := map[string]bool{string(features.KueueDRAIntegrationConsumableCapacity): true}
	if err := feature.DefaultMutableFeatureGate.SetFromMap(gates); err != nil {
		fmt.Fprintln(os.Stderr, "dra-kueue-quota:", err)
		os.Exit(1)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dra-kueue-quota:", err)
		os.Exit(1)
	}
}

// version is that of the Kueue module that was linked.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == library {
				return module.Version
			}
		}
	}
	return "unknown"
}

func serve(input io.Reader, output io.Writer) error {
	reader := bufio.NewReaderSize(input, 1<<20)
	encoder := json.NewEncoder(output)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answer(line)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func answer(line []byte) reply {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return reply{Outcome: "malformed", Message: err.Error()}
	}
	mapper := dra.NewResourceMapper()
	if err := mapper.PopulateFromConfiguration(asked.Mappings); err != nil {
		return reply{Outcome: "malformed", Message: err.Error()}
	}
	workload := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "ns"},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{{
			Name: "main", Count: 1, Template: corev1.PodTemplateSpec{Spec: asked.Pod},
		}}},
	}
	ctx, reader := context.Background(), objects{question: &asked}
	slices := dra.NewResourceSliceCache(reader)
	total := corev1.ResourceList{}
	add := func(charged map[kueue.PodSetReference]corev1.ResourceList) {
		for name, quantity := range charged["main"] {
			sum := total[name]
			sum.Add(quantity)
			total[name] = sum
		}
	}
	devices, errs := dra.GetResourceRequestsForResourceClaimTemplates(ctx, reader, slices, mapper, workload)
	if len(errs) > 0 {
		return refused(errs)
	}
	add(devices)
	counters, errs := dra.GetCounterResourcesForWorkload(ctx, reader, slices, mapper, workload)
	if len(errs) > 0 {
		return refused(errs)
	}
	add(counters)
	capacity, errs := dra.DetermineCapacityResourcesForWorkload(ctx, reader, slices, mapper, workload)
	if len(errs) > 0 {
		return refused(errs)
	}
	add(capacity)
	extended, _, errs := dra.ResolveExtendedResourceQuota(ctx, reader, mapper, workload)
	if len(errs) > 0 {
		return refused(errs)
	}
	add(extended)
	charges := map[string]string{}
	for name, quantity := range total {
		// A sum may be larger than an int64.
		charges[string(name)] = quantity.AsDec().String()
	}
	return reply{Outcome: "charged", Charges: charges}
}

// refused is the answer for errors; Kueue tries again after one that only the state of the cluster causes.
func refused(errs field.ErrorList) reply {
	retried := true
	for _, err := range errs {
		retried = retried && err.Type == field.ErrorTypeInternal
	}
	return reply{Outcome: "refused", Retried: retried, Message: errs.ToAggregate().Error()}
}
