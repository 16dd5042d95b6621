// What a Go program of the DRA driver's kind sees through go-nvml and go-nvlib, as JSON on standard output.
//
//	nvml-go list              every GPU with its MIG profiles and devices
//	nvml-go mig INDEX ID      create a GPU instance of profile ID with one compute instance, and destroy both
//	nvml-go wait MILLISECONDS print "ready", then the first XID event
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/NVIDIA/go-nvlib/pkg/nvlib/device"
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

type gpu struct {
	Index        int      `json:"index"`
	UUID         string   `json:"uuid"`
	Name         string   `json:"name"`
	Memory       uint64   `json:"memory"`
	PCIBusID     string   `json:"pciBusID"`
	Architecture string   `json:"architecture"`
	Brand        string   `json:"brand"`
	Capability   string   `json:"cudaComputeCapability"`
	MigCapable   bool     `json:"migCapable"`
	MigEnabled   bool     `json:"migEnabled"`
	FabricState  int      `json:"fabricState"`
	ClusterUUID  string   `json:"clusterUUID"`
	CliqueID     uint32   `json:"cliqueID"`
	Profiles     []string `json:"profiles"`
	Migs         []mig    `json:"migs"`
}

type mig struct {
	Index   int    `json:"index"`
	UUID    string `json:"uuid"`
	Profile string `json:"profile"`
	Memory  uint64 `json:"memory"`
}

func check(what string, ret nvml.Return) error {
	if ret != nvml.SUCCESS {
		return fmt.Errorf("%s: %v (%d)", what, ret, ret)
	}
	return nil
}

func describe(index int, d device.Device) (gpu, error) {
	row := gpu{Index: index, Profiles: []string{}, Migs: []mig{}}
	var ret nvml.Return
	if row.UUID, ret = d.GetUUID(); ret != nvml.SUCCESS {
		return row, check("uuid", ret)
	}
	if row.Name, ret = d.GetName(); ret != nvml.SUCCESS {
		return row, check("name", ret)
	}
	memory, ret := d.GetMemoryInfo()
	if ret != nvml.SUCCESS {
		return row, check("memory", ret)
	}
	row.Memory = memory.Total
	var err error
	if row.PCIBusID, err = d.GetPCIBusID(); err != nil {
		return row, err
	}
	if row.Architecture, err = d.GetArchitectureAsString(); err != nil {
		return row, err
	}
	if row.Brand, err = d.GetBrandAsString(); err != nil {
		return row, err
	}
	if row.Capability, err = d.GetCudaComputeCapabilityAsString(); err != nil {
		return row, err
	}
	if fabric, ret := d.GetGpuFabricInfo(); ret == nvml.SUCCESS {
		row.FabricState = int(fabric.State)
		row.ClusterUUID = fmt.Sprintf("%x", fabric.ClusterUuid)
		row.CliqueID = fabric.CliqueId
	} else if ret != nvml.ERROR_NOT_SUPPORTED {
		return row, check("compute-domain-controller", ret)
	}
	if row.MigCapable, err = d.IsMigCapable(); err != nil {
		return row, err
	}
	if !row.MigCapable {
		return row, nil
	}
	if row.MigEnabled, err = d.IsMigEnabled(); err != nil {
		return row, err
	}
	profiles, err := d.GetMigProfiles()
	if err != nil {
		return row, err
	}
	for _, profile := range profiles {
		row.Profiles = append(row.Profiles, profile.String())
	}
	if !row.MigEnabled {
		return row, nil
	}
	err = d.VisitMigDevices(func(i int, m device.MigDevice) error {
		uuid, ret := m.GetUUID()
		if ret != nvml.SUCCESS {
			return check("mig uuid", ret)
		}
		profile, err := m.GetProfile()
		if err != nil {
			return err
		}
		memory, ret := m.GetMemoryInfo()
		if ret != nvml.SUCCESS {
			return check("mig memory", ret)
		}
		row.Migs = append(row.Migs, mig{Index: i, UUID: uuid, Profile: profile.String(), Memory: memory.Total})
		return nil
	})
	return row, err
}

func list(lib nvml.Interface) error {
	rows := []gpu{}
	err := device.New(lib).VisitDevices(func(i int, d device.Device) error {
		row, err := describe(i, d)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(rows)
}

func lifecycle(lib nvml.Interface, index int, profile int) error {
	d, ret := lib.DeviceGetHandleByIndex(index)
	if err := check("handle", ret); err != nil {
		return err
	}
	for number := 0; number < nvml.GPU_INSTANCE_PROFILE_COUNT; number++ {
		info, ret := d.GetGpuInstanceProfileInfo(number)
		if ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_INVALID_ARGUMENT || int(info.Id) != profile {
			continue
		}
		gi, ret := d.CreateGpuInstance(&info)
		if err := check("create GPU instance", ret); err != nil {
			return err
		}
		for engine := 0; engine < nvml.COMPUTE_INSTANCE_PROFILE_COUNT; engine++ {
			ciInfo, ret := gi.GetComputeInstanceProfileInfo(engine, nvml.COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED)
			if ret != nvml.SUCCESS || ciInfo.SliceCount != info.SliceCount {
				continue
			}
			ci, ret := gi.CreateComputeInstance(&ciInfo)
			if err := check("create compute instance", ret); err != nil {
				return err
			}
			got, ret := ci.GetInfo()
			if err := check("compute instance info", ret); err != nil {
				return err
			}
			uuid, ret := got.Device.GetUUID()
			if err := check("uuid of the MIG device", ret); err != nil {
				return err
			}
			busy := gi.Destroy()
			if err := check("destroy compute instance", ci.Destroy()); err != nil {
				return err
			}
			if err := check("destroy GPU instance", gi.Destroy()); err != nil {
				return err
			}
			fmt.Printf("%s %d\n", uuid, busy)
			return nil
		}
	}
	return fmt.Errorf("no profile has id %d", profile)
}

func wait(lib nvml.Interface, milliseconds uint32) error {
	set, ret := lib.EventSetCreate()
	if err := check("event set", ret); err != nil {
		return err
	}
	count, ret := lib.DeviceGetCount()
	if err := check("count", ret); err != nil {
		return err
	}
	for i := 0; i < count; i++ {
		d, ret := lib.DeviceGetHandleByIndex(i)
		if err := check("handle", ret); err != nil {
			return err
		}
		if err := check("register", d.RegisterEvents(nvml.EventTypeXidCriticalError, set)); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	event, ret := set.Wait(milliseconds)
	if err := check("wait", ret); err != nil {
		return err
	}
	uuid, ret := event.Device.GetUUID()
	if ret != nvml.SUCCESS {
		uuid = ret.Error()
	}
	fmt.Printf("%s %d %d\n", uuid, event.EventData, event.GpuInstanceId)
	return check("free", set.Free())
}

func run(arguments []string) error {
	lib := nvml.New()
	if err := check("init", lib.Init()); err != nil {
		return err
	}
	defer lib.Shutdown()
	numbers := []int{}
	for _, word := range arguments[1:] {
		number, err := strconv.Atoi(word)
		if err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	switch {
	case arguments[0] == "list" && len(numbers) == 0:
		return list(lib)
	case arguments[0] == "mig" && len(numbers) == 2:
		return lifecycle(lib, numbers[0], numbers[1])
	case arguments[0] == "wait" && len(numbers) == 1:
		return wait(lib, uint32(numbers[0]))
	}
	return fmt.Errorf("usage: nvml-go list | mig INDEX ID | wait MILLISECONDS")
}

func main() {
	arguments := os.Args[1:]
	if len(arguments) == 0 {
		arguments = []string{"list"}
	}
	if err := run(arguments); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
