package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/github"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/rules"
)

// versionLike is what a version of ours looks like.
var versionLike = regexp.MustCompile(`^[0-9A-Za-z.+-]{1,60}$`)

// fromFork publishes what the run of a fork found, from the run that follows it
// with rights (workflow_run). The fork's run is all its author's: even its workflow
// file is. So its files are data to be shown, after strict checks, in Markdown that
// is made here; and which pull request they are about is asked of GitHub, by the
// commit and repository that the event names, and never of the files.
func (f *publishFlags) fromFork(ctx context.Context, e env, shown *reportFlags, args []string) error {
	ev, err := e.event()
	if err != nil {
		return err
	}
	if ev.Name != "workflow_run" || ev.RunEvent != "pull_request" {
		return usage("--from-fork is for a workflow_run that follows a pull_request: this is %s after %q", ev.Name, ev.RunEvent)
	}
	rep, err := e.readFork(args)
	if err != nil {
		return fmt.Errorf("the report of the run %d is not published: %w", ev.Run, err)
	}
	if len(f.places) == 0 {
		f.places = []string{placeComment, placeSummary}
	}
	if shown.failOn == "" {
		shown.failOn = "never" // the run that found it has failed or not
	}
	p := &publication{env: e, publishFlags: *f, shown: shown, report: rep, event: ev}
	p.open()
	p.marker = github.Marker{Key: p.key, Run: ev.Run, Attempt: ev.Attempt, SHA: ev.HeadSHA}
	p.preface = fmt.Sprintf("> [!NOTE]\n> Found by a run of %s at `%s`, which has no rights here and which its author could have changed. Nothing found there is no proof that there is nothing.\n\n",
		map[bool]string{true: "the fork", false: "the branch"}[ev.Fork], ev.HeadSHA)
	rep.Head = report.Side{Rev: "the pull request", SHA: ev.HeadSHA}
	rep.Base.Rev = "its base, as its own run says"

	if p.client == nil {
		return usage("--from-fork needs a token that may read and comment on pull requests, in PRDIFF_TOKEN or GITHUB_TOKEN")
	}
	pull, err := p.client.PullOf(ctx, ev)
	var refused *github.Error
	switch {
	case err == nil:
		p.number = pull.Number
	case errors.As(err, &refused) && refused.Refusal != github.Fault:
		p.tell("no comment: %v", err)
		p.places = slices.DeleteFunc(slices.Clone(p.places), func(s string) bool { return s == placeComment })
	default:
		p.failed = true
		p.warn("no comment: " + err.Error())
		p.places = slices.DeleteFunc(slices.Clone(p.places), func(s string) bool { return s == placeComment })
	}
	return p.everywhere(ctx, verdictOfFork(shown.publish(ctx, e, rep)))
}

// verdictOfFork leaves units that failed in the fork's run to that run: this one
// has done its work when it has told of them.
func verdictOfFork(err error) error {
	if errors.Is(err, errIncomplete) {
		return nil
	}
	return err
}

// maxForkFiles is how many parts the run of a fork may leave: as many as GitHub
// lets one matrix have.
const maxForkFiles = maxShards

// readFork reads the files of a fork's run; a folder stands for the JSON files in
// it. Links are not followed, and nothing is unpacked.
func (e env) readFork(args []string) (*report.Report, error) {
	var files []string
	for _, a := range args {
		info, err := os.Lstat(e.path(a))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, e.path(a))
			continue
		}
		entries, err := os.ReadDir(e.path(a)) // sorted
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if strings.HasSuffix(entry.Name(), ".json") {
				files = append(files, filepath.Join(e.path(a), entry.Name()))
			}
		}
	}
	if len(files) == 0 || len(files) > maxForkFiles {
		return nil, fmt.Errorf("%d JSON files in %s: there must be at least one, and at most %d", len(files), strings.Join(args, ", "), maxForkFiles)
	}
	left := int64(4 * report.UntrustedLimit) // bytes of all
	var parts []*report.Report
	for _, file := range files {
		data, err := readLimited(file, min(left, report.UntrustedLimit))
		if err != nil {
			return nil, err
		}
		left -= int64(len(data))
		part, err := report.ParseUntrusted(data, incident.Embedded(), rules.All)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !versionLike.MatchString(part.Version) {
			part.Version = "of an unknown version"
		}
		parts = append(parts, part)
	}
	if err := report.CheckParts(parts); err != nil {
		return nil, err
	}
	return report.Merge(parts)
}
