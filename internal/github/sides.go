package github

import (
	"errors"
	"fmt"
)

// Sides are the two revisions that the report on an event compares.
type Sides struct {
	Base, Head string // for git; Base may be a commit that a shallow clone lacks
	// MergeBase says that base is the point where head left Base.
	MergeBase bool
	// BaseName and HeadName are what readers know them by.
	BaseName, HeadName string
	// Note is what readers must know of the choice, "" for nothing.
	Note string
	// Otherwise is what to compare with instead when Base cannot be had, "" for
	// nothing, and OtherwiseNote what is then to be said.
	Otherwise, OtherwiseNote string
}

// SidesOf chooses what to compare. Checkout is the commit that is checked out, and
// parents are those that its raw object names, first parent first.
//
// Of a pull request it is the merge that GitHub made and checked out, against its
// first parent: what merging will change. The payload's own base is a snapshot
// that may be out of date (https://github.com/github/docs/issues/431).
func SidesOf(ev Event, checkout string, parents []string) (Sides, error) {
	s := Sides{Head: "HEAD", HeadName: "the checkout"}
	first := ""
	if len(parents) > 0 {
		first = parents[0]
	}
	switch ev.Name {
	case "pull_request":
		// A branch that merged another one into itself ends in a merge too.
		if len(parents) > 1 && checkout != ev.HeadSHA {
			s.Base = first
			s.BaseName, s.HeadName = ev.BaseRef, ev.pullRequest()
			if s.BaseName == "" {
				s.BaseName = "its base"
			}
			if ev.HeadSHA != "" && parents[1] != ev.HeadSHA {
				s.Note = fmt.Sprintf("the merge that is checked out is of %s, but the pull request was at %s: GitHub had not merged the newest commit yet, or the checkout is another one; start the run again to look at the newest",
					short(parents[1]), short(ev.HeadSHA))
			}
			return s, nil
		}
		if ev.BaseRef == "" {
			return s, errors.New("the event names no branch that the pull request is merged into: say what to compare with, as in --base REV")
		}
		s.Base, s.MergeBase, s.BaseName = "refs/remotes/origin/"+ev.BaseRef, true, "the merge base with "+ev.BaseRef
		s.HeadName = "the head of " + ev.pullRequest()
		s.Note = "the checkout is not the merge commit that GitHub makes for a pull request, so the branch is compared with the point where it left " + ev.BaseRef
		if ev.HeadSHA != "" && checkout != ev.HeadSHA {
			s.Note = fmt.Sprintf("the checkout is %s, neither the merge of the pull request nor its head %s; it is compared with the point where it left %s", short(checkout), short(ev.HeadSHA), ev.BaseRef)
		}
		return s, nil
	case "pull_request_target":
		return s, errors.New("pull_request_target checks out the branch that is merged into, so there is nothing to compare, and checking out the pull request there would run strangers' code with your rights: use pull_request, and for comments on forks the two workflows that `prdiff init` writes")
	case "merge_group":
		s.HeadName = "the merge queue's group"
		if ev.HeadSHA != "" && ev.HeadSHA != checkout {
			s.Note = fmt.Sprintf("the checkout is %s, not the head %s of the group", short(checkout), short(ev.HeadSHA))
		}
		s.Base, s.BaseName = ev.BaseSHA, "what the group is merged into"
		s.Otherwise, s.OtherwiseNote = first, "the group's base could not be fetched, so only its last pull request is compared"
	case "push":
		s.HeadName = "the pushed commit"
		s.Base, s.BaseName = ev.BaseSHA, "the branch before the push"
		s.Otherwise, s.OtherwiseNote = first, "what the branch was before the push is not there any more, so only the last commit is compared"
		if s.Base == "" {
			s.Base, s.BaseName, s.Otherwise = first, "the commit before", ""
			s.Note = "the push made the branch, so its last commit is compared"
		}
	case "workflow_run":
		if ev.HeadSHA != checkout {
			return s, fmt.Errorf("the run that ended was about %s, but %s is checked out: a workflow_run compares nothing by itself (prdiff report --from-fork publishes what that run found; --base REV compares)", short(ev.HeadSHA), short(checkout))
		}
		s.Base, s.BaseName = first, "the commit before"
	default: // workflow_dispatch, schedule, release and the like
		s.Base, s.BaseName = first, "the commit before"
		s.Note = fmt.Sprintf("the event %s names nothing to compare with, so the last commit is compared with the one before; --base REV compares otherwise", plain(ev.Name, 60))
	}
	if s.Base == "" {
		s.Base, s.Otherwise = s.Otherwise, ""
	}
	if s.Base == "" {
		return s, fmt.Errorf("%s has no parent to compare with: say what to compare with, as in --base REV", short(checkout))
	}
	return s, nil
}

// pullRequest names the pull request for readers.
func (ev Event) pullRequest() string {
	if ev.Number == 0 {
		return "the pull request"
	}
	return fmt.Sprintf("pull request %d", ev.Number)
}

func short(sha string) string {
	if len(sha) > 12 {
		return sha[:12]
	}
	if sha == "" {
		return "an unknown commit"
	}
	return sha
}
