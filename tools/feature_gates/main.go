// Prints the feature gates of one Kubernetes release, read from its pkg/features/kube_features.go, as JSON:
// `go run main.go < FILE`. Every gate has its entries in the order of the file; `dependencies` names the gates that each
// gate needs. The file is parsed, never run.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
)

type entry struct {
	Version string `json:"version"`
	Default bool   `json:"default"`
	Stage   string `json:"stage"`
	Locked  bool   `json:"locked"`
	// The entry holds only for servers whose minimum compatibility version is at least this one.
	MinCompatibility string `json:"min_compatibility"`
}

type release struct {
	Gates        map[string][]entry  `json:"gates"`
	Dependencies map[string][]string `json:"dependencies"`
}

func main() {
	file, err := parser.ParseFile(token.NewFileSet(), "kube_features.go", os.Stdin, 0)
	if err != nil {
		fail(err.Error())
	}
	names := constants(file)
	found := release{Gates: map[string][]entry{}, Dependencies: map[string][]string{}}
	for _, pair := range literal(file, "defaultVersionedKubernetesFeatureGates") {
		for _, spec := range pair.Value.(*ast.CompositeLit).Elts {
			name := nameOf(pair.Key, names)
			found.Gates[name] = append(found.Gates[name], entryOf(spec.(*ast.CompositeLit)))
		}
	}
	for _, pair := range literal(file, "defaultKubernetesFeatureGateDependencies") {
		for _, needed := range pair.Value.(*ast.CompositeLit).Elts {
			name := nameOf(pair.Key, names)
			found.Dependencies[name] = append(found.Dependencies[name], nameOf(needed, names))
		}
	}
	if len(found.Gates) == 0 {
		fail("no defaultVersionedKubernetesFeatureGates in the file")
	}
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(found); err != nil {
		fail(err.Error())
	}
}

// constants returns the strings of `Name featuregate.Feature = "Name"`.
func constants(file *ast.File) map[string]string {
	found := map[string]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == 1 && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
				found[spec.Names[0].Name], _ = strconv.Unquote(value.Value)
			}
		}
		return true
	})
	return found
}

// literal returns the pairs of a variable that is a map literal; none if the release has no such variable.
func literal(file *ast.File, variable string) (pairs []*ast.KeyValueExpr) {
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != variable {
			return true
		}
		for _, element := range spec.Values[0].(*ast.CompositeLit).Elts {
			pairs = append(pairs, element.(*ast.KeyValueExpr))
		}
		return false
	})
	return pairs
}

// nameOf returns a gate's name; a gate of another package is named like its constant there.
func nameOf(node ast.Expr, names map[string]string) string {
	switch node := node.(type) {
	case *ast.Ident:
		if name, ok := names[node.Name]; ok {
			return name
		}
		return node.Name
	case *ast.SelectorExpr:
		return node.Sel.Name
	case *ast.CallExpr: // featuregate.Feature(pkg.Name)
		return nameOf(node.Args[0], names)
	case *ast.BasicLit:
		name, _ := strconv.Unquote(node.Value)
		return name
	}
	fail(fmt.Sprintf("a gate that is no name: %T", node))
	return ""
}

func entryOf(spec *ast.CompositeLit) (found entry) {
	for _, element := range spec.Elts {
		pair := element.(*ast.KeyValueExpr)
		switch pair.Key.(*ast.Ident).Name {
		case "Version":
			found.Version = versionOf(pair.Value)
		case "MinCompatibilityVersion":
			found.MinCompatibility = versionOf(pair.Value)
		case "Default":
			found.Default = pair.Value.(*ast.Ident).Name == "true"
		case "LockToDefault":
			found.Locked = pair.Value.(*ast.Ident).Name == "true"
		case "PreRelease":
			found.Stage = pair.Value.(*ast.SelectorExpr).Sel.Name
		}
	}
	return found
}

// versionOf reads `version.MustParse("1.34")`.
func versionOf(node ast.Expr) string {
	text, err := strconv.Unquote(node.(*ast.CallExpr).Args[0].(*ast.BasicLit).Value)
	if err != nil {
		fail(err.Error())
	}
	return text
}

func fail(reason string) {
	fmt.Fprintln(os.Stderr, reason)
	os.Exit(1)
}
