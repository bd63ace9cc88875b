package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// What GitHub takes of a SARIF file. It refuses one with more results than the
// first number, and keeps only as many as the second
// (https://docs.github.com/en/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning).
const (
	sarifResults = 5000 // the worst of them; GitHub refuses 25,001 and drops 5,001
	sarifText    = 1024 // characters of a description or message
	sarifNotes   = 50   // reasons that units failed for
	sarifRelated = 20   // locations that are named beside a result's own
)

// The types below spell out what is used of SARIF 2.1.0
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool              sarifTool         `json:"tool"`
		AutomationDetails sarifID           `json:"automationDetails"`
		Invocations       []sarifInvocation `json:"invocations"`
		ColumnKind        string            `json:"columnKind"`
		Results           []sarifResult     `json:"results"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string          `json:"id"`
		ShortDescription     sarifMessage    `json:"shortDescription"`
		FullDescription      sarifMessage    `json:"fullDescription"`
		Help                 sarifMessage    `json:"help"`
		DefaultConfiguration sarifLevel      `json:"defaultConfiguration"`
		Properties           sarifProperties `json:"properties"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifProperties struct {
		Tags []string `json:"tags"`
	}
	sarifInvocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifMessage      `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		RelatedLocations    []sarifLocation   `json:"relatedLocations,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		ID               int            `json:"id,omitempty"`
		PhysicalLocation sarifPhysical  `json:"physicalLocation"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
		Message          *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine"`
		EndColumn   int `json:"endColumn"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

// SARIF writes the findings as SARIF 2.1.0, for GitHub's code scanning and others.
// Every result has a file: that of the object, else the entry of its unit. What is
// silenced is left out, as code scanning would show it. Units that could not be
// looked at, and results for which there is no room, are notifications of the run.
func SARIF(w io.Writer, r *Report, o Options) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "prdiff", Version: inert(r.Version), InformationURI: "https://github.com/prdiff/prdiff", Rules: []sarifRule{},
		}},
		// One that several workflows or shards send is replaced by its own kind only.
		AutomationDetails: sarifID{"prdiff/" + keyText(o.Key) + "/"},
		Invocations:       []sarifInvocation{{ExecutionSuccessful: r.Count(Failed) == 0, ToolExecutionNotifications: []sarifNotification{}}},
		ColumnKind:        "utf16CodeUnits",
		Results:           []sarifResult{},
	}
	notify := func(level, format string, args ...any) {
		note := sarifNotification{level, sarifMessage{sarifWords(fmt.Sprintf(format, args...))}}
		run.Invocations[0].ToolExecutionNotifications = append(run.Invocations[0].ToolExecutionNotifications, note)
	}
	for i, why := range reasons(r, Failed) {
		if i == sarifNotes {
			notify("error", "%s could not be looked at in all", plural(r.Count(Failed), "unit"))
			break
		}
		notify("error", "%s could not be looked at: %s", inUnits(names(why.units), inert), why.text)
	}
	if n := r.Count(Skipped); n > 0 {
		notify("note", "%s skipped", plural(n, "unit"))
	}
	for i, line := range silencerWords(r) {
		if i == sarifNotes {
			notify("note", "and more suppressions to look at")
			break
		}
		notify("note", "suppression to look at: %s", line)
	}
	if words := offWords(r, inert); words != "" {
		notify("note", "%s", words)
	}
	index := map[string]int{}
	from := newSources(r)
	left := 0
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			continue
		}
		if len(run.Results) == sarifResults {
			left++
			continue
		}
		i, ok := index[f.Rule]
		if !ok {
			i = len(run.Tool.Driver.Rules)
			index[f.Rule] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(r, f))
		}
		run.Results = append(run.Results, sarifResultOf(r, f, i, from))
	}
	if left > 0 {
		notify("warning", "%s left out: code scanning keeps %d of a run", plural(left, "finding"), sarifResults)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}); err != nil {
		return err
	}
	_, err := w.Write(inertJSON(b.Bytes()))
	return err
}

func sarifRuleOf(r *Report, f Finding) sarifRule {
	known := Rule{ID: f.Rule, Title: f.Rule, Severity: f.Severity}
	if i := slices.IndexFunc(r.Rules, func(x Rule) bool { return x.ID == f.Rule }); i >= 0 {
		known = r.Rules[i]
	}
	doc := cmp.Or(strings.TrimSpace(known.Doc), known.Title)
	return sarifRule{
		ID:                   sarifName(f.Rule),
		ShortDescription:     sarifMessage{sarifWords(known.Title)},
		FullDescription:      sarifMessage{sarifWords(doc)},
		Help:                 sarifMessage{sarifWords(sentence(cmp.Or(f.Advice, doc)))},
		DefaultConfiguration: sarifLevel{known.Severity.String()},
		Properties:           sarifProperties{[]string{"kubernetes", "reliability"}},
	}
}

func sarifResultOf(r *Report, f Finding, index int, from sources) sarifResult {
	text := f.Ref.String() + ": " + sentence(f.Message)
	if len(f.Units) > 1 {
		text += " In " + inUnits(f.Units, inert) + "."
	}
	for _, s := range []string{sentence(happens(f)), sentence(f.Advice)} {
		if s != "" {
			text += " " + s
		}
	}
	for _, i := range cited(r, f) {
		text += " Seen before: " + whose(i.Incident) + ": " + sentence(i.Title)
		if webLink(i.URL) {
			text += " " + i.URL
		}
	}
	out := sarifResult{
		RuleID: sarifName(f.Rule), RuleIndex: index, Level: f.Severity.String(), Message: sarifMessage{sarifWords(text)},
		// GitHub uses this key alone; the number after the colon tells apart what has one hash.
		PartialFingerprints: map[string]string{"primaryLocationLineHash": sarifName(f.Fingerprint) + ":1"},
	}
	place := sarifPlace(cmp.Or(f.Origin.Path, f.Unit), f.Origin.Line)
	place.LogicalLocations = []sarifLogical{{sarifName(f.Ref.String()), "resource"}}
	out.Locations = []sarifLocation{place}
	change := Change{Origin: f.Origin}
	change.Ref = f.Ref
	for i, file := range from.of(change) {
		if file == f.Origin.Path || len(out.RelatedLocations) == sarifRelated {
			continue
		}
		related := sarifPlace(file, 0)
		related.ID, related.Message = i+1, &sarifMessage{"changed here, and read by the unit"}
		out.RelatedLocations = append(out.RelatedLocations, related)
	}
	return out
}

// sarifPlace gives a line of a file, the first where none is known. The end is
// there because GitHub asks for it; a line has at least one character.
func sarifPlace(file string, line int) sarifLocation {
	parts := strings.Split(strings.TrimLeft(cmp.Or(inert(file), "unknown"), "/"), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	line = max(line, 1)
	return sarifLocation{PhysicalLocation: sarifPhysical{
		ArtifactLocation: sarifArtifact{cmp.Or(strings.Join(parts, "/"), "unknown"), "%SRCROOT%"},
		Region:           sarifRegion{line, 1, line, 2},
	}}
}

// sarifMarks are what a viewer of SARIF would take for a link or a placeholder.
var sarifMarks = regexp.MustCompile(`\]\(|\{\d`)

// sarifWords gives a text for a message: inert, not empty, and not too long.
func sarifWords(s string) string {
	s = strings.Join(strings.Fields(inert(s)), " ")
	s = sarifMarks.ReplaceAllStringFunc(s, func(m string) string { return m[:1] + " " + m[1:] })
	if runes := []rune(s); len(runes) > sarifText {
		s = string(runes[:sarifText-1]) + "…"
	}
	return cmp.Or(s, "unknown")
}

// sarifName gives a text for an identifier.
func sarifName(s string) string {
	s = inert(s)
	if runes := []rune(s); len(runes) > 200 {
		s = string(runes[:200])
	}
	return cmp.Or(s, "unknown")
}
