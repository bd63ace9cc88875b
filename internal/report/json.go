package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// Schema is the version of the JSON format. Field names and meanings do not
// change within one version; fields may be added.
const Schema = 1

// The types below spell the JSON format out, in the order of its fields.
type (
	jsonReport struct {
		Schema    int            `json:"schema" doc:"the version of this format: names and meanings do not change within one, fields may be added"`
		Tool      jsonTool       `json:"tool"`
		Part      string         `json:"part,omitempty" doc:"I/N of a run whose units were divided among several"`
		Base      jsonSide       `json:"base"`
		Head      jsonSide       `json:"head"`
		Units     []jsonUnit     `json:"units"`
		Changes   []jsonChange   `json:"changes"`
		Findings  []jsonFinding  `json:"findings"`
		Incidents []jsonIncident `json:"incidents" doc:"those that findings cite, once each"`
		Cases     []Case         `json:"cases,omitempty" doc:"what incidentlib says of the incidents, where it was asked and answered"`
		Hidden    []Hidden       `json:"hidden" doc:"what the noise filters took out"`
		Silencers []Silencer     `json:"suppressions" doc:"suppressions of the configuration, in the order of the file"`
		Off       []string       `json:"rulesOff" doc:"ids of rules that are switched off"`
		Rules     []jsonRule     `json:"rules" doc:"those that findings name, once each"`
		Numbers   jsonNumbers    `json:"numbers" doc:"the change in figures"`
		Summary   jsonSummary    `json:"summary" doc:"counts: units by status, visible objects by action, findings that nobody silenced by severity"`
	}
	jsonTool struct {
		Version string `json:"version"`
	}
	jsonSide struct {
		Rev string `json:"rev" doc:"as it was asked for"`
		SHA string `json:"sha" doc:"the commit; empty for folders and the working tree"`
	}
	jsonUnit struct {
		Name     string   `json:"name"`
		Renderer string   `json:"renderer" doc:"empty for something skipped that is no unit"`
		Status   Status   `json:"status"`
		Error    string   `json:"error" doc:"why it failed, or was skipped; empty otherwise"`
		Before   int      `json:"before" doc:"objects on that side"`
		After    int      `json:"after" doc:"objects on that side"`
		Ms       *int64   `json:"ms,omitempty" doc:"milliseconds of rendering and comparing, with -v alone"`
		Notes    []string `json:"notes,omitempty" doc:"what a reader must know beside the status"`
		Sources  []string `json:"sources" doc:"files that differ between both sides and that the unit reads"`
	}
	jsonObject struct {
		APIVersion string `json:"apiVersion"`
		Group      string `json:"group"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	}
	jsonField struct {
		Path      object.Path     `json:"path" doc:"where in the object; it goes on inside a text that holds a structure"`
		Op        diff.Op         `json:"op"`
		Before    json.RawMessage `json:"before" doc:"the value, masked where it is secret; null when there is none"`
		After     json.RawMessage `json:"after" doc:"the value, masked where it is secret; null when there is none"`
		Hidden    string          `json:"hidden" doc:"id of the filter that takes this difference for noise, empty when it is shown"`
		Immutable string          `json:"immutable,omitempty" doc:"why the API server refuses this change in place"`
		Reordered bool            `json:"reordered,omitempty" doc:"items of the list changed places, and nothing else"`
	}
	jsonEffect struct {
		Kind  diff.EffectKind `json:"kind"`
		Paths []object.Path   `json:"paths"`
		Text  string          `json:"text"`
	}
	jsonOrigin struct {
		Path string `json:"path"`
		Line int    `json:"line" doc:"0 when it is not known"`
	}
	jsonChange struct {
		Unit        string       `json:"unit"`
		Action      diff.Action  `json:"action"`
		Object      jsonObject   `json:"object"`
		RenamedFrom string       `json:"renamedFrom" doc:"namespace/name, for a rename"`
		MovedFrom   string       `json:"movedFrom,omitempty" doc:"the unit that had the object before, for a rename that takes it from one unit to another"`
		Fields      []jsonField  `json:"fields"`
		Effects     []jsonEffect `json:"effects"`
		Sources     []string     `json:"sources" doc:"changed files that it came from, the nearest first"`
		Diff        string       `json:"diff" doc:"unified text of the YAML of both sides, secrets masked"`
		Origin      jsonOrigin   `json:"origin"`
		Group       string       `json:"group" doc:"the same for identical changes in several units, empty when there is one"`
	}
	jsonElsewhere struct {
		Units       []string `json:"units" doc:"the units"`
		Message     string   `json:"message,omitempty" doc:"the fact, where it is another one there"`
		Consequence string   `json:"consequence,omitempty" doc:"what happens there, where that is another thing"`
	}
	jsonFinding struct {
		Rule        string          `json:"rule"`
		Severity    string          `json:"severity" enum:"note warning error"`
		Unit        string          `json:"unit"`
		Units       []string        `json:"units" doc:"all units that have it; unit is the first"`
		Object      jsonObject      `json:"object"`
		Path        object.Path     `json:"path" doc:"the field that it is about, empty for the object as a whole"`
		Before      json.RawMessage `json:"before" doc:"the value, masked where it is secret; null when there is none"`
		After       json.RawMessage `json:"after" doc:"the value, masked where it is secret; null when there is none"`
		Message     string          `json:"message" doc:"what was measured"`
		Consequence string          `json:"consequence" doc:"what happens to what runs"`
		Elsewhere   []jsonElsewhere `json:"elsewhere,omitempty" doc:"what there is to say of units that have the same with other numbers"`
		Advice      string          `json:"advice" doc:"what to do instead"`
		Related     []jsonObject    `json:"related" doc:"other objects that it concerns"`
		Incidents   []string        `json:"incidents" doc:"ids of public incidents that it repeats, the closest first"`
		Reasons     []string        `json:"incidentReasons" doc:"why each of these is shown, in their order"`
		Origin      jsonOrigin      `json:"origin"`
		Fingerprint string          `json:"fingerprint" doc:"stable over reruns"`
		Suppressed  *Suppression    `json:"suppressed" doc:"who silenced it, and why; null when it counts"`
		Rollout     *jsonRollout    `json:"rollout,omitempty"`
	}
	jsonIncident struct {
		ID     string `json:"id"`
		Org    string `json:"org"`
		Title  string `json:"title"`
		Date   string `json:"date"`
		URL    string `json:"url"`
		Lesson string `json:"lesson"`
		Impact string `json:"impact"`
		File   string `json:"file,omitempty" doc:"of a team's own"`
	}
	jsonSummary struct {
		Units    map[string]int `json:"units"`
		Objects  map[string]int `json:"objects"`
		Findings map[string]int `json:"findings"`
	}
)

// JSON writes the report as one JSON object, schema version 1. Nothing is left
// out of it: changes that noise filters hide are there, with the filter's id.
// Milliseconds are written only when o.Times is set.
func JSON(w io.Writer, r *Report, o Options) error {
	out := jsonReport{
		Schema: Schema, Tool: jsonTool{r.Version}, Part: r.Part,
		Base: jsonSide(r.Base), Head: jsonSide(r.Head),
		Units: []jsonUnit{}, Changes: []jsonChange{}, Findings: []jsonFinding{}, Incidents: []jsonIncident{}, Hidden: []Hidden{},
		Silencers: append([]Silencer{}, r.Silencers...), Off: append([]string{}, r.Off...),
		Rules: rulesJSON(r.Rules), Numbers: numbersJSON(r), Summary: summarize(r),
	}
	for _, u := range r.Units {
		ju := jsonUnit{Name: u.Name, Renderer: u.Renderer, Status: u.Status, Error: u.Error, Before: u.Before, After: u.After, Notes: u.Notes, Sources: append([]string{}, u.Sources...)}
		if o.Times {
			ju.Ms = &u.Ms
		}
		out.Units = append(out.Units, ju)
	}
	sources := newSources(r)
	for _, c := range r.Changes {
		jc, err := changeJSON(c)
		if err != nil {
			return err
		}
		jc.Sources = append([]string{}, sources.of(c)...)
		out.Changes = append(out.Changes, jc)
	}
	for _, f := range r.Findings {
		jf, err := findingJSON(f)
		if err != nil {
			return err
		}
		out.Findings = append(out.Findings, jf)
	}
	for _, i := range r.Incidents {
		out.Incidents = append(out.Incidents, jsonIncident{i.ID, i.Org, i.Title, i.Date, i.URL, i.Lesson, i.Impact, i.File})
	}
	for _, c := range r.Cases {
		c.Similar = append([]Similar{}, c.Similar...)
		out.Cases = append(out.Cases, c)
	}
	out.Hidden = append(out.Hidden, r.Hidden...)

	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := w.Write(inertJSON(b.Bytes()))
	return err
}

func summarize(r *Report) jsonSummary {
	s := jsonSummary{
		Units:    map[string]int{string(Rendered): 0, string(Unchanged): 0, string(Skipped): 0, string(Failed): 0},
		Objects:  map[string]int{string(diff.Create): 0, string(diff.Update): 0, string(diff.Replace): 0, string(diff.Delete): 0, string(diff.Rename): 0},
		Findings: map[string]int{"error": 0, "warning": 0, "note": 0},
	}
	for _, u := range r.Units {
		s.Units[string(u.Status)]++
	}
	for _, c := range r.Visible() {
		s.Objects[string(c.Action)]++
	}
	for _, f := range r.Findings {
		if f.Suppressed == nil {
			s.Findings[f.Severity.String()]++
		}
	}
	return s
}

func changeJSON(c Change) (jsonChange, error) {
	out := jsonChange{
		Unit: c.Ref.Unit, Action: c.Action, Object: objectJSON(c.Ref, c.APIVersion),
		Fields: []jsonField{}, Effects: []jsonEffect{}, Diff: c.Diff, Origin: jsonOrigin(c.Origin), Group: c.Group,
	}
	if c.Action == diff.Rename {
		out.RenamedFrom, out.MovedFrom = qualified(c.RenamedFrom), c.MovedFrom
	}
	for _, f := range c.Fields {
		before, err := valueJSON(f.Before)
		if err != nil {
			return out, fmt.Errorf("%s: %s: %w", c.Ref, f.Path, err)
		}
		after, err := valueJSON(f.After)
		if err != nil {
			return out, fmt.Errorf("%s: %s: %w", c.Ref, f.Path, err)
		}
		out.Fields = append(out.Fields, jsonField{f.Path, f.Op, before, after, f.Hidden, f.Immutable, f.Reordered})
	}
	for _, e := range c.Effects {
		out.Effects = append(out.Effects, jsonEffect{e.Kind, append([]object.Path{}, e.Paths...), e.Text})
	}
	return out, nil
}

func findingJSON(f Finding) (jsonFinding, error) {
	out := jsonFinding{
		Rule: f.Rule, Severity: f.Severity.String(), Unit: f.Unit, Units: append([]string{}, f.Units...),
		Object: objectJSON(f.Ref, f.APIVersion), Path: f.Path,
		Message: f.Message, Consequence: f.Consequence, Advice: f.Advice,
		Related: []jsonObject{}, Incidents: append([]string{}, f.Incidents...), Reasons: append([]string{}, f.Reasons...),
		Origin: jsonOrigin(f.Origin), Fingerprint: f.Fingerprint, Suppressed: f.Suppressed,
		Rollout: rolloutJSON(f.Rollout),
	}
	for _, e := range f.Elsewhere {
		out.Elsewhere = append(out.Elsewhere, jsonElsewhere(e))
	}
	var err error
	if out.Before, err = valueJSON(f.Before); err != nil {
		return out, fmt.Errorf("%s: %s: %w", f.Ref, f.Path, err)
	}
	if out.After, err = valueJSON(f.After); err != nil {
		return out, fmt.Errorf("%s: %s: %w", f.Ref, f.Path, err)
	}
	for i, ref := range f.Related {
		version := ""
		if i < len(f.RelatedVersions) {
			version = f.RelatedVersions[i]
		}
		out.Related = append(out.Related, objectJSON(ref, version))
	}
	return out, nil
}

func objectJSON(r object.Ref, apiVersion string) jsonObject {
	return jsonObject{APIVersion: apiVersion, Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

func valueJSON(v object.Value) (json.RawMessage, error) {
	if !v.Exists() {
		return json.RawMessage("null"), nil
	}
	return v.MarshalJSON()
}

// ParseJSON reads a report that JSON wrote. It is meant for files that come from
// elsewhere: an unknown schema, unknown words and wrong types are errors.
func ParseJSON(data []byte) (*Report, error) {
	var in jsonReport
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("not a prdiff report: %w", err)
	}
	if in.Schema != Schema {
		return nil, fmt.Errorf("not a prdiff report of schema %d: schema is %d", Schema, in.Schema)
	}
	r := &Report{Version: in.Tool.Version, Part: in.Part, Base: Side(in.Base), Head: Side(in.Head), Hidden: in.Hidden, Cases: in.Cases, Silencers: in.Silencers, Off: in.Off}
	for i, u := range in.Units {
		switch u.Status {
		case Rendered, Unchanged, Skipped, Failed:
		default:
			return nil, fmt.Errorf("units[%d]: unknown status %q", i, u.Status)
		}
		ru := Unit{Name: u.Name, Renderer: u.Renderer, Status: u.Status, Error: u.Error, Notes: u.Notes, Before: u.Before, After: u.After, Sources: u.Sources}
		if u.Ms != nil {
			ru.Ms = *u.Ms
		}
		r.Units = append(r.Units, ru)
	}
	for i, c := range in.Changes {
		rc, err := parseChange(c)
		if err != nil {
			return nil, fmt.Errorf("changes[%d]: %w", i, err)
		}
		r.Changes = append(r.Changes, rc)
	}
	for i, f := range in.Findings {
		rf, err := parseFinding(f)
		if err != nil {
			return nil, fmt.Errorf("findings[%d]: %w", i, err)
		}
		r.Findings = append(r.Findings, rf)
	}
	for _, i := range in.Incidents {
		r.Incidents = append(r.Incidents, incident.Incident{ID: i.ID, Org: i.Org, Title: i.Title, Date: i.Date, URL: i.URL, Lesson: i.Lesson, Impact: i.Impact, File: i.File})
	}
	var err error
	if r.Rules, err = parseRules(in.Rules); err != nil {
		return nil, err
	}
	if r.Numbers, err = parseNumbers(in.Numbers); err != nil {
		return nil, err
	}
	return r, nil
}

func parseChange(c jsonChange) (Change, error) {
	switch c.Action {
	case diff.Create, diff.Update, diff.Replace, diff.Delete, diff.Rename:
	default:
		return Change{}, fmt.Errorf("unknown action %q", c.Action)
	}
	out := Change{APIVersion: c.Object.APIVersion, Origin: object.Origin(c.Origin), Diff: c.Diff, Group: c.Group}
	out.Action, out.Ref = c.Action, parseRef(c.Unit, c.Object)
	if c.Action == diff.Rename {
		out.RenamedFrom = out.Ref
		out.RenamedFrom.Namespace, out.RenamedFrom.Name = splitQualified(c.RenamedFrom)
		if out.MovedFrom = c.MovedFrom; c.MovedFrom != "" {
			out.RenamedFrom.Unit = c.MovedFrom
		}
	}
	for i, f := range c.Fields {
		before, err := parseValue(f.Before)
		if err != nil {
			return out, fmt.Errorf("fields[%d].before: %w", i, err)
		}
		after, err := parseValue(f.After)
		if err != nil {
			return out, fmt.Errorf("fields[%d].after: %w", i, err)
		}
		out.Fields = append(out.Fields, diff.Field{Path: f.Path, Op: f.Op, Before: before, After: after, Hidden: f.Hidden, Immutable: f.Immutable, Reordered: f.Reordered})
	}
	for i, e := range c.Effects {
		if effectName(e.Kind) == "" {
			return out, fmt.Errorf("effects[%d]: unknown kind %q", i, e.Kind)
		}
		out.Effects = append(out.Effects, diff.Effect{Kind: e.Kind, Paths: e.Paths, Text: e.Text})
	}
	return out, nil
}

func parseFinding(f jsonFinding) (Finding, error) {
	severity, err := rule.ParseSeverity(f.Severity)
	if err != nil {
		return Finding{}, err
	}
	out := Finding{APIVersion: f.Object.APIVersion, Suppressed: f.Suppressed, Reasons: f.Reasons}
	out.Finding = rule.Finding{
		Rule: f.Rule, Severity: severity, Unit: f.Unit, Units: f.Units, Ref: parseRef(f.Unit, f.Object),
		Origin: object.Origin(f.Origin), Path: f.Path, Message: f.Message, Consequence: f.Consequence,
		Advice: f.Advice, Incidents: f.Incidents, Fingerprint: f.Fingerprint,
		Rollout: parseRollout(f.Unit, f.Rollout),
	}
	for _, e := range f.Elsewhere {
		out.Elsewhere = append(out.Elsewhere, rule.Elsewhere(e))
	}
	if out.Before, err = parseValue(f.Before); err != nil {
		return out, fmt.Errorf("before: %w", err)
	}
	if out.After, err = parseValue(f.After); err != nil {
		return out, fmt.Errorf("after: %w", err)
	}
	for _, o := range f.Related {
		out.Related = append(out.Related, parseRef(f.Unit, o))
		out.RelatedVersions = append(out.RelatedVersions, o.APIVersion)
	}
	return out, nil
}

func parseRef(unit string, o jsonObject) object.Ref {
	return object.Ref{Unit: unit, Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func parseValue(raw json.RawMessage) (object.Value, error) {
	if len(raw) == 0 {
		return object.Value{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return object.Value{}, err
	}
	return object.Of(v), nil
}
