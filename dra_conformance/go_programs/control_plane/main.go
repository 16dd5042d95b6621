// The programs of a Kubernetes control plane, a kubelet and etcd in one binary.
//
// The role is the name that the program is called by (a link named kube-apiserver) or else its first argument
// (control-plane kube-apiserver ...). What follows are that program's own flags. Feature gates and metrics are global
// to a process, so every role runs in a process of its own. A role ends with the signals that its program ends with.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	_ "time/tzdata" // as upstream's kube-apiserver and kube-controller-manager, for time zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // client metrics on /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version metric
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Constructors, not commands: making a command registers flags and feature gates for the whole process.
var roles = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

const etcd = "etcd"

func known(role string) bool {
	_, found := roles[role]
	return found || role == etcd
}

func usage() {
	names := []string{etcd}
	for name := range roles {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: %s ROLE [FLAG...]\nroles: %v\n", filepath.Base(os.Args[0]), names)
	os.Exit(2)
}

func main() {
	role := filepath.Base(os.Args[0])
	if !known(role) {
		if len(os.Args) < 2 || !known(os.Args[1]) {
			usage()
		}
		role = os.Args[1]
		os.Args = append([]string{role}, os.Args[2:]...)
	}
	if role == etcd {
		etcdmain.Main(os.Args)
		return
	}
	os.Exit(cli.Run(roles[role]()))
}
