package object

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"
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

func TestWhatRepeatsIsInMemoryOnce(t *testing.T) {
	o := wireObjects(t)[1]
	other := o.WithUnit("another")
	var r WireReader
	var read []*Object
	for _, x := range []*Object{o, other} {
		r.Reset(x.AppendWire(nil))
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, got)
	}
	if read[0].Ref.Unit == read[1].Ref.Unit || reflect.ValueOf(read[0].root).Pointer() != reflect.ValueOf(read[1].root).Pointer() {
		t.Error("two objects with one content do not share it")
	}
	if list, empty := r.id(wireList, []byte("x")), r.id(wireMap, []byte("x")); list == empty {
		t.Error("a list and a map with the same bytes are one")
	}
	// More than is kept is read all the same.
	for i := range 3000 {
		text := strings.Repeat("x", 1<<10) + strconv.Itoa(i)
		m := &Object{Ref: o.Ref, Origin: o.Origin, apiVersion: "v1", root: map[string]any{"data": map[string]any{"x": text}}}
		r.Reset(m.AppendWire(nil))
		if got, err := r.Next(); err != nil || got.Text("data.x") != text {
			t.Fatal(got, err)
		}
		if len(r.parts) > 2*maxParts>>10 {
			t.Fatalf("%d parts are kept", len(r.parts))
		}
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
