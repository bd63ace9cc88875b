package kustomize

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/source"
)

func TestKeptLeavesOutWhatFluxIgnores(t *testing.T) {
	names := []string{"apps/a.yaml", "apps/docs/x.yaml", "apps/docs/keep.yaml", "apps/web/b.yaml", "apps/web/deep/c.yaml", "apps/web/deep/values.yaml"}
	for _, tt := range []struct{ name, root, sub, own, want string }{
		{"nothing without patterns", "", "", "", "apps/a.yaml apps/docs/x.yaml apps/docs/keep.yaml apps/web/b.yaml apps/web/deep/c.yaml apps/web/deep/values.yaml"},
		{"a name at any depth", "values.yaml\ndocs\n", "", "", "apps/a.yaml apps/web/b.yaml apps/web/deep/c.yaml"},
		{"a folder is not a file", "a.yaml/\ndeep/\n", "", "", "apps/a.yaml apps/docs/x.yaml apps/docs/keep.yaml apps/web/b.yaml"},
		{"from the root on", "/a.yaml\n/apps/a.yaml\n", "", "", "apps/docs/x.yaml apps/docs/keep.yaml apps/web/b.yaml apps/web/deep/c.yaml apps/web/deep/values.yaml"},
		{"everything but some", "# only web\n\n/*\n!/apps/web\n", "", "", "apps/web/b.yaml apps/web/deep/c.yaml apps/web/deep/values.yaml"},
		{"a file is taken back from its folder", "docs/\n!keep.yaml\n", "", "", "apps/a.yaml apps/docs/keep.yaml apps/web/b.yaml apps/web/deep/c.yaml apps/web/deep/values.yaml"},
		{"stars", "apps/**/c.yaml\napps/*/b.yaml\n**/x.yaml\napps/docs/**\n", "", "", "apps/a.yaml apps/web/deep/values.yaml"},
		{"patterns of a folder count below it", "", "/b.yaml\n/deep/c.yaml\n", "", "apps/a.yaml apps/docs/x.yaml apps/docs/keep.yaml apps/web/deep/values.yaml"},
		{"the source's own come last", "*.yaml\n", "", "!/apps/a.yaml\n", "apps/a.yaml"},
		{"what is no pattern matches nothing", "[\n[a-\n", "", "", strings.Join(names, " ")},
	} {
		tree := fstest.MapFS{}
		for file, text := range map[string]string{".sourceignore": tt.root, "apps/web/.sourceignore": tt.sub} {
			if text != "" {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		all := slices.Clone(names)
		if tt.sub != "" {
			all = append(all, "apps/web/.sourceignore")
		}
		got := slices.DeleteFunc(kept(source.NewTree("x", tree), "apps", all, tt.own), func(n string) bool { return strings.HasSuffix(n, ignoreFile) })
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
