// Another writer adds a node while every response of Azure is slow.
//
// Start a world with `npx aks-autoscaler emulate --dir DIR`, then `. DIR/env && go run control_surface.go`.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"
)

type state struct {
	Sets []struct {
		Pool      string
		Capacity  int
		Instances []struct{ Power string }
	}
}

// The variable SSL_CERT_FILE names the certificate authority of the world.
func call(method, path string, body, into any) {
	text, err := json.Marshal(body)
	if err != nil {
		log.Fatal(err)
	}
	request, err := http.NewRequest(method, os.Getenv("AZURE_RESOURCE_MANAGER_ENDPOINT")+path, bytes.NewReader(text))
	if err != nil {
		log.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode >= 300 {
		log.Fatalf("%s %s: %s", method, path, reply.Status)
	}
	if into != nil {
		if err := json.NewDecoder(reply.Body).Decode(into); err != nil {
			log.Fatal(err)
		}
	}
}

func running(pool string) int {
	var now state
	call("GET", "/_emu/state", nil, &now)
	count := 0
	for _, set := range now.Sets {
		for _, instance := range set.Instances {
			if set.Pool == pool && instance.Power == "running" {
				count++
			}
		}
	}
	return count
}

func main() {
	before := running("general")
	call("POST", "/_emu/faults", map[string]any{"id": "slow", "match": map[string]any{}, "effect": map[string]any{"kind": "delay", "ms": 2000}}, nil)
	call("POST", "/_emu/events", map[string]any{"foreignScale": map[string]any{"pool": "general", "delta": 1}}, nil)
	for deadline := time.Now().Add(2 * time.Minute); running("general") <= before; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			log.Fatal("no new instance")
		}
	}
	call("DELETE", "/_emu/faults/slow", nil, nil)
	fmt.Println("general:", running("general"), "running instances")
}
