package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A shelf is a made-up release on a made-up runner.
type shelf struct {
	t      *testing.T
	dir    string
	server *httptest.Server
	asked  int
}

// newShelf makes the archives of a release whose binary prints its own name, and
// an action that is pinned to them.
func newShelf(t *testing.T) *shelf {
	s := &shelf{t: t, dir: t.TempDir()}
	dist := filepath.Join(s.dir, "dist")
	for _, p := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"} {
		exe := "prdiff"
		if strings.HasPrefix(p, "windows") {
			exe += ".exe"
		}
		s.write("dist/"+exe, "#!/bin/sh\necho this is "+p+"\n")
		s.sh("tar -czf prdiff_1.2.3_"+p+".tar.gz "+exe, dist)
	}
	s.sh("sha256sum *.tar.gz > checksums.txt", dist)
	s.sh("mkdir -p action/.github && cp -R "+s.repository(".github/action")+" action/.github/", s.dir)
	s.sh("action/.github/action/pin.sh v1.2.3 dist > action/.github/action/release.txt", s.dir)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked++
		if r.Header.Get("Authorization") != "" {
			t.Errorf("a token was sent to the download's host")
		}
		http.StripPrefix("/v1.2.3/", http.FileServer(http.Dir(dist))).ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *shelf) repository(name string) string {
	abs, err := filepath.Abs(filepath.Join("..", "..", name))
	if err != nil {
		s.t.Fatal(err)
	}
	return abs
}

func (s *shelf) write(name, text string) {
	s.t.Helper()
	p := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) sh(command, dir string) {
	s.t.Helper()
	cmd := exec.Command("sh", "-euc", command)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// get runs the first step of the action. It gives the log, the outputs, and
// whether the step succeeded.
func (s *shelf) get(vars ...string) (log string, outputs map[string]string, ok bool) {
	s.t.Helper()
	output := filepath.Join(s.dir, "output")
	if err := os.WriteFile(output, nil, 0o644); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("sh", filepath.Join(s.dir, "action/.github/action/prdiff.sh"), "get")
	cmd.Dir = s.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "GITHUB_OUTPUT=" + output, "RUNNER_TEMP=" + s.dir, "RUNNER_TOOL_CACHE=" + filepath.Join(s.dir, "tools"),
		"RUNNER_OS=Linux", "RUNNER_ARCH=X64", "PRDIFF_ACTION_PATH=" + filepath.Join(s.dir, "action"), "PRDIFF_DOWNLOAD_URL=" + s.server.URL, "PRDIFF_TOKEN=" + secretToken,
	}, vars...)
	out, err := cmd.CombinedOutput()
	data, readErr := os.ReadFile(output)
	if readErr != nil {
		s.t.Fatal(readErr)
	}
	outputs = map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		outputs[name] = value
	}
	if strings.Contains(string(out)+string(data), secretToken) {
		s.t.Error("the token was printed")
	}
	return string(out), outputs, err == nil
}

func TestActionGetsItsBinary(t *testing.T) {
	t.Run("the release is downloaded once, then it is in the tool cache", func(t *testing.T) {
		s := newShelf(t)
		log, out, ok := s.get()
		if !ok || out["build"] != "false" || out["binary"] != filepath.Join(s.dir, "tools/prdiff/v1.2.3/X64/prdiff") {
			t.Fatalf("outputs = %v, log %s", out, log)
		}
		if got, err := exec.Command(out["binary"]).Output(); err != nil || string(got) != "this is linux_amd64\n" {
			t.Errorf("the binary says %q, %v", got, err)
		}
		if log, out, ok = s.get(); !ok || s.asked != 1 || !strings.Contains(log, "from the tool cache") || out["build"] != "false" {
			t.Errorf("%d downloads, log %s", s.asked, log)
		}
		s.write("tools/prdiff/v1.2.3/X64/prdiff", "#!/bin/sh\necho something else\n")
		if log, _, ok = s.get(); !ok || s.asked != 2 || !strings.Contains(log, "verified") {
			t.Errorf("a changed file in the tool cache was taken: %d downloads, log %s", s.asked, log)
		}
		if left, _ := filepath.Glob(filepath.Join(s.dir, "prdiff-download.*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("every system has its own", func(t *testing.T) {
		s := newShelf(t)
		for _, c := range [][3]string{{"macOS", "ARM64", "prdiff"}, {"Windows", "X64", "prdiff.exe"}, {"Linux", "ARM64", "prdiff"}} {
			if log, out, ok := s.get("RUNNER_OS="+c[0], "RUNNER_ARCH="+c[1]); !ok || !strings.HasSuffix(out["binary"], "/v1.2.3/"+c[1]+"/"+c[2]) {
				t.Errorf("%v: outputs = %v, log %s", c, out, log)
			}
		}
	})
	t.Run("another file than the commit of the action expects is no reason to go on", func(t *testing.T) {
		s := newShelf(t)
		s.write("dist/prdiff_1.2.3_linux_amd64.tar.gz", "not the archive")
		if log, out, ok := s.get(); ok || out["binary"] != "" || out["build"] != "" || !strings.Contains(log, "has the checksum") {
			t.Errorf("outputs = %v, log %s", out, log)
		}
	})
	for _, c := range []struct{ name, say string }{
		{"a commit that belongs to no release", "belongs to no release"},
		{"a system that has no release", "no release for Linux RISCV"},
		{"a download that is not there", "could not be downloaded"},
	} {
		t.Run(c.name+" is built from source", func(t *testing.T) {
			s := newShelf(t)
			var vars []string
			switch {
			case strings.Contains(c.name, "commit"):
				if err := os.Remove(filepath.Join(s.dir, "action/.github/action/release.txt")); err != nil {
					t.Fatal(err)
				}
			case strings.Contains(c.name, "system"):
				vars = append(vars, "RUNNER_ARCH=RISCV")
			default:
				vars = append(vars, "PRDIFF_DOWNLOAD_URL="+s.server.URL+"/nowhere")
			}
			if log, out, ok := s.get(vars...); !ok || out["build"] != "true" || !strings.Contains(log, c.say) {
				t.Errorf("outputs = %v, log %s", out, log)
			}
		})
	}
	t.Run("a release that is not as it should be is not pinned", func(t *testing.T) {
		for _, breaks := range []string{"rm prdiff_1.2.3_darwin_arm64.tar.gz", ": > checksums.txt", "rm prdiff_1.2.3_darwin_arm64.tar.gz; : > checksums.txt",
			"echo x > other; tar -czf prdiff_1.2.3_darwin_arm64.tar.gz other; sha256sum *.tar.gz > checksums.txt"} {
			s := newShelf(t)
			s.sh(breaks, filepath.Join(s.dir, "dist"))
			cmd := exec.Command("sh", "action/.github/action/pin.sh", "v1.2.3", "dist")
			cmd.Dir = s.dir
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("after %q it is:\n%s", breaks, out)
			}
		}
	})
	t.Run("a binary that is given is taken, and one that is not there is an error", func(t *testing.T) {
		s := newShelf(t)
		s.write("mine/prdiff", "#!/bin/sh\n")
		if _, out, ok := s.get("PRDIFF_BINARY_PATH=" + filepath.Join(s.dir, "mine/prdiff")); !ok || out["binary"] != filepath.Join(s.dir, "mine/prdiff") {
			t.Errorf("outputs = %v", out)
		}
		if log, _, ok := s.get("PRDIFF_BINARY_PATH=/nowhere/prdiff"); ok || !strings.Contains(log, "names no file") {
			t.Errorf("log %s", log)
		}
	})
}
