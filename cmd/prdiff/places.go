package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/github"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

// makeCheck makes a check run, and says whether it holds the annotations.
func (p *publication) makeCheck(ctx context.Context, verdict error) bool {
	if p.client == nil {
		p.tell("no check run: there is no token")
		return false
	}
	text, err := p.markdown(github.CheckTextLimit-512, "")
	if err != nil || len(text) > github.CheckTextLimit {
		p.failed = true
		p.warn(fmt.Sprintf("no check run: its text has %d bytes (%v)", len(text), err))
		return false
	}
	sha := p.event.HeadSHA
	if sha == "" {
		sha = p.getenv("GITHUB_SHA")
	}
	name := "prdiff"
	if p.key != "" {
		name += " (" + p.key + ")"
	}
	conclusion := github.Success
	switch {
	case verdict != nil:
		conclusion = github.Failure
	case p.report.Worst() > rule.Note:
		conclusion = github.Neutral
	}
	page, err := p.client.Check(ctx, github.Check{
		Name: name, SHA: sha, Conclusion: conclusion, Title: title(p.report), Summary: text,
		Annotations: annotationsOf(p.report), DetailsURL: p.runURL(), ExternalID: p.getenv("GITHUB_RUN_ID"),
	})
	if err != nil {
		p.refused("check run", err)
		return false
	}
	p.tell("check run made: %s", page)
	return true
}

// title tells a report in a few words.
func title(r *report.Report) string {
	var words []string
	add := func(n int, one string) {
		switch {
		case n == 1:
			words = append(words, "1 "+one)
		case n > 1:
			words = append(words, fmt.Sprintf("%d %ss", n, one))
		}
	}
	if n := r.Count(report.Failed); n > 0 {
		words = append(words, fmt.Sprintf("%d units could not be looked at", n))
	}
	add(r.CountFindings(rule.Error), "error")
	add(r.CountFindings(rule.Warning), "warning")
	add(r.CountFindings(rule.Note), "note")
	if r.Worst() == 0 {
		words = append(words, "nothing dangerous found")
	}
	add(len(r.Visible()), "change")
	return strings.Join(words, ", ")
}

// annotate puts findings at the lines of the files that they come from.
func (p *publication) annotate() {
	if !p.inActions() {
		p.tell("no annotations: this is no run of GitHub Actions")
		return
	}
	left, err := github.WriteAnnotations(p.log(), annotationsOf(p.report))
	if err != nil {
		p.failed = true
		p.tell("annotations: %v", err)
	}
	if left > 0 {
		p.tell("%d more findings have no annotation: GitHub shows %d of a level", left, github.AnnotationsPerLevel)
	}
}

// annotationsOf gives what is wrong in a report, worst first.
func annotationsOf(r *report.Report) []github.Annotation {
	var out []github.Annotation
	for _, u := range r.Units {
		if u.Status == report.Failed {
			out = append(out, github.Annotation{Level: github.LevelError, Title: "prdiff could not look at " + u.Name, Message: u.Error})
		}
	}
	levels := map[rule.Severity]github.Level{rule.Error: github.LevelError, rule.Warning: github.LevelWarning, rule.Note: github.LevelNotice}
	findings := slices.Clone(r.Findings)
	slices.SortStableFunc(findings, func(a, b report.Finding) int { return int(b.Severity - a.Severity) })
	for _, f := range findings {
		if f.Suppressed != nil {
			continue
		}
		message := f.Ref.String() + ": " + f.Message
		for _, more := range []string{f.Consequence, f.Advice} {
			if more != "" {
				message += "\n" + more
			}
		}
		out = append(out, github.Annotation{Level: levels[f.Severity], Path: f.Origin.Path, Line: f.Origin.Line, Title: "prdiff: " + f.Rule, Message: message})
	}
	return out
}

// scan uploads the report to code scanning.
func (p *publication) scan(ctx context.Context) {
	const what = "upload to code scanning"
	if p.client == nil {
		p.tell("no %s: there is no token", what)
		return
	}
	sha, ref := p.getenv("GITHUB_SHA"), p.getenv("GITHUB_REF")
	if sha == "" || !strings.HasPrefix(ref, "refs/") {
		p.tell("no %s: GITHUB_SHA and GITHUB_REF do not name a commit and a ref", what)
		return
	}
	write := reporterOf("sarif")
	if write == nil {
		p.failed = true
		p.warn("no " + what + ": this prdiff writes no SARIF")
		return
	}
	var b bytes.Buffer
	err := write(&b, p.report, report.Options{Key: p.key})
	if err == nil {
		err = p.client.UploadSARIF(ctx, b.Bytes(), sha, ref)
	}
	if err != nil {
		p.refused(what, err)
		return
	}
	p.tell("uploaded to code scanning")
}

// reporterOf gives the reporter of a format, nil when there is none.
func reporterOf(name string) report.Reporter {
	for _, f := range formats {
		if f.name == name {
			return f.write
		}
	}
	return nil
}

// writeOutputs gives later steps the counts and addresses.
func (p *publication) writeOutputs(verdict error) {
	word := "clean"
	switch {
	case errors.Is(verdict, errFound) && !p.failed:
		word = "found"
	case verdict != nil || p.failed:
		word = "incomplete"
	}
	outputs := []github.Output{{Name: "verdict", Value: word}, {Name: "comment-url", Value: p.commentURL}}
	if p.report != nil {
		actions := map[string]int{}
		for _, c := range p.report.Visible() {
			actions[string(c.Action)]++
		}
		add := func(name string, n int) {
			outputs = append(outputs, github.Output{Name: name, Value: strconv.Itoa(n)})
		}
		add("errors", p.report.CountFindings(rule.Error))
		add("warnings", p.report.CountFindings(rule.Warning))
		add("notes", p.report.CountFindings(rule.Note))
		add("changes", len(p.report.Visible()))
		for _, a := range []string{"create", "update", "replace", "delete", "rename"} {
			add(a, actions[a])
		}
		add("units-rendered", p.report.Count(report.Rendered))
		add("units-unchanged", p.report.Count(report.Unchanged))
		add("units-skipped", p.report.Count(report.Skipped))
		add("units-failed", p.report.Count(report.Failed))
	}
	file := p.getenv("GITHUB_OUTPUT")
	if file == "" {
		return
	}
	if err := github.WriteOutputs(file, outputs, rand.Text); err != nil {
		p.failed = true
		p.tell("the step's outputs: %v", err)
	}
}
