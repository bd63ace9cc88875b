package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestInjectionsThroughNames runs every text through what is no field of a
// manifest: names of units and files, what each renderer says of its errors,
// messages of commits, and the branches that the event names.
func TestInjectionsThroughNames(t *testing.T) {
	for texts := range slices.Chunk(injections, 16) {
		t.Run(fmt.Sprintf("%.20q", texts), func(t *testing.T) {
			h := newHub(t)
			event, err := json.Marshal(map[string]any{"number": 7, "pull_request": map[string]any{"number": 7,
				"head": map[string]any{"sha": pullHead, "ref": texts[0], "repo": map[string]any{"id": 1, "full_name": "dev/infra"}},
				"base": map[string]any{"sha": pullHead, "ref": texts[1%len(texts)]}}})
			if err != nil {
				t.Fatal(err)
			}
			s := newStage(t, h, string(event))
			repo := filepath.Join(s.dir, "repo")
			s.git(".", "init", "-q", "-b", "main", repo)
			for n := 1; n <= 2; n++ {
				for i, text := range texts {
					s.writeNamed(filepath.Join(repo, fmt.Sprint(i)), text, n)
				}
				s.git(repo, "add", "-A")
				s.git(repo, "commit", "-q", "--cleanup=verbatim", "-m", strings.ReplaceAll(strings.Join(texts, "\n"), "\x00", ""))
			}
			run1 := func(args ...string) int {
				e := s.env()
				e.dir, e.stderr = repo, &s.stderr // run filters it itself
				s.vars["GITHUB_RUN_ID"] += "0"
				return run(context.Background(), e, append(args, "--publish=comment,summary,annotations,check,code-scanning", "--format=text", "--format=json="+filepath.Join(s.dir, "report.json"), "--format=sarif="+filepath.Join(s.dir, "report.sarif")))
			}
			if code := run1("diff", "--base", "HEAD^"); code != exitFailed {
				t.Errorf("exit code %d: the broken units are not told of", code)
			}
			if len(h.comments) != 1 || !strings.Contains(h.comments[0].Body, "CANARY") || !strings.Contains(s.file("summary"), "CANARY") {
				t.Fatalf("%d comments, and the texts are nowhere: %s", len(h.comments), s.stderr.String())
			}
			for _, renderer := range []string{"helm", "kustomize", "tanka", "plain"} {
				if !strings.Contains(s.file("report.json"), `"renderer": "`+renderer+`"`) {
					t.Errorf("no unit of %s", renderer)
				}
			}
			checkNames(t, s, h)
			// What the event names is not there: the run itself fails, and says so.
			s.vars["GITHUB_STEP_SUMMARY"] = filepath.Join(s.dir, "summary2")
			if code := run1("diff"); code != exitFailed {
				t.Errorf("exit code %d without the branch to compare with", code)
			}
			if !strings.Contains(h.comments[0].Body, "could not be looked at") {
				t.Errorf("the comment is still %.200s", h.comments[0].Body)
			}
			checkNames(t, s, h)
			checkMarkdown(t, "second summary", s.file("summary2"))
			if found, err := filepath.Glob(filepath.Join(s.dir, "*", "CANARY")); err != nil || len(found) > 0 {
				t.Errorf("a command was run: %v, %v", found, err)
			}
		})
	}
}

// checkNames looks at every place.
func checkNames(t *testing.T, s *stage, h *hub) {
	t.Helper()
	checkLog(t, "stdout", s.stdout.String())
	checkLog(t, "stderr", s.stderr.String())
	checkMarkdown(t, "comment", strings.SplitN(h.comments[0].Body, "\n", 2)[1])
	checkMarkdown(t, "summary", s.file("summary"))
	checkSARIF(t, s.file("report.sarif"))
	checkLog(t, "report.json", s.file("report.json"))
	if len(h.checks) == 0 {
		t.Error("no check run")
	}
	for _, check := range h.checks {
		output := check["output"].(map[string]any)
		checkMarkdown(t, "check run", output["summary"].(string))
		checkPlain(t, "title of the check run", output["title"].(string))
		annotations, _ := output["annotations"].([]any)
		for _, a := range annotations {
			for _, field := range a.(map[string]any) {
				if text, ok := field.(string); ok {
					checkPlain(t, "annotation of the check run", text)
				}
			}
		}
	}
}

// git runs git, which must succeed.
func (s *stage) git(dir string, args ...string) {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(s.dir, dir)
	if filepath.IsAbs(dir) {
		cmd.Dir = dir
	}
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// writeNamed writes a unit of each renderer into a folder whose name is the text,
// all but the plain one with an error in which the text is.
func (s *stage) writeNamed(dir, text string, n int) {
	s.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		s.t.Fatal(err)
	}
	name := strings.NewReplacer("/", "∕", "\x00", "").Replace(text)
	for file, content := range map[string]string{
		"plain/" + name + "/all.yaml":                  fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {n: \"%d\"}\n", n),
		"chart/" + name + "/Chart.yaml":                fmt.Sprintf("apiVersion: v2\nname: a\nversion: 0.0.%d\ndescription: %s\n", n, quoted),
		"chart/" + name + "/templates/a.yaml":          fmt.Sprintf("{{ fail %s }}\n", quoted),
		"kustomize/" + name + "/kustomization.yaml":    fmt.Sprintf("namePrefix: a%d-\nresources: [%s]\n", n, quoted),
		"tanka/jsonnetfile.json":                       "{}",
		"tanka/environments/" + name + "/spec.json":    `{"apiVersion": "tanka.dev/v1alpha1", "kind": "Environment", "metadata": {"name": "a"}, "spec": {"namespace": "a"}}`,
		"tanka/environments/" + name + "/main.jsonnet": fmt.Sprintf("local n = %d; error %s\n", n, quoted),
	} {
		p := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
}
