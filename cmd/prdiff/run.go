package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
	"github.com/prdiff/prdiff/render/worker"
)

// An env is all that the program takes from the process it runs in.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	dir            string // what relative paths are relative to
	now            func() time.Time
}

// path gives a path that the user wrote as one that can be opened.
func (e env) path(p string) string {
	if filepath.IsAbs(p) || e.dir == "." {
		return p
	}
	return filepath.Join(e.dir, p)
}

// The exit codes.
const (
	exitClean  = 0 // nothing at or above --fail-on
	exitFound  = 1 // something is
	exitFailed = 2 // prdiff could not do its work, wholly or in part, or was asked wrongly
)

// errFound makes run end with exitFound, errIncomplete with exitFailed: what
// there is to say was said in the report.
var (
	errFound      = errors.New("something at or above --fail-on")
	errIncomplete = errors.New("not everything could be looked at")
)

// run is the whole program: it gives the exit code.
func run(ctx context.Context, e env, args []string) int {
	if e.getenv("GITHUB_ACTIONS") == "true" {
		e.stderr = &logFilter{w: e.stderr}
	}
	if len(args) == 1 && args[0] == worker.Argument {
		return serve(e)
	}
	cmd := rootCommand(e)
	cmd.SetArgs(args)
	cmd.SetIn(e.stdin)
	cmd.SetOut(e.stdout)
	cmd.SetErr(e.stderr)
	switch err := cmd.ExecuteContext(ctx); {
	case err == nil:
		return exitClean
	case errors.Is(err, errIncomplete):
		return exitFailed
	case errors.Is(err, errFound):
		return exitFound
	case ctx.Err() != nil:
		fmt.Fprintln(e.stderr, "prdiff: interrupted")
		return exitFailed
	default:
		for _, line := range strings.Split(err.Error(), "\n") {
			fmt.Fprintf(e.stderr, "prdiff: %s\n", printable(line))
		}
		return exitFailed
	}
}

// A comparison is what one run of diff is about.
type comparison struct {
	src     source.Source
	revs    [2]string // what the user called the sides, "" for what the trees are called
	scope   config.Scope
	paths   []string  // names in the trees: only units there are looked at
	folders bool      // before and after were named as folders
	from    [2]string // the two folders of one tree that are compared; "" for two trees
	shard   shard     // which of them this run is for
	jobs    int
	timeout time.Duration     // for one side of one unit
	lost    map[string]string // files that just one side reads, and why; set by find
	limit   time.Duration     // for all of them, after which the others are not looked at; 0 for none
	shop    *workshop
	fetcher *fetcher // used when the configuration asks for it
	now     func() time.Time
	tell    func(done, total int) // progress
	// online adds to a report what a public library says; nil for never. It is
	// called only when the configuration asks for it.
	online func(context.Context, *report.Report)

	definitions schemas  // of both trees, set by compare
	policy      *policy  // set by compare
	configNotes []string // what to know of the configuration, set by sides
	sideNote    string   // what to know of what is compared
}

// compare is the pipeline: find the units of both sides, render those whose
// inputs differ, compare what they render to, ask every rule, and tell it all.
func compare(ctx context.Context, c comparison) (*report.Report, error) {
	base, head, err := c.sides(ctx)
	if err != nil {
		return nil, err
	}
	units, rep, err := c.find(ctx, &base, &head)
	if err != nil {
		return nil, err
	}
	c.definitions = newSchemas(head.tree, base.tree)
	if c.policy, err = newPolicy(base.tree, head.tree, c.scope, c.now()); err != nil {
		return nil, err
	}
	c.policy.definitions = c.definitions
	results := c.renderInTime(ctx, base, head, c.shard.take(units))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.shop.rest() // asking the rules takes memory, too
	rep.Base, rep.Head = sideOf(base.tree), sideOf(head.tree)
	rep.Version = version()
	if c.shard.of == 0 { // a part does not know what moves to another part
		leaveBehind(results, units, base.found)
	}
	conclude(rep, results, c.policy)
	if c.online != nil && c.scope.Online() {
		c.online(ctx, rep)
	}
	return rep, nil
}

func sideOf(t *source.Tree) report.Side { return report.Side{Rev: t.Rev, SHA: t.SHA} }

// sides opens both trees and sets their renderers up.
func (c *comparison) sides(ctx context.Context) (base, head side, err error) {
	if base.tree, err = c.src.Base(ctx); err != nil {
		return base, head, err
	}
	if head.tree, err = c.src.Head(ctx); err != nil {
		return base, head, err
	}
	if c.revs != [2]string{} {
		base.tree.Rev, head.tree.Rev = c.revs[0], c.revs[1]
	}
	if c.scope.Forced == nil {
		if c.scope.Head, err = readConfig(head.tree); err != nil {
			return base, head, err
		}
		// A mistake on the base side is one that the head side may mend: what it
		// would have silenced is looked at.
		if c.scope.Base, err = readConfig(base.tree); err != nil {
			c.scope.Base = nil
			c.configNotes = append(c.configNotes, "not followed as it is before the change: "+err.Error())
		}
	}
	if c.scope.Pending() {
		c.configNotes = append(c.configNotes, "what it newly leaves out is still looked at here, and left out once this is merged")
	}
	base.config, head.config = c.scope.Before(), c.scope.After()
	if c.scope.FetchesCharts() {
		base.fetcher, head.fetcher = c.fetcher, c.fetcher
	}
	if err := base.setUp(c.scope.Uses, nil, c.shop); err != nil {
		return base, head, err
	}
	return base, head, head.setUp(c.scope.Uses, nil, c.shop)
}

// A pairing is one unit as it is found on the sides.
type pairing struct {
	unit          render.Unit
	was           render.Unit // the same before the change, nearly always unit
	before, after bool        // whether the side has it
	same          bool        // its inputs are the same on both sides
	sources       []string    // those that are not
}

// find gives the units of both sides that the run is for, in order, and a report
// that holds what was left out.
func (c *comparison) find(ctx context.Context, base, head *side) ([]pairing, *report.Report, error) {
	rep := &report.Report{}
	if err := c.walk(ctx, base, head); err != nil {
		return nil, nil, err
	}
	skipped := map[render.Skipped]bool{}
	for i, s := range []*side{base, head} {
		for _, sk := range s.found.Skipped {
			_, here := relativeTo(c.from[i], sk.Path)
			if c.looks(render.Unit{Path: sk.Path}) && (here || !c.twoFolders()) {
				skipped[sk] = true
			}
		}
		for _, u := range failures(s.found) {
			if !slices.ContainsFunc(rep.Units, func(have report.Unit) bool { return have.Renderer == u.Renderer && have.Error == u.Error }) {
				rep.Units = append(rep.Units, u)
			}
		}
	}
	changed, err := c.src.Changed(ctx)
	if err != nil {
		return nil, nil, err
	}
	set := newPathSet(changed)
	c.lost = lostFiles(*base, *head, set)
	for sk := range skipped {
		u := report.Unit{Name: sk.Path, Status: report.Skipped, Error: sk.Reason}
		u.Sources = set.below(sk.Path)
		u.Sources = u.Sources[:min(len(u.Sources), mostSources)]
		if c.folders {
			notInProject(&u, set)
		}
		rep.Units = append(rep.Units, u)
	}
	pair := pair
	if c.twoFolders() {
		pair = func(base, head *gitops.Walked) []pairing { return pairFolders(base, head, c.from) }
	}
	units := slices.DeleteFunc(pair(base.found, head.found), func(p pairing) bool { return !c.looks(p.unit) && !c.looks(p.was) })
	if len(c.paths) > 0 && len(units) == 0 {
		return nil, nil, noUnit(c.paths)
	}
	if c.twoFolders() && len(units) == 0 {
		return nil, nil, noUnit(c.from[:])
	}
	for _, note := range c.configNotes {
		rep.Units = append(rep.Units, report.Unit{Name: config.File, Status: report.Skipped, Error: note})
	}
	if c.sideNote != "" {
		rep.Units = append(rep.Units, report.Unit{Name: "what is compared", Status: report.Skipped, Error: c.sideNote})
	}
	if !c.shard.first() {
		rep.Units = nil // said by the first part
	}
	if !c.twoFolders() {
		assumeReleases(*base, *head, units)
	}
	return units, rep, c.markSame(ctx, *base, *head, units)
}

// lostFiles gives the files that are read on one side and left out on the other,
// though they are on both, and why: what they hold there is not known, and must
// not look deleted or new.
func lostFiles(base, head side, changed pathSet) map[string]string {
	lost := map[string]string{}
	skips := func(s side) map[string]string {
		out := map[string]string{}
		for _, sk := range s.found.Skipped {
			out[sk.Path] = sk.Reason
		}
		return out
	}
	before, after := skips(base), skips(head)
	onBoth := func(name string) bool {
		b, errB := base.tree.Stat(name)
		h, errH := head.tree.Stat(name)
		return errB == nil && errH == nil && !b.IsDir() && !h.IsDir() && len(changed.below(name)) > 0
	}
	for name, reason := range after {
		if _, both := before[name]; !both && onBoth(name) {
			lost[name] = reason
		}
	}
	for name, reason := range before {
		if _, both := after[name]; !both && onBoth(name) {
			lost[name] = reason
		}
	}
	return lost
}

// loseFiles notes as problems of one side the files that it does not read and
// that gave objects on the other.
func (c *comparison) loseFiles(side, other *render.Output) {
	noted := map[string]bool{}
	for _, part := range other.Parts {
		for _, o := range part.Objects {
			if reason, ok := c.lost[o.Origin.Path]; ok && !noted[o.Origin.Path] {
				noted[o.Origin.Path] = true
				side.Problems = append(side.Problems, render.Problem{Path: o.Origin.Path, Err: errors.New(reason)})
			}
		}
	}
}

// markSame finds the units that need no rendering.
func (c *comparison) markSame(ctx context.Context, base, head side, units []pairing) error {
	changed, err := c.src.Changed(ctx)
	if err != nil {
		return err
	}
	set := newPathSet(changed)
	c.each(len(units), func(i int) {
		switch p := &units[i]; {
		case p.before && p.after:
			p.same, p.sources = samePair(base, head, *p, set)
			p.sources = causes(head, *p, p.unit, p.sources, set)
		case p.after:
			p.sources, _ = touched(head, p.unit, set)
			p.sources = causes(head, *p, p.unit, p.sources, set)
		default:
			p.sources, _ = touched(base, p.unit, set)
			p.sources = causes(base, *p, p.unit, p.sources, set)
		}
	})
	return nil
}

// each calls f for every index below n, a few at a time.
func (c *comparison) each(n int, f func(i int)) {
	slots := make(chan struct{}, max(1, c.jobs))
	var group sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	group.Wait()
}

func (c *comparison) looks(u render.Unit) bool { return c.scope.Looks(u.Path) && named(c.paths, u) }

func compareUnits(a, b render.Unit) int {
	return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Renderer, b.Renderer))
}

// A result is what became of one unit: the parts that it renders to, compared.
type result struct {
	units []report.Unit
	parts []*rule.Unit // those with changes
}

// renderAll renders the units that may differ, a few at a time, and compares them.
func (c *comparison) renderAll(ctx context.Context, base, head side, units []pairing) []result {
	results := make([]result, len(units))
	var done atomic.Int64
	c.each(len(units), func(i int) {
		results[i] = c.renderUnit(ctx, base, head, units[i])
		c.tell(int(done.Add(1)), len(units))
	})
	return results
}

// renderInTime is renderAll within the time of the whole run. What was not
// looked at by then is a failure of those units, so that the report is not lost.
func (c *comparison) renderInTime(ctx context.Context, base, head side, units []pairing) []result {
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("not looked at within %s (--time-limit): this report is partial", c.limit))
		defer cancel()
	}
	return c.renderAll(ctx, base, head, units)
}

// renderUnit renders both sides of one unit and compares them.
func (c *comparison) renderUnit(ctx context.Context, base, head side, p pairing) result {
	start := c.now()
	shown := report.Unit{Name: p.unit.Name(), Renderer: p.unit.Renderer}
	if p.same {
		shown.Status = report.Unchanged
		return result{units: []report.Unit{shown}}
	}
	before, after := &render.Output{}, &render.Output{}
	var errBefore, errAfter error
	var group sync.WaitGroup
	if p.before {
		group.Go(func() { before, errBefore = c.renderSide(ctx, base, p.was) })
	}
	if p.unit.Renderer == "plain" {
		group.Wait() // what both sides have in common is then read once
	}
	if p.after {
		group.Go(func() { after, errAfter = c.renderSide(ctx, head, p.unit) })
	}
	group.Wait()
	var guess *render.SkipError
	if p.unit.Renderer == "jsonnet" && errAfter == nil && errors.As(errBefore, &guess) {
		// An entry point that nobody named, and that was none by itself: what it
		// renders to now is new.
		before, errBefore = &render.Output{}, nil
	}
	if reason := skipReason(p, errBefore, errAfter); reason != "" {
		shown.Status, shown.Error, shown.Sources = report.Skipped, reason, shownSources(p)
		return result{units: []report.Unit{shown}}
	}
	if errBefore != nil || errAfter != nil {
		shown.Status = report.Failed
		shown.Error = c.advise(sideErrors(errBefore, errAfter))
		shown.Ms = c.now().Sub(start).Milliseconds()
		return result{units: []report.Unit{shown}}
	}
	c.loseFiles(before, after)
	c.loseFiles(after, before)
	before = adopt(before, p.was.Name(), p.unit.Name())
	if c.twoFolders() {
		before, after = withoutTargets(before), withoutTargets(after)
	}
	r := comparePieces(p.unit, before, after, c.definitions, c.policy.options, c.elsewhere(before, after)...)
	if was, is := base.definitions[p.was].Unseen, head.definitions[p.unit].Unseen; p.before && p.after && len(r.units) > 0 && !slices.Equal(was, is) {
		r.units[0].Notes = append(slices.Clip(r.units[0].Notes), unseenNote)
	}
	for i := range r.units {
		r.units[i].Ms = c.now().Sub(start).Milliseconds()
		r.units[i].Sources = shownSources(p)
	}
	return r
}

// unseenNote is said of a unit that renders with other secrets than before.
const unseenNote = "it is given other secret values than before: what they change here is masked, and not shown"

// skipReason says why a unit cannot be rendered here, when that is so on every
// side that has it and no mistake of the repository; "" otherwise.
func skipReason(p pairing, before, after error) string {
	var b, a *render.SkipError
	skippedBefore, skippedAfter := errors.As(before, &b), errors.As(after, &a)
	switch {
	case skippedAfter && skippedBefore:
		return differing(a.Reason, b.Reason)
	case skippedAfter && !p.before && !a.Mistake:
		return a.Reason
	case skippedBefore && !p.after:
		return b.Reason
	}
	return ""
}

// sideErrors says what went wrong, and on which side when that is not both.
func sideErrors(before, after error) string {
	switch {
	case before == nil:
		return after.Error()
	case after == nil:
		return "before the change: " + before.Error()
	case before.Error() == after.Error():
		return after.Error()
	}
	return after.Error() + "\nbefore the change: " + before.Error()
}

// renderSide renders a unit on one side within its time.
func (c *comparison) renderSide(ctx context.Context, s side, u render.Unit) (*render.Output, error) {
	if c.timeout > 0 && !s.far() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("stopped after %s (--timeout)", c.timeout))
		defer cancel()
	}
	out, err := s.render(ctx, u)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.land(u, out), nil
}

// exists says whether the user named something that is there.
func (e env) exists(p string) bool {
	_, err := os.Stat(e.path(p))
	return err == nil
}
