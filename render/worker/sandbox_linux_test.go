package worker

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/prdiff/prdiff/render"
)

func TestAChildReachesNothing(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_notforchildren")
	out, err := pool(t, Options{Jobs: 1}).Side(manifests, nil).Render(t.Context(), render.Unit{Renderer: "escape"})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Notes) > 0 {
		t.Errorf("a child can: %s", strings.Join(out.Notes, "; "))
	}
}

func TestProbeTellsWhatHolds(t *testing.T) {
	list, err := Probe(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 6 {
		t.Fatalf("only %v", list)
	}
	for _, g := range list {
		if !g.Held {
			t.Errorf("%s: %s", g.What, g.By)
		}
		t.Log(g)
	}
}

// A child must have nothing of the run's environment, not even where the kernel
// keeps what it was started with, and no file but its three pipes.
func TestTheKernelShowsNoTokenAndNoOpenFile(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", "ghp_notforchildren")
	secret, err := os.Create(t.TempDir() + "/open")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	// A file that this process itself was started with looks like this.
	if _, err := unix.FcntlInt(secret.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	p := pool(t, Options{Jobs: 1})
	out, err := p.Side(manifests, nil).Render(t.Context(), render.Unit{Renderer: "read", Path: "a.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimPrefix(out.Notes[0], "process ")
	for _, name := range []string{"environ", "cmdline"} {
		data, err := os.ReadFile("/proc/" + pid + "/" + name)
		if err != nil {
			if os.Getuid() == 0 {
				t.Error(err)
			}
			continue // of an undumpable process, for root only
		}
		if bytes.Contains(data, []byte("ghp_")) || name == "environ" && len(data) > 0 {
			t.Errorf("%s: %q", name, data)
		}
	}
	fds, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		return // as above
	}
	for _, fd := range fds {
		target, err := os.Readlink("/proc/" + pid + "/fd/" + fd.Name())
		if err == nil && !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/sys/fs/cgroup/") {
			t.Errorf("file %s is open: %s", fd.Name(), target)
		}
	}
}

func TestALimitOfProcessorTime(t *testing.T) {
	c, err := start(Options{Timeout: time.Millisecond}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	p := pool(t, Options{})
	// The run's own clock is stopped here; the child's ends it after 5 s.
	_, err = c.render(t.Context(), p.Side(manifests, nil), render.Unit{Renderer: "spin"}, 0)
	if want := "used more processor time than one unit is given"; fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
