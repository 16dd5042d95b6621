package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

const (
	runtime     = "/run/containerd/containerd.sock"
	kubeletRoot = "/var/lib/kubelet"
)

func nodeName() string {
	name, _ := os.Hostname()
	return strings.ToLower(name)
}

// Folders in which containerd looks for CDI specifications are its own defaults, as in k3s: /etc/cdi, /var/run/cdi.
const containerdConfig = `version = 3
root = "/run/containerd/root"
state = "/run/containerd/state"
disabled_plugins = ["io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
address = "` + runtime + `"
[plugins.'io.containerd.cri.v1.runtime']
disable_apparmor = true
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["/bin"]
conf_dir = "/etc/cni/net.d"
use_internal_loopback = true
`

// The network of pods is none; a node without any is never ready.
const network = `{"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "dra-loopback"}]}`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
enableServer: false
healthzPort: 0
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://` + runtime + `
resolvConf: ""
cgroupDriver: cgroupfs
cgroupRoot: /
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
oomScoreAdj: 0
evictionHard: {memory.available: "0%", nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
`

// node starts the cluster's own node: containerd and a kubelet.
func (c *cluster) node(files layout, given words) error {
	for _, folder := range []string{"/run/containerd", "/etc/cni/net.d", "/etc/cdi", "/var/log/pods", "/tmp"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for path, text := range map[string]string{
		files.file("containerd.toml"):     containerdConfig,
		files.file("kubelet.yaml"):        kubeletConfig,
		"/etc/cni/net.d/10-none.conflist": network,
		"/etc/passwd":                     "root:x:0:0:root:/root:/bin/k3s\n",
		"/etc/group":                      "root:x:0:\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	c.run("containerd", []string{"config=" + files.file("containerd.toml")})
	for deadline := time.Now().Add(patient); ; time.Sleep(turn) {
		door, err := net.Dial("unix", runtime)
		if err == nil {
			door.Close()
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("containerd does not serve: %w", err)
		}
	}
	own := []string{
		"cert-dir=" + files.file("pki"),
		"config=" + files.file("kubelet.yaml"),
		"hostname-override=" + nodeName(),
		"kubeconfig=" + files.file(kubelet),
		"root-dir=" + kubeletRoot,
	}
	c.run(kubelet, merged(own, given))
	return nil
}
