// Command dra-device-manager admits pods with the kubelet's own device manager and topology manager.
//
// It reads one JSON document a line from stdin, a case (see case.go), and writes one JSON document a line to stdout, in
// the same order. It ends with the input; each case has managers and a folder of its own.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"
)

const library = "k8s.io/kubernetes"

func main() {
	if len(os.Args) > 1 {
		if os.Args[1] == "version" {
			fmt.Println(version())
			return
		}
		fmt.Fprintln(os.Stderr, "usage: dra-device-manager [version] < cases.jsonl > answers.jsonl")
		os.Exit(4)
	}
	klog.SetLogger(klog.Logger{}) // discards what the kubelet logs
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dra-device-manager:", err)
		os.Exit(1)
	}
}

// version is that of the upstream module that was linked.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == library {
				return module.Version
			}
		}
	}
	return "unknown"
}

func serve(input io.Reader, output io.Writer) error {
	reader := bufio.NewReaderSize(input, 1<<20)
	encoder := json.NewEncoder(output)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answer(line)); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// answer never fails: what goes wrong is an answer too.
func answer(line []byte) Answer {
	var question Case
	if err := json.Unmarshal(line, &question); err != nil {
		return Answer{Outcome: "malformed", Message: err.Error()}
	}
	found, err := question.play()
	if err != nil {
		return Answer{Outcome: "malformed", Message: err.Error()}
	}
	return found
}
