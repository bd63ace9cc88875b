package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// nasty is text that does something where it is not inert: in a terminal, in
// Markdown, in HTML, in a log of GitHub Actions.
const nasty = "x\x1b]0;title\a\x1b[31m\u202egpj.exe ```\n## h\n> [!CAUTION]\n</details></sub>--><img src=x onerror=alert(1)>" +
	" @org/team #987654 !654321 ~bug %87654 GH-7 [a](javascript:alert(1)) ![i](https://evil.example/p.png) www.evil.example | $x$ `b` <!-- \n/close\n::error::boo\r\n##[warning]boo"

// hostile is a report whose every text is nasty.
func hostile() *Report {
	ref := object.Ref{Unit: nasty, Group: nasty, Kind: nasty, Namespace: nasty, Name: nasty}
	before, after := object.Of(nasty+"1"), object.Of(map[string]any{nasty: nasty})
	change := Change{APIVersion: nasty, Origin: object.Origin{Path: nasty}, Diff: "@@ -1 +1 @@\n-" + nasty + "\n+" + nasty + "\n"}
	change.Change = diff.Change{Action: diff.Rename, Ref: ref, RenamedFrom: ref, Fields: []diff.Field{
		{Path: object.Path(nasty), Op: diff.Set, Before: before, After: after, Immutable: nasty},
		{Path: "x", Op: diff.Add, After: object.Of("`|@a|`"), Hidden: nasty},
	}}
	finding := Finding{Finding: rule.Finding{Rule: nasty, Severity: rule.Error, Unit: nasty, Units: []string{nasty, nasty + "2"}, Ref: ref,
		Origin: object.Origin{Path: nasty, Line: 3}, Path: object.Path(nasty), Before: before, After: after,
		Message: nasty, Consequence: nasty, Advice: nasty, Incidents: []string{nasty}, Fingerprint: nasty}, Reasons: []string{nasty}}
	warning, silenced := finding, finding
	warning.Severity = rule.Warning
	silenced.Suppressed = &Suppression{By: nasty, Reason: nasty, Expires: nasty}
	return &Report{
		Version: nasty, Base: Side{Rev: nasty, SHA: "0123456789"}, Head: Side{Rev: nasty},
		Units: []Unit{
			{Name: nasty, Renderer: nasty, Status: Failed, Error: nasty, Notes: []string{nasty}},
			{Name: nasty + "s", Renderer: nasty, Status: Skipped, Error: nasty},
		},
		Changes: []Change{change}, Findings: []Finding{finding, warning, silenced},
		Incidents: []incident.Incident{{ID: nasty, Org: nasty, Title: nasty, Date: nasty, URL: "https://x.example/" + nasty, File: nasty, Lesson: nasty}},
		Hidden:    []Hidden{{Filter: nasty, Fields: 1, Objects: 1, Reason: nasty}},
		Silencers: []Silencer{{By: nasty, About: nasty, Reason: nasty, Expires: nasty, State: Expired}},
		Off:       []string{nasty},
	}
}

func TestHostileTextIsInert(t *testing.T) {
	t.Run("text has no control or bidirectional characters", func(t *testing.T) {
		var b bytes.Buffer
		if err := Text(&b, hostile(), Options{ShowHidden: true}); err != nil {
			t.Fatal(err)
		}
		for i, r := range b.String() {
			if r != '\n' && r != '\t' && unsafeRune(r) {
				t.Fatalf("character %U at byte %d: %q", r, i, b.String()[max(0, i-40):i+4])
			}
		}
	})
	for name, write := range map[string]Reporter{"Markdown": Markdown, "Markdown for GitLab": GitLab} {
		t.Run(name+" outside of code has no mention, link, image, HTML or structure", func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b, hostile(), Options{Key: nasty}); err != nil {
				t.Fatal(err)
			}
			out := b.String()
			if first, _, _ := strings.Cut(out, "\n"); !strings.HasPrefix(first, "<!-- prdiff:comment v1 key=") || strings.Count(first, "-->") != 1 {
				t.Errorf("marker = %q, want one comment in one line", first)
			}
			for _, line := range outsideCode(out)[1:] { // the first line is the marker
				for _, bad := range []string{"@org", "#987654", "](javascript", "![i]", "www.evil", "<img", "\x1b", "\u202e"} {
					if strings.Contains(line, bad) {
						t.Errorf("%q stands bare in %q", bad, line)
					}
				}
				for _, bad := range []string{"!654321", "~bug", "%87654"} { // GitLab leaves <code> alone
					if strings.Contains(htmlCodes.ReplaceAllString(line, ""), bad) {
						t.Errorf("%q stands bare in %q", bad, line)
					}
				}
				if strings.HasPrefix(line, "## ") {
					t.Errorf("a heading came through: %q", line)
				}
			}
			for line := range strings.SplitSeq(out, "\n") {
				if strings.HasPrefix(line, "/") {
					t.Errorf("GitLab would do what %q says", line)
				}
			}
			bare := strings.Join(outsideCode(out), "\n")
			if open, closed := strings.Count(bare, "<details"), strings.Count(bare, "</details>"); open != closed || open == 0 {
				t.Errorf("%d <details> and %d </details>", open, closed)
			}
		})
	}
	t.Run("JSON has no command of a log", func(t *testing.T) {
		var b bytes.Buffer
		if err := JSON(&b, hostile(), Options{}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			if strings.Contains(line, "##[") || strings.HasPrefix(strings.TrimSpace(line), "::") {
				t.Errorf("a log would obey %q", line)
			}
		}
		again, err := ParseJSON(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if again.Units[0].Error != nasty {
			t.Errorf("the error came back as %q", again.Units[0].Error)
		}
	})
}

var htmlCodes = regexp.MustCompile(`<code>.*?</code>`)

// outsideCode gives the lines of Markdown without code blocks and code spans.
func outsideCode(md string) []string {
	var out []string
	fence := ""
	for line := range strings.SplitSeq(md, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
			continue
		case len(ticks) >= 3:
			fence = ticks
			continue
		}
		out = append(out, withoutSpans(line))
	}
	return out
}

// withoutSpans takes the code spans out of a line, as CommonMark finds them.
func withoutSpans(line string) string {
	var b strings.Builder
	for i := 0; i < len(line); {
		if line[i] == '\\' && i+1 < len(line) {
			b.WriteString(line[i : i+2])
			i += 2
			continue
		}
		if line[i] != '`' {
			b.WriteByte(line[i])
			i++
			continue
		}
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		end := -1
		for j := i + n; j < len(line); {
			if line[j] != '`' {
				j++
				continue
			}
			m := len(line[j:]) - len(strings.TrimLeft(line[j:], "`"))
			if m == n {
				end = j + m
				break
			}
			j += m
		}
		if end < 0 {
			b.WriteString(line[i : i+n])
			i += n
			continue
		}
		i = end
	}
	return b.String()
}

// many makes a report with n findings, as many changes, and long values.
func many(n int) *Report {
	r := &Report{Base: Side{Rev: "a"}, Head: Side{Rev: "b"}}
	for i := range n {
		unit := fmt.Sprintf("environments/%04d", i)
		ref := object.Ref{Unit: unit, Kind: "ConfigMap", Namespace: "n", Name: fmt.Sprintf("object-%04d-ü", i)}
		r.Units = append(r.Units, Unit{Name: unit, Renderer: "plain", Status: Rendered},
			Unit{Name: unit + "x", Renderer: "plain", Status: Failed, Error: fmt.Sprintf("file %d: %s", i, strings.Repeat("ü", 300))})
		c := Change{Diff: "@@ -1 +1 @@\n-" + strings.Repeat("ä", 500) + "\n+" + strings.Repeat("ö", 500) + "\n"}
		c.Change = diff.Change{Action: diff.Update, Ref: ref, Fields: []diff.Field{{Path: "data.x", Op: diff.Set, Before: object.Of("a"), After: object.Of("b")}}}
		r.Changes = append(r.Changes, c)
		r.Findings = append(r.Findings, Finding{Finding: rule.Finding{Rule: fmt.Sprintf("rule-%d", i%7), Severity: rule.Severity(1 + i%3), Unit: unit, Units: []string{unit},
			Ref: ref, Path: "data.x", Before: object.Of("a"), After: object.Of("b"), Message: "message " + ref.Name, Consequence: strings.Repeat("what then ", 20), Advice: "wait"}})
	}
	return r
}

// TestMarkdownKeepsToTheBudget writes reports without findings, with one, with as
// many as a comment has room for in full, one more, and a hundred times as many.
func TestMarkdownKeepsToTheBudget(t *testing.T) {
	const leftOut = "Left out for want of room: "
	for name, write := range map[string]Reporter{"github": Markdown, "gitlab": GitLab} {
		comment := func(n, budget int) string {
			var b bytes.Buffer
			if err := write(&b, many(n), Options{Budget: budget}); err != nil {
				t.Fatal(err)
			}
			return b.String()
		}
		limit := 1
		for !strings.Contains(comment(limit+1, 0), leftOut) {
			limit++
		}
		if limit < 10 {
			t.Errorf("%s: a comment has room for %d findings only", name, limit)
		}
		for _, tt := range []struct{ findings, budget int }{
			{0, 0}, {1, 0}, {limit, 0}, {limit + 1, 0}, {10 * limit, 0}, {100 * limit, 0}, {20, 9000}, {0, 1500}, {3000, 9000},
		} {
			t.Run(fmt.Sprintf("%s: %d findings in %d bytes", name, tt.findings, tt.budget), func(t *testing.T) {
				out, budget := comment(tt.findings, tt.budget), tt.budget
				if budget == 0 {
					budget = CommentBudget
				}
				if len(out) > budget {
					t.Errorf("%d bytes, want at most %d", len(out), budget)
				}
				if !utf8.ValidString(out) {
					t.Error("a character was cut in two")
				}
				if last := out[strings.LastIndexByte(strings.TrimSuffix(out, "\n"), '\n')+1:]; !strings.Contains(last, "rendered, ") || !strings.Contains(last, "prdiff") {
					t.Errorf("the footer is missing: it ends in %q", last)
				}
				if open, closed := strings.Count(out, "<details"), strings.Count(out, "\n</details>"); open != closed {
					t.Errorf("%d <details> and %d </details>", open, closed)
				}
				told := 0
				findings := many(tt.findings).Findings
				byRule := strings.Contains(out, "rule-0</code>: ")
				for _, f := range findings {
					if byRule {
						break
					}
					if strings.Contains(out, f.Ref.Name+"` ") || strings.Contains(out, f.Ref.Name+"`: ") || strings.Contains(out, "`n/"+f.Ref.Name+"`**") || strings.Contains(out, f.Ref.Name+"</code></b>") {
						told++
					}
				}
				if told < len(findings) && !byRule {
					t.Errorf("%d of %d findings are told, and no rule stands for the others", told, len(findings))
				}
				if all := tt.findings <= limit && tt.budget == 0; all == strings.Contains(out, leftOut) && tt.findings > 0 {
					t.Errorf("it says that something was left out: %v", !all)
				}
			})
		}
	}
}

func TestMerge(t *testing.T) {
	var parts []*Report
	whole := sample(t)
	for i := range 2 {
		part := sample(t)
		part.Units, part.Changes, part.Findings, part.Hidden = nil, nil, nil, nil
		for j, u := range whole.Units {
			if j%2 == i {
				part.Units = append(part.Units, u)
			}
		}
		for _, c := range whole.Changes {
			if (c.Ref.Unit == "environments/cell-8") == (i == 1) {
				part.Changes = append(part.Changes, c)
			}
		}
		if i == 0 {
			part.Findings, part.Hidden = whole.Findings, whole.Hidden
		} else {
			part.Numbers, part.Silencers[0].Findings = Numbers{}, 0
		}
		var b bytes.Buffer
		if err := JSON(&b, part, Options{}); err != nil {
			t.Fatal(err)
		}
		read, err := ParseJSON(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, read)
	}
	merged, err := Merge(parts)
	if err != nil {
		t.Fatal(err)
	}
	var got, want bytes.Buffer
	if err := JSON(&got, merged, Options{}); err != nil {
		t.Fatal(err)
	}
	again, err := Merge([]*Report{whole})
	if err != nil {
		t.Fatal(err)
	}
	if err := JSON(&want, again, Options{}); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("the merged parts = %s\nwant %s", got.String(), want.String())
	}
	for _, tt := range []struct {
		name  string
		spoil func(a, b *Report)
		want  string
	}{
		{"parts of different runs", func(a, b *Report) { b.Head.SHA = "1234567" }, "the parts are of different runs"},
		{"parts of different programs", func(a, b *Report) { b.Version = "2" }, "the parts were written by prdiff"},
		{"a unit in two parts", func(a, b *Report) { b.Units = a.Units }, "is in two parts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := sample(t), &Report{Version: whole.Version, Base: whole.Base, Head: whole.Head}
			tt.spoil(a, b)
			if _, err := Merge([]*Report{a, b}); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Merge() = %v, want %q", err, tt.want)
			}
		})
	}
}

func TestParseJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"what is no JSON", "x", "not a prdiff report"},
		{"another schema", `{"schema": 2}`, "schema is 2"},
		{"an unknown status", `{"schema": 1, "units": [{"status": "fine"}]}`, `units[0]: unknown status "fine"`},
		{"an unknown action", `{"schema": 1, "changes": [{"action": "fine"}]}`, `changes[0]: unknown action "fine"`},
		{"an unknown severity", `{"schema": 1, "findings": [{"severity": "fine"}]}`, `findings[0]: unknown severity "fine"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ParseJSON([]byte(tt.in)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ParseJSON() = %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"schema":1,"changes":[{"action":"update","fields":[{"path":"a[b=c]","op":"add","after":{"x":[1,null]}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ParseJSON(data)
		if err != nil {
			return
		}
		for _, write := range []Reporter{Text, Markdown, GitLab, JSON, HTML, SARIF, GitHub} {
			if err := write(&bytes.Buffer{}, r, Options{ShowHidden: true}); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestHunks holds the diff of lines against hand-made ones.
func TestHunks(t *testing.T) {
	l := func(s string) []string { return strings.Fields(s) }
	for _, tt := range []struct{ name, before, after, want string }{
		{"nothing", "a b", "a b", ""},
		{"all new", "", "a b", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"all gone", "a", "", "@@ -1 +0,0 @@\n-a\n"},
		{"in the middle", "1 2 3 4 5 6 7 8 9", "1 2 3 4 x 6 7 8 9", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
		{"two near each other", "1 2 3 4 5 6 7 8", "x 2 3 4 5 6 7 y", "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"},
		{"two far apart", "1 2 3 4 5 6 7 8 9", "x 2 3 4 5 6 7 8 y", "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+y\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := hunks(l(tt.before), l(tt.after)); got != tt.want {
				t.Errorf("hunks() = %q, want %q", got, tt.want)
			}
		})
	}
}
