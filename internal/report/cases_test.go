package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// withCases is the sample with what incidentlib says of its incident, in the words
// of somebody who means harm.
func withCases(t *testing.T) *Report {
	r := sample(t)
	r.Cases = []Case{{
		Incident: "grafana-2022", ID: "IL-0191", Org: "Grafana Labs", Date: "2022-09-01", Title: "A selector", Lesson: "Labels first",
		Similar: []Similar{
			{ID: "IL-0246", Org: "Adyen", Date: "2026", Title: "[click](https://evil.example/a) @org/team <img src=x> #12 \x1b[31m", Reason: "same root cause"},
			{ID: "IL-0005", Org: "OpenAI", Title: "Too much telemetry"},
			{ID: "IL-0285", Title: "One more"},
		},
	}}
	return r
}

func write(t *testing.T, w Reporter, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := w(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSimilarCases(t *testing.T) {
	r := withCases(t)
	text := strings.Join(strings.Fields(write(t, Text, r)), " ")
	const want = `More like it on incidentlib: Adyen, 2026: [click](https://evil.example/a) @org/team <img src=x> #12 \u001b[31m (IL-0246); OpenAI: Too much telemetry (IL-0005)`
	if !strings.Contains(text, want) {
		t.Errorf("the text is\n%s\nwant in it\n%s", text, want)
	}
	md := write(t, Markdown, r)
	_, line, found := strings.Cut(md, "**More like it on incidentlib.** ")
	if !found {
		t.Fatalf("no similar cases in\n%s", md)
	}
	line, _, _ = strings.Cut(line, "\n")
	const wantLine = "Adyen, 2026: `[click](https://evil.example/a`\\) `@org/team` &lt;img src=x&gt; `#12` \\\\u001b\\[31m \\(IL-0246\\); OpenAI: Too much telemetry \\(IL-0005\\)"
	if line != wantLine {
		t.Errorf("the line is\n%s\nwant\n%s", line, wantLine)
	}
	for _, s := range []string{text, md} {
		if strings.Contains(s, "IL-0285") {
			t.Error("more similar cases than there is room for")
		}
	}
}

func TestCasesAsJSON(t *testing.T) {
	r := withCases(t)
	again, err := ParseJSON([]byte(write(t, JSON, r)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Cases, r.Cases) {
		t.Errorf("ParseJSON() gives the cases %+v, want %+v", again.Cases, r.Cases)
	}
	if without := write(t, JSON, sample(t)); strings.Contains(without, `"cases"`) {
		t.Error("a report without cases tells of them")
	}
	merged := mergeCases(mergeCases(nil, r.Cases), append([]Case{{Incident: "a", ID: "IL-1"}}, r.Cases...))
	if len(merged) != 2 || merged[0].Incident != "a" || merged[1].Incident != "grafana-2022" {
		t.Errorf("mergeCases() = %+v, want each once, in order", merged)
	}
}
