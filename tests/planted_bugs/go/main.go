// A small DRA driver with one planted bug: `driver BUG KUBECONFIG NODE PLUGINS REGISTRAR CDI`; BUG `none` has none.
//
// It uses Kubernetes' helper for drivers. It publishes two devices, prepares claims with a CDI specification each, and
// has a checkpoint. Each bug is one that reviews of drivers find; `bugs.py` has what a report must name. Without a bug the
// driver conforms to the profile driver-core.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const driverName = "planted.dra.test"

var devices = []string{"dev-0", "dev-1"}

type driver struct {
	bug        string
	client     kubernetes.Interface
	node       string
	cdi        string
	checkpoint string
	// prepared has the devices that each prepared claim reserves.
	prepared map[types.UID][]string
	// owners has the claim that each device is prepared for.
	owners map[string]string
}

func newDriver(bug string, client kubernetes.Interface, node, plugins, cdi string) (*driver, error) {
	d := &driver{bug: bug, client: client, node: node, cdi: cdi, checkpoint: filepath.Join(plugins, "checkpoint.json")}
	d.prepared = map[types.UID][]string{}
	d.owners = map[string]string{}
	content, err := os.ReadFile(d.checkpoint)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, &d.prepared); err != nil {
		return nil, fmt.Errorf("read %s: %w", d.checkpoint, err)
	}
	for uid, names := range d.prepared {
		for _, name := range names {
			d.owners[name] = string(uid)
			if bug == "restart" {
				// The bug: Prepare compares with the uid.
				d.owners[name] = "checkpoint/" + string(uid)
			}
		}
	}
	return d, nil
}

func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	result := map[types.UID]kubeletplugin.PrepareResult{}
	if d.bug == "panic" {
		// The bug: the map is declared, but never made.
		d.prepared = nil
	}
	for _, claim := range claims {
		prepared, err := d.prepare(claim)
		if d.bug == "missing-answer" {
			// The bug: devices without configuration are skipped, with their claim.
			continue
		}
		result[claim.UID] = kubeletplugin.PrepareResult{Err: err, Devices: prepared}
	}
	return result, nil
}

func (d *driver) prepare(claim *resourceapi.ResourceClaim) ([]kubeletplugin.Device, error) {
	var names, reserved []string
	var found []kubeletplugin.Device
	for _, one := range claim.Status.Allocation.Devices.Results {
		if one.Driver != driverName {
			continue
		}
		if one.Device != devices[0] && one.Device != devices[1] {
			return nil, fmt.Errorf("device %s does not exist", one.Device)
		}
		// Admin access does not reserve a device, and does not need a free one.
		if one.AdminAccess == nil || !*one.AdminAccess {
			if owner := d.owners[one.Device]; owner != "" && owner != string(claim.UID) {
				return nil, fmt.Errorf("device %s is in use by %s", one.Device, owner)
			}
			reserved = append(reserved, one.Device)
		}
		id := string(claim.UID) + "-" + one.Device
		device := kubeletplugin.Device{
			Requests:     []string{one.Request},
			PoolName:     one.Pool,
			DeviceName:   one.Device,
			CDIDeviceIDs: []string{driverName + "/claim=" + id},
		}
		switch d.bug {
		case "wrong-pool":
			// The bug: the pool has the name of the node.
			device.PoolName = driverName
		case "wrong-kind":
			// The bug: the specification below has another kind.
			device.CDIDeviceIDs = []string{driverName + "/gpu=" + id}
		}
		names = append(names, one.Device)
		found = append(found, device)
	}
	d.prepared[claim.UID] = reserved
	for _, name := range reserved {
		d.owners[name] = string(claim.UID)
	}
	if err := d.writeSpecification(claim.UID, names); err != nil {
		return nil, err
	}
	return found, d.save()
}

func (d *driver) UnprepareResourceClaims(ctx context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	result := map[types.UID]error{}
	for _, claim := range claims {
		names, known := d.prepared[claim.UID]
		if !known {
			switch d.bug {
			case "unknown-claim":
				// The bug: the kubelet may call Unprepare again.
				result[claim.UID] = fmt.Errorf("claim %s is not in the checkpoint", claim.Name)
				continue
			case "unanswered":
				// The bug: nothing to do, but an entry in the response is missing.
				continue
			}
		}
		if d.bug == "look-up" {
			// The bug: the kubelet calls Unprepare for claims that were deleted, too.
			if _, err := d.client.ResourceV1().ResourceClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{}); err != nil {
				result[claim.UID] = err
				continue
			}
		}
		delete(d.prepared, claim.UID)
		for _, name := range names {
			if d.bug == "leak" {
				// The bug: the owner of the device remains.
				continue
			}
			delete(d.owners, name)
		}
		if err := os.Remove(d.specification(claim.UID)); err != nil && !errors.Is(err, os.ErrNotExist) {
			result[claim.UID] = err
			continue
		}
		result[claim.UID] = d.save()
	}
	return result, nil
}

func (d *driver) HandleError(_ context.Context, err error, message string) {
	fmt.Printf("%s: %v\n", message, err)
}

func (d *driver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

func (d *driver) specification(uid types.UID) string {
	return filepath.Join(d.cdi, driverName+"-"+string(uid)+".json")
}

func (d *driver) writeSpecification(uid types.UID, names []string) error {
	entries := []any{}
	for number, name := range names {
		edits := map[string]any{"env": []string{fmt.Sprintf("DEVICE_%d=1", number)}}
		entries = append(entries, map[string]any{"name": string(uid) + "-" + name, "containerEdits": edits})
	}
	spec := map[string]any{"cdiVersion": "0.6.0", "kind": driverName + "/claim", "devices": entries}
	content, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if d.bug == "exclusive" {
		// The bug: the kubelet may call Prepare again.
		file, err := os.OpenFile(d.specification(uid), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		return errors.Join(err, file.Close())
	}
	return replace(d.specification(uid), content)
}

func (d *driver) save() error {
	content, err := json.Marshal(d.prepared)
	if err != nil {
		return err
	}
	return replace(d.checkpoint, content)
}

func replace(path string, content []byte) error {
	aside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.WriteFile(aside, content, 0o644); err != nil {
		return err
	}
	return os.Rename(aside, path)
}

func run(ctx context.Context, bug, kubeconfig, node, plugins, registrar, cdi string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	folder := filepath.Join(plugins, driverName)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	d, err := newDriver(bug, client, node, folder, cdi)
	if err != nil {
		return err
	}
	helper, err := kubeletplugin.Start(ctx, d,
		kubeletplugin.DriverName(driverName),
		kubeletplugin.NodeName(node),
		kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(folder),
		kubeletplugin.RegistrarDirectoryPath(registrar),
		kubeletplugin.HealthService(false),
	)
	if err != nil {
		return err
	}
	defer helper.Stop()
	slice := resourceslice.Slice{}
	for _, name := range devices {
		slice.Devices = append(slice.Devices, resourceapi.Device{Name: name})
	}
	pool := resourceslice.Pool{Slices: []resourceslice.Slice{slice}}
	pools := map[string]resourceslice.Pool{node: pool}
	if err := helper.PublishResources(ctx, resourceslice.DriverResources{Pools: pools}); err != nil {
		return err
	}
	fmt.Printf("%s serves %d devices of %s\n", driverName, len(devices), node)
	<-ctx.Done()
	return nil
}

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "usage: driver BUG KUBECONFIG NODE PLUGINS REGISTRAR CDI")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
