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
		Schema    int            `json:"schema"`
		Tool      jsonTool       `json:"tool"`
		Part      string         `json:"part,omitempty"` // I/N
		Base      jsonSide       `json:"base"`
		Head      jsonSide       `json:"head"`
		Units     []jsonUnit     `json:"units"`
		Changes   []jsonChange   `json:"changes"`
		Findings  []jsonFinding  `json:"findings"`
		Incidents []jsonIncident `json:"incidents"`
		Cases     []Case         `json:"cases,omitempty"`
		Hidden    []Hidden       `json:"hidden"`
		Silencers []Silencer     `json:"suppressions"`
		Off       []string       `json:"rulesOff"`
		Rules     []jsonRule     `json:"rules"`
		Numbers   jsonNumbers    `json:"numbers"`
		Summary   jsonSummary    `json:"summary"`
	}
	jsonTool struct {
		Version string `json:"version"`
	}
	jsonSide struct {
		Rev string `json:"rev"`
		SHA string `json:"sha"`
	}
	jsonUnit struct {
		Name     string   `json:"name"`
		Renderer string   `json:"renderer"`
		Status   Status   `json:"status"`
		Error    string   `json:"error"`
		Before   int      `json:"before"`
		After    int      `json:"after"`
		Ms       *int64   `json:"ms,omitempty"`
		Notes    []string `json:"notes,omitempty"`
		Sources  []string `json:"sources"`
	}
	jsonObject struct {
		APIVersion string `json:"apiVersion"`
		Group      string `json:"group"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	}
	jsonField struct {
		Path      object.Path     `json:"path"`
		Op        diff.Op         `json:"op"`
		Before    json.RawMessage `json:"before"`
		After     json.RawMessage `json:"after"`
		Hidden    string          `json:"hidden"`
		Immutable string          `json:"immutable,omitempty"`
		Reordered bool            `json:"reordered,omitempty"`
	}
	jsonEffect struct {
		Kind  diff.EffectKind `json:"kind"`
		Paths []object.Path   `json:"paths"`
		Text  string          `json:"text"`
	}
	jsonOrigin struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	}
	jsonChange struct {
		Unit        string       `json:"unit"`
		Action      diff.Action  `json:"action"`
		Object      jsonObject   `json:"object"`
		RenamedFrom string       `json:"renamedFrom"` // namespace/name
		Fields      []jsonField  `json:"fields"`
		Effects     []jsonEffect `json:"effects"`
		Sources     []string     `json:"sources"`
		Diff        string       `json:"diff"`
		Origin      jsonOrigin   `json:"origin"`
		Group       string       `json:"group"`
	}
	jsonFinding struct {
		Rule        string          `json:"rule"`
		Severity    string          `json:"severity"`
		Unit        string          `json:"unit"`
		Units       []string        `json:"units"`
		Object      jsonObject      `json:"object"`
		Path        object.Path     `json:"path"`
		Before      json.RawMessage `json:"before"`
		After       json.RawMessage `json:"after"`
		Message     string          `json:"message"`
		Consequence string          `json:"consequence"`
		Advice      string          `json:"advice"`
		Related     []jsonObject    `json:"related"`
		Incidents   []string        `json:"incidents"`
		Origin      jsonOrigin      `json:"origin"`
		Fingerprint string          `json:"fingerprint"`
		Suppressed  *Suppression    `json:"suppressed"`
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
		File   string `json:"file,omitempty"` // of a team's own
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
		out.RenamedFrom = qualified(c.RenamedFrom)
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
		Related: []jsonObject{}, Incidents: append([]string{}, f.Incidents...),
		Origin: jsonOrigin(f.Origin), Fingerprint: f.Fingerprint, Suppressed: f.Suppressed,
		Rollout: rolloutJSON(f.Rollout),
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
	out := Finding{APIVersion: f.Object.APIVersion, Suppressed: f.Suppressed}
	out.Finding = rule.Finding{
		Rule: f.Rule, Severity: severity, Unit: f.Unit, Units: f.Units, Ref: parseRef(f.Unit, f.Object),
		Origin: object.Origin(f.Origin), Path: f.Path, Message: f.Message, Consequence: f.Consequence,
		Advice: f.Advice, Incidents: f.Incidents, Fingerprint: f.Fingerprint,
		Rollout: parseRollout(f.Unit, f.Rollout),
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
