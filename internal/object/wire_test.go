package object

import (
	"bytes"
	"encoding/binary"
	"math"
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
	var known WireParts
	r := known.Read(b)
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
	var known WireParts
	var read []*Object
	for _, x := range []*Object{o, other} {
		got, err := known.Read(x.AppendWire(nil)).Next()
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
	if list, empty := known.id(wireList, []byte("x")), known.id(wireMap, []byte("x")); list == empty {
		t.Error("a list and a map with the same bytes are one")
	}
	// More than is kept is read all the same.
	for i := range 3000 {
		text := strings.Repeat("x", 1<<10) + strconv.Itoa(i)
		m := &Object{Ref: o.Ref, Origin: o.Origin, apiVersion: "v1", root: MapOf(map[string]Value{"data": MapOf(map[string]Value{"x": TextOf(text)})}).raw.(*mapping)}
		if got, err := known.Read(m.AppendWire(nil)).Next(); err != nil || got.Text("data.x") != text {
			t.Fatal(got, err)
		}
		if size := known.size.Load(); size > maxParts {
			t.Fatalf("parts of %d bytes are kept", size)
		}
	}
	known.Forget()
	if _, ok := known.part(known.id(wireMap, nil)); ok || known.size.Load() != 0 {
		t.Error("what was forgotten is known")
	}
}

func TestATruncatedObjectIsAnError(t *testing.T) {
	b := wireObjects(t)[0].AppendWire(nil)
	var known WireParts
	for n := 1; n < len(b); n++ {
		if o, err := known.Read(b[:n]).Next(); err == nil {
			t.Fatalf("the first %d of %d bytes are an object: %v", n, len(b), o)
		}
	}
}

// Whoever looks a key up relies on the order.
func TestKeysOutOfOrderAreAnError(t *testing.T) {
	o := wireObjects(t)[0]
	for _, keys := range [][]string{{"b", "a"}, {"a", "a"}, {"", ""}} {
		data := &mapping{}
		for _, k := range keys {
			data.pairs = append(data.pairs, pair{k, "x"})
		}
		forged := &Object{Ref: o.Ref, Origin: o.Origin, apiVersion: "v1", root: &mapping{[]pair{{"data", data}}}}
		if got, err := new(WireParts).Read(forged.AppendWire(nil)).Next(); err == nil {
			t.Errorf("keys %q are read as %v", keys, got.Root())
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
	var known WireParts
	f.Fuzz(func(t *testing.T, data []byte) {
		for r := known.Read(data); r.More(); {
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
			if o2, err := known.Read(again).Next(); err != nil || !bytes.Equal(o2.AppendWire(nil), again) {
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
	var parts WireParts
	var roots WireRoots
	var batches []WireBatch
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
		batch, err := parts.Read(b).Batch()
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, batch)
	}
	for i, b := range batches {
		var err error
		if sides[i], err = b.Join(&roots); err != nil {
			t.Fatal(err)
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
	for _, at := range []uint64{2, 9, math.MaxUint64 - 1, math.MaxUint64} {
		wire := binary.AppendUvarint(append(sides[0][0].appendWireHead(nil), wireSame), at)
		batch, err := parts.Read(wire).Batch()
		if err == nil {
			_, err = batch.Join(&roots)
		}
		if err == nil {
			t.Errorf("a reference to content %d, which never came, is followed", at)
		}
		if o, err := parts.Read(wire).Next(); err == nil {
			t.Errorf("a reference is read alone: %v", o)
		}
	}
}
