//go:build e2e

package github

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestE2EWebhooks reads every example of the events that start our runs, as
// GitHub's own documentation has them (@octokit/webhooks-examples).
func TestE2EWebhooks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(os.Getenv("PRDIFF_E2E_TOOLS"), "npm/node_modules/@octokit/webhooks-examples/api.github.com/index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	read := map[string]int{}
	for _, event := range all {
		for i, example := range event.Examples {
			ev, err := ReadEvent(event.Name, "Codertocat/Hello-World", "Codertocat", example)
			if err != nil {
				t.Errorf("%s %d: %v", event.Name, i, err)
				continue
			}
			read[event.Name]++
			switch event.Name {
			case "pull_request":
				if ev.Number != 2 || ev.HeadSHA == "" || ev.BaseRef == "" || ev.Fork || !ev.Comments() {
					t.Errorf("pull_request %d: %+v", i, ev)
				}
			case "merge_group":
				if ev.BaseSHA == "" || ev.HeadSHA == "" || ev.Comments() {
					t.Errorf("merge_group %d: %+v", i, ev)
				}
			case "workflow_run":
				if ev.Run == 0 || ev.HeadSHA == "" || ev.HeadRepoID == 0 || ev.RunEvent == "" {
					t.Errorf("workflow_run %d: %+v", i, ev)
				}
			}
		}
	}
	for _, name := range []string{"pull_request", "merge_group", "workflow_run", "push"} {
		if read[name] == 0 {
			t.Errorf("no example of %s was read", name)
		}
	}
}
