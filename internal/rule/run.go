package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// Report adds a finding about change c. What f leaves empty is filled in from
// the rule and the change: rule, severity, unit, object, origin, advice,
// incidents, and the values before and after at f.Path.
//
// What is said of an object that is gone from its unit and comes in another one is
// no more than a note, which says so: whether both go to one cluster is not known.
func (p *Pass) Report(c diff.Change, f Finding) {
	if homes := p.MovedTo(c); len(homes) > 0 && f.Severity != Note {
		f.Severity = Note
		also := fmt.Sprintf("%s gains it in this change: if both go to one cluster, it stays", homes[0])
		if len(homes) > 1 {
			also = fmt.Sprintf("%s and %d more gain it in this change: if they go to the same cluster, it stays", homes[0], len(homes)-1)
		}
		f.Consequence = strings.TrimPrefix(f.Consequence+"; "+also, "; ")
	}
	add(p.findings, p.rule, p.Name, c, f)
}

// MovedTo gives the other units that gain the object which c takes away, by kind,
// namespace and name, in the order of the units; nil for a change that takes
// nothing away.
func (p *Pass) MovedTo(c diff.Change) []string {
	if c.Action != diff.Delete {
		return nil
	}
	return p.others(c, diff.Create)
}

// MovedFrom gives the other units that lose the object which c brings, by kind,
// namespace and name, in the order of the units; nil for a change that brings none.
func (p *Pass) MovedFrom(c diff.Change) []string {
	if c.Action != diff.Create {
		return nil
	}
	return p.others(c, diff.Delete)
}

// others gives the other units in which the object of a change has an action.
func (p *Pass) others(c diff.Change, action diff.Action) []string {
	var out []string
	ref := c.Ref
	for _, u := range p.all {
		if u == p.Unit {
			continue
		}
		ref.Unit = u.Name
		i, ok := slices.BinarySearchFunc(u.Changes, ref, func(x diff.Change, ref object.Ref) int { return x.Ref.Compare(ref) })
		if ok && u.Changes[i].Action == action {
			out = append(out, u.Name)
		}
	}
	return out
}

// Reportf adds a finding with just a path and a message.
func (p *Pass) Reportf(c diff.Change, path object.Path, format string, args ...any) {
	p.Report(c, Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

// Report adds a finding about change c of unit u, filled in like Pass.Report.
//
// What is said of an object that is gone from its unit is no more than a note where a unit
// of a folder within that of u, or around it, gains the object: a tool that deploys the
// outer folder mostly takes the inner one along, so that the file just moved.
func (l *Fleet) Report(u *Unit, c diff.Change, f Finding) {
	if c.Action == diff.Delete && f.Severity != Note {
		pass := Pass{Unit: u, all: l.Units}
		if i := slices.IndexFunc(pass.MovedTo(c), func(home string) bool { return nested(u.Name, home) }); i >= 0 {
			f.Severity = Note
			f.Consequence += fmt.Sprintf("; %s lies in the same folder: where one tool deploys both, it stays", pass.MovedTo(c)[i])
		}
	}
	add(l.findings, l.rule, u.Name, c, f)
}

// nested says whether one unit's folder lies within the other's.
func nested(a, b string) bool {
	within := func(inner, outer string) bool { return outer == "." || strings.HasPrefix(inner, outer+"/") }
	return !strings.Contains(a+b, ":") && (within(a, b) || within(b, a))
}

func add(to *[]Finding, r *Rule, unit string, c diff.Change, f Finding) {
	f.Rule = r.ID
	f.Unit = unit
	f.Units = []string{unit}
	if f.Severity == 0 {
		f.Severity = r.Severity
	}
	if f.Ref == (object.Ref{}) {
		f.Ref = c.Ref
	}
	if o := c.Object(); o != nil && f.Origin == (object.Origin{}) {
		f.Origin = o.Origin
	}
	if f.Path != "" && !f.Before.Exists() && !f.After.Exists() {
		f.Before, f.After = c.Before.At(string(f.Path)), c.After.At(string(f.Path))
	}
	if f.Advice == "" {
		f.Advice = r.Advice
	}
	if f.Incidents == nil {
		f.Incidents = r.Incidents
	}
	f.Fingerprint = fingerprint(f)
	*to = append(*to, f)
}

// fingerprint names a finding by what it is about, not by its words or numbers,
// so that it stays the same when a rerun counts other pods.
func fingerprint(f Finding) string {
	h := sha256.Sum256([]byte(strings.Join([]string{
		f.Rule, f.Unit, f.Ref.Group, f.Ref.Kind, f.Ref.Namespace, f.Ref.Name, string(f.Path),
	}, "\x00")))
	return hex.EncodeToString(h[:8])
}

// Run shows every change to every rule that asks for its kind, and gives the
// findings, worst first, then in the order of units, objects, paths and rules. What
// goes from one unit to another, and changes, is shown as an update too.
// Rules see changes whole, hidden fields included.
func Run(rules []*Rule, units []*Unit) []Finding { return RunWith(rules, units, Settings{}) }

// RunWith is Run with what a team says about its clusters.
func RunWith(rules []*Rule, units []*Unit, s Settings) []Finding {
	var findings []Finding
	byKind, anyKind := index(rules)
	for _, u := range units {
		for _, c := range u.Changes {
			for _, r := range byKind[kindOf(c.Ref)] {
				r.check(units, u, c, s, &findings)
			}
			for _, r := range anyKind {
				r.check(units, u, c, s, &findings)
			}
		}
	}
	checkMoved(byKind, anyKind, units, s, &findings)
	for _, r := range rules {
		if r.CheckAll != nil {
			r.CheckAll(&Fleet{Units: units, Settings: s, rule: r, findings: &findings})
		}
	}
	slices.SortStableFunc(findings, compareFindings)
	return findings
}

// index sorts rules by the kinds that they ask for, so that a change costs
// nothing to the rules that it does not concern.
func index(rules []*Rule) (byKind map[string][]*Rule, anyKind []*Rule) {
	byKind = make(map[string][]*Rule)
	for _, r := range rules {
		switch {
		case r.Check == nil:
		case len(r.Kinds) == 0:
			anyKind = append(anyKind, r)
		default:
			for _, kind := range r.Kinds {
				byKind[kind] = append(byKind[kind], r)
			}
		}
	}
	return byKind, anyKind
}

func (r *Rule) check(units []*Unit, u *Unit, c diff.Change, s Settings, findings *[]Finding) {
	if len(r.Actions) > 0 && !slices.Contains(r.Actions, c.Action) {
		return
	}
	r.Check(&Pass{Unit: u, Settings: s, all: units, rule: r, findings: findings}, c)
}

// movedGroups are the homes that the kinds of extensions/v1beta1 have moved to
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-16). A
// rule asks for the home and is shown both.
var movedGroups = map[string]string{
	"Deployment.extensions":        "Deployment.apps",
	"DaemonSet.extensions":         "DaemonSet.apps",
	"ReplicaSet.extensions":        "ReplicaSet.apps",
	"Ingress.extensions":           "Ingress.networking.k8s.io",
	"NetworkPolicy.extensions":     "NetworkPolicy.networking.k8s.io",
	"PodSecurityPolicy.extensions": "PodSecurityPolicy.policy",
}

func kindOf(r object.Ref) string {
	kind := r.GroupKind()
	if moved, ok := movedGroups[kind]; ok {
		return moved
	}
	return kind
}

func compareFindings(a, b Finding) int {
	if a.Severity != b.Severity {
		return int(b.Severity - a.Severity)
	}
	if c := a.Ref.Compare(b.Ref); c != 0 {
		return c
	}
	if c := strings.Compare(string(a.Path), string(b.Path)); c != 0 {
		return c
	}
	if c := strings.Compare(a.Rule, b.Rule); c != 0 {
		return c
	}
	return strings.Compare(a.Message, b.Message)
}
