package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/vishvananda/netlink"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	configFolder = "/etc/cni/net.d"
	configFile   = "10-pods.conflist"
)

// The plugins of Debian's containernetworking-plugins: a pod has a link to its node, and an address of its range.
const configuration = `{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "ptp",
      "ipMasq": false,
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": "%s"}]]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

// network connects the pods of all nodes: it writes the CNI configuration of the node that it runs on (NODE_NAME), and
// routes the ranges of the other nodes to their addresses. It follows the Node objects until a signal ends it.
func network() {
	if err := follow(os.Getenv("NODE_NAME")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func follow(own string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	see := func(object any) {
		if node, ok := object.(*v1.Node); ok && node.Spec.PodCIDR != "" {
			if err := connect(own, node); err != nil {
				fmt.Fprintf(os.Stderr, "node %s: %v\n", node.Name, err)
			}
		}
	}
	_, err = factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, node any) { see(node) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

func connect(own string, node *v1.Node) error {
	if node.Name == own {
		return configure(node.Spec.PodCIDR)
	}
	_, pods, err := net.ParseCIDR(node.Spec.PodCIDR)
	if err != nil {
		return err
	}
	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			return netlink.RouteReplace(&netlink.Route{Dst: pods, Gw: net.ParseIP(address.Address)})
		}
	}
	return nil // a node without an address, such as one that no kubelet serves
}

// configure writes the file in one step: containerd reads it as soon as it is there.
func configure(pods string) error {
	text := fmt.Appendf(nil, configuration, pods)
	file := filepath.Join(configFolder, configFile)
	if there, err := os.ReadFile(file); err == nil && string(there) == string(text) {
		return nil
	}
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
