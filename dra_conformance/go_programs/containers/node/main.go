// What a node of the harness needs beside a kubelet and a container runtime, in one static program.
//
// The role is the first argument, or else the name that the program is called by:
//
//	init          first process of a node's PID and mount namespaces: hides the machine's folders, then reaps orphans
//	dra-loopback  a CNI plugin that gives a pod a number and no network
//	runc-unfiltered  runc for machines whose runc knows no seccomp
//	show          what a container of a scenario runs: it prints what it sees as JSON and waits for its end (the default)
//
// Nothing here knows of Kubernetes; Python (dra_conformance/kubelet/real) starts it and reads what it prints.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	roles := map[string]func([]string) error{"init": initialise, "dra-loopback": cni, "runc-unfiltered": unfiltered, "show": show}
	name, arguments := filepath.Base(os.Args[0]), os.Args[1:]
	if len(arguments) > 0 && roles[arguments[0]] != nil {
		name, arguments = arguments[0], arguments[1:]
	}
	role := roles[name]
	if role == nil {
		role = show
	}
	if err := role(arguments); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
