package report

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// checkSARIF says what of a log breaks SARIF 2.1.0's schema or GitHub's limits. It
// reads plain JSON, so that it knows nothing of the types that wrote it.
func checkSARIF(data []byte) []string {
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var log map[string]any
	if err := json.Unmarshal(data, &log); err != nil {
		return []string{err.Error()}
	}
	// only says that an object has the keys that are required, and none but those
	// that the schema knows.
	only := func(at string, v any, required, optional string) map[string]any {
		m, ok := v.(map[string]any)
		if !ok {
			bad("%s is no object", at)
			return map[string]any{}
		}
		for _, k := range strings.Fields(required) {
			if _, ok := m[k]; !ok {
				bad("%s lacks %s", at, k)
			}
		}
		known := " " + required + " " + optional + " "
		for k := range m {
			if !strings.Contains(known, " "+k+" ") {
				bad("%s has %s, which the schema does not know", at, k)
			}
		}
		return m
	}
	list := func(at string, v any) []any {
		l, ok := v.([]any)
		if !ok {
			bad("%s is no list", at)
		}
		return l
	}
	text := func(at string, v any, most int) string {
		s, ok := v.(string)
		if !ok || s == "" || len([]rune(s)) > most {
			bad("%s is no text of 1 to %d characters: %q", at, most, s)
		}
		return s
	}
	message := func(at string, v any) { text(at, only(at, v, "text", "markdown id arguments")["text"], 1024) }
	level := func(at string, v any) {
		if s := text(at, v, 10); s != "none" && s != "note" && s != "warning" && s != "error" {
			bad("%s is %q", at, s)
		}
	}
	place := func(at string, v any) {
		l := only(at, v, "physicalLocation", "id logicalLocations message annotations relationships properties")
		if id, ok := l["id"].(float64); ok && id < 0 {
			bad("%s.id is %v", at, id)
		}
		p := only(at+".physicalLocation", l["physicalLocation"], "artifactLocation region", "contextRegion address")
		a := only(at+".artifactLocation", p["artifactLocation"], "uri", "uriBaseId index description")
		uri := text(at+".uri", a["uri"], 8192)
		if u, err := url.Parse(uri); err != nil || u.IsAbs() || strings.HasPrefix(uri, "/") {
			bad("%s.uri %q is no relative reference: %v", at, uri, err)
		}
		region := only(at+".region", p["region"], "startLine startColumn endLine endColumn", "")
		for _, k := range []string{"startLine", "startColumn", "endLine", "endColumn"} {
			if n, ok := region[k].(float64); !ok || n < 1 || n != float64(int(n)) {
				bad("%s.%s is %v", at, k, region[k])
			}
		}
		if m, ok := l["message"]; ok {
			message(at+".message", m)
		}
	}
	only("log", log, "$schema version runs", "")
	if log["version"] != "2.1.0" {
		bad("version is %v", log["version"])
	}
	for _, r := range list("runs", log["runs"]) {
		run := only("run", r, "tool results", "automationDetails invocations columnKind")
		driver := only("driver", only("tool", run["tool"], "driver", "")["driver"], "name rules", "version informationUri")
		var ids []string
		for i, x := range list("rules", driver["rules"]) {
			at := fmt.Sprintf("rules[%d]", i)
			known := only(at, x, "id shortDescription fullDescription help", "defaultConfiguration properties name")
			ids = append(ids, text(at+".id", known["id"], 255))
			for _, k := range []string{"shortDescription", "fullDescription", "help"} {
				message(at+"."+k, known[k])
			}
			level(at+".level", only(at+".defaultConfiguration", known["defaultConfiguration"], "level", "")["level"])
			if tags := list(at+".tags", known["properties"].(map[string]any)["tags"]); len(tags) > 20 {
				bad("%s has %d tags", at, len(tags))
			}
		}
		for _, inv := range list("invocations", run["invocations"]) {
			v := only("invocation", inv, "executionSuccessful", "toolExecutionNotifications")
			for _, n := range list("notifications", v["toolExecutionNotifications"]) {
				note := only("notification", n, "message", "level")
				level("notification.level", note["level"])
				message("notification.message", note["message"])
			}
		}
		results := list("results", run["results"])
		if len(results) > 5000 {
			bad("%d results", len(results))
		}
		for i, x := range results {
			at := fmt.Sprintf("results[%d]", i)
			result := only(at, x, "ruleId ruleIndex message level locations partialFingerprints", "relatedLocations")
			message(at+".message", result["message"])
			level(at+".level", result["level"])
			if n := int(result["ruleIndex"].(float64)); n < 0 || n >= len(ids) || ids[n] != result["ruleId"] {
				bad("%s.ruleIndex %d is not that of %v", at, n, result["ruleId"])
			}
			places := list(at+".locations", result["locations"])
			if len(places) != 1 {
				bad("%s has %d locations", at, len(places))
			}
			for _, l := range places {
				place(at+".locations", l)
			}
			if related, ok := result["relatedLocations"]; ok {
				for _, l := range list(at+".relatedLocations", related) {
					place(at+".relatedLocations", l)
				}
			}
			text(at+".fingerprint", result["partialFingerprints"].(map[string]any)["primaryLocationLineHash"], 255)
		}
	}
	return wrong
}

// TestSARIFIsValid holds SARIF against OASIS's own schema
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json,
// a copy of which is in testdata as it was published), and against GitHub's limits.
func TestSARIFIsValid(t *testing.T) {
	data, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := compileSchema(t, data)
	if err := validate(t, schema, []byte(`{"version": "2.1.0", "runs": [{"results": []}]}`)); err == nil {
		t.Error("the schema takes a run without a tool: the test looks at nothing")
	}
	bare := &Report{Findings: []Finding{{Finding: rule.Finding{Rule: "r", Severity: rule.Note}}}}
	for _, tt := range []struct {
		name    string
		report  *Report
		results int
	}{
		{"a report with something of everything", sample(t), 2},
		{"one without anything", &Report{}, 0},
		{"one of hostile texts", hostile(), 2},
		{"a finding about nothing", bare, 1},
		{"more findings than code scanning keeps", many(6000), 5000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := SARIF(&b, tt.report, Options{Key: nasty}); err != nil {
				t.Fatal(err)
			}
			for _, wrong := range checkSARIF(b.Bytes()) {
				t.Error(wrong)
			}
			if err := validate(t, schema, b.Bytes()); err != nil {
				t.Errorf("%#v", err)
			}
			var log sarifLog
			if err := json.Unmarshal(b.Bytes(), &log); err != nil {
				t.Fatal(err)
			}
			if got := len(log.Runs[0].Results); got != tt.results {
				t.Errorf("%d results, want %d", got, tt.results)
			}
			var packed bytes.Buffer
			zip := gzip.NewWriter(&packed)
			if _, err := zip.Write(b.Bytes()); err != nil {
				t.Fatal(err)
			}
			if err := zip.Close(); err != nil || packed.Len() > 10<<20 {
				t.Errorf("%d bytes when packed, and GitHub takes 10 MB: %v", packed.Len(), err)
			}
			for line := range strings.SplitSeq(b.String(), "\n") {
				if strings.Contains(line, "##[") || strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("a log would obey %q", line)
				}
			}
		})
	}
}

// TestCheckSARIF shows that the check of SARIF can fail.
func TestCheckSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := SARIF(&b, sample(t), Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ old, new, want string }{
		{`"startLine": 1`, `"startLine": 0`, "startLine is 0"},
		{`"ruleIndex": 0`, `"ruleIndex": 1`, "ruleIndex 1 is not that of"},
		{`"uri": "env`, `"uri": "/env`, "is no relative reference"},
		{`"level": "error"`, `"level": "bad"`, `level is "bad"`},
		{`"columnKind"`, `"column"`, "which the schema does not know"},
		{`"version": "2.1.0"`, `"version": "2"`, "version is 2"},
	} {
		got := strings.Join(checkSARIF([]byte(strings.Replace(b.String(), tt.old, tt.new, 1))), "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s for %s: %q, want %q in it", tt.new, tt.old, got, tt.want)
		}
	}
}

func TestGitHubAnnotations(t *testing.T) {
	for _, r := range []*Report{hostile(), sample(t), many(300)} {
		var b bytes.Buffer
		if err := GitHub(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for line := range strings.SplitSeq(strings.TrimSuffix(b.String(), "\n"), "\n") {
			command, ok := strings.CutPrefix(line, "::")
			if !ok {
				if !strings.HasPrefix(line, "prdiff: ") {
					t.Errorf("line %q is neither a command nor the verdict", line)
				}
				continue
			}
			head, _, ok := strings.Cut(command, "::")
			name, properties, _ := strings.Cut(head, " ")
			counts[name]++
			if !ok || name != "error" && name != "warning" && name != "notice" {
				t.Errorf("command %q", line)
			}
			for p := range strings.SplitSeq(properties, ",") {
				if key, _, ok := strings.Cut(p, "="); !ok || key != "file" && key != "line" && key != "title" {
					t.Errorf("property %q in %q", p, line)
				}
			}
			if strings.Contains(line, "##[") || strings.ContainsAny(line, "\r\x1b") {
				t.Errorf("%q is not inert", line)
			}
		}
		for name, n := range counts {
			if n > annotations {
				t.Errorf("%d of %s, and GitHub shows %d", n, name, annotations)
			}
		}
	}
	var b bytes.Buffer
	r := &Report{Findings: []Finding{{Finding: rule.Finding{Rule: "r", Severity: rule.Error, Ref: object.Ref{Kind: "Service", Name: "s"},
		Origin: object.Origin{Path: "a,b:c%.yaml", Line: 3}, Message: "100% of\npods"}}}}
	if err := GitHub(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "::error file=a%2Cb%3Ac%25.yaml,line=3,title=Service s (r)::100%25 of%0Apods.\n"
	if got, _, _ := strings.Cut(b.String(), "\n"); got+"\n" != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
