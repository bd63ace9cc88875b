package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
)

// What a page may hold, in bytes of text: a browser opens it at once, and a mail
// or an artifact takes it.
const (
	pageDiffs = 8 << 20  // all diffs together
	pageDiff  = 96 << 10 // one of them
	pageLine  = 2000     // characters of one line of a diff
	pageValue = 400      // characters of a value that a filter hides
)

// The types below are what the script of the page is given. Names are short where
// they repeat for each change. Every text is inert.
type (
	pageData struct {
		Units     []string                `json:"units"`
		Findings  []pageFinding           `json:"findings"`
		Changes   []pageChange            `json:"changes"`
		Rules     map[string]pageRule     `json:"rules"`
		Incidents map[string]pageIncident `json:"incidents"`
	}
	pageRule struct {
		Title string `json:"title"`
		Doc   string `json:"doc"`
	}
	pageIncident struct {
		Org    string `json:"org"`
		Year   string `json:"year,omitempty"`
		Title  string `json:"title"`
		Impact string `json:"impact,omitempty"`
		Lesson string `json:"lesson,omitempty"`
		URL    string `json:"url,omitempty"` // only of sources that can be linked
	}
	pageFinding struct {
		ID          string       `json:"id"`
		Rule        string       `json:"rule"`
		Severity    string       `json:"severity"`
		Units       []int        `json:"units"`
		Kind        string       `json:"kind"`
		Name        string       `json:"name"`
		Path        string       `json:"path,omitempty"`
		Message     string       `json:"message"`
		Consequence string       `json:"consequence,omitempty"`
		Advice      string       `json:"advice,omitempty"`
		Hunk        []string     `json:"hunk,omitempty"`
		Related     []string     `json:"related,omitempty"`
		Incidents   []string     `json:"incidents,omitempty"`
		Reasons     []string     `json:"reasons,omitempty"` // of Incidents, in their order
		Similar     string       `json:"similar,omitempty"`
		Origin      string       `json:"origin,omitempty"`
		Change      int          `json:"change"` // the index of the object's change, -1 for none
		Rollout     *pageRollout `json:"rollout,omitempty"`
	}
	pageRollout struct {
		Workload  string   `json:"workload"`
		Before    int      `json:"before"`
		FirstWave int      `json:"firstWave"`
		Old       bool     `json:"old"` // pods made before the merge still answer
		New       bool     `json:"new"`
		Steps     [][2]int `json:"steps"` // old and new pods that are ready
	}
	pageChange struct {
		ID        string       `json:"id"`
		Units     []int        `json:"u"`
		Sign      string       `json:"a"`
		Kind      string       `json:"k"`
		Name      string       `json:"n"`
		Summary   string       `json:"s"`
		Effects   []pageEffect `json:"e,omitempty"`
		Diff      string       `json:"d,omitempty"`
		Cut       bool         `json:"c,omitempty"` // the diff was left out, or its end
		Hidden    [][4]string  `json:"h,omitempty"` // path, before, after, filter
		Noise     bool         `json:"z,omitempty"` // shown only with what is hidden
		Others    []string     `json:"o,omitempty"`
		Variants  []int        `json:"v,omitempty"` // the units of Others
		Elsewhere []string     `json:"x,omitempty"`
		Sources   []string     `json:"f,omitempty"`
		Origin    string       `json:"l,omitempty"`
	}
	pageEffect struct {
		Kind  string `json:"k"`
		Text  string `json:"t"`
		Grave bool   `json:"g,omitempty"`
	}
)

// pageDataOf gives the data of the page, and of how many changes the diff found
// no room.
func pageDataOf(r *Report) (data pageData, dropped int) {
	p := pageMaker{r: r, units: map[string]int{}, ids: map[string]int{}, from: newSources(r)}
	p.data = pageData{Units: []string{}, Findings: []pageFinding{}, Changes: []pageChange{}, Rules: map[string]pageRule{}, Incidents: map[string]pageIncident{}}
	at := map[object.Ref]int{}
	for _, s := range folded(r, true) {
		for _, c := range s.members {
			at[c.Ref] = len(p.data.Changes)
		}
		for _, o := range s.others {
			for _, c := range o.members {
				at[c.Ref] = len(p.data.Changes)
			}
		}
		p.change(s)
	}
	for _, f := range r.Findings {
		if f.Suppressed == nil {
			p.finding(f, at)
		}
	}
	for _, x := range r.Rules {
		p.data.Rules[inert(x.ID)] = pageRule{inert(x.Title), inertText(x.Doc)}
	}
	for _, i := range r.Incidents {
		shown := pageIncident{Org: inert(i.Org), Year: inert(year(i.Date)), Title: inert(i.Title), Impact: inert(i.Impact), Lesson: inert(i.Lesson)}
		if webLink(i.URL) {
			shown.URL = i.URL
		}
		p.data.Incidents[inert(i.ID)] = shown
	}
	return p.data, p.dropped
}

type pageMaker struct {
	r       *Report
	data    pageData
	units   map[string]int
	ids     map[string]int
	from    sources
	spent   int // bytes of diffs
	dropped int
}

// unitsOf gives units by their place in the list of names.
func (p *pageMaker) unitsOf(units []string) []int {
	out := make([]int, 0, len(units))
	for _, u := range units {
		i, ok := p.units[u]
		if !ok {
			i = len(p.data.Units)
			p.units[u] = i
			p.data.Units = append(p.data.Units, inert(u))
		}
		out = append(out, i)
	}
	return out
}

// id gives a name for a link that stays the same from run to run.
func (p *pageMaker) id(prefix string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	id := prefix + hex.EncodeToString(sum[:6])
	p.ids[id]++
	if n := p.ids[id]; n > 1 {
		id += fmt.Sprintf("-%d", n)
	}
	return id
}

func (p *pageMaker) change(s same) {
	c := s.Change
	out := pageChange{
		ID:    p.id("c-", c.Ref.Unit, c.Ref.GroupKind(), c.Ref.Namespace, c.Ref.Name),
		Units: p.unitsOf(s.units), Sign: sign(c.Action), Kind: inert(c.Ref.Kind), Name: inert(qualified(c.Ref)),
		Summary: inert(summary(c, func(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" })),
		Noise:   !c.Visible(),
	}
	if c.Origin.Path != "" {
		out.Origin = inert(c.Origin.String())
	}
	for _, e := range s.effects() {
		_, text := e.says()
		if e.units != nil {
			text += " (" + inUnits(e.units, inert) + ")"
		}
		out.Effects = append(out.Effects, pageEffect{e.name, inert(text), grave(e.Kind)})
	}
	for _, o := range s.others {
		out.Others = append(out.Others, inert(strings.Join(o.units, ", ")+": "+strings.Join(o.how, ", ")))
	}
	for _, o := range s.others {
		out.Variants = append(out.Variants, p.unitsOf(o.units)...)
	}
	for _, u := range s.elsewhere {
		out.Elsewhere = append(out.Elsewhere, inert(u))
	}
	for _, f := range p.from.of(c) {
		out.Sources = append(out.Sources, inert(f))
	}
	for _, f := range c.Fields {
		if f.Hidden != "" {
			out.Hidden = append(out.Hidden, [4]string{inert(string(f.Path)), pageText(f, f.Before), pageText(f, f.After), inert(f.Hidden)})
		}
	}
	out.Diff, out.Cut = p.diff(c.Diff)
	p.data.Changes = append(p.data.Changes, out)
}

// pageText shows a value that a filter hides.
func pageText(f diff.Field, v object.Value) string {
	if f.Reordered {
		return "in another order"
	}
	return inert(cut(v.String(), pageValue))
}

// diff gives a diff as far as there is room for it.
func (p *pageMaker) diff(text string) (shown string, left bool) {
	if text == "" {
		return "", false
	}
	if p.spent > pageDiffs {
		p.dropped++
		return "", true
	}
	var b strings.Builder
	for _, l := range inertLines(text) {
		if b.Len() > pageDiff {
			left = true
			p.dropped++
			break
		}
		b.WriteString(cut(l, pageLine))
		b.WriteByte('\n')
	}
	p.spent += b.Len()
	return b.String(), left
}

func (p *pageMaker) finding(f Finding, changes map[object.Ref]int) {
	out := pageFinding{
		ID:   p.id("f-", f.Fingerprint, f.Rule, f.Ref.String(), string(f.Path)),
		Rule: inert(f.Rule), Severity: f.Severity.String(), Units: p.unitsOf(f.Units), Kind: inert(f.Ref.Kind), Name: inert(qualified(f.Ref)),
		Path: inert(string(f.Path)), Message: stopped(inert(f.Message)), Consequence: sentence(inert(happens(f))),
		Advice: sentence(strings.Join(strings.Fields(inert(f.Advice)), " ")), Change: -1,
		Similar: similarText(similar(p.r, f), inert),
	}
	at, hunk, _ := findingHunk(p.r, f, 24)
	if out.Hunk = hunk; at != "" && hunk != nil {
		out.Hunk = append([]string{" " + at}, hunk...)
	}
	if f.Origin.Path != "" {
		out.Origin = inert(f.Origin.String())
	}
	if i, ok := changes[f.Ref]; ok {
		out.Change = i
	}
	for _, ref := range f.Related {
		out.Related = append(out.Related, inert(ref.String()))
	}
	for _, i := range cited(p.r, f) {
		out.Incidents = append(out.Incidents, inert(i.ID))
		out.Reasons = append(out.Reasons, inert(i.reason))
	}
	if x := f.Rollout; x != nil && len(x.Steps) > 0 {
		rollout := &pageRollout{inert(x.Workload.String()), x.Before, x.FirstWave, x.ReachesOld, x.ReachesNew, nil}
		for _, s := range x.Steps {
			rollout.Steps = append(rollout.Steps, [2]int{s.Old, s.New})
		}
		out.Rollout = rollout
	}
	p.data.Findings = append(p.data.Findings, out)
}

// inertText is inert for a text of several paragraphs.
func inertText(s string) string { return strings.Join(inertLines(strings.TrimSpace(s)), "\n") }
