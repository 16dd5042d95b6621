package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
)

type network struct {
	Version string          `json:"cniVersion"`
	Result  json.RawMessage `json:"prevResult,omitempty"`
}

// cni answers as a CNI plugin: a pod gets an address that leads nowhere. Its only interface is the loopback that the
// runtime brings up; a runtime without any network keeps pods from starting.
func cni([]string) error {
	var given network
	if command := os.Getenv("CNI_COMMAND"); command == "VERSION" {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{
			"cniVersion": "1.1.0", "supportedVersions": []string{"0.4.0", "1.0.0", "1.1.0"},
		})
	} else if command != "ADD" {
		return nil // nothing was made, so there is nothing to check, to delete or to collect
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	hash := fnv.New32a()
	hash.Write([]byte(os.Getenv("CNI_CONTAINERID")))
	number := hash.Sum32()
	address := fmt.Sprintf("198.18.%d.%d/32", number>>8&0xff, number&0xff) // RFC 2544: routed nowhere
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"cniVersion": given.Version,
		"interfaces": []map[string]any{{"name": os.Getenv("CNI_IFNAME"), "sandbox": os.Getenv("CNI_NETNS")}},
		"ips":        []map[string]any{{"address": address, "interface": 0}},
		"dns":        map[string]any{},
	})
}
