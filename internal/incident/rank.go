package incident

import (
	"fmt"
	"slices"
	"strings"
)

// MaxMatches is how many incidents a finding is shown with.
const MaxMatches = 3

// A Query says what is known of a finding. Any part may be left out.
type Query struct {
	Rule     string   // its rule's ID
	Cited    []string // IDs of incidents that the rule cites, the closest first
	Kind     string   // of the object, "Deployment" or "Deployment.apps"
	Path     string   // of the field, as object.Path spells it
	Software []string // see Library.SoftwareIn
	Text     string   // title, message and consequence
	Topics   []string // mechanisms
}

// Rank gives at most three incidents that a finding repeats, the closest first,
// each with the reason in words. Those that the rule cites, or that name the rule,
// come first, in the order of what else they share with the finding, then as
// cited. Others follow only when they share the mechanism, or a field or the
// software and something else beside it: never for a word alone.
func (l *Library) Rank(q Query) []Match {
	var scores []textScore
	if q.Text != "" {
		x := l.index()
		scores = x.scores(x.query(q.Text))
	}
	want := q.traits()
	var out []Match
	fields := l.fields()
	for doc, e := range l.entries {
		ev := want.against(e, fields[doc])
		if scores != nil {
			ev.text = scores[doc]
		}
		if n := slices.Index(q.Cited, e.ID); n >= 0 {
			ev.cited, ev.place = true, n
		}
		if q.Rule != "" {
			ev.named = slices.Contains(e.Rules, q.Rule) || e.Trigger != nil && e.Trigger.Rule == q.Rule
			ev.triggered = e.Trigger != nil && e.Trigger.Rule == q.Rule
			ev.waiting = slices.Contains(e.Topics, q.Rule)
		}
		if ev.enough() {
			out = append(out, Match{Incident: e, Score: ev.score(e), Reason: ev.reason(e)})
		}
	}
	return top(out, MaxMatches)
}

// Similar gives the n entries closest to the one with the ID, best first; n <= 0
// means all that are close. It fails when there is no such entry.
func (l *Library) Similar(id string, n int) ([]Match, error) {
	self, ok := l.Get(id)
	if !ok {
		return nil, fmt.Errorf("no incident %q: `prdiff incidents` lists them", clip(id, maxID))
	}
	x := l.index()
	scores := x.scores(x.query(strings.Join([]string{self.Title, self.Change, self.Mechanism, strings.Join(self.Symptoms, " ")}, " ")))
	want := traits{kinds: kindSet(self.Kinds), software: self.Software, topics: slices.Concat(self.Topics, self.Rules)}
	for _, f := range self.Fields {
		want.paths = append(want.paths, segments(f))
	}
	var out []Match
	fields := l.fields()
	for doc, e := range l.entries {
		if e.ID == self.ID {
			continue
		}
		ev := want.against(e, fields[doc])
		ev.text = scores[doc]
		if ev.enough() {
			out = append(out, Match{Incident: e, Score: ev.score(e), Reason: ev.reason(e)})
		}
	}
	return top(out, n), nil
}

// traits are the sides of a finding, or of an entry, that others can share.
type traits struct {
	kinds    map[string]bool
	paths    [][]string
	software []string
	topics   []string
}

func (q Query) traits() traits {
	t := traits{software: q.Software, topics: q.Topics}
	if q.Kind != "" {
		t.kinds = kindSet([]string{q.Kind})
	}
	if p := segments(q.Path); len(p) > 0 {
		t.paths = [][]string{p}
	}
	return t
}

// evidence is what an entry shares with a finding.
type evidence struct {
	cited, named, waiting bool // by the rule; the rule by the entry; the rule as a topic
	triggered             bool // the rule by the entry's own trigger
	place                 int  // of the citation
	kind, family          bool // the same kind; another kind with a pod template
	field                 fieldMatch
	software              string // the first shared, "" for none
	topic                 bool
	related               bool // the entry's own change was not in a manifest
	own                   bool // somebody of the team wrote it
	text                  textScore
}

// splitFields gives the steps of the fields of all entries.
func (l *Library) splitFields() [][][]string {
	out := make([][][]string, len(l.entries))
	for doc, e := range l.entries {
		for _, f := range e.Fields {
			out[doc] = append(out[doc], segments(f))
		}
	}
	return out
}

// against gives what t shares with an entry, the fields of which are given in steps.
func (t traits) against(e Incident, fields [][]string) evidence {
	ev := evidence{related: e.Related != "", own: e.Own()}
	for _, k := range e.Kinds {
		k = plainKind(k)
		ev.kind = ev.kind || t.kinds[k]
		ev.family = ev.family || podKinds[k] && t.kinds["pod template"]
	}
	if ev.kind || ev.family {
		for _, f := range fields {
			for _, p := range t.paths {
				if n := sharedSteps(f, p); n > 0 {
					ev.field = max(ev.field, strength(strings.Join(f[:n], ".")))
				}
			}
		}
	}
	for _, s := range e.Software {
		if slices.Contains(t.software, s) {
			ev.software = s
			break
		}
	}
	for _, topic := range t.topics {
		ev.topic = ev.topic || slices.Contains(e.Topics, topic) || slices.Contains(e.Rules, topic)
	}
	return ev
}

// alike says whether the text says the same in more than one word.
func (ev evidence) alike() bool { return ev.text.words >= 3 && ev.text.covered >= 0.25 }

// enough says whether an entry may be shown: a shared word, kind or name is not.
func (ev evidence) enough() bool {
	switch {
	case ev.cited, ev.named, ev.waiting, ev.topic:
		return true
	case ev.related && ev.software == "":
		return false // the field took part, but was not what changed
	case ev.field == telling:
		return true
	case ev.field == twoWay && ev.own && ev.alike():
		return true
	case ev.field != none:
		return ev.software != ""
	}
	return ev.software != "" && ev.kind && ev.alike()
}

// A fieldMatch says how much a shared field says.
type fieldMatch int

const (
	none    fieldMatch = iota
	loose              // holds anything: two changes of an image have little in common
	twoWay             // hurts in both directions, so the account must be alike, and the team's own: others' are cited
	telling            // says by itself what kind of change it is
)

var fieldStrength = map[string]fieldMatch{
	"containers.image": loose, "containers.env": loose, "containers.args": loose, "data": loose, "rules": loose,
	"metadata.annotations": loose, "metadata.labels": loose, "metadata.name": loose,
	"spec.replicas": twoWay, "spec.maxReplicas": twoWay, "spec.maxReplicaCount": twoWay, "spec.affinity": twoWay,
	"containers.resources": twoWay, "spec.resources": twoWay,
}

func strength(field string) fieldMatch {
	if m, ok := fieldStrength[field]; ok {
		return m
	}
	if strings.HasPrefix(field, "containers.resources.") || strings.HasPrefix(field, "spec.resources.") {
		return twoWay
	}
	return telling
}

// score weighs the evidence. The steps are far apart: a citation outweighs all
// that a text can add, and within the cited ones, field and software decide.
func (ev evidence) score(e Incident) float64 {
	var s float64
	switch {
	case ev.triggered:
		s = 2000 // somebody of the team asked for just that
	case ev.cited:
		s = 1000 - 20*float64(min(ev.place, 10))
	case ev.named:
		s = 900
	case ev.waiting:
		s = 700
	}
	switch {
	case ev.field != none && ev.kind:
		s += 200
	case ev.field != none:
		s += 150
	case ev.kind:
		s += 20
	}
	if ev.software != "" {
		s += 160
	}
	if ev.topic {
		s += 120
	}
	if ev.alike() {
		s += 100 * ev.text.covered
	}
	if e.Related != "" {
		s -= 60
	}
	if e.Own() {
		s += 80 // the reader was there
	}
	return s
}

func (ev evidence) reason(e Incident) string {
	var parts []string
	switch {
	case ev.cited:
		parts = append(parts, "cited by the rule")
	case ev.named:
		parts = append(parts, "an example of this rule")
	}
	switch {
	case ev.field != none && ev.kind:
		parts = append(parts, "same field")
	case ev.field != none:
		parts = append(parts, "same field of another kind")
	case ev.kind && ev.software != "":
		parts = append(parts, "same kind")
	}
	if ev.software != "" {
		parts = append(parts, "same software ("+ev.software+")")
	}
	if ev.topic || ev.waiting {
		parts = append(parts, "same mechanism")
	}
	if ev.alike() && len(parts) < 3 {
		parts = append(parts, "similar account")
	}
	if e.Own() {
		parts = append([]string{"your own"}, parts...)
	}
	return strings.Join(parts, ", ")
}

// podKinds are the kinds that hold a pod template: what is true of a container's
// limits in one is true in the others.
var podKinds = map[string]bool{
	"Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true,
	"Job": true, "CronJob": true, "Pod": true, "Rollout": true,
}

func kindSet(kinds []string) map[string]bool {
	set := map[string]bool{}
	for _, k := range kinds {
		k = plainKind(k)
		set[k] = true
		if podKinds[k] {
			set["pod template"] = true
		}
	}
	return set
}

// plainKind takes the group off "Deployment.apps".
func plainKind(k string) string {
	kind, _, _ := strings.Cut(k, ".")
	return kind
}

// segments takes a path apart without its list items:
// spec.containers[name=app].image is spec, containers, image. Quoted keys stay:
// metadata.labels["a.b/c"] is metadata, labels, a.b/c.
func segments(path string) []string {
	var out []string
	for path != "" {
		switch path[0] {
		case '.':
			path = path[1:]
		case '[':
			var key string
			key, path = bracket(path)
			if key != "" {
				out = append(out, key)
			}
		default:
			end := strings.IndexAny(path, ".[")
			if end < 0 {
				end = len(path)
			}
			out, path = append(out, path[:end]), path[end:]
		}
	}
	return out
}

// bracket reads one [...] and gives the key in it when it is a quoted one.
func bracket(path string) (key, rest string) {
	if !strings.HasPrefix(path, `["`) {
		quoted := false
		for i := 1; i < len(path); i++ {
			switch {
			case path[i] == '\\' && quoted:
				i++
			case path[i] == '"':
				quoted = !quoted
			case path[i] == ']' && !quoted:
				return "", path[i+1:]
			}
		}
		return "", ""
	}
	var b strings.Builder
	for i := 2; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
			if i < len(path) {
				b.WriteByte(path[i])
			}
		case '"':
			return b.String(), strings.TrimPrefix(path[i+1:], "]")
		default:
			b.WriteByte(path[i])
		}
	}
	return b.String(), ""
}

// sharedSteps says how far a field of an entry, such as containers.resources.limits,
// is the place of a finding: all its steps when they stand one after another in the
// finding's path; fewer, but at least two and all but one, when the path ends on
// the way to it; 0 when it is another place. A single step, such as data, fits too
// much and counts only as the whole path.
func sharedSteps(field, path []string) int {
	if len(field) == 1 {
		if len(path) == 1 && path[0] == field[0] {
			return 1
		}
		return 0
	}
	for at := range path {
		n := 0
		for n < len(field) && at+n < len(path) && field[n] == path[at+n] {
			n++
		}
		if n == len(field) || at+n == len(path) && n >= 2 && (at == 0 || n >= len(field)-1) {
			return n
		}
	}
	return 0
}
