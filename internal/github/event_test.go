package github

import (
	"strings"
	"testing"
)

const (
	baseSHA  = "3333333333333333333333333333333333333333"
	mergeSHA = "4444444444444444444444444444444444444444"
	zeroSHA  = "0000000000000000000000000000000000000000"
)

const pullEvent = `{"action": "synchronize", "number": 7, "pull_request": {"number": 7, "merged": false,
	"head": {"sha": "` + headSHA + `", "ref": "feature", "repo": {"id": 11, "full_name": "dev/infra"}},
	"base": {"sha": "` + baseSHA + `", "ref": "main", "repo": {"id": 11, "full_name": "dev/infra"}}}, "repository": {"id": 11, "full_name": "dev/infra"}}`

func TestReadEvent(t *testing.T) {
	t.Run("a pull request", func(t *testing.T) {
		ev := mustRead(t, "pull_request", "dev", pullEvent)
		if ev.Number != 7 || ev.HeadSHA != headSHA || ev.BaseRef != "main" || ev.Fork || ev.Dependabot || !ev.Comments() || ev.WhyReadOnly() != "" {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("a fork", func(t *testing.T) {
		ev := mustRead(t, "pull_request", "dev", strings.Replace(pullEvent, `"repo": {"id": 11, "full_name": "dev/infra"}`, `"repo": {"id": 12, "full_name": "mallory/infra"}`, 1))
		if !ev.Fork || ev.HeadRepo != "mallory/infra" || !strings.Contains(ev.WhyReadOnly(), "fork") {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("a fork that was deleted", func(t *testing.T) {
		ev := mustRead(t, "pull_request", "dev", strings.Replace(pullEvent, `"repo": {"id": 11, "full_name": "dev/infra"}`, `"repo": null`, 1))
		if !ev.Fork || ev.HeadRepo != "" {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("Dependabot", func(t *testing.T) {
		ev := mustRead(t, "pull_request", "dependabot[bot]", pullEvent)
		if !ev.Dependabot || !strings.Contains(ev.WhyReadOnly(), "Dependabot") {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("a merge queue comments on nothing, and names a pull request", func(t *testing.T) {
		ev := mustRead(t, "merge_group", "dev", `{"action": "checks_requested", "merge_group": {"head_sha": "`+headSHA+`",
			"head_ref": "refs/heads/gh-readonly-queue/main/pr-104-929f8209d40f77f4abc622a499c93a83babdbe64", "base_sha": "`+baseSHA+`", "base_ref": "refs/heads/main"}}`)
		if ev.Number != 104 || ev.Comments() || ev.BaseSHA != baseSHA || ev.BaseRef != "main" {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("a run of a fork that ended", func(t *testing.T) {
		ev := mustRead(t, "workflow_run", "dev", `{"action": "completed", "workflow_run": {"id": 55, "run_attempt": 2, "event": "pull_request", "conclusion": "failure",
			"head_sha": "`+headSHA+`", "head_branch": "feature", "head_repository": {"id": 12, "full_name": "mallory/infra"}, "pull_requests": []}}`)
		if ev.Run != 55 || ev.Attempt != 2 || ev.HeadRepoID != 12 || !ev.Fork || ev.Number != 0 || ev.Conclusion != "failure" || ev.WhyReadOnly() != "" {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("a push that made the branch has no base", func(t *testing.T) {
		ev := mustRead(t, "push", "dev", `{"ref": "refs/heads/main", "before": "`+zeroSHA+`", "after": "`+headSHA+`"}`)
		if ev.BaseSHA != "" || ev.HeadSHA != headSHA || ev.BaseRef != "main" {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("shas that are none are not passed on", func(t *testing.T) {
		ev := mustRead(t, "push", "dev", `{"before": "--upload-pack=x", "after": "HEAD"}`)
		if ev.BaseSHA != "" || ev.HeadSHA != "" {
			t.Errorf("event = %+v", ev)
		}
	})
	t.Run("an unknown event, an empty payload, and one that is no JSON", func(t *testing.T) {
		mustRead(t, "schedule", "dev", `{"schedule": "0 0 * * *"}`)
		mustRead(t, "schedule", "dev", "")
		if _, err := ReadEvent("push", "dev/infra", "dev", []byte("{")); err == nil {
			t.Error("no error")
		}
	})
}

func mustRead(t *testing.T, name, actor, data string) Event {
	t.Helper()
	ev, err := ReadEvent(name, "dev/infra", actor, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

func TestSidesOf(t *testing.T) {
	pull := Event{Name: "pull_request", Number: 7, HeadSHA: headSHA, BaseSHA: baseSHA, BaseRef: "main"}
	for _, c := range []struct {
		name     string
		ev       Event
		checkout string
		parents  []string
		base     string
		note     string // a part of it; "" wants none
		fork     bool   // from the merge base
	}{
		{"a pull request is its merge against the first parent, whatever the payload's base is", pull, mergeSHA, []string{otherSHA, headSHA}, otherSHA, "", false},
		{"a stale merge is said to be one", pull, mergeSHA, []string{otherSHA, baseSHA}, otherSHA, "had not merged the newest commit yet", false},
		{"the head of the branch is compared with where it left the base", pull, headSHA, []string{otherSHA}, "refs/remotes/origin/main", "not the merge commit", true},
		{"a head that is a merge of main into the branch is no merge of the pull request", pull, headSHA, []string{otherSHA, baseSHA}, "refs/remotes/origin/main", "not the merge commit", true},
		{"another checkout is said to be one", pull, otherSHA, []string{baseSHA}, "refs/remotes/origin/main", "neither the merge", true},
		{"a merge group is compared with its base", Event{Name: "merge_group", HeadSHA: headSHA, BaseSHA: baseSHA}, headSHA, []string{otherSHA}, baseSHA, "", false},
		{"a push is compared with the branch before", Event{Name: "push", HeadSHA: headSHA, BaseSHA: baseSHA}, headSHA, []string{otherSHA}, baseSHA, "", false},
		{"a new branch with its last commit's parent", Event{Name: "push", HeadSHA: headSHA}, headSHA, []string{otherSHA}, otherSHA, "made the branch", false},
		{"a dispatch too", Event{Name: "workflow_dispatch"}, headSHA, []string{otherSHA}, otherSHA, "names nothing to compare", false},
		{"a run that ended, on its own commit", Event{Name: "workflow_run", HeadSHA: headSHA}, headSHA, []string{otherSHA}, otherSHA, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := SidesOf(c.ev, c.checkout, c.parents)
			if err != nil {
				t.Fatal(err)
			}
			if s.Base != c.base || s.Head != "HEAD" || s.MergeBase != c.fork {
				t.Errorf("sides = %+v, want base %s", s, c.base)
			}
			if c.note == "" && s.Note != "" || !strings.Contains(s.Note, c.note) {
				t.Errorf("note = %q, want %q", s.Note, c.note)
			}
		})
	}
	for _, c := range []struct {
		name     string
		ev       Event
		checkout string
	}{
		{"pull_request_target never compares the base with itself", Event{Name: "pull_request_target", Number: 7, HeadSHA: headSHA}, baseSHA},
		{"a run that ended on another commit compares nothing", Event{Name: "workflow_run", HeadSHA: headSHA}, baseSHA},
		{"a first commit has nothing before it", Event{Name: "push", HeadSHA: headSHA}, headSHA},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s, err := SidesOf(c.ev, c.checkout, nil); err == nil {
				t.Errorf("sides = %+v, want an error", s)
			}
		})
	}
}
