package object

import (
	"bytes"
	"reflect"
	"testing"
)

const wireManifest = `
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: n, labels: {a: b}}
data: {password: aHVudGVyMg==, empty: ""}
---
apiVersion: apps/v1
kind: Deployment
metadata: {generateName: web-}
spec:
  replicas: 3
  paused: true
  ratio: 0.25
  negative: -7
  template: {spec: {containers: [{name: app, args: ["--password=hunter2", null, "postgres://u:hunter2@db/x"], env: []}]}}
`

func wireObjects(t testing.TB) []*Object {
	t.Helper()
	objects, errs := Parse("unit", "a.yaml", []byte(wireManifest))
	if len(errs) > 0 || len(objects) != 2 {
		t.Fatal(objects, errs)
	}
	return objects
}

func TestObjectsAreTheSameBehindTheWire(t *testing.T) {
	objects := wireObjects(t)
	var b []byte
	for _, o := range objects {
		b = o.AppendWire(b)
	}
	if bytes.Contains(b, []byte("hunter2")) || bytes.Contains(b, []byte("aHVudGVyMg")) {
		t.Error("a secret is on the wire")
	}
	var r WireReader
	r.Reset(b)
	for _, want := range objects {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if !got.Masks() {
			t.Errorf("%s: masks nothing", got.Ref)
		}
	}
	if r.More() {
		t.Error("there is more")
	}
}

func TestATruncatedObjectIsAnError(t *testing.T) {
	b := wireObjects(t)[0].AppendWire(nil)
	for n := 1; n < len(b); n++ {
		var r WireReader
		r.Reset(b[:n])
		if o, err := r.Next(); err == nil {
			t.Fatalf("the first %d of %d bytes are an object: %v", n, len(b), o)
		}
	}
}

func TestTheRunIsJoinedBeforeTheFirstObject(t *testing.T) {
	if key := RunKey(); !JoinRun(key) || JoinRun([]byte("another")) {
		t.Error("a run that has begun can be joined by its own key alone")
	}
}

func FuzzWireReader(f *testing.F) {
	for _, o := range wireObjects(f) {
		f.Add(o.AppendWire(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var r WireReader
		r.Reset(data)
		for r.More() {
			o, err := r.Next()
			if err != nil {
				return
			}
			if o.Ref.Name == "" || o.Ref.Kind == "" || o.Origin.Path == "" {
				t.Fatalf("an object without a name: %v", o)
			}
			if o.Root().Type() != Map {
				t.Fatal("no map at the top")
			}
			again := o.AppendWire(nil)
			var r2 WireReader
			r2.Reset(again)
			if o2, err := r2.Next(); err != nil || !bytes.Equal(o2.AppendWire(nil), again) {
				t.Fatalf("%v is not the same when it is sent once more: %v", o, err)
			}
		}
	})
}
