package object_test

import (
	"testing"

	"github.com/prdiff/prdiff/internal/object"
)

func TestQuantity(t *testing.T) {
	tests := []struct {
		value any
		want  int64
		milli int64
		ok    bool
	}{
		{"500m", 1, 500, true},
		{"1", 1, 1000, true},
		{"0.5", 1, 500, true},
		{int64(2), 2, 2000, true},
		{1.5, 2, 1500, true},
		{"1Gi", 1 << 30, 1000 << 30, true},
		{"1G", 1e9, 1e12, true},
		{"1e3", 1000, 1e6, true},
		{"100u", 1, 1, true},
		{"9Ei", 0, 0, false},
		{"1e9999999", 0, 0, false},
		{"1/3", 0, 0, false},
		{"0x10", 0, 0, false},
		{"-1", 0, 0, false},
		{"1Gib", 0, 0, false},
		{"", 0, 0, false},
		{nil, 0, 0, false},
		{true, 0, 0, false},
	}
	for _, tt := range tests {
		v := object.Of(tt.value)
		if got, ok := v.Quantity(); got != tt.want || ok != tt.ok {
			t.Errorf("Quantity(%v) = %v, %v, want %v, %v", tt.value, got, ok, tt.want, tt.ok)
		}
		if got, ok := v.MilliQuantity(); got != tt.milli || ok != tt.ok {
			t.Errorf("MilliQuantity(%v) = %v, %v, want %v, %v", tt.value, got, ok, tt.milli, tt.ok)
		}
	}
}

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
