package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

type words []string

func (w *words) String() string         { return strings.Join(*w, " ") }
func (w *words) Set(value string) error { *w = append(*w, value); return nil }

// What `k3s server` takes of what a test cluster is started with (docs.k3s.io, cli/server).
type options struct {
	names            words // --tls-san: further names of the API server's certificate
	without          words // --disable: what k3s would deploy; nothing of it is here
	withoutScheduler bool
	arguments        map[string]*words // by program: what it is given, as name=value
}

// What k3s deploys by default and can be told to leave out.
var deployed = []string{"coredns", "servicelb", "traefik", "local-storage", "metrics-server", "runtimes"}

func parse(arguments []string) (*options, error) {
	made := &options{arguments: map[string]*words{}}
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&made.names, "tls-san", "name")
	flags.Var(&made.without, "disable", "component")
	flags.BoolVar(&made.withoutScheduler, "disable-scheduler", false, "")
	for _, program := range []string{apiServer, controllers, scheduler, kubelet} {
		given := &words{}
		made.arguments[program] = given
		flags.Var(given, program+"-arg", "name=value")
	}
	if len(arguments) == 0 || arguments[0] != "server" {
		return nil, fmt.Errorf("no help topic for %q: only `server` is known", strings.Join(arguments, " "))
	}
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("server takes no arguments: %q", flags.Args())
	}
	for _, name := range made.without {
		if !slices.Contains(deployed, name) {
			return nil, fmt.Errorf("invalid component to disable: %s", name)
		}
	}
	return made, nil
}

// merged are the flags of a program: the cluster's own, each replaced by what was given under its name.
func merged(own []string, given words) []string {
	chosen := map[string]string{}
	for _, pair := range append(slices.Clone(own), given...) {
		name, value, _ := strings.Cut(pair, "=")
		chosen[name] = value
	}
	made := []string{}
	for name, value := range chosen {
		made = append(made, "--"+name+"="+value)
	}
	slices.Sort(made)
	return made
}
