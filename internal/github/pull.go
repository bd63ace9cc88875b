package github

import (
	"context"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v60/github"
)

// A Pull is an open pull request as GitHub knows it.
type Pull struct {
	Number           int
	HeadSHA, BaseSHA string
	BaseRef          string
}

// PullOf finds the one open pull request whose head is the commit, branch and
// repository of a run that ended. Nothing that the run itself said is asked: of a
// fork's run, only what GitHub says of it can be trusted. A pull request that has
// moved on, or is closed, is an Error that is Closed.
func (c *Client) PullOf(ctx context.Context, ev Event) (Pull, error) {
	const what = "find the pull request of the run"
	if ev.HeadSHA == "" || ev.HeadRepoID == 0 {
		return Pull{}, &Error{What: what, Refusal: Closed, Message: "the event names no commit, or its repository is gone"}
	}
	pulls, _, err := c.rest.PullRequests.ListPullRequestsWithCommit(ctx, c.owner, c.repo, ev.HeadSHA, &gh.ListOptions{PerPage: 100})
	if err = c.explain(what, err); err != nil && refusalOf(err) == Fault && statusOf(err) != 422 {
		return Pull{}, err
	}
	matched := c.matching(pulls, ev)
	// The commits of forks are not always known here by their sha.
	owner, _, _ := strings.Cut(ev.HeadRepo, "/")
	if len(matched) == 0 && owner != "" && ev.HeadBranch != "" {
		pulls, _, err = c.rest.PullRequests.List(ctx, c.owner, c.repo, &gh.PullRequestListOptions{
			State: "open", Head: owner + ":" + ev.HeadBranch, ListOptions: gh.ListOptions{PerPage: 100},
		})
		if err != nil {
			return Pull{}, c.explain(what, err)
		}
		matched = c.matching(pulls, ev)
	}
	switch len(matched) {
	case 0:
		return Pull{}, &Error{What: what, Refusal: Closed, Message: fmt.Sprintf("no open pull request is at %s of that repository: it was closed, or moved on, and the run for its newest commit reports", short(ev.HeadSHA))}
	case 1:
		p := matched[0]
		return Pull{Number: p.GetNumber(), HeadSHA: p.GetHead().GetSHA(), BaseSHA: p.GetBase().GetSHA(), BaseRef: p.GetBase().GetRef()}, nil
	}
	return Pull{}, &Error{What: what, Refusal: Closed, Message: fmt.Sprintf("%d open pull requests are at %s, and the run does not say for which it was", len(matched), short(ev.HeadSHA))}
}

// matching keeps the open pull requests into this repository from that commit of
// that repository.
func (c *Client) matching(pulls []*gh.PullRequest, ev Event) []*gh.PullRequest {
	var out []*gh.PullRequest
	for _, p := range pulls {
		if p.GetState() == "open" && p.GetHead().GetSHA() == ev.HeadSHA && p.GetHead().GetRepo().GetID() == ev.HeadRepoID &&
			strings.EqualFold(p.GetBase().GetRepo().GetFullName(), c.owner+"/"+c.repo) {
			out = append(out, p)
		}
	}
	return out
}
