package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		os.Exit(Serve(os.Stdin, os.Stdout, func(_ *source.Tree, settings []byte) (func(string) render.Renderer, error) {
			if string(settings) == "bad" {
				return nil, errors.New("these settings are no good")
			}
			list := engines()
			return func(name string) render.Renderer {
				for _, r := range list {
					if r.Name() == name {
						return r
					}
				}
				if f, ok := deeds[name]; ok {
					return deed{name, f}
				}
				return nil
			}, nil
		}))
	}
	os.Exit(m.Run())
}

// A deed is a renderer that does what a test wants done in a child.
type deed struct {
	name string
	do   func(t *source.Tree, path string) (*render.Output, error)
}

func (d deed) Name() string                                            { return d.name }
func (d deed) Find(*source.Tree) (render.Found, error)                 { return render.Found{}, nil }
func (d deed) Inputs(*source.Tree, render.Unit) (render.Inputs, error) { return render.Inputs{}, nil }
func (d deed) Render(_ context.Context, t *source.Tree, u render.Unit) (*render.Output, error) {
	return d.do(t, u.Path)
}

var (
	sink  [][]byte
	known object.Documents // of "keep"
)

// deeds are what children of the tests can be asked to do.
var deeds = map[string]func(*source.Tree, string) (*render.Output, error){
	"read": func(t *source.Tree, path string) (*render.Output, error) {
		data, err := t.ReadFile(path)
		if err != nil {
			return nil, err
		}
		objects, errs := object.Parse("unit", path, data)
		out := &render.Output{Parts: []render.Part{{Name: "unit", Objects: objects}}, Notes: []string{fmt.Sprint("process ", os.Getpid())}}
		for _, err := range errs {
			out.Problems = append(out.Problems, render.Problem{Path: path, Line: 7, Err: err})
		}
		return out, nil
	},
	// A folder with a file called large has an object that is too large to be sent.
	"keep": func(t *source.Tree, path string) (*render.Output, error) {
		data, err := t.ReadFile(path + "/a.yaml")
		if err != nil {
			return nil, err
		}
		objects, _ := known.Parse("unit", path, data)
		if t.Exists(path + "/large") {
			huge, err := object.New("unit", object.Origin{Path: path}, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "huge"}, "data": map[string]any{"k": strings.Repeat("x", maxFrame+1)}})
			if err != nil {
				return nil, err
			}
			objects = append(objects, huge)
		}
		return &render.Output{Parts: []render.Part{{Name: "unit", Objects: objects}}, Kept: true}, nil
	},
	"skip": func(*source.Tree, string) (*render.Output, error) {
		return nil, &render.SkipError{Reason: "not vendored"}
	},
	"panic": func(*source.Tree, string) (*render.Output, error) {
		panic("token=ghp_0123456789012345678901234567890123456789")
	},
	"exit": func(*source.Tree, string) (*render.Output, error) { os.Exit(3); return nil, nil },
	"hang": func(*source.Tree, string) (*render.Output, error) { select {} },
	"spin": func(*source.Tree, string) (*render.Output, error) {
		for spinning := true; spinning; { // a loop that never lets go of its processor
			spinning = spun.Load() == 0
		}
		return nil, nil
	},
	"abyss": func(*source.Tree, string) (*render.Output, error) { return nil, fmt.Errorf("%d", abyss(1)) },
	"gobble": func(*source.Tree, string) (*render.Output, error) {
		for {
			b := make([]byte, 16<<20)
			for i := range b {
				b[i] = 1
			}
			sink = append(sink, b)
		}
	},
	"gulp": func(*source.Tree, string) (*render.Output, error) {
		sink = append(sink, make([]byte, 100<<30))
		return nil, nil
	},
	"garbage": func(*source.Tree, string) (*render.Output, error) {
		os.Stdout.WriteString("\xff\xff\xff\xff\xff\xff")
		select {}
	},
	"flood": func(*source.Tree, string) (*render.Output, error) {
		for {
			if err := writeFrame(os.Stdout, frameNote, []byte("x")); err != nil {
				return nil, err
			}
		}
	},
	"chatter": func(*source.Tree, string) (*render.Output, error) {
		for range 10_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 1000))
		}
		os.Exit(1)
		return nil, nil
	},
	"crash": func(*source.Tree, string) (*render.Output, error) {
		go func() { panic("in the background") }()
		select {}
	},
	"goroutines": func(*source.Tree, string) (*render.Output, error) {
		var group sync.WaitGroup
		for range 200 {
			group.Go(func() {
				time.Sleep(time.Millisecond)
				sink2 := make([]byte, 1<<20)
				_ = sink2
			})
		}
		group.Wait()
		runtime.GC()
		return &render.Output{}, nil
	},
	"escape": func(*source.Tree, string) (*render.Output, error) {
		var got []string
		note := func(what string, err error) {
			if err == nil {
				got = append(got, what)
			}
		}
		_, err := os.ReadFile("/etc/passwd")
		note("read /etc/passwd", err)
		_, err = os.ReadFile("/proc/self/environ")
		note("read environ", err)
		note("write", os.WriteFile(filepath.Join(os.TempDir(), "prdiff-escaped"), nil, 0o600))
		note("mkdir", os.Mkdir(filepath.Join(os.TempDir(), "prdiff-escaped-dir"), 0o700))
		_, err = os.ReadDir(".")
		note("list the folder", err)
		_, err = net.Dial("tcp", "127.0.0.1:80")
		note("dial", err)
		_, err = net.Listen("tcp", "127.0.0.1:0")
		note("listen", err)
		_, err = net.Listen("unix", "@prdiff")
		note("listen on a socket", err)
		_, err = net.LookupHost("localhost.example")
		note("look up a host", err)
		note("run a program", exec.Command("/bin/sh", "-c", "true").Run())
		if p, err := os.FindProcess(os.Getppid()); err == nil {
			note("signal the parent", p.Signal(os.Interrupt))
		}
		if n := len(os.Environ()); n > environSize {
			got = append(got, fmt.Sprint(n, " environment variables: ", os.Environ()))
		}
		if len(os.Args) != 2 {
			got = append(got, "other arguments")
		}
		return &render.Output{Notes: got}, nil
	},
}

// spun stays 0: the loops of the test engines run until they are stopped.
var spun atomic.Int64

// abyss calls itself until the stack ends.
func abyss(n int) int {
	if spun.Load() != 0 {
		return n
	}
	return abyss(n+1) + 1
}

var manifests = source.NewTree("x", fstest.MapFS{
	"a.yaml":   {Data: []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n")},
	"b.yaml":   {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n[\n")},
	"big.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: " + strings.Repeat("x", 9<<20) + "\n")},
})

func pool(t testing.TB, o Options) *Pool {
	t.Helper()
	p := NewPool(o)
	t.Cleanup(p.Close)
	return p
}

func TestAUnitComesBackAsItWasRendered(t *testing.T) {
	side := pool(t, Options{}).Side(manifests, nil)
	for _, name := range []string{"a.yaml", "b.yaml", "big.yaml"} {
		out, err := side.Render(t.Context(), render.Unit{Renderer: "read", Path: name})
		if err != nil {
			t.Fatal(err)
		}
		want, _ := deeds["read"](manifests, name)
		if len(out.Parts) != 1 || out.Parts[0].Name != "unit" || len(out.Parts[0].Objects) != len(want.Parts[0].Objects) {
			t.Fatalf("%s: got %v, want %v", name, out.Parts, want.Parts)
		}
		for i, o := range want.Parts[0].Objects {
			got := out.Parts[0].Objects[i]
			if got.Ref != o.Ref || got.Origin != o.Origin || !got.Root().Equal(o.Root()) {
				t.Errorf("%s: got %v, want %v", name, got, o)
			}
		}
		if len(out.Problems) != len(want.Problems) || len(out.Problems) > 0 && out.Problems[0].Error() != want.Problems[0].Error() {
			t.Errorf("%s: got %v, want %v", name, out.Problems, want.Problems)
		}
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name, deed string
		options    Options
		want       string // a part of the error
	}{
		{"a renderer's own error", "read", Options{}, "open nothing.yaml: file does not exist"},
		{"a renderer that is not there", "unheard", Options{}, "renderer unheard is switched off"},
		{"a panic in the renderer", "panic", Options{}, "the renderer panic crashed: token=***"},
		{"a panic elsewhere", "crash", Options{}, "the renderer crashed: panic: in the background"},
		{"an exit", "exit", Options{}, "the renderer crashed: exit status 3"},
		{"waiting for ever", "hang", Options{Timeout: 300 * time.Millisecond}, "stopped after 0.3 s (--timeout)"},
		{"working for ever", "spin", Options{Timeout: 300 * time.Millisecond}, "stopped after 0.3 s (--timeout)"},
		{"recursion without an end", "abyss", Options{Memory: 3 << 30}, "recursed until its stack was larger than 256 MiB"},
		{"memory bit by bit", "gobble", Options{Memory: 256 << 20}, "needed more than 256 MiB"},
		{"memory at once", "gulp", Options{Memory: 1 << 30}, "needed more than 1 GiB"},
		{"bytes that are no frame", "garbage", Options{}, "its process was ended: a frame was cut off or too long"},
		{"frames without an end", "flood", Options{}, "its process was ended: it has more than 100000 parts, problems and notes"},
		{"talking on stderr", "chatter", Options{}, "the renderer crashed: xxx"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Jobs = 1
			p := pool(t, tt.options)
			side := p.Side(manifests, nil)
			start := time.Now()
			_, err := side.Render(t.Context(), render.Unit{Renderer: tt.deed, Path: "nothing.yaml"})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("after %s: got %v, want %q", time.Since(start), err, tt.want)
			}
			if strings.Contains(err.Error(), "ghp_") || len(err.Error()) > 1000 {
				t.Errorf("the error says too much: %v", err)
			}
			// The next unit is rendered as if nothing had been.
			if _, err := side.Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"}); err != nil {
				t.Errorf("the next unit: %v", err)
			}
		})
	}
}

func TestSkipsAndBadSettings(t *testing.T) {
	p := pool(t, Options{Jobs: 1})
	_, err := p.Side(manifests, nil).Render(t.Context(), render.Unit{Renderer: "skip", Path: "a"})
	var skip *render.SkipError
	if !errors.As(err, &skip) || skip.Reason != "not vendored" {
		t.Errorf("got %v, want a SkipError", err)
	}
	bad := p.Side(manifests, []byte("bad"))
	for range 2 {
		if _, err := bad.Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"}); err == nil || err.Error() != "these settings are no good" {
			t.Errorf("got %v", err)
		}
	}
}

func TestTheEndOfTheContextEndsAUnit(t *testing.T) {
	p := pool(t, Options{Jobs: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
	if _, err := p.Side(manifests, nil).Render(ctx, render.Unit{Renderer: "spin", Path: "a"}); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
	if _, err := p.Side(manifests, nil).Render(ctx, render.Unit{Renderer: "read", Path: "a.yaml"}); !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}

func TestAChildIsKeptForManyUnitsAndSides(t *testing.T) {
	p := pool(t, Options{Jobs: 1})
	sides := []*Side{p.Side(manifests, nil), p.Side(manifests, nil)}
	seen := map[string]bool{}
	for i := range 6 {
		out, err := sides[i%2].Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		seen[out.Notes[0]] = true
	}
	if len(seen) != 1 {
		t.Errorf("%d processes, want 1", len(seen))
	}
	p.Rest()
	if len(p.idle) != 0 || p.children != 0 {
		t.Errorf("%d children rest, of which %d are idle, want none", p.children, len(p.idle))
	}
	out, err := sides[0].Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"})
	if err != nil || seen[out.Notes[0]] {
		t.Errorf("after a rest: %v, %v, want another process than %v", out, err, seen)
	}
}

func TestAChildIsStartedAhead(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := pool(t, Options{Jobs: 2})
	p.Warm(1)
	side := p.Side(manifests, nil)
	if _, err := side.Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"}); err != nil {
		t.Fatal(err)
	}
	if p.children != 1 || len(p.idle) != 1 {
		t.Errorf("%d children of which %d idle, want the one that was started ahead", p.children, len(p.idle))
	}
	p = NewPool(Options{Jobs: 2})
	p.Warm(1)
	p.Close()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 || p.children != 0 {
		t.Errorf("left behind: %v, %v, %d children", left, err, p.children)
	}
	p = pool(t, Options{Jobs: 1, Command: []string{filepath.Join(tmp, "none"), Argument}})
	p.Warm(1)
	if _, err := p.Side(manifests, nil).Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"}); err == nil || !strings.Contains(err.Error(), "starting a process") {
		t.Errorf("got %v, want why no process can be started", err)
	}
}

func TestSecretsOfAllChildrenCanBeCompared(t *testing.T) {
	local, _ := deeds["read"](manifests, "a.yaml")
	for range 2 {
		out, err := pool(t, Options{Jobs: 1}).Side(manifests, nil).Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"})
		if err != nil {
			t.Fatal(err)
		}
		if o := out.Parts[0].Objects[0]; !o.Masks() || !o.Root().Equal(local.Parts[0].Objects[0].Root()) {
			t.Errorf("the secret of a child is another one: %v", o.Root())
		}
	}
}

func TestManyUnitsAtOnce(t *testing.T) {
	p := pool(t, Options{Jobs: 3, Timeout: 20 * time.Second})
	sides := []*Side{p.Side(manifests, nil), p.Side(manifests, nil)}
	var group sync.WaitGroup
	for i := range 60 {
		group.Go(func() {
			name := []string{"read", "exit", "goroutines", "skip"}[i%4]
			_, err := sides[i%2].Render(t.Context(), render.Unit{Renderer: name, Path: "a.yaml"})
			if (err == nil) != (i%2 == 0) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	group.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.children > 3 || p.children != len(p.idle) {
		t.Errorf("%d children of which %d idle, want 3 at most and all idle", p.children, len(p.idle))
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	p := NewPool(Options{Jobs: 2})
	side := p.Side(manifests, nil)
	var pid string
	for _, name := range []string{"exit", "read", "panic"} {
		if out, err := side.Render(t.Context(), render.Unit{Renderer: name, Path: "a.yaml"}); err == nil {
			pid = strings.TrimPrefix(out.Notes[0], "process ")
		}
	}
	p.Close()
	if _, err := side.Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"}); err == nil {
		t.Error("a closed pool renders")
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s is still there", pid)
		}
	}
}

func TestProgramsThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		command []string
		want    string
	}{
		{[]string{"/nowhere/prdiff", Argument}, "starting a process to render in"},
		{[]string{os.Args[0], "-test.run=^$"}, "starting a process to render in"},
	} {
		if _, err := pool(t, Options{Command: tt.command}).Side(manifests, nil).Render(t.Context(), render.Unit{Renderer: "read"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.command, err)
		}
	}
}

func BenchmarkRender(b *testing.B) {
	side := pool(b, Options{Jobs: 1}).Side(manifests, nil)
	for b.Loop() {
		if _, err := side.Render(b.Context(), render.Unit{Renderer: "read", Path: "a.yaml"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		c, err := start(Options{}.withDefaults())
		if err != nil {
			b.Fatal(err)
		}
		c.end()
	}
}

// What both sides have in common comes once and is shared; what one side could not
// send is not referred to by the other.
func TestBothSidesShareWhatIsKept(t *testing.T) {
	manifests := "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n"
	tree := func(rev string, large bool) *source.Tree {
		files := fstest.MapFS{"u/a.yaml": {Data: []byte(manifests)}, "v/a.yaml": {Data: []byte(manifests)}}
		if large {
			files["u/large"] = &fstest.MapFile{}
		}
		return source.NewTree(rev, files)
	}
	p := NewPool(Options{Jobs: 1})
	defer p.Close()
	broken, base, head := p.Side(tree("broken", true), nil), p.Side(tree("base", false), nil), p.Side(tree("head", false), nil)
	objects := func(s *Side, path string) []*object.Object {
		t.Helper()
		out, err := s.Render(context.Background(), render.Unit{Renderer: "keep", Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Parts) != 1 || len(out.Parts[0].Objects) != 2 {
			t.Fatalf("parts %v", out.Parts)
		}
		return out.Parts[0].Objects
	}
	if _, err := broken.Render(context.Background(), render.Unit{Renderer: "keep", Path: "u"}); err == nil || !strings.Contains(err.Error(), "bytes are more than") {
		t.Fatalf("an object that is too large: %v", err)
	}
	before, after := objects(base, "u"), objects(head, "u")
	for i := range before {
		if !before[i].Shares(after[i]) {
			t.Errorf("%s does not share its content with the other side's", after[i].Ref)
		}
	}
	if other := objects(head, "v"); other[0].Shares(after[0]) {
		t.Error("what was kept of one unit is shared with another")
	}
}

func TestAChildThatIsNotReadyLeavesNoFolderWhenTheRunIsKilled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder in use cannot be removed there")
	}
	temp, told := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	t.Setenv("TMPDIR", temp)
	failed := make(chan error)
	go func() {
		_, err := start(Options{Command: []string{"/bin/sh", "-c", "echo $$ > '" + told + ".new' && /bin/mv '" + told + ".new' '" + told + "' && exec /bin/sleep 25"}}.withDefaults())
		failed <- err
	}()
	waitFor := func(what string, done func() bool) {
		t.Helper()
		for range 1000 {
			if done() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal(what)
	}
	var pid int
	waitFor("the child does not start", func() bool {
		data, err := os.ReadFile(told)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return err == nil
	})
	waitFor("its folder stays while it gets ready", func() bool {
		left, err := os.ReadDir(temp)
		return err == nil && len(left) == 0
	})
	if child, err := os.FindProcess(pid); err != nil || child.Kill() != nil {
		t.Fatalf("cannot end process %d: %v", pid, err)
	}
	if err := <-failed; err == nil {
		t.Error("a child that never got ready started")
	}
}
