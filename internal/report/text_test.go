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

func textOf(t testing.TB, r *Report, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextFitsTheTerminal holds everything but diffs, addresses and names, which
// stay whole, to the width of the terminal.
func TestTextFitsTheTerminal(t *testing.T) {
	whole := regexp.MustCompile(`^ *([-+@ ]|https?://|…)|[^ ]{20,}`)
	for _, width := range []int{60, 80, 98} {
		text, _, _ := strings.Cut(textOf(t, sample(t), Options{Width: width, Quiet: true}), "\n\nChanges")
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) > width && !whole.MatchString(strings.TrimLeft(line, " ")) && !strings.Contains(line, " · ") {
				t.Errorf("at %d columns: %q has %d", width, line, utf8.RuneCountInString(line))
			}
		}
	}
	if log := textOf(t, sample(t), Options{}); !strings.Contains(log, "\nerror Service logs/distributor: none of the 140 running pods of Deployment distributor carries `gossip_ring_member=true`\n") {
		t.Error("in a log, the sentence of a finding is not one line")
	}
}

// TestFirstScreen wants the verdict, what failed, and the worst findings in the
// first 24 lines, however many there are.
func TestFirstScreen(t *testing.T) {
	r := many(3000)
	r.Units = r.Units[:1]
	for i := range r.Findings {
		r.Findings[i].Severity = rule.Error
	}
	lines := strings.Split(textOf(t, r, Options{Width: 80}), "\n")
	screen := strings.Join(lines[:24], "\n")
	for _, want := range []string{"3000 dangerous changes", "error    ConfigMap n/object-0000-ü", "and 2988 findings more"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the first screen has no %q:\n%s", want, screen)
		}
	}
	got := textOf(t, fleet(t, 40), Options{Width: 80, Height: 10})
	if verdict, _, _ := strings.Cut(got, "\n\n"); !strings.HasSuffix(got, "\n\n"+verdict+"\n") {
		t.Errorf("a text that is longer than the terminal does not end with its verdict:\n%s", got)
	}
	if got := textOf(t, fleet(t, 40), Options{Width: 80, Height: 1000}); strings.Count(got, "nothing known to be dangerous") != 1 {
		t.Error("a text that fits says its verdict twice")
	}
}

func TestLinksOfATerminal(t *testing.T) {
	r := sample(t)
	r.Incidents = append(r.Incidents, incident.Incident{ID: "own", Org: "us", Title: "x", URL: "https://evil.example/\x1b\\\x1b]0;title\a"})
	r.Findings[1].Incidents = []string{"own"}
	got := textOf(t, r, Options{Color: true, Links: true})
	const want = "\x1b]8;;https://grafana.example/blog\x1b\\https://grafana.example/blog\x1b]8;;\x1b\\"
	if !strings.Contains(got, want) {
		t.Errorf("no link %q", want)
	}
	if n := strings.Count(got, "\x1b]"); n != 2 {
		t.Errorf("%d sequences that are no colour, want the 2 of one link", n)
	}
	if strings.Contains(textOf(t, r, Options{Color: true}), "\x1b]") {
		t.Error("a link where none is wanted")
	}
}

// TestDiffsAreShownOnce counts a line that a finding shows and its change has too.
func TestDiffsAreShownOnce(t *testing.T) {
	for name, write := range map[string]Reporter{"text": Text, "markdown": Markdown, "gitlab": GitLab} {
		var b bytes.Buffer
		if err := write(&b, sample(t), Options{}); err != nil {
			t.Fatal(err)
		}
		if n := len(regexp.MustCompile(`(?m)^ *\+ +gossip_ring_member: "true"$`).FindAllString(b.String(), -1)); n != 1 {
			t.Errorf("%s: the line of the selector is there %d times, want once", name, n)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(r *Report)
		want   bool
	}{
		{"the field of the finding is all that changes", func(*Report) {}, true},
		{"the finding is silenced", func(r *Report) { r.Findings = nil }, false},
		{"another field changes too", func(r *Report) {
			r.Changes[3].Fields = append(r.Changes[3].Fields, diff.Field{Path: "spec.type", Op: diff.Set, Before: object.Of("a"), After: object.Of("b")})
		}, false},
		{"a field of which the name only begins so changes", func(r *Report) { r.Changes[3].Fields[0].Path = "spec.selectors" }, false},
		{"the finding is of another unit", func(r *Report) {
			r.Findings[0].Ref.Unit, r.Findings[0].Units = "environments/other", nil
		}, false},
		{"the hunk is cut", func(r *Report) {
			long := map[string]any{}
			for i := range 100 {
				long[fmt.Sprintf("k%03d", i)] = "v"
			}
			r.Findings[0].After = object.Of(long)
		}, false},
	} {
		r := sample(t)
		tt.change(r)
		if got := saidAbove(r, r.Changes[3], r.Findings, hunkLines); got != tt.want {
			t.Errorf("%s: saidAbove() = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestIncidentsAreToldOnce wants the second finding of one incident to point to the first.
func TestIncidentsAreToldOnce(t *testing.T) {
	r := sample(t)
	r.Findings[1].Incidents = r.Findings[0].Incidents
	for name, write := range map[string]Reporter{"text": Text, "markdown": Markdown, "gitlab": GitLab} {
		var b bytes.Buffer
		if err := write(&b, r, Options{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "A label in a selector"); n != 1 || !strings.Contains(b.String(), "as above") {
			t.Errorf("%s: the incident is told %d times: %s", name, n, b.String())
		}
	}
}

func TestWholeObjectsBeginWithWhatTheyAreAbout(t *testing.T) {
	o := obj(t, "u", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: n}\ndata: {a: \"1\", b: \"2\", c: \"3\", d: \"4\", e: \"5\", f: \"6\"}")
	r := &Report{Changes: []Change{NewChange(diff.Change{Action: diff.Create, Ref: o.Ref, After: o})}}
	f := Finding{Finding: rule.Finding{Rule: "r", Severity: rule.Error, Ref: o.Ref, Units: []string{"u"}}}
	_, hunk, all := findingHunk(r, f, hunkLines)
	if all || len(hunk) == 0 || hunk[0] != "+data:" {
		t.Errorf("hunk = %q, all = %v, want the data alone", hunk, all)
	}
	if saidAbove(r, r.Changes[0], []Finding{f}, hunkLines) {
		t.Error("a part of an object stands for all of it")
	}
}

func TestFindingsShowEveryVariableThatTheyName(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: n-1}\nspec: {containers: [{name: a, image: i, env: [%s]}]}"
	c := updated(t, obj(t, "u", fmt.Sprintf(pod, `{name: WAIT, value: "9"}, {name: WAITER, value: "9"}`)),
		obj(t, "u", fmt.Sprintf(pod, `{name: WAIT, value: "1"}, {name: WAITER, value: "1"}, {name: LIMIT, value: "2"}`)))
	r := &Report{Changes: []Change{NewChange(c)}}
	path := object.Path("spec").Key("containers").Select("name", "a").Key("env").Select("name", "WAIT").Key("value")
	for _, tt := range []struct{ name, message, at, want string }{
		{"one", "WAIT: 9 → 1", "spec.containers[name=a].env[name=WAIT].value", "-  value: \"9\"|+  value: \"1\""},
		{"two, and not the third, of which one is a part of the name", "WAIT: 9 → 1; LIMIT: default 4 → 2", "containers[name=a].env",
			"   - name: WAIT|-    value: \"9\"|+    value: \"1\"|+  - name: LIMIT|+    value: \"2\""},
	} {
		f := Finding{Finding: rule.Finding{Ref: c.Ref, Path: path, Before: object.Of("9"), After: object.Of("1"), Message: tt.message}}
		at, hunk, all := findingHunk(r, f, hunkLines)
		if got := strings.Join(hunk, "|"); at != tt.at || got != tt.want || !all {
			t.Errorf("%s: %s %s %v, want %s %s", tt.name, at, got, all, tt.at, tt.want)
		}
	}
}

func TestLongDiffsFoldOnATerminal(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n"
	for i := range 300 {
		text += fmt.Sprintf("  k%03d: v\n", i)
	}
	o := obj(t, "u", text)
	r := &Report{Units: []Unit{{Name: "u", Status: Rendered}}, Changes: []Change{NewChange(diff.Change{Action: diff.Create, Ref: o.Ref, After: o})}}
	for _, tt := range []struct {
		name string
		o    Options
		all  bool
	}{
		{"a terminal", Options{Width: 80}, false},
		{"a terminal that is to show all", Options{Width: 80, ShowHidden: true}, true},
		{"a log", Options{}, true},
	} {
		got := textOf(t, r, tt.o)
		if strings.Contains(got, "k299") != tt.all || strings.Contains(got, "more lines (--show-hidden prints them)") == tt.all {
			t.Errorf("%s: all of a long diff is there: %v, want %v", tt.name, !tt.all, tt.all)
		}
	}
}
