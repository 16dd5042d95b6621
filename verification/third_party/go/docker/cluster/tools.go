package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// cat prints files.
func cat(arguments []string) error {
	for _, path := range paths(arguments) {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(os.Stdout, file)
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// remove is `rm -rf`.
func remove(arguments []string) error {
	for _, path := range paths(arguments) {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// unmount is `umount -l`.
func unmount(arguments []string) error {
	for _, path := range paths(arguments) {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			return &os.PathError{Op: "umount", Path: path, Err: err}
		}
	}
	return nil
}

func paths(arguments []string) []string {
	found := []string{}
	for _, argument := range arguments {
		if !strings.HasPrefix(argument, "-") {
			found = append(found, argument)
		}
	}
	return found
}

// mount is `mount -t TYPE [-o OPTION,...] SOURCE TARGET`, which a kubelet calls for the volumes of pods.
func mount(arguments []string) error {
	kind, data, rest := "", []string{}, []string{}
	flags := uintptr(0)
	for index := 0; index < len(arguments); index++ {
		switch word := arguments[index]; {
		case word == "-t" && index+1 < len(arguments):
			index++
			kind = arguments[index]
		case word == "-o" && index+1 < len(arguments):
			index++
			for _, option := range strings.Split(arguments[index], ",") {
				switch option {
				case "bind":
					flags |= syscall.MS_BIND
				case "remount":
					flags |= syscall.MS_REMOUNT
				case "ro":
					flags |= syscall.MS_RDONLY
				default:
					data = append(data, option)
				}
			}
		default:
			rest = append(rest, word)
		}
	}
	if len(rest) != 2 {
		return fmt.Errorf("takes a source and a target: %q", arguments)
	}
	if err := syscall.Mount(rest[0], rest[1], kind, flags, strings.Join(data, ",")); err != nil {
		return &os.PathError{Op: "mount", Path: rest[1], Err: err}
	}
	return nil
}
