// The programs of a kind node beside those of the control plane: kubeadm, kubectl and kube-proxy; the pause process of a
// pod's sandbox; and `pod-network`, which connects the pods of the nodes.
//
// As in the program control-plane, the role is the name that the program is called by or else its first argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlerrors "k8s.io/kubectl/pkg/cmd/util"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
)

// Functions, not commands: making a command registers flags and feature gates for the whole process.
var roles = map[string]func(){
	"kubeadm":     func() { kubeadmerrors.HandleError(kubeadm.Run()) },
	"kubectl":     func() { kubectlerrors.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand())) },
	"kube-proxy":  func() { os.Exit(cli.Run(proxy.NewProxyCommand())) },
	"pause":       pause,
	"pod-network": network,
}

func main() {
	run, found := roles[filepath.Base(os.Args[0])]
	if !found && len(os.Args) > 1 {
		if run, found = roles[os.Args[1]]; found {
			os.Args = os.Args[1:]
		}
	}
	if !found {
		fmt.Fprintf(os.Stderr, "usage: %s kubeadm|kubectl|kube-proxy|pause|pod-network [FLAG...]\n", filepath.Base(os.Args[0]))
		os.Exit(2)
	}
	run()
}
