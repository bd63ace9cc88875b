package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistant starts prdiff mcp as an assistant does, as a process of its own, and
// talks to it with the client of the SDK.
func assistant(t *testing.T, dir, home string, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd := exec.Command("prdiff", append([]string{"mcp"}, args...)...) // put into PATH by TestMain
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME=")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("prdiff mcp ended with %v\n%s", err, stderr.String())
		}
		if stderr.Len() > 0 {
			t.Errorf("on stderr stands %q", stderr.String())
		}
	})
	return session
}

// asked calls a tool and gives its text, and whether it is an error.
func asked(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) (string, bool) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("%s: a %T", tool, res.Content[0])
	}
	return text.Text, res.IsError
}

// told is as much of an answer as these tests look at.
type told struct {
	Complete bool
	Findings []struct{ Rule, Message string }
	Changes  []struct {
		Object struct{ Kind, Name string }
		Diff   string
	}
	NotLookedAt []struct{ Name, Error string }
	Notes       []string
	Incidents   []struct{ ID, URL, Reason string }
	Rules       []struct{ ID string }
	Rule        struct{ ID, Story string }
	Problem     string
}

func answer(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) told {
	t.Helper()
	text, failed := asked(t, s, tool, args)
	if failed {
		t.Fatalf("%s: %s", tool, text)
	}
	var out told
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const serviceText = `apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`

func TestMCP(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS("demo")); err != nil {
		t.Fatal(err)
	}
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {token: TOKEN}\n"
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	for name, text := range map[string]string{
		outside: serviceText, filepath.Join(root, "before.yaml"): serviceText,
		filepath.Join(root, "after.yaml"): strings.Replace(serviceText, "selector: {app: web}, ports", "selector: {app: web, tier: a}, ports", 1),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(root, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	before := listing(t, root)
	s := assistant(t, root, home)

	t.Run("two texts", func(t *testing.T) {
		got := answer(t, s, "diff_manifests", map[string]any{"before": serviceText, "after": strings.Replace(serviceText, "selector: {app: web}, ports", "selector: {app: web, tier: a}, ports", 1)})
		if !got.Complete || len(got.Findings) == 0 || got.Findings[0].Rule != "service-without-endpoints" || len(got.Changes) != 1 || len(got.Incidents) == 0 {
			t.Errorf("diff_manifests = %+v", got)
		}
	})
	t.Run("a new text", func(t *testing.T) {
		got := answer(t, s, "diff_manifests", map[string]any{"after": serviceText})
		if !got.Complete || len(got.Changes) != 2 {
			t.Errorf("diff_manifests = %+v, want two new objects", got)
		}
	})
	t.Run("the same twice", func(t *testing.T) {
		got := answer(t, s, "diff_manifests", map[string]any{"before": serviceText, "after": serviceText})
		if !got.Complete || len(got.Findings)+len(got.Changes) != 0 {
			t.Errorf("diff_manifests = %+v, want nothing", got)
		}
	})
	t.Run("no manifests", func(t *testing.T) {
		got := answer(t, s, "diff_manifests", map[string]any{"before": "hello", "after": "world"})
		if got.Complete || len(got.Notes) != 1 {
			t.Errorf("diff_manifests = %+v, want that nothing was compared", got)
		}
	})
	t.Run("a manifest that is broken", func(t *testing.T) {
		got := answer(t, s, "diff_manifests", map[string]any{"before": serviceText, "after": serviceText + "---\napiVersion: v1\nkind: [\n"})
		if got.Complete || len(got.NotLookedAt) == 0 {
			t.Errorf("diff_manifests = %+v, want that it is broken", got)
		}
	})
	t.Run("values of Secrets are masked", func(t *testing.T) {
		text, failed := asked(t, s, "diff_manifests", map[string]any{"before": strings.Replace(secret, "TOKEN", "hunter-one", 1), "after": strings.Replace(secret, "TOKEN", "hunter-two", 1)})
		if failed || strings.Contains(text, "hunter") || !strings.Contains(text, "***") {
			t.Errorf("diff_manifests tells %s", text)
		}
	})
	t.Run("two folders, rendered", func(t *testing.T) {
		for _, dir := range []string{"grafana", filepath.Join(root, "grafana")} {
			got := answer(t, s, "diff_manifests", map[string]any{"beforePath": dir + "/before", "afterPath": dir + "/after"})
			if !got.Complete || len(got.Findings) == 0 || !strings.Contains(got.Findings[0].Message, "140 running pods") {
				t.Errorf("diff_manifests(%s) = %+v", dir, got)
			}
		}
	})
	t.Run("two files", func(t *testing.T) {
		got := answer(t, s, "diff_manifests", map[string]any{"beforePath": "./before.yaml", "afterPath": "datadog/../after.yaml"})
		if len(got.Findings) == 0 {
			t.Errorf("diff_manifests = %+v", got)
		}
	})
	t.Run("nothing outside is read", func(t *testing.T) {
		for _, p := range []string{"../" + filepath.Base(outside), outside, "/etc", "..", "link.yaml", "grafana/../../x", filepath.Join(root, "..", "x"), root + "x", "~/.ssh", ".git", "/dev/stdin", "nothing"} {
			for _, args := range []map[string]any{{"beforePath": p, "afterPath": "after.yaml"}, {"beforePath": "after.yaml", "afterPath": p}} {
				text, failed := asked(t, s, "diff_manifests", args)
				if !failed || strings.Contains(text, "shop") {
					t.Errorf("diff_manifests(%v) = %s", args, text)
				}
			}
		}
	})
	t.Run("rules", func(t *testing.T) {
		if got := answer(t, s, "explain_rule", nil); len(got.Rules) < 10 {
			t.Errorf("explain_rule lists %d rules", len(got.Rules))
		}
		got := answer(t, s, "explain_rule", map[string]any{"id": "service-selector-narrowed"})
		if got.Rule.ID != "service-selector-narrowed" || !strings.Contains(got.Rule.Story, "**Instead.**") || got.Incidents[0].ID != "grafana-loki-selector-2022" {
			t.Errorf("explain_rule = %+v", got)
		}
		if text, failed := asked(t, s, "explain_rule", map[string]any{"id": "service-selector"}); !failed || !strings.Contains(text, "did you mean") {
			t.Errorf("explain_rule(service-selector) = %s", text)
		}
	})
	t.Run("incidents", func(t *testing.T) {
		if got := answer(t, s, "search_incidents", map[string]any{"words": "coredns memory"}); len(got.Incidents) == 0 || got.Incidents[0].Reason == "" {
			t.Errorf("search_incidents = %+v", got)
		}
		if got := answer(t, s, "list_incidents", map[string]any{"org": "Grafana"}); len(got.Incidents) == 0 {
			t.Errorf("list_incidents = %+v", got)
		}
		if text, failed := asked(t, s, "get_incident", map[string]any{"id": "IL-0191"}); failed || !strings.Contains(text, "grafana-loki-selector-2022") {
			t.Errorf("get_incident = %s", text)
		}
	})
	if after := listing(t, root); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
	if got := listing(t, home); strings.Count(got, "\n") != 1 {
		t.Errorf("something was written at home:\n%s", got)
	}
}

// listing tells names, sizes and times of all below a folder.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, name, info.Mode(), info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMCPOfAnotherFolder holds --root.
func TestMCPOfAnotherFolder(t *testing.T) {
	top := t.TempDir()
	if err := os.CopyFS(filepath.Join(top, "in"), os.DirFS("demo/datadog")); err != nil {
		t.Fatal(err)
	}
	s := assistant(t, top, t.TempDir(), "--root", "in")
	if got := answer(t, s, "diff_manifests", map[string]any{"beforePath": "before", "afterPath": "after"}); len(got.Findings) == 0 {
		t.Errorf("diff_manifests = %+v", got)
	}
	if text, failed := asked(t, s, "diff_manifests", map[string]any{"beforePath": "../in/before", "afterPath": "after"}); !failed {
		t.Errorf("a path outside of the root is read: %s", text)
	}
}

// TestMCPOfOneProject: two environments, and two overlays, get their libraries and
// bases from where these stand, as on the command line, but not from outside.
func TestMCPOfOneProject(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"in/tanka/jsonnetfile.json":               "{}",
		"in/tanka/lib/web.libsonnet":              `function(n) { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec: { replicas: n, selector: { matchLabels: { app: 'web' } }, template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } } } }`,
		"in/tanka/environments/dev/main.jsonnet":  `{ web: (import 'web.libsonnet')(30) }`,
		"in/tanka/environments/dev/spec.json":     `{"spec": {"namespace": "web"}}`,
		"in/tanka/environments/prod/main.jsonnet": `{ web: (import 'web.libsonnet')(3) }`,
		"in/tanka/environments/prod/spec.json":    `{"spec": {"namespace": "web"}}`,
		"in/base/kustomization.yaml":              "resources: [web.yaml]\n",
		"in/base/web.yaml":                        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n",
		"in/overlays/dev/kustomization.yaml":      "resources: [../../base]\n",
		"in/overlays/prod/kustomization.yaml":     "resources: [../../base]\nnamePrefix: p-\n",
		"in/overlays/away/kustomization.yaml":     "resources: [../../../outside]\n",
		"outside/kustomization.yaml":              "resources: [secret-name.yaml]\n",
		"outside/secret-name.yaml":                "apiVersion: v1\nkind: Service\nmetadata: {name: secret-name}\n",
	} {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "outside"), filepath.Join(top, "in", "linked")); err != nil {
		t.Fatal(err)
	}
	s := assistant(t, top, t.TempDir(), "--root", "in")
	got := answer(t, s, "diff_manifests", map[string]any{"beforePath": "tanka/environments/dev", "afterPath": "tanka/environments/prod"})
	if !got.Complete || len(got.Findings) != 1 || got.Findings[0].Message != "30 pods become 3" {
		t.Errorf("of two environments diff_manifests tells %+v", got)
	}
	text, failed := asked(t, s, "diff_manifests", map[string]any{"beforePath": "overlays/dev", "afterPath": "overlays/prod"})
	if failed || !strings.Contains(text, `"complete":true`) || !strings.Contains(text, "p-web") {
		t.Errorf("of two overlays diff_manifests tells %s", text)
	}
	text, _ = asked(t, s, "diff_manifests", map[string]any{"beforePath": "overlays/dev", "afterPath": "overlays/away"})
	if strings.Contains(text, "secret-name") || strings.Contains(text, `"complete":true`) {
		t.Errorf("a base outside of the folder is read: %s", text)
	}
	if text, failed := asked(t, s, "diff_manifests", map[string]any{"beforePath": "overlays/dev", "afterPath": "linked"}); !failed || strings.Contains(text, "secret-name") {
		t.Errorf("a link out of the folder is followed: %s", text)
	}
}

// TestMCPOfATeam: rules and postmortems of a team's own are told, and what is wrong
// with them takes nothing else away.
func TestMCPOfATeam(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	postmortem := `---
id: checkout-2026-03
date: 2026-03-02
org: Checkout team
kinds: [Deployment]
fields: [spec.replicas]
trigger:
  kinds: [Deployment.apps]
  when: object.spec.replicas < oldObject.spec.replicas / 2
---

# A third of the checkout pods could not take the evening

## What changed

The replicas of checkout were cut to a third for the night and stayed there.

## Lesson

Cut replicas in steps and look at the load between them.
`
	write(".prdiff.yaml", "incidents: {paths: [postmortems]}\n")
	write("postmortems/checkout.md", postmortem)
	s := assistant(t, root, t.TempDir())
	if got := answer(t, s, "search_incidents", map[string]any{"words": "checkout evening"}); len(got.Incidents) == 0 || got.Incidents[0].ID != "checkout-2026-03" || got.Problem != "" {
		t.Errorf("search_incidents = %+v", got)
	}
	if text, failed := asked(t, s, "get_incident", map[string]any{"id": "checkout-2026-03"}); failed || !strings.Contains(text, `"file":"postmortems/checkout.md"`) {
		t.Errorf("get_incident = %s", text)
	}
	if got := answer(t, s, "explain_rule", map[string]any{"id": "incident-checkout-2026-03"}); len(got.Incidents) == 0 || got.Incidents[0].ID != "checkout-2026-03" {
		t.Errorf("explain_rule = %+v", got)
	}
	write("postmortems/checkout.md", strings.Replace(postmortem, "date: 2026-03-02", "date: soon", 1))
	if got := answer(t, s, "search_incidents", map[string]any{"words": "coredns"}); len(got.Incidents) == 0 || !strings.Contains(got.Problem, "postmortems/checkout.md:") {
		t.Errorf("search_incidents = %+v, want the public ones and what is wrong", got)
	}
	if got := answer(t, s, "explain_rule", nil); len(got.Rules) < 10 || !strings.Contains(got.Problem, "postmortems/checkout.md:") {
		t.Errorf("explain_rule = %+v", got)
	}
	if text, failed := asked(t, s, "get_incident", map[string]any{"id": "checkout-2026-03"}); !failed || !strings.Contains(text, "postmortems/checkout.md:") {
		t.Errorf("get_incident = %s", text)
	}
}
