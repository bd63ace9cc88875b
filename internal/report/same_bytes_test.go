package report

import (
	"bytes"
	"io"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// FuzzSameBytes: the same two texts give the same bytes in every format, as long as
// they are read, compared and written, and what JSON says of them reads back as
// what it was.
func FuzzSameBytes(f *testing.F) {
	const a = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {x: y, z: w}}\nspec:\n  replicas: 1\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: app, image: 'x:1', env: [{name: TOKEN, value: s3cret1}]}]}\n"
	const b = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {z: w}}\nspec:\n  replicas: 3\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec: {containers: [{name: app, image: 'x:2', env: [{name: TOKEN, value: s3cret2}]}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a.yaml: \"x: 1\\ny: 2\\n\"}\n"
	f.Add(a, b)
	f.Add(b, a)
	f.Add(a, "apiVersion: v1\nkind: A\nmetadata: {name: \"<b>|`@x\"}\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		write := func() [][]byte {
			r := &Report{Version: "1", Base: Side{Rev: "a"}, Head: Side{Rev: "b"}}
			for _, unit := range []string{"one", "two"} {
				load := func(text string) *object.Set {
					objects, _ := object.Parse(unit, "x.yaml", []byte(text))
					return object.NewSet(objects)
				}
				was, is := load(before), load(after)
				r.Units = append(r.Units, Unit{Name: unit, Renderer: "plain", Status: Rendered, Before: was.Len(), After: is.Len()})
				for _, c := range diff.Compare(was, is, diff.Options{}) {
					r.Changes = append(r.Changes, NewChange(c))
				}
			}
			Group(r.Changes)
			var out [][]byte
			for _, w := range []Reporter{Text, Markdown, JSON, HTML, SARIF, GitHub} {
				var b bytes.Buffer
				if err := w(&b, r, Options{}); err != nil {
					t.Fatal(err)
				}
				out = append(out, b.Bytes())
			}
			return out
		}
		first, second := write(), write()
		for i := range first {
			if !bytes.Equal(first[i], second[i]) {
				t.Errorf("format %d is another text the second time:\n%s\n%s", i, first[i], second[i])
			}
		}
		read, err := ParseJSON(first[2])
		if err != nil {
			t.Fatalf("what JSON wrote cannot be read: %v", err)
		}
		if err := JSON(io.Discard, read, Options{}); err != nil {
			t.Fatal(err)
		}
	})
}
