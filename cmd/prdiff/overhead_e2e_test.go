//go:build e2e

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestE2EOverhead tells what the action adds to prdiff's own time on a runner that
// has the binary in its tool cache: medians of five, of each step as the runner
// starts it. It fails by no time, as no machine is like another:
//
//	.ci/e2e overhead
func TestE2EOverhead(t *testing.T) {
	w := &world{tools: os.Getenv("PRDIFF_E2E_TOOLS"), dir: t.TempDir()}
	w.binary = buildByAction(t, w.dir)
	w.installAction(t)
	w.fillToolCache(t)

	origin := filepath.Join(w.dir, "origin")
	p := &e2ePull{world: w, t: t, fixture: origin}
	command(t, w.dir, "git", "init", "-q", "-b", "main", origin)
	command(t, origin, "git", "config", "uploadpack.allowAnySHA1InWant", "true")
	p.commit(e2eFiles(""))
	p.base = command(t, origin, "git", "rev-parse", "HEAD")
	p.push(e2eFiles("zone: a"))
	command(t, origin, "git", "branch", "merged")
	h := newHub(t)
	checkouts := 0
	checkout := func(depth int) string {
		checkouts++
		dir := filepath.Join(w.dir, fmt.Sprint("checkout", checkouts))
		command(t, w.dir, "git", "clone", "-q", fmt.Sprint("--depth=", depth), "--branch", "merged", "file://"+origin, dir)
		return dir
	}
	event := filepath.Join(w.dir, "event.json")
	writeFile(t, event, strings.ReplaceAll(pullEvent, pullHead, p.headSHA))
	step := func(dir, script string, vars ...string) time.Duration {
		t.Helper()
		file := filepath.Join(w.dir, "step.sh")
		writeFile(t, file, script)
		// The file that the runner writes, and how it calls it.
		cmd := exec.Command("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", file)
		cmd.Dir = dir
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "CI=true", "GITHUB_ACTIONS=true", "GITHUB_EVENT_NAME=pull_request", "GITHUB_EVENT_PATH=" + event,
			"GITHUB_REPOSITORY=dev/infra", "GITHUB_API_URL=" + h.URL, "GITHUB_RUN_ID=" + fmt.Sprint(time.Now().UnixNano()), "GITHUB_STEP_SUMMARY=" + filepath.Join(w.dir, "summary"),
			"GITHUB_OUTPUT=" + filepath.Join(w.dir, "output"), "RUNNER_TEMP=" + w.dir, "RUNNER_TOOL_CACHE=" + filepath.Join(w.dir, "act/tool_cache"), "RUNNER_OS=Linux", "RUNNER_ARCH=X64",
			"PRDIFF_ACTION_PATH=" + w.action, "PRDIFF_BINARY=" + w.binary, "PRDIFF_INPUT_FAIL_ON=never", "PRDIFF_INPUT_COMMENT=never", "PRDIFF_INPUT_CACHE=off"}, vars...)
		_ = os.Remove(filepath.Join(w.dir, "summary"))
		start := time.Now()
		out, err := cmd.CombinedOutput()
		took := time.Since(start)
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		if want := map[bool]string{true: "from the tool cache", false: "service-without-endpoints"}[strings.HasSuffix(script, " get")]; !strings.Contains(string(out), want) {
			t.Fatalf("%s does not say %q:\n%s", script, want, out)
		}
		return took
	}
	const action = `sh "$PRDIFF_ACTION_PATH/.github/action/prdiff.sh" `
	summary := []string{"PRDIFF_INPUT_SUMMARY=true", "PRDIFF_INPUT_ANNOTATIONS=true"}
	comment := append(slices.Clone(summary), "PRDIFF_INPUT_COMMENT=always", "PRDIFF_TOKEN=x")
	var own, get, run, published, fetched []time.Duration
	for range 5 {
		dir := checkout(2)
		own = append(own, step(dir, `"$PRDIFF_BINARY" diff --base HEAD^ --fail-on never`))
		get = append(get, step(dir, action+"get"))
		run = append(run, step(dir, action+"run", summary...))
		published = append(published, step(dir, action+"run", comment...))
		fetched = append(fetched, step(checkout(1), action+"run", comment...))
	}
	median := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)/2].Round(time.Millisecond)
	}
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("load of the machine: %s", load)
	t.Logf("prdiff's own time:                             %v", median(own))
	t.Logf("first step, find and check the binary:         %v", median(get))
	t.Logf("second step, the shell and five formats more:  %v", median(run)-median(own))
	t.Logf("the comment, without a network's time:         %v", median(published)-median(run))
	t.Logf("what the action adds with fetch-depth 2:       %v", median(get)+median(published)-median(own))
	t.Logf("the missing commit with fetch-depth 1:         %v", median(fetched)-median(published))
}
