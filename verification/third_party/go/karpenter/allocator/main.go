// Command dra-karpenter-allocator answers allocation questions with Karpenter's allocator.
//
// It reads one JSON document a line from stdin and writes one a line to stdout, in the same order: a cluster with the
// claims of one pod, as `dra-allocator` reads it. Each node is asked alone. It ends with the input and keeps nothing.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const library = "sigs.k8s.io/karpenter"

func main() {
	if len(os.Args) > 1 {
		if os.Args[1] == "version" {
			fmt.Println(version())
			return
		}
		fmt.Fprintln(os.Stderr, "usage: dra-karpenter-allocator [version] < cases.jsonl > answers.jsonl")
		os.Exit(4)
	}
	// Karpenter reports what it allocates; without a sink its library prints a stack trace about that.
	log.SetLogger(logr.Discard())
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dra-karpenter-allocator:", err)
		os.Exit(1)
	}
}

// version is that of the Karpenter module that was linked.
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
	return question.allocate()
}
