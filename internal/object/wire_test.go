package object

import (
	"bytes"
	"encoding/binary"
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
	part := func(o *Object) *mapping { return o.root.below("metadata") }
	if read[0].Ref.Unit == read[1].Ref.Unit || part(read[0]) != part(read[1]) {
		t.Error("two objects with one content do not share its parts")
	}
	if read[0].Shares(read[1]) {
		t.Error("two objects that were written one by one say that they share all")
	}
	if list, empty := r.id(wireList, []byte("x")), r.id(wireMap, []byte("x")); list == empty {
		t.Error("a list and a map with the same bytes are one")
	}
	// More than is kept is read all the same.
	for i := range 3000 {
		text := strings.Repeat("x", 1<<10) + strconv.Itoa(i)
		m := &Object{Ref: o.Ref, Origin: o.Origin, apiVersion: "v1", root: MapOf(map[string]Value{"data": MapOf(map[string]Value{"x": TextOf(text)})}).raw.(*mapping)}
		r.Reset(m.AppendWire(nil))
		if got, err := r.Next(); err != nil || got.Text("data.x") != text {
			t.Fatal(got, err)
		}
		if r.size > maxParts {
			t.Fatalf("parts of %d bytes are kept", r.size)
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

// What one Documents gave twice is sent once, and shared on the other side.
func TestSharedContentIsSentOnce(t *testing.T) {
	const text = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\nstringData: {k: v}\n"
	var known Documents
	var w WireWriter
	var r WireReader
	var roots WireRoots
	sides := make([][]*Object, 2)
	sizes := make([]int, 2)
	for i, file := range []string{"before.yaml", "after.yaml"} {
		objects, errs := known.Parse("unit", file, []byte(strings.Repeat("\n", i)+text))
		if len(errs) > 0 {
			t.Fatal(errs[0])
		}
		var b []byte
		for _, o := range objects {
			b = w.Append(b, o)
		}
		sizes[i] = len(b)
		for r.Reset(b); r.More(); {
			o, err := r.NextOf(&roots)
			if err != nil {
				t.Fatal(err)
			}
			sides[i] = append(sides[i], o)
		}
	}
	if len(sides[0]) != 2 || len(sides[1]) != 2 || sizes[1] >= sizes[0] {
		t.Fatalf("%d and %d objects in %d and %d bytes", len(sides[0]), len(sides[1]), sizes[0], sizes[1])
	}
	for i, o := range sides[1] {
		was := sides[0][i]
		if !o.Shares(was) || o.Origin != (Origin{"after.yaml", was.Origin.Line + 1}) || o.Ref != was.Ref {
			t.Errorf("%s of %s does not share its content with %s of %s", o.Ref, o.Origin, was.Ref, was.Origin)
		}
	}
	r.Reset(binary.AppendUvarint(append(sides[0][0].appendWireHead(nil), wireSame), 9))
	if _, err := r.NextOf(&roots); err == nil {
		t.Error("a reference to content that never came is followed")
	}
}
