package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// interfaceNumber changes with what Python passes to this program and reads from it.
const interfaceNumber = 2

type words []string

func (w *words) String() string         { return strings.Join(*w, " ") }
func (w *words) Set(value string) error { *w = append(*w, value); return nil }

// initialise runs as process 1 of its own namespaces. Its mounts are invisible outside, and the kernel removes them with
// the last process. When this process ends, the kernel kills all other processes of the PID namespace.
//
//	-interface N      fails if this program is of another interface than the caller
//	-hide DIR         mounts an empty file system over a folder that kubelet or containerd would write to
//	-keep DIR         keeps a folder visible although its parent is hidden
//	-bind FROM=TO     shows a folder at a path that a program has built in; both are folders, TO is made
//	-value FILE=TEXT  makes a kernel setting read as TEXT, so that the machine's own setting is not changed
func initialise(arguments []string) error {
	var hide, keep, bind, values words
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	number := flags.Int("interface", 0, "number")
	flags.Var(&hide, "hide", "folder")
	flags.Var(&keep, "keep", "folder")
	flags.Var(&bind, "bind", "from=to")
	flags.Var(&values, "value", "file=text")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *number != interfaceNumber {
		return fmt.Errorf("interface %d is needed, this program has %d", *number, interfaceNumber)
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("process %d: needs a PID namespace of its own", os.Getpid())
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of its own: %w", err)
	}
	held := map[string]*os.File{}
	for _, path := range keep {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		held[path] = file
	}
	for _, path := range hide {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue // a machine without this folder has nothing to be hidden
		}
		if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("hiding %s: %w", path, err)
		}
	}
	for path, file := range held {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
		source := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
		if err := syscall.Mount(source, path, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("keeping %s: %w", path, err)
		}
		file.Close()
	}
	for _, pair := range bind {
		from, to, _ := strings.Cut(pair, "=")
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("showing %s at %s: %w", from, to, err)
		}
	}
	scratch, err := os.MkdirTemp("/run", "kernel-settings-")
	if err != nil {
		return err
	}
	for index, pair := range values {
		path, text, _ := strings.Cut(pair, "=")
		if _, err := os.Stat(path); err != nil {
			continue // a kernel without this setting
		}
		file := filepath.Join(scratch, fmt.Sprint(index))
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			return err
		}
		if err := syscall.Mount(file, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("covering %s: %w", path, err)
		}
	}
	ended := make(chan os.Signal, 8)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	fmt.Println("ready")
	for received := range ended {
		if received != syscall.SIGCHLD {
			return nil
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
	return nil
}
