package main

import (
	"errors"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// withEnv is an environment of these variables and nothing else.
func withEnv(vars map[string]string) env {
	return env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, getenv: func(name string) string { return vars[name] }, dir: ".", now: time.Now}
}

func TestBrowser(t *testing.T) {
	installed := func(names ...string) func(string) (string, error) {
		return func(name string) (string, error) {
			if slices.Contains(names, name) {
				return "/bin/" + filepath.Base(name), nil
			}
			return "", errors.New("not found")
		}
	}
	for _, tt := range []struct {
		name   string
		env    map[string]string
		system string
		look   func(string) (string, error)
		want   string // the command, or why there is none
	}{
		{"a desktop", map[string]string{"DISPLAY": ":0"}, "linux", installed("xdg-open"), "/bin/xdg-open"},
		{"a desktop of Wayland", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "freebsd", installed("xdg-open"), "/bin/xdg-open"},
		{"a desktop without the command", map[string]string{"DISPLAY": ":0"}, "linux", installed(), "xdg-open is not installed"},
		{"a server", nil, "linux", installed("xdg-open"), "there is no display"},
		{"a server that an editor is connected to", map[string]string{"BROWSER": "/opt/editor/helper.sh"}, "linux", installed("/opt/editor/helper.sh"), "/bin/helper.sh"},
		{"a BROWSER that is more than a program", map[string]string{"BROWSER": "sh -c 'touch /tmp/x' %s"}, "linux", installed("sh"), "there is no display"},
		{"macOS", nil, "darwin", installed("open"), "/bin/open"},
		{"Windows", nil, "windows", installed("rundll32"), "/bin/rundll32 url.dll,FileProtocolHandler"},
		{"CI", map[string]string{"CI": "true", "DISPLAY": ":0"}, "linux", installed("xdg-open"), "this is CI"},
		{"GitHub Actions", map[string]string{"GITHUB_ACTIONS": "true", "DISPLAY": ":0"}, "linux", installed("xdg-open"), "this is CI"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			command, why := withEnv(tt.env).browser(tt.system, tt.look)
			if got := strings.Join(append(command, strings.Fields(why)...), " "); got != tt.want {
				t.Errorf("browser() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPagerIsOnlyTheOneAskedFor(t *testing.T) {
	for _, vars := range []map[string]string{nil, {"PAGER": "less"}, {"PRDIFF_PAGER": "less", "TERM": "xterm"}} {
		if got := withEnv(vars).pager(); got != nil {
			t.Errorf("with %v and no terminal, the pager is %q", vars, got)
		}
	}
}

func TestVersionOf(t *testing.T) {
	info := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	dirty := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for _, tt := range []struct {
		name, release string
		info          *debug.BuildInfo
		want          string
	}{
		{"a release", "1.2.3", info("(devel)", commit), "1.2.3"},
		{"go install", "", info("v1.2.3"), "v1.2.3"},
		{"a build of a commit", "", info("v0.0.0-20260102030405-0123456789ab", commit), "v0.0.0-20260102030405-0123456789ab"},
		{"a build that knows nothing but its commit", "", info("(devel)", commit), "development-0123456789ab"},
		{"and with changes", "", info("", commit, dirty), "development-0123456789ab+dirty"},
		{"go run", "", info("(devel)"), "development"},
		{"no information", "", nil, "unknown"},
	} {
		if got := versionOf(tt.release, tt.info); got != tt.want {
			t.Errorf("%s: versionOf() = %q, want %q", tt.name, got, tt.want)
		}
	}
}
