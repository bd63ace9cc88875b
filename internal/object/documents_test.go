package object

import (
	"fmt"
	"strings"
	"testing"
)

// What is read with the documents of another file known is what is read without.
func TestKnownDocumentsGiveTheSame(t *testing.T) {
	files := []string{
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nkind: nothing\n---\na: [\n",
		"# moved down\n\n---\nkind: nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\na: [\n",
		"---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: x}\n- metadata: {name: y}\n- {}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: dg==}\ndata: {k: dw==}\n",
		"\n\n---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: x}\n- metadata: {name: y}\n- {}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: dg==}\ndata: {k: dw==}\n",
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}`,
	}
	said := func(objects []*Object, errs []error) string {
		var b strings.Builder
		for _, o := range objects {
			fmt.Fprintf(&b, "%s of %s at %s:\n%s", o.Ref, o.Ref.Unit, o.Origin, o.YAML())
		}
		for _, err := range errs {
			fmt.Fprintln(&b, err)
		}
		return b.String()
	}
	var known Documents
	for i, text := range files {
		unit, path := fmt.Sprint("unit", i), fmt.Sprint("file", i)
		want := said(Parse(unit, path, []byte(text)))
		if got := said(known.Parse(unit, path, []byte(text))); got != want {
			t.Errorf("file %d gives\n%s\nwant\n%s", i, got, want)
		}
	}
}

// A file that is read on several cores gives its objects in its own order.
func TestLongFilesKeepTheirOrder(t *testing.T) {
	const n = 3000
	objects, errs := Parse("unit", "a.yaml", manySample(n))
	if len(errs) > 0 || len(objects) != n {
		t.Fatalf("%d objects, %v", len(objects), errs)
	}
	for i, o := range objects {
		if want := fmt.Sprint("web-", i); o.Ref.Name != want || i > 0 && o.Origin.Line <= objects[i-1].Origin.Line {
			t.Fatalf("object %d is %s of line %d, want %s", i, o.Ref.Name, o.Origin.Line, want)
		}
	}
}
