package github

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// An Event is what started the run, as far as a report needs it. Texts in it may
// come from strangers.
type Event struct {
	Name   string // such as "pull_request"
	Action string // such as "synchronize"

	// Number is the pull request's, 0 when there is none or the event does not
	// say; for merge_group it is read from the queue's branch name, and the
	// group may hold more than that one.
	Number  int
	HeadSHA string // of the pull request's branch, the pushed commit, or the group
	BaseSHA string // what the payload says; of a pull request it may be out of date
	BaseRef string // the branch that it is merged into, without refs/heads/
	Merged  bool

	// HeadRepo is OWNER/NAME of the repository that the head is in, "" when that
	// was deleted.
	HeadRepo   string
	HeadRepoID int64
	HeadBranch string
	// Fork says that the head is not in this repository: the run has no right to write.
	Fork bool
	// Dependabot says that Dependabot started the run, which has no right to
	// write by default
	// (https://docs.github.com/en/code-security/dependabot/troubleshooting-dependabot/troubleshooting-dependabot-on-github-actions).
	Dependabot bool

	// Of workflow_run: the run that ended.
	Run        int64
	Attempt    int64
	RunEvent   string // the event that started that run
	Conclusion string // "success", "failure", ...
}

// maxPayload is how long the payload of an event may be: GitHub caps webhooks at
// 25 MB (https://docs.github.com/en/webhooks/webhook-events-and-payloads#payload-cap).
const maxPayload = 25 << 20

type payload struct {
	Action      string       `json:"action"`
	Number      int          `json:"number"`
	PullRequest *pullPayload `json:"pull_request"`
	Repository  repoPayload  `json:"repository"`
	Before      string       `json:"before"`
	After       string       `json:"after"`
	Ref         string       `json:"ref"`
	MergeGroup  *struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	WorkflowRun *struct {
		ID         int64       `json:"id"`
		RunAttempt int64       `json:"run_attempt"`
		HeadSHA    string      `json:"head_sha"`
		HeadBranch string      `json:"head_branch"`
		Event      string      `json:"event"`
		Conclusion string      `json:"conclusion"`
		HeadRepo   repoPayload `json:"head_repository"`
	} `json:"workflow_run"`
}

type pullPayload struct {
	Number int         `json:"number"`
	Merged bool        `json:"merged"`
	Head   sidePayload `json:"head"`
	Base   sidePayload `json:"base"`
}

type sidePayload struct {
	SHA  string       `json:"sha"`
	Ref  string       `json:"ref"`
	Repo *repoPayload `json:"repo"` // null when the repository was deleted
}

type repoPayload struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
}

// queueBranch is the name of a merge queue's branch, such as
// gh-readonly-queue/main/pr-104-SHA.
var queueBranch = regexp.MustCompile(`/pr-([0-9]{1,9})-[0-9a-f]{7,64}$`)

// ReadEvent reads the payload of an event (the file that GITHUB_EVENT_PATH names).
// Name is GITHUB_EVENT_NAME, repository GITHUB_REPOSITORY and actor GITHUB_ACTOR.
// An event that it does not know is one without a pull request.
func ReadEvent(name, repository, actor string, data []byte) (Event, error) {
	ev := Event{Name: name, Dependabot: isDependabot(actor)}
	if len(data) > maxPayload {
		return ev, fmt.Errorf("the payload of the event %s is longer than %d bytes", name, maxPayload)
	}
	var p payload
	if len(data) > 0 {
		if err := json.Unmarshal(data, &p); err != nil {
			return ev, fmt.Errorf("the payload of the event %s: %w", name, err)
		}
	}
	ev.Action = p.Action
	switch {
	case p.PullRequest != nil:
		pr := p.PullRequest
		ev.Number, ev.Merged = pr.Number, pr.Merged
		ev.HeadSHA, ev.BaseSHA, ev.BaseRef, ev.HeadBranch = pr.Head.SHA, pr.Base.SHA, pr.Base.Ref, pr.Head.Ref
		if pr.Head.Repo != nil {
			ev.HeadRepo, ev.HeadRepoID = pr.Head.Repo.FullName, pr.Head.Repo.ID
		}
		ev.Fork = !strings.EqualFold(ev.HeadRepo, repository)
	case p.MergeGroup != nil:
		ev.HeadSHA, ev.BaseSHA = p.MergeGroup.HeadSHA, p.MergeGroup.BaseSHA
		ev.BaseRef = strings.TrimPrefix(p.MergeGroup.BaseRef, "refs/heads/")
		if m := queueBranch.FindStringSubmatch(p.MergeGroup.HeadRef); m != nil {
			ev.Number, _ = strconv.Atoi(m[1])
		}
	case p.WorkflowRun != nil:
		run := p.WorkflowRun
		ev.HeadSHA, ev.HeadBranch = run.HeadSHA, run.HeadBranch
		ev.HeadRepo, ev.HeadRepoID = run.HeadRepo.FullName, run.HeadRepo.ID
		ev.Run, ev.Attempt, ev.RunEvent, ev.Conclusion = run.ID, run.RunAttempt, run.Event, run.Conclusion
		ev.Fork = !strings.EqualFold(ev.HeadRepo, repository)
		// The run that ended had no rights; this one has those of the workflow.
		ev.Dependabot = false
	default:
		ev.HeadSHA, ev.BaseSHA = p.After, p.Before
		ev.BaseRef = strings.TrimPrefix(p.Ref, "refs/heads/")
	}
	for _, sha := range []*string{&ev.HeadSHA, &ev.BaseSHA} {
		if !isSHA(*sha) || strings.Trim(*sha, "0") == "" {
			*sha = ""
		}
	}
	return ev, nil
}

func isDependabot(login string) bool { return login == "dependabot[bot]" }

// Comments says whether reports on this event belong into a comment. A merge
// queue's run comments on nothing: its group may hold several pull requests.
func (ev Event) Comments() bool {
	return ev.Number > 0 && (ev.Name == "pull_request" || ev.Name == "pull_request_target")
}

// WhyReadOnly says why the run's token probably could not write, "" when the event
// gives no reason. It explains a refusal and does not foretell one: settings of a
// repository can give either kind of run more rights.
func (ev Event) WhyReadOnly() string {
	switch {
	case ev.Name == "pull_request" && ev.Fork:
		return "the pull request comes from a fork, whose runs have no right to write"
	case ev.Dependabot:
		return "Dependabot started the run, and such runs have no right to write"
	}
	return ""
}
