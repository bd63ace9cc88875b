package assist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/internal/rule"
)

type diffInput struct {
	Before     *string `json:"before,omitempty" jsonschema:"the manifests before the change, at most 1 MiB"`
	After      *string `json:"after,omitempty" jsonschema:"the manifests after it, at most 1 MiB"`
	BeforePath string  `json:"beforePath,omitempty" jsonschema:"a folder or file with the manifests before the change"`
	AfterPath  string  `json:"afterPath,omitempty" jsonschema:"a folder or file with those after it"`
	MaxChanges *int    `json:"maxChanges,omitempty" jsonschema:"of how many changed objects to show the differences; findings are always shown"`
}

const (
	usualChanges = 50
	mostChanges  = 500
	mostFindings = 300
)

func (diffInput) bounds(s *jsonschema.Schema) {
	for _, f := range []string{"before", "after"} {
		most := MaxText
		s.Properties[f].Types, s.Properties[f].Type, s.Properties[f].MaxLength = nil, "string", &most
	}
	short(s, "beforePath", "afterPath")
	s.Properties["maxChanges"].Types, s.Properties["maxChanges"].Type = nil, "integer"
	limits(s, "maxChanges", 0, mostChanges, strconv.Itoa(usualChanges))
}

// sides says what to compare.
func (in diffInput) sides() (Sides, error) {
	texts, paths := in.Before != nil || in.After != nil, in.BeforePath != "" || in.AfterPath != ""
	switch {
	case texts && paths:
		return Sides{}, errors.New("give texts or paths, not both")
	case !texts && !paths:
		return Sides{}, errors.New("nothing to compare: give before and after, or beforePath and afterPath")
	case paths && (in.BeforePath == "" || in.AfterPath == ""):
		return Sides{}, errors.New("give both beforePath and afterPath")
	}
	for _, p := range []struct {
		field string
		text  *string
	}{{"before", in.Before}, {"after", in.After}} {
		if p.text != nil && len(*p.text) > MaxText {
			return Sides{}, fmt.Errorf("%s is larger than %d bytes: write it to a file and give the paths", p.field, MaxText)
		}
	}
	if err := errors.Join(checkLength("beforePath", in.BeforePath), checkLength("afterPath", in.AfterPath)); err != nil {
		return Sides{}, err
	}
	return Sides{in.Before, in.After, in.BeforePath, in.AfterPath}, nil
}

// The types below are those of prdiff's JSON report, schema 1, as far as they are
// told here; each field means what it means there.
type (
	objectName struct {
		APIVersion string `json:"apiVersion"`
		Group      string `json:"group"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	}
	unit struct {
		Name     string   `json:"name"`
		Renderer string   `json:"renderer"`
		Status   string   `json:"status" jsonschema:"rendered, unchanged, skipped or failed"`
		Error    string   `json:"error,omitempty" jsonschema:"why it was not looked at"`
		Before   int      `json:"before" jsonschema:"objects before the change"`
		After    int      `json:"after"`
		Notes    []string `json:"notes,omitempty" jsonschema:"what to know beside"`
	}
	finding struct {
		Rule        string       `json:"rule"`
		Severity    string       `json:"severity" jsonschema:"note, warning or error"`
		Units       []string     `json:"units"`
		Object      objectName   `json:"object"`
		Path        string       `json:"path" jsonschema:"the field"`
		Before      any          `json:"before,omitempty"`
		After       any          `json:"after,omitempty"`
		Message     string       `json:"message"`
		Consequence string       `json:"consequence" jsonschema:"what happens when this is merged"`
		Advice      string       `json:"advice" jsonschema:"what to do instead"`
		Related     []objectName `json:"related,omitempty" jsonschema:"other objects that it concerns"`
		Incidents   []string     `json:"incidents,omitempty" jsonschema:"ids, for get_incident"`
		Suppressed  any          `json:"suppressed,omitempty" jsonschema:"who silenced it, and why"`
	}
	field struct {
		Path      string `json:"path"`
		Op        string `json:"op" jsonschema:"add, remove or change"`
		Before    any    `json:"before,omitempty"`
		After     any    `json:"after,omitempty"`
		Hidden    string `json:"hidden,omitempty" jsonschema:"the filter that takes it for noise"`
		Immutable string `json:"immutable,omitempty" jsonschema:"why the API server refuses it"`
	}
	change struct {
		Unit        string     `json:"unit"`
		Action      string     `json:"action" jsonschema:"create, update, replace, delete or rename"`
		Object      objectName `json:"object"`
		RenamedFrom string     `json:"renamedFrom,omitempty"`
		Fields      []field    `json:"fields,omitempty"`
		Diff        string     `json:"diff,omitempty"`
	}
	cited struct {
		ID     string `json:"id"`
		Org    string `json:"org"`
		Title  string `json:"title"`
		Date   string `json:"date"`
		URL    string `json:"url"`
		Lesson string `json:"lesson"`
		File   string `json:"file,omitempty" jsonschema:"where a team's own postmortem stands"`
	}
	hidden struct {
		Filter  string `json:"filter"`
		Fields  int    `json:"fields"`
		Objects int    `json:"objects"`
	}
	summary struct {
		Units    map[string]int `json:"units"`
		Objects  map[string]int `json:"objects" jsonschema:"changed objects, by what is done to them"`
		Findings map[string]int `json:"findings"`
	}
)

type diffOutput struct {
	Complete    bool      `json:"complete" jsonschema:"false when something failed and was not compared, see notLookedAt"`
	NotLookedAt []unit    `json:"notLookedAt,omitempty" jsonschema:"what failed, or was left out on purpose; nothing here says that it does not change"`
	Summary     summary   `json:"summary"`
	Findings    []finding `json:"findings" jsonschema:"what is dangerous about the change, worst first"`
	Incidents   []cited   `json:"incidents,omitempty" jsonschema:"those that findings repeat"`
	Changes     []change  `json:"changes" jsonschema:"what changes in the cluster"`
	Hidden      []hidden  `json:"hidden,omitempty" jsonschema:"what was taken for noise"`
	Notes       []string  `json:"notes,omitempty" jsonschema:"what else to know"`
	LeftOut     []string  `json:"leftOut,omitempty" jsonschema:"what this answer had no room for"`
}

func (diffOutput) bounds(s *jsonschema.Schema) { array(s, "findings", "changes") }

// diff compares, one comparison at a time.
func (t Tools) diff(ctx context.Context, in diffInput, one chan struct{}) (diffOutput, error) {
	sides, err := in.sides()
	if err != nil {
		return diffOutput{}, err
	}
	most, err := inRange("maxChanges", in.MaxChanges, 0, mostChanges, usualChanges)
	if err != nil {
		return diffOutput{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("stopped after %s: compare less at a time", maxTime))
	defer cancel()
	select {
	case one <- struct{}{}:
		defer func() { <-one }()
	case <-ctx.Done():
		return diffOutput{}, context.Cause(ctx)
	}
	rep, err := t.Compare(ctx, sides)
	if err != nil {
		if ctx.Err() != nil {
			return diffOutput{}, context.Cause(ctx)
		}
		return diffOutput{}, err
	}
	return tell(rep, most)
}

// tell gives a report within the bounds of an answer: first what was not looked at,
// then the findings, the worst whole and the last ones in brief, then as many
// changes as there is room for. Whatever is left out is counted.
func tell(rep *report.Report, most int) (diffOutput, error) {
	left := &leftovers{}
	visible := rep.Visible()
	part := *rep // the rest of it may be large, and is not written to be thrown away
	part.Findings, part.Changes = nil, nil
	for _, f := range rep.Findings[:min(len(rep.Findings), mostFindings)] {
		f.Before, f.After = left.value(f.Before), left.value(f.After)
		part.Findings = append(part.Findings, f)
	}
	left.findings = len(rep.Findings) - len(part.Findings)
	for _, c := range visible[:min(len(visible), most)] {
		part.Changes = append(part.Changes, left.shorten(c))
	}
	var b bytes.Buffer
	if err := report.JSON(&b, &part, report.Options{}); err != nil {
		return diffOutput{}, err
	}
	var whole struct {
		Units     []unit    `json:"units"`
		Changes   []change  `json:"changes"`
		Findings  []finding `json:"findings"`
		Incidents []cited   `json:"incidents"`
		Hidden    []hidden  `json:"hidden"`
	}
	dec := json.NewDecoder(&b)
	dec.UseNumber() // numbers stay as they were written
	if err := dec.Decode(&whole); err != nil {
		return diffOutput{}, err
	}
	out := diffOutput{Complete: true, Summary: summarize(rep, visible), Findings: []finding{}, Changes: []change{}, Incidents: whole.Incidents, Hidden: whole.Hidden}
	for _, u := range whole.Units {
		if u.Status == "failed" || u.Status == "skipped" {
			out.Complete = out.Complete && u.Status == "skipped"
			if len(out.NotLookedAt) == mostUnits {
				left.units++
				continue
			}
			u.Error = cut(u.Error, maxReason)
			out.NotLookedAt = append(out.NotLookedAt, u)
		}
		for _, n := range u.Notes {
			if len(out.Notes) == mostUnits {
				left.notes++
				continue
			}
			out.Notes = append(out.Notes, cut(u.Name+": "+n, maxReason))
		}
	}
	if len(rep.Units) == rep.Count(report.Skipped) {
		out.Complete = false
		out.Notes = append(out.Notes, "nothing of what was given renders to Kubernetes objects")
	}
	forFindings := maxAnswer / 2
	for _, f := range whole.Findings {
		if len(f.Units) > 20 {
			f.Units = append(f.Units[:20:20], fmt.Sprintf("and %d more", len(f.Units)-20))
		}
		if len(f.Related) > 20 {
			left.related += len(f.Related) - 20
			f.Related = f.Related[:20]
		}
		n := size(f)
		if n > forFindings {
			f = finding{Rule: f.Rule, Severity: f.Severity, Units: f.Units, Object: f.Object, Path: cut(f.Path, maxWords), Message: cut(f.Message, maxWords)}
			left.details++
		}
		forFindings -= n
		out.Findings = append(out.Findings, f)
	}
	room := maxAnswer - size(out)
	for _, c := range whole.Changes {
		n := size(c)
		if n > room {
			break
		}
		room -= n
		out.Changes = append(out.Changes, c)
	}
	left.changes = len(visible) - len(out.Changes)
	out.LeftOut = left.words()
	return out, nil
}

// summarize counts all that there is.
func summarize(rep *report.Report, visible []report.Change) summary {
	s := summary{Units: map[string]int{}, Objects: map[string]int{}, Findings: map[string]int{}}
	for _, status := range []report.Status{report.Rendered, report.Unchanged, report.Skipped, report.Failed} {
		s.Units[string(status)] = rep.Count(status)
	}
	for _, c := range visible {
		s.Objects[string(c.Action)]++
	}
	for _, severity := range []rule.Severity{rule.Note, rule.Warning, rule.Error} {
		s.Findings[severity.String()] = rep.CountFindings(severity)
	}
	return s
}

func size(v any) int {
	data, err := json.Marshal(v)
	if err != nil {
		return maxAnswer // it fits nowhere; what it is made of came from JSON
	}
	return len(data)
}
