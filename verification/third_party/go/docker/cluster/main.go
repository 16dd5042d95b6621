// A small cluster in one container, behind the command line of `k3s server`.
//
// This is not k3s: it speaks k3s' contract, as far as somebody outside the container can tell, and starts Kubernetes'
// own programs behind it. Which ones, with which flags, stands in programs.go and node.go; the options are k3s' own
// (options.go). The certificates, the kubeconfig at k3s' place and the line that tells of a running cluster come from
// here.
//
// The role is the name that the program is called by: `cat`, `mount`, `rm` and `umount` are what else of k3s' image is
// called from outside, or by the kubelet. Every other name is the server's. It ends, with exit code 1, as soon as one of
// its programs ends.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	roles := map[string]func([]string) error{"cat": cat, "mount": mount, "rm": remove, "umount": unmount}
	name := filepath.Base(os.Args[0])
	role := roles[name]
	if role == nil {
		name, role = "cluster", serve
	}
	if err := role(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "level=fatal msg=%q\n", name+": "+err.Error())
		os.Exit(1)
	}
}
