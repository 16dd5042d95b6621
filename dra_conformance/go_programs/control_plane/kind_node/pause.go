package main

import (
	"os"
	"os/signal"
	"syscall"
)

// pause is process 1 of a sandbox: it reaps orphans, and it ends with the signals that end a sandbox.
func pause() {
	ends, children := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(ends, syscall.SIGINT, syscall.SIGTERM)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		select {
		case <-ends:
			return
		case <-children:
			reap()
		}
	}
}

func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}
