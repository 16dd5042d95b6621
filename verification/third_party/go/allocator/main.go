// Command dra-allocator answers allocation and CEL questions with upstream's own code.
//
// It reads one JSON document a line from stdin and writes one JSON document a line to stdout, in the same order. A
// document with "cel" is a question about an expression (see cel.go), any other is a cluster with claims (see case.go).
// It ends with the input; nothing is kept between questions but compiled expressions.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

const library = "k8s.io/dynamic-resource-allocation"

func main() {
	if len(os.Args) > 1 {
		if os.Args[1] == "version" {
			fmt.Println(version())
			return
		}
		fmt.Fprintln(os.Stderr, "usage: dra-allocator [version] < cases.jsonl > answers.jsonl")
		os.Exit(4)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "dra-allocator:", err)
		os.Exit(1)
	}
}

// version is that of the upstream library that was linked.
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
	writer := bufio.NewWriterSize(output, 1<<20)
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(answer(line)); err != nil {
				return err
			}
			if err := writer.Flush(); err != nil {
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
func answer(line []byte) any {
	var probe struct {
		CEL json.RawMessage `json:"cel"`
	}
	if err := json.Unmarshal(line, &probe); err != nil {
		return Answer{Outcome: "malformed", Message: err.Error()}
	}
	if probe.CEL != nil {
		var question Expression
		if err := json.Unmarshal(probe.CEL, &question); err != nil {
			return Verdict{Outcome: "malformed", Message: err.Error()}
		}
		return question.judge()
	}
	var question Case
	if err := json.Unmarshal(line, &question); err != nil {
		return Answer{Outcome: "malformed", Message: err.Error()}
	}
	return question.allocate()
}
