package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseHeader(t *testing.T) {
	id := strings.Repeat("a1", 20)
	for _, test := range []struct {
		line string
		want objectHeader
		err  string
	}{
		{id + " blob 12\n", objectHeader{id, "blob", 12}, ""},
		{id + " missing\n", objectHeader{}, "missing"},
		{id + " blob -1\n", objectHeader{}, "unexpected"},
		{id + " blob x\n", objectHeader{}, "unexpected"},
		{id + " blob\n", objectHeader{}, "unexpected"},
		{"HEAD ambiguous\n", objectHeader{}, "unexpected"},
		{"\n", objectHeader{}, "unexpected"},
		{id[1:] + " blob 1\n", objectHeader{}, "unexpected"},
	} {
		got, err := parseHeader(test.line)
		if test.err != "" {
			wantError(t, err, test.err, nil)
		} else if err != nil || got != test.want {
			t.Errorf("parseHeader(%q) = %v, %v, want %v", test.line, got, err, test.want)
		}
	}
}

func FuzzParseTree(f *testing.F) {
	id := strings.Repeat("b", 40)
	f.Add("100644 blob " + id + "\ta\x00120000 blob " + id + "\ta-b\x00160000 commit " + id + "\tb/c\x00100755 blob " + id + "\tb/d/e\x00")
	f.Add("100644 blob " + id + "\ta/b\x00100644 blob " + id + "\ta\x00")
	f.Add("100644 blob \ta\x00")
	f.Fuzz(func(t *testing.T, out string) {
		list, err := parseTree(out)
		if err != nil {
			return
		}
		checkListing(t, list)
	})
}

// checkListing wants all ways to look at a listing to agree.
func checkListing(t *testing.T, list listing) {
	t.Helper()
	seen := 0
	for dirs := []string{"."}; len(dirs) > 0; {
		dir := dirs[0]
		dirs = dirs[1:]
		in, err := list.readDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range in {
			if i > 0 && in[i-1].name >= n.name {
				t.Fatalf("readDir(%q): %q before %q", dir, in[i-1].name, n.name)
			}
			if got, err := list.lstat(n.name); err != nil || got != n {
				t.Fatalf("lstat(%q) = %v, %v, readDir says %v", n.name, got, err, n)
			}
			if n.mode.IsDir() {
				dirs = append(dirs, n.name)
			} else {
				seen++
			}
		}
	}
	if seen > len(list) {
		t.Fatalf("walked to %d of %d files", seen, len(list))
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add("H 100644 " + strings.Repeat("b", 40) + " 0\ta\x00s 120000 " + strings.Repeat("c", 64) + " 2\ta b\x00")
	f.Fuzz(func(t *testing.T, out string) {
		entries, err := parseIndex(out)
		if err == nil && len(entries) != strings.Count(out, "\x00") {
			t.Errorf("%d entries of %q", len(entries), out)
		}
	})
}

func FuzzParseConfig(f *testing.F) {
	f.Add("local\x00core.bare\nfalse\x00global\x00a.b\x00")
	f.Fuzz(func(t *testing.T, out string) {
		c, err := parseConfig(out)
		if err != nil {
			return
		}
		overrides, err := c.overrides()
		if err != nil {
			return
		}
		for _, o := range overrides {
			if !strings.Contains(o, "=") {
				t.Errorf("%q sets nothing", o)
			}
		}
	})
}

func FuzzParsePointer(f *testing.F) {
	f.Add([]byte(lfsText))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, ok := parsePointer(data); ok && (len(p.oid) != 64 || p.size < 0) {
			t.Errorf("%+v", p)
		}
	})
}

func TestListing(t *testing.T) {
	var nodes []node
	for _, name := range []string{"a/b", "a.yaml", "a-b", "a0", "b/c/d", "b/c-d", "b/c", "z"} {
		nodes = append(nodes, node{name: name, mode: 0o644, id: fmt.Sprint(len(nodes)), size: -1})
	}
	list := newListing(slices.DeleteFunc(nodes, func(n node) bool { return n.name == "b/c" }))
	checkListing(t, list)
	for dir, want := range map[string]string{
		".": "a a-b a.yaml a0 b z", "a": "a/b", "b": "b/c b/c-d", "b/c": "b/c/d", "z": "", "none": "",
	} {
		in, err := list.readDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, n := range in {
			got = append(got, n.name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("readDir(%q) = %q, want %q", dir, got, want)
		}
	}
}
