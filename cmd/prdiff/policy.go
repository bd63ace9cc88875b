package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/celrule"
	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/rules"
)

// knownWords are the words that a configuration may use.
func knownWords() config.Known {
	known := config.Known{Renderers: rendererNames}
	for _, f := range diff.Filters() {
		known.Filters = append(known.Filters, f.ID)
	}
	return known
}

// A policy is what a run asks, and what it silences.
type policy struct {
	scope    config.Scope
	rules    []*rule.Rule // the built-in ones, then the users' own
	own      []*celrule.Set
	settings rule.Settings
	library  *incident.Library
	now      time.Time
	notes    []report.Unit // what is not asked, and why
	options  diff.Options  // how objects are compared

	definitions schemas // of both trees; nil for none
}

// ownRules are the rules and postmortems of one side.
type ownRules struct {
	set       *celrule.Set
	incidents []incident.Incident
	unread    bool // a file or folder of rules could not be read
}

// readOwn reads and compiles what a configuration names in a tree. Its error names
// every mistake; what is there beside it is for finding more of them.
func readOwn(t *source.Tree, c *config.Config) (ownRules, error) {
	var own ownRules
	if c == nil || len(c.RulePaths)+len(c.IncidentPaths) == 0 {
		return own, nil
	}
	files, filesErr := ruleFiles(t, c.RulePaths)
	entries, readErr := incident.Read(t, c.IncidentPaths...)
	own.incidents = entries
	set, setErr := celrule.Compile(files, triggersOf(entries), builtInIDs(), celrule.Limits{})
	own.set, own.unread = set, filesErr != nil
	errs := []error{filesErr, readErr, setErr}
	library, err := incident.Embedded().With(entries...)
	if err != nil {
		library = incident.Embedded()
		for _, e := range entries { // one by one, to find all that are there twice
			more, err := library.With(e)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			library = more
		}
	}
	for _, r := range own.set.Rules() {
		for _, id := range r.Incidents {
			// One that could not be read may be it.
			if _, ok := library.Get(id); !ok && readErr == nil {
				errs = append(errs, fmt.Errorf("%s: %s: there is no incident %q: prdiff incidents lists them", own.set.FileOf(r.ID), r.ID, id))
			}
		}
	}
	ids, all := own.declared()
	for _, e := range entries {
		for _, p := range e.CheckRules(func(id string) bool { return !all || slices.Contains(ids, id) }) {
			errs = append(errs, fmt.Errorf("%s:%d: %s", e.File, e.Line, p))
		}
	}
	return own, errors.Join(errs...)
}

// declared gives the IDs of all rules, those of the own files too that are not sound; all
// is false when there may be more in files that could not be read.
func (own ownRules) declared() (ids []string, all bool) {
	ids, all = own.set.Declares()
	return append(builtInIDs(), ids...), all && !own.unread
}

func builtInIDs() []string { return idsOf(rules.All) }

func idsOf(list []*rule.Rule) []string {
	var out []string
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// ruleFiles reads the files that hold rules: those that are named, and YAML files
// in folders that are.
func ruleFiles(t *source.Tree, paths []string) ([]celrule.File, error) {
	var out []celrule.File
	var errs []error
	for _, p := range paths {
		info, err := fs.Stat(t, p)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: no such file or folder: see rules.paths in %s", p, config.File))
			continue
		}
		names := []string{p}
		if info.IsDir() {
			if names, err = t.Files(p); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		for _, name := range names {
			if ext := strings.ToLower(path.Ext(name)); info.IsDir() && ext != ".yaml" && ext != ".yml" {
				continue
			}
			if slices.ContainsFunc(out, func(f celrule.File) bool { return f.Name == name }) {
				continue
			}
			data, err := t.ReadFile(name)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			out = append(out, celrule.File{Name: name, Data: data})
		}
	}
	return out, errors.Join(errs...)
}

// triggersOf gives the postmortems that are rules by themselves.
func triggersOf(entries []incident.Incident) []celrule.Trigger {
	var out []celrule.Trigger
	for _, e := range entries {
		if e.Trigger == nil || e.Trigger.When == "" {
			continue
		}
		severity, err := rule.ParseSeverity(e.Trigger.Severity)
		if err != nil {
			severity = rule.Warning // "" says nothing; anything else was refused when it was read
		}
		out = append(out, celrule.Trigger{
			ID: e.ID, Title: e.Title, File: e.File, Line: e.Line, When: e.Trigger.When, Kinds: e.Trigger.Kinds,
			Severity: severity, Message: cmp.Or(e.Trigger.Message, strings.TrimSuffix(e.Lesson, ".")),
			Doc: strings.TrimSpace(e.Change + " " + e.Mechanism),
		})
	}
	return out
}

// newPolicy reads the rules, postmortems and suppressions of both sides. What is
// broken on the head side is an error. Rules are those of the base side and those
// that only the head side has, so that a change cannot take away the rule that it
// breaks.
func newPolicy(base, head *source.Tree, scope config.Scope, now time.Time) (*policy, error) {
	p := &policy{scope: scope, library: incident.Embedded(), rules: rules.All, now: now}
	after, err := readOwn(head, scope.After())
	if err != nil {
		return nil, err
	}
	before, err := readOwn(base, existing(base, scope.Before()))
	if err != nil {
		p.note(config.File, report.Skipped, "rules and postmortems are not asked as they are before the change: "+err.Error())
		before = ownRules{}
	}
	p.rules = slices.Concat(p.rules, before.set.Rules())
	for _, r := range after.set.Rules() {
		if !slices.ContainsFunc(before.set.Rules(), func(have *rule.Rule) bool { return have.ID == r.ID }) {
			p.rules = append(p.rules, r)
		}
	}
	p.own = []*celrule.Set{before.set, after.set}
	for _, s := range p.own {
		for _, x := range s.Skipped() {
			p.note(x.File, report.Skipped, x.Reason)
		}
	}
	extra := slices.Clone(after.incidents)
	for _, i := range before.incidents {
		if !slices.ContainsFunc(extra, func(have incident.Incident) bool { return have.ID == i.ID }) {
			extra = append(extra, i)
		}
	}
	if p.library, err = p.library.With(extra...); err != nil {
		return nil, err
	}
	p.settings = scope.Settings(p.rules)
	p.options = diff.Options{Unfiltered: scope.FiltersOff(), Hide: scope.Hide()}
	return p, p.checkConfig()
}

// existing gives a configuration without the files and folders that its tree does
// not have: before the first rule is written, there is none.
func existing(t *source.Tree, c *config.Config) *config.Config {
	if c == nil {
		return nil
	}
	only := *c
	missing := func(p string) bool { return !t.Exists(p) }
	only.RulePaths = slices.DeleteFunc(slices.Clone(c.RulePaths), missing)
	only.IncidentPaths = slices.DeleteFunc(slices.Clone(c.IncidentPaths), missing)
	return &only
}

// checkConfig says which rules the configurations name that do not exist: an error
// on the head side, a note on the base side.
func (p *policy) checkConfig() error {
	if err := p.scope.After().CheckRules(p.rules); err != nil {
		return err
	}
	if err := p.scope.Before().CheckRules(p.rules); err != nil {
		p.note(config.File, report.Skipped, "as it is before the change: "+err.Error())
	}
	if p.scope.PendingSilence() {
		p.note(config.File, report.Skipped, "what it newly silences is still told here, and silenced once this is merged")
	}
	return nil
}

func (p *policy) note(name string, s report.Status, text string) {
	for i, u := range p.notes {
		if u.Name == name && u.Status == s {
			if !strings.Contains(u.Error, text) {
				p.notes[i].Error += "\n" + text
			}
			return
		}
	}
	p.notes = append(p.notes, report.Unit{Name: name, Status: s, Error: text})
}

// ask asks every rule, and gives the findings with the severity and the silence
// that the configuration and annotations give them. It fills in what the report
// says of suppressions.
func (p *policy) ask(rep *report.Report, parts []*rule.Unit) []report.Finding {
	byName := map[string]*rule.Unit{}
	for _, u := range parts {
		byName[u.Name] = u
	}
	silencers := p.newSilencers(parts)
	var out []report.Finding
	for _, f := range rule.RunWith(p.rules, parts, p.settings) {
		f.Severity = p.scope.Severity(f, p.settings)
		if f.Severity == 0 {
			continue
		}
		out = append(out, report.Finding{Finding: f, Suppressed: silencers.silence(f, byName[f.Unit])})
	}
	for _, set := range p.own {
		p.noteProblems(set.Problems())
	}
	rep.Silencers = silencers.list
	rep.Off = p.scope.Off()
	for i := range rep.Hidden {
		for _, h := range p.scope.Hidings() {
			if h.ID() == rep.Hidden[i].Filter {
				rep.Hidden[i].Reason = h.Reason
			}
		}
	}
	for name, text := range silencers.wrong {
		for i := range rep.Units {
			if rep.Units[i].Name == name {
				rep.Units[i].Notes = append(rep.Units[i].Notes, text...)
				break
			}
		}
	}
	rep.Units = append(rep.Units, p.notes...)
	return report.FoldFindings(out)
}

// noteProblems tells of rules that could not be asked about an object: what they
// would have said there is not known.
func (p *policy) noteProblems(problems []celrule.Problem) {
	type key struct{ file, rule, text string }
	counts := map[key]int{}
	for _, x := range problems {
		counts[key{x.File, x.Rule, x.Text}]++
	}
	for _, x := range problems {
		k := key{x.File, x.Rule, x.Text}
		n := counts[k]
		if n == 0 {
			continue
		}
		counts[k] = 0
		text := fmt.Sprintf("%s cannot be asked about %s: %s", x.Rule, x.Ref, x.Text)
		if n > 1 {
			text = fmt.Sprintf("%s cannot be asked about %s and %d more: %s", x.Rule, x.Ref, n-1, x.Text)
		}
		p.note(x.File, report.Failed, text)
	}
}

// silencers know the suppressions of a run and what came of them.
type silencers struct {
	policy       *policy
	suppressions []config.Suppression
	list         []report.Silencer
	ignores      map[object.Ref][]config.Ignore // of objects as they were before
	wrong        map[string][]string            // by unit: annotations that silence nothing
}

func (p *policy) newSilencers(parts []*rule.Unit) *silencers {
	s := &silencers{policy: p, suppressions: p.scope.Suppressions(), ignores: map[object.Ref][]config.Ignore{}, wrong: map[string][]string{}}
	for _, x := range s.suppressions {
		state := report.Idle
		switch {
		case x.Expired(p.now):
			state = report.Expired
		case slices.ContainsFunc(parts, func(u *rule.Unit) bool {
			return slices.ContainsFunc(u.Changes, func(c diff.Change) bool { return x.Concerns(c.Ref) })
		}):
			state = report.Unused
		}
		s.list = append(s.list, report.Silencer{By: x.Place(), About: x.About(), Reason: x.Reason, Expires: x.Expires, State: state})
	}
	ids := map[string]bool{}
	for _, r := range p.rules {
		ids[r.ID] = true
	}
	for _, u := range parts {
		for _, c := range u.Changes {
			if c.Before == nil {
				continue
			}
			ignores, wrong := config.Ignores(c.Before, func(id string) bool { return ids[id] })
			s.ignores[c.Ref] = ignores
			s.wrong[u.Name] = append(s.wrong[u.Name], wrong...)
		}
	}
	return s
}

// silence says who silences a finding, nil for nobody.
func (s *silencers) silence(f rule.Finding, u *rule.Unit) *report.Suppression {
	ref := f.Ref
	ref.Unit = f.Unit
	var by *report.Suppression
	for _, i := range s.ignores[ref] {
		if i.Rule == f.Rule {
			by = &report.Suppression{By: config.IgnoreAnnotation, Reason: i.Reason}
			break
		}
	}
	for i, x := range s.suppressions {
		if !x.Matches(f) {
			continue
		}
		s.list[i].Findings++
		if s.list[i].State == report.Expired {
			continue
		}
		s.list[i].State = report.Used
		if by == nil {
			by = &report.Suppression{By: x.Place(), Reason: x.Reason, Expires: x.Expires}
		}
	}
	return by
}
