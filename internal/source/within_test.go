package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// walled makes a folder with something in it and something beside it.
func walled(t *testing.T) *os.Root {
	t.Helper()
	top := t.TempDir()
	for name, text := range map[string]string{
		"outside/secret.yaml": "a: 1", "root/before/a.yaml": "a: 1", "root/after/a.yaml": "a: 2", "root/after/b.yaml": "b: 1",
		"root/before/.git/config": "x", "root/.git/config": "x",
	} {
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"root/out": "../outside", "root/absolute": filepath.Join(top, "outside"), "root/before/out.yaml": "../../outside/secret.yaml",
		"root/file.yaml": "../outside/secret.yaml", "root/in": "before",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(top, "root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func TestWithin(t *testing.T) {
	root := walled(t)
	for _, tt := range []struct {
		name, before, after string
		want                []string // what changed
	}{
		{"two folders", "before", "after", []string{"a.yaml", "b.yaml", "out.yaml"}},
		{"a link that stays inside", "in", "before", nil},
		{"two files, as one that changes", "before/a.yaml", "after/b.yaml", []string{"b.yaml"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Within(root, tt.before, tt.after, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got, err := s.Changed(t.Context())
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Changed() = %v, %v; want %v", got, err, tt.want)
			}
			base, err := s.Base(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := base.ReadFile("out.yaml"); err == nil {
				t.Error("a link to the outside was followed")
			}
			if base.Exists(".git/config") {
				t.Error(".git can be read")
			}
		})
	}
}

func TestWithinStaysInside(t *testing.T) {
	root := walled(t)
	for _, name := range []string{
		"../outside", "/etc", "before/../../outside", "before/..", "", "out", "absolute", "file.yaml", "out/secret.yaml",
		".git", ".GIT/config", "before/.git", "missing", "before/a.yaml/x", "a\x00b", `..\outside`, "./before", "before/",
	} {
		for _, sides := range [][2]string{{name, "after"}, {"after", name}, {name, "after/a.yaml"}, {"after/a.yaml", name}} {
			s, err := Within(root, sides[0], sides[1], Options{})
			if err == nil {
				_ = s.Close()
				t.Errorf("Within(%q, %q) opened something", sides[0], sides[1])
			} else if strings.Contains(err.Error(), filepath.Dir(root.Name())) {
				t.Errorf("the error of %q tells where the folder is: %v", name, err)
			}
		}
	}
	if _, err := Within(root, "missing", "after", Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error of a missing folder is %v", err)
	}
	if _, err := Within(root, "before", "after/a.yaml", Options{}); err == nil || !strings.Contains(err.Error(), "name two folders or two files") {
		t.Errorf("the error of a folder and a file is %v", err)
	}
	var large *TooLargeError
	if _, err := Within(root, "before/a.yaml", "after/a.yaml", Options{MaxFileSize: 2}); !errors.As(err, &large) {
		t.Errorf("the error of a large file is %v", err)
	}
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		name          string
		before, after []byte
		want          []string
	}{
		{"a change", []byte("a"), []byte("b"), []string{"m.yaml"}},
		{"no change", []byte("a"), []byte("a"), nil},
		{"a new file", nil, []byte("a"), []string{"m.yaml"}},
		{"an empty file that is there", nil, []byte{}, []string{"m.yaml"}},
		{"nothing at all", nil, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Texts("m.yaml", tt.before, tt.after).Changed(t.Context())
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Changed() = %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}
