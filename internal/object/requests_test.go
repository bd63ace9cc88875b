package object_test

import (
	"testing"

	"github.com/prdiff/prdiff/internal/object"
)

func TestRequests(t *testing.T) {
	tests := []struct {
		name, spec  string
		cpu, memory int64
	}{
		{"containers add up, and a limit stands in for a request",
			"containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}, {name: b, resources: {limits: {cpu: 1, memory: 1Mi}}}]", 1500, 1<<30 + 1<<20},
		{"the larger of init and running counts",
			"initContainers: [{name: i, resources: {requests: {cpu: 3}}}], containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Mi}}}]", 3000, 1 << 20},
		{"a sidecar runs beside both",
			"initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: i, resources: {requests: {cpu: 3}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]", 4000, 0},
		{"nothing is asked for", "containers: [{name: a}]", 0, 0},
		{"what cannot be read counts as nothing", "containers: [{name: a, resources: {requests: {cpu: [1], memory: much}}}]", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects, errs := object.Parse("u", "f.yaml", []byte("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {"+tt.spec+"}}}}"))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			w, _ := object.AsWorkload(objects[0])
			if cpu, memory := w.Requests(); cpu != tt.cpu || memory != tt.memory {
				t.Errorf("Requests() = %d, %d, want %d, %d", cpu, memory, tt.cpu, tt.memory)
			}
		})
	}
}
