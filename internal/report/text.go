package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// Text writes the report for a terminal or a log.
func Text(w io.Writer, r *Report, o Options) error {
	t := &text{w: bufio.NewWriter(w), r: r, o: o, sources: newSources(r)}
	t.head()
	t.notLooked()
	t.findings()
	if !o.Quiet {
		t.silencers()
		t.changes()
		t.numbers()
		t.foot()
	}
	return t.w.Flush()
}

// A text writes one report. Write errors are kept by w until the last Flush.
type text struct {
	w *bufio.Writer
	r *Report
	o Options

	sources sources
}

func (t *text) printf(format string, args ...any) { fmt.Fprintf(t.w, format, args...) }

// paint gives s in the colour of an ANSI code where colours are wanted.
func (t *text) paint(code, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// ANSI codes.
const (
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	blue    = "34"
	cyan    = "36"
	boldRed = "1;31"
)

func (t *text) head() {
	var words []string
	for _, v := range verdicts(t.r) {
		color := map[string]string{"error": boldRed, "warning": yellow, "note": blue, "ok": green}[v.level]
		words = append(words, t.paint(color, v.words))
	}
	t.printf("%s\n%s\n%s\n", strings.Join(words, " · "), t.paint(dim, sides(t.r, inert)), accounting(t.r))
}

func (t *text) notLooked() {
	const most = 20 // units named for one reason
	if failed := reasons(t.r, Failed); len(failed) > 0 {
		t.printf("\n%s\n", t.paint(boldRed, "Could not be looked at: what changes there is not known"))
		for _, why := range failed {
			for i, u := range why.units {
				if i == most {
					t.printf("  and %d more\n", len(why.units)-most)
					break
				}
				t.printf("  %s%s\n", inert(u.Name), rendererNote(u))
			}
			for _, l := range inertLines(why.text) {
				t.printf("    %s\n", l)
			}
		}
	}
	if skipped := reasons(t.r, Skipped); len(skipped) > 0 && !t.o.Quiet {
		t.printf("\n%s\n", t.paint(bold, "Skipped"))
		for _, why := range skipped {
			t.printf("  %s: %s\n", inUnits(names(why.units), inert), inert(why.text))
		}
	}
	titled := false
	for _, u := range t.r.Units {
		for _, n := range u.Notes {
			if !titled {
				t.printf("\n%s\n", t.paint(bold, "To know"))
				titled = true
			}
			t.printf("  %s: %s\n", inert(u.Name), inert(n))
		}
	}
}

func rendererNote(u Unit) string {
	if u.Renderer == "" {
		return ""
	}
	return " (" + inert(u.Renderer) + ")"
}

func (t *text) findings() {
	silenced := 0
	for _, f := range t.r.Findings {
		if f.Suppressed != nil {
			silenced++
			continue
		}
		t.finding(f)
	}
	if silenced == 0 || t.o.Quiet {
		return
	}
	t.printf("\n%s\n", t.paint(bold, plural(silenced, "finding")+" silenced"))
	for _, f := range t.r.Findings {
		if f.Suppressed != nil {
			t.printf("  %s %s: %s\n", inert(f.Rule), inert(f.Ref.String()), inert(silencedBy(f)))
		}
	}
}

func silencedBy(f Finding) string {
	s := "by " + f.Suppressed.By + ": " + f.Suppressed.Reason
	if f.Suppressed.Expires != "" {
		s += " (until " + f.Suppressed.Expires + ")"
	}
	return s
}

func (t *text) finding(f Finding) {
	color := map[rule.Severity]string{rule.Error: boldRed, rule.Warning: yellow, rule.Note: blue}[f.Severity]
	t.printf("\n%s %s: %s\n", t.paint(color, f.Severity.String()), t.paint(bold, inert(f.Ref.String())), inert(f.Message))
	t.printf("  %s\n", t.paint(dim, strings.Join(findingPlace(f, inert), " · ")))
	at, hunk := findingHunk(t.r, f, 16)
	if at != "" {
		t.printf("    %s\n", t.paint(cyan, at))
	}
	for _, l := range hunk {
		t.printf("   %s\n", t.diffLine(l))
	}
	t.paragraph("What happens", sentence(f.Consequence))
	t.paragraph("Instead", sentence(f.Advice))
	for n, i := range cited(t.r, f) {
		who := i.Org
		if i.Date != "" {
			who += ", " + year(i.Date)
		}
		t.paragraph("Seen before", who+": "+story(i, n == 0))
		if i.URL != "" {
			t.printf("    %s\n", inert(i.URL))
		} else if i.File != "" {
			t.printf("    %s\n", inert(i.File))
		}
	}
	t.paragraph(similarTitle, similarText(similar(t.r, f), inert))
}

// findingPlace says where a finding is and which rule says so.
func findingPlace(f Finding, show func(string) string) []string {
	out := []string{show(f.Rule)}
	if units := f.Units; len(units) > 0 {
		out = append(out, "in "+inUnits(units, show))
	}
	if f.Origin.Path != "" {
		out = append(out, show(f.Origin.String()))
	}
	return out
}

func (t *text) paragraph(title, s string) {
	if s == "" {
		return
	}
	lines := wrap(title+": "+inert(strings.Join(strings.Fields(s), " ")), 96)
	for i, l := range lines {
		if i == 0 {
			l = t.paint(bold, title) + strings.TrimPrefix(l, title)
		}
		t.printf("  %s\n", l)
	}
}

// wrap breaks s at blanks into lines of at most n characters; longer words stay whole.
func wrap(s string, n int) []string {
	var out []string
	line := ""
	for w := range strings.FieldsSeq(s) {
		if line != "" && len([]rune(line))+1+len([]rune(w)) > n {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}

func (t *text) changes() {
	all := folded(t.r, t.o.ShowHidden)
	if len(all) == 0 {
		return
	}
	t.printf("\n%s\n", t.paint(bold, "Changes"))
	for _, c := range all {
		color := map[string]string{"+": green, "−": red}[sign(c.Action)]
		if color == "" {
			color = yellow
		}
		t.printf("\n%s %s  %s\n", t.paint(color, sign(c.Action)), t.paint(bold, inert(c.Ref.String())),
			t.paint(dim, inWord(c)+c.spread(inert)))
		if c.Action == "replace" || c.Action == "rename" {
			t.printf("  %s\n", summary(c.Change, inert))
		}
		t.effects(c)
		if from := t.sources.of(c.Change); len(from) > 0 {
			t.printf("  %s\n", t.paint(dim, "from "+sourceWords(from, inert)))
		}
		for _, o := range c.others {
			t.printf("  %s: %s\n", inUnits(o.units, inert), strings.Join(o.how, ", "))
		}
		shown := c.Diff
		if t.o.ShowHidden && c.Before != nil && c.After != nil {
			shown = Unified(c.Change.Change, true)
		}
		for _, l := range inertLines(shown) {
			if l != "" {
				t.printf("  %s\n", t.diffLine(l))
			}
		}
	}
}

// inWord leads to the units of a set of changes.
func inWord(c same) string {
	if len(c.units) > 2 {
		return ""
	}
	return "in "
}

// effects says what a change does to what runs, and why one that shows nothing
// stands there.
func (t *text) effects(c same) {
	const most = 8
	if hidden := noise(c.Change.Change); hidden != "" && !t.o.ShowHidden {
		t.printf("  shown for what it does: all that differs is noise (%s)\n", hidden)
	}
	effects := c.effects()
	for i, e := range effects {
		if i == most {
			t.printf("  and %s more\n", plural(len(effects)-most, "effect"))
			break
		}
		words := effectWords(e, inert)
		name := effectName(e.Kind)
		code := dim
		switch {
		case e.Kind == diff.DataLoss || e.Kind == diff.Refused:
			code = boldRed
		case grave(e.Kind):
			code = yellow
		}
		for j, l := range wrap(inert(words), 96) {
			if j == 0 {
				l = t.paint(code, name) + strings.TrimPrefix(l, name)
			} else {
				l = "  " + l
			}
			t.printf("  %s\n", l)
		}
	}
}

func (t *text) diffLine(l string) string {
	switch {
	case strings.HasPrefix(l, "+"):
		return t.paint(green, l)
	case strings.HasPrefix(l, "-"):
		return t.paint(red, l)
	case strings.HasPrefix(l, "@@"):
		return t.paint(cyan, l)
	}
	return l
}

func (t *text) foot() {
	t.printf("\n")
	if words := hiddenWords(t.r); words != "" {
		how := " (--show-hidden prints them)"
		if t.o.ShowHidden {
			how = ""
		}
		t.printf("Hidden as noise: %s%s\n", words, how)
	}
	for _, h := range t.r.Hidden {
		if h.Reason != "" {
			t.printf("  %s: %s\n", inert(h.Filter), inert(h.Reason))
		}
	}
	if words := offWords(t.r, inert); words != "" {
		t.printf("%s\n", capital(words))
	}
	t.printf("%s\n", statuses(t.r))
	if t.o.Times {
		for _, u := range t.r.Units {
			if u.Status == Rendered || u.Status == Failed {
				t.printf("  %6d ms  %s (%s, %s before, %d after)\n", u.Ms, inert(u.Name), inert(u.Renderer), plural(u.Before, "object"), u.After)
			}
		}
	}
}
