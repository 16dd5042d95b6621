package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

type device struct {
	Path  string `json:"path"`
	Type  string `json:"type"`
	Major uint64 `json:"major"`
	Minor uint64 `json:"minor"`
	Mode  uint32 `json:"mode"`
	Uid   uint32 `json:"uid"`
	Gid   uint32 `json:"gid"`
	// Openable: whether opening it gets past the device cgroup. A node without driver behind it answers ENXIO or ENODEV.
	Allowed bool `json:"allowed"`
}

type mount struct {
	Path    string   `json:"path"`
	Source  string   `json:"source"`
	Type    string   `json:"type"`
	Options []string `json:"options"`
}

type sight struct {
	Sight   string            `json:"sight"`
	Env     map[string]string `json:"env"`
	Devices []device          `json:"devices"`
	Mounts  []mount           `json:"mounts"`
	Groups  []int             `json:"groups"`
}

// show prints what a process in this container sees, in one line, and waits for SIGTERM, or for SIGUSR1, which ends it with
// an error. With -once it ends at once, as an init container does.
func show(arguments []string) error {
	flags := flag.NewFlagSet("show", flag.ContinueOnError)
	once := flags.Bool("once", false, "end at once")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	seen := sight{Sight: "container", Env: map[string]string{}, Devices: devices("/dev"), Mounts: mounts()}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		seen.Env[name] = value
	}
	seen.Groups, _ = os.Getgroups()
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		return err
	}
	if !*once && <-ended == syscall.SIGUSR1 {
		os.Exit(1)
	}
	return nil
}

func devices(root string) []device {
	found := []device{}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeDevice == 0 {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		stat := info.Sys().(*syscall.Stat_t)
		kind := "b"
		if entry.Type()&fs.ModeCharDevice != 0 {
			kind = "c"
		}
		number := uint64(stat.Rdev)
		file, opened := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if opened == nil {
			syscall.Close(file)
		}
		found = append(found, device{
			Path: path, Type: kind, Mode: uint32(info.Mode().Perm()), Uid: stat.Uid, Gid: stat.Gid,
			Major:   number>>8&0xfff | number>>32&^uint64(0xfff),
			Minor:   number&0xff | number>>12&^uint64(0xff),
			Allowed: opened != syscall.EPERM && opened != syscall.EACCES,
		})
		return nil
	})
	return found
}

func mounts() []mount {
	found := []mount{}
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return found
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// 36 35 98:0 /root /path rw,noatime shared:1 - ext3 /dev/root rw
		left, right, _ := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(left), strings.Fields(right)
		if len(fields) < 6 || len(rest) < 2 {
			continue
		}
		found = append(found, mount{Path: fields[4], Source: fields[3], Type: rest[0], Options: strings.Split(fields[5], ",")})
	}
	return found
}
