package source

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// answerOf gives both parts of an answer.
func answerOf(t *Tree, question []byte, limit int) []byte {
	answer, content := t.Answer(question, limit)
	return append(answer, content...)
}

// remote gives a tree that reads all through the questions of NewRemote.
func remote(t *Tree) *Tree {
	return NewRemote(t.Rev, t.Noun(), func(q []byte) ([]byte, error) { return answerOf(t, q, 1<<20), nil })
}

func TestARemoteTreeReadsTheSame(t *testing.T) {
	r := newRepo(t)
	r.write("a/deploy.yaml", "a: 1\n")
	r.write("a/b/x.yaml", "x: 1\n")
	r.write("z", "")
	r.write(".gitignore", "ignored.yaml\n")
	r.link("a/b", "to-b")
	r.commit("one")
	r.write("ignored.yaml", "i: 1\n")
	for _, rev := range []string{"HEAD", ""} {
		local := r.tree(rev)
		far := remote(local)
		want, err := local.Files(".")
		if err != nil {
			t.Fatal(err)
		}
		got, err := far.Files(".")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Files = %q, %v, want %q", got, err, want)
		}
		if got, err := far.Files("to-b"); err != nil || !slices.Equal(got, []string{"to-b/x.yaml"}) {
			t.Errorf("Files(to-b) = %q, %v", got, err)
		}
		for _, name := range append(want, "nothing", "a/nothing", "z/below", "ignored.yaml", "a", "to-b/x.yaml", "../x", "") {
			same(t, name, func(tr *Tree) (any, error) { data, err := tr.ReadFile(name); return string(data), err }, local, far)
			same(t, name, func(tr *Tree) (any, error) { id, err := tr.ID(name); return id, err }, local, far)
			same(t, name, func(tr *Tree) (any, error) { return tr.ReadLink(name) }, local, far)
			same(t, name, func(tr *Tree) (any, error) {
				info, err := tr.Stat(name)
				if err != nil {
					return nil, err
				}
				return []any{info.Name(), info.Size(), info.Mode()}, nil
			}, local, far)
		}
		if err := fstest.TestFS(far, "a/deploy.yaml"); err != nil {
			t.Error(err)
		}
	}
}

func same(t *testing.T, name string, read func(*Tree) (any, error), local, far *Tree) {
	t.Helper()
	want, wantErr := read(local)
	got, err := read(far)
	if slices.Compare([]string{text(got), text(err)}, []string{text(want), text(wantErr)}) != 0 || errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist) {
		t.Errorf("%s: %v, %v, want %v, %v", name, got, err, want, wantErr)
	}
}

func text(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, text(x))
		}
		return strings.Join(parts, " ")
	case int64:
		return strings.Repeat("i", int(v))
	case fs.FileMode:
		return v.String()
	}
	return ""
}

func TestAnswersGiveNothingAway(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/outside", []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir+"/tree/sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", dir+"/tree/out"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", dir+"/tree/up"); err != nil {
		t.Fatal(err)
	}
	tree, err := openFolder(dir+"/tree", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	for _, q := range []string{
		"", "r", "r../outside", "r/etc/passwd", "rsub/../../outside", "rout", "rup/outside", "r\x00", "lup/x", "d..", "d/", "dup", "iout/x",
		"f..", "fup", "s../outside", "m../outside", "xsub", "d", "r.", "rsub",
	} {
		if a := answerOf(tree, []byte(q), 1<<20); len(a) == 0 || a[0] == 0 || strings.Contains(string(a), "secret") {
			t.Errorf("question %q is answered: %q", q, a)
		}
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	tree := NewTree("x", fstest.MapFS{"a": {Data: make([]byte, 5000)}})
	if a := answerOf(tree, []byte("ra"), 4000); a[0] != 1 || !strings.Contains(string(a), "4000 bytes") {
		t.Errorf("got %q, want an error", a)
	}
	if a := answerOf(tree, []byte("ra"), 6000); a[0] != 0 || len(a) != 5001 {
		t.Errorf("got %d bytes, want 5001", len(a))
	}
}

func FuzzAnswer(f *testing.F) {
	tree := NewTree("x", fstest.MapFS{"a/b": {Data: []byte("x")}})
	for _, q := range []string{"ra/b", "da", "m", "u", "f.", "la", "sa/b", "ia/b"} {
		f.Add([]byte(q), []byte{})
	}
	f.Fuzz(func(t *testing.T, question, answer []byte) {
		answerOf(tree, question, 100)
		lying := NewRemote("x", "folder", func([]byte) ([]byte, error) { return answer, nil })
		_, _ = lying.ReadFile("a/b")
		_, _ = lying.Files(".")
		_, _ = lying.ReadDir("a")
		lying.Submodules()
	})
}
