package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const (
	state   = "/var/lib/cluster"
	turn    = 50 * time.Millisecond
	patient = 120 * time.Second
)

// cluster tells of the programs that run which of them has ended.
type cluster struct{ ended chan error }

// serve is `k3s server`: it starts the programs, tells when the cluster runs, and ends with the first that ends or with
// the signal that ends a container. It is the container's first process, so everything ends with it.
func serve(arguments []string) error {
	chosen, err := parse(arguments)
	if err != nil {
		return err
	}
	files := layout(state)
	if err := files.write(chosen.names); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM, syscall.SIGINT)
	running := &cluster{ended: make(chan error, 8)}
	told := make(chan error, 1)
	go func() { told <- running.start(files, chosen) }()
	for {
		select {
		case err := <-told:
			if err != nil {
				return err
			}
			// What flannel in k3s says when its node is there; whoever starts a k3s in a container waits for it.
			fmt.Fprintln(os.Stderr, `level=info msg="Node controller sync successful"`)
		case err := <-running.ended:
			return err
		case <-asked:
			return nil
		}
	}
}

func (c *cluster) start(files layout, chosen *options) error {
	client, err := files.client()
	if err != nil {
		return err
	}
	c.run(etcd, files.flags(etcd))
	c.run(apiServer, merged(files.flags(apiServer), *chosen.arguments[apiServer]))
	if err := until(client, "/readyz"); err != nil {
		return err
	}
	c.run(controllers, merged(files.flags(controllers), *chosen.arguments[controllers]))
	if !chosen.withoutScheduler {
		c.run(scheduler, merged(files.flags(scheduler), *chosen.arguments[scheduler]))
	}
	if err := c.node(files, *chosen.arguments[kubelet]); err != nil {
		return err
	}
	if err := until(client, "/api/v1/nodes/"+nodeName()); err != nil {
		return err
	}
	// Only a running controller manager makes it; pods are refused before.
	return until(client, "/api/v1/namespaces/default/serviceaccounts/default")
}

// run starts a program; what it says goes into the container's log.
func (c *cluster) run(program string, flags []string) {
	words := make([]string, len(flags))
	for index, flag := range flags {
		words[index] = flag
		if flag[0] != '-' {
			words[index] = "--" + flag
		}
	}
	command := exec.Command(filepath.Join(programs, program), words...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		c.ended <- err
		return
	}
	go func() {
		err := command.Wait()
		c.ended <- fmt.Errorf("%s exited: %v", program, err)
	}()
}

// client asks the API server as the admin, over the door that the world outside uses.
func (l layout) client() (*http.Client, error) {
	authority, err := os.ReadFile(l.file("ca.crt"))
	if err != nil {
		return nil, err
	}
	own, err := tls.LoadX509KeyPair(l.file("admin.crt"), l.file("admin.key"))
	if err != nil {
		return nil, err
	}
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(authority)
	settings := &tls.Config{RootCAs: known, Certificates: []tls.Certificate{own}}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: settings}, Timeout: 5 * time.Second}, nil
}

// until asks for a path until the answer is 200.
func until(client *http.Client, path string) error {
	last := "no answer"
	for deadline := time.Now().Add(patient); time.Now().Before(deadline); time.Sleep(turn) {
		answer, err := client.Get("https://127.0.0.1:6443" + path)
		if err != nil {
			last = err.Error()
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return nil
		}
		last = answer.Status
	}
	return fmt.Errorf("%s was not there within %s: %s", path, patient, last)
}
