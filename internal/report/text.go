package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// Text writes the report for a terminal or a log. Its first screen says it all in
// short: the verdict, what was looked at, and a line for each finding.
func Text(w io.Writer, r *Report, o Options) error {
	t := &text{r: r, o: o, sources: newSources(r)}
	t.head()
	t.failed()
	t.overview()
	t.beside()
	t.findings()
	if !o.Quiet {
		t.silencers()
		t.changes()
		t.numbers()
		t.foot()
	}
	if o.Height > 0 && strings.Count(t.b.String(), "\n") >= o.Height {
		t.printf("\n")
		t.head()
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// A text writes one report.
type text struct {
	b strings.Builder
	r *Report
	o Options

	sources sources
	told    map[string]bool // the incidents of findings above
}

func (t *text) printf(format string, args ...any) { fmt.Fprintf(&t.b, format, args...) }

// paint gives s in the colour of an ANSI code where colours are wanted.
func (t *text) paint(code, s string) string {
	if !t.o.Color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// link makes a text one that a terminal opens, where that is wanted
// (https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda). The address
// has passed webLink: it holds nothing that could end the sequence.
func (t *text) link(url, s string) string {
	if !t.o.Links || !webLink(url) {
		return s
	}
	return "\x1b]8;;" + url + "\x1b\\" + s + "\x1b]8;;\x1b\\"
}

// columns is how wide sentences may be: long lines are hard to read on a wide
// screen, too.
func (t *text) columns() int {
	const most, least = 98, 30
	if t.o.Width == 0 {
		return most
	}
	return max(least, min(most, t.o.Width))
}

// fitted is wrapped for what stays one line in a log, where it can be searched.
func (t *text) fitted(lead, next, s string, paint func(first string) string) {
	lines := []string{s}
	if t.o.Width > 0 {
		lines = wrap(s, t.columns()-utf8.RuneCountInString(next))
	}
	t.lines(lead, next, lines, paint)
}

// wrapped prints a sentence after a lead, in lines that fit; paint colours the
// first word or words of it, which are as they are in s.
func (t *text) wrapped(lead, next, s string, paint func(first string) string) {
	t.lines(lead, next, wrap(s, t.columns()-utf8.RuneCountInString(next)), paint)
}

func (t *text) lines(lead, next string, lines []string, paint func(first string) string) {
	for i, l := range lines {
		if i == 0 {
			if paint != nil {
				l = paint(l)
			}
			t.printf("%s%s\n", lead, l)
			continue
		}
		t.printf("%s%s\n", next, l)
	}
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
	t.printf("%s\n%s\n", strings.Join(words, " · "), t.paint(dim, sides(t.r, inert)))
	t.fitted("", "", accounting(t.r), nil)
}

// severityColors are the colours of the severities.
var severityColors = map[rule.Severity]string{rule.Error: boldRed, rule.Warning: yellow, rule.Note: blue}

// overview gives the findings a line each, as many as a small screen has room for.
func (t *text) overview() {
	const most = 12 // lines
	var list []Finding
	for _, f := range t.r.Findings {
		if f.Suppressed == nil {
			list = append(list, f)
		}
	}
	if len(list) < 2 {
		return
	}
	t.printf("\n")
	width := 0
	for _, f := range list[:min(len(list), most)] {
		width = max(width, utf8.RuneCountInString(inert(f.Ref.String())))
	}
	width = min(width, 40, t.columns()/2)
	for i, f := range list {
		if i == most && len(list) > most+1 {
			t.printf("  and %s more\n", plural(len(list)-most, "finding"))
			break
		}
		name := middle(inert(f.Ref.String()), width)
		room := t.columns() - 2 - 9 - width - 2
		t.printf("  %s%s%s%s  %s\n", t.paint(severityColors[f.Severity], f.Severity.String()), strings.Repeat(" ", 9-len(f.Severity.String())),
			t.paint(bold, name), strings.Repeat(" ", width-utf8.RuneCountInString(name)), end(inert(f.Message), max(10, room)))
	}
}

// middle shortens s to n characters and leaves out its middle, end its end.
func middle(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	tail := n / 2
	return string(r[:n-tail-1]) + "…" + string(r[len(r)-tail:])
}

func end(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:n-1]), " ,;:") + "…"
}

// failed names what the report cannot speak for.
func (t *text) failed() {
	failed := reasons(t.r, Failed)
	if len(failed) == 0 {
		return
	}
	most := 20 // units named for one reason
	if len(failed) > 3 {
		most = 3
	}
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

// beside tells what was left out, and what is to be known of single units.
func (t *text) beside() {
	if touched, others := skips(t.r); len(touched)+len(others) > 0 && !t.o.Quiet {
		t.printf("\n%s\n", t.paint(bold, "Skipped"))
		t.skipped(touched, true)
		if t.o.Times || len(others) <= fewReasons {
			t.skipped(others, t.o.Times)
		} else {
			t.printf("  %s (-v lists them)\n", untouched(others))
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

// skipped tells reasons, with all of their units or with the first.
func (t *text) skipped(list []reason, all bool) {
	for _, why := range list {
		units := names(why.units)
		if !all {
			t.printf("  %s: %s\n", inUnits(units, inert), inert(inOneLine(why.text)))
			continue
		}
		for _, u := range units {
			t.printf("  %s: %s\n", inert(u), inert(inOneLine(why.text)))
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
	lead := f.Severity.String() + " " + inert(f.Ref.String()) + ":"
	t.printf("\n")
	t.fitted("", "  ", lead+" "+inert(f.Message), func(l string) string {
		rest, whole := strings.CutPrefix(l, lead)
		if !whole { // a terminal so narrow that the name takes more than a line
			return t.paint(severityColors[f.Severity], l)
		}
		return t.paint(severityColors[f.Severity], f.Severity.String()) + " " + t.paint(bold, inert(f.Ref.String())) + ":" + rest
	})
	place := strings.Join(findingPlace(f, inert), " · ")
	t.fitted("  ", "  ", place, func(l string) string { return t.paint(dim, l) })
	at, hunk, _ := findingHunk(t.r, f, hunkLines)
	if at != "" {
		t.printf("    %s\n", t.paint(cyan, at))
	}
	for _, l := range hunk {
		t.printf("   %s\n", t.diffLine(l))
	}
	t.paragraph("What happens", sentence(happens(f)))
	t.paragraph("Instead", sentence(f.Advice))
	for n, i := range cited(t.r, f) {
		who := whose(i.Incident)
		if t.told[i.ID] {
			t.paragraph("Seen before", who+", as above")
			continue
		}
		if t.told == nil {
			t.told = map[string]bool{}
		}
		t.told[i.ID] = true
		t.paragraph("Seen before", who+i.because()+": "+story(i.Incident, n == 0))
		if i.URL != "" {
			t.printf("    %s\n", t.link(i.URL, inert(i.URL)))
		} else if i.File != "" {
			t.printf("    %s\n", inert(i.File))
		}
	}
	t.paragraph(similarTitle, similarText(similar(t.r, f), inert))
}

// findingPlace says where a finding is and which rule says so.
func findingPlace(f Finding, show func(string) string) []string {
	out := []string{show(f.Rule)}
	if units := f.Units; len(units) > 0 && !slices.Equal(units, []string{"."}) {
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
	t.wrapped("  ", "  ", title+": "+inert(strings.Join(strings.Fields(s), " ")), func(l string) string {
		return t.paint(bold, title) + strings.TrimPrefix(l, title)
	})
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
	var told []Finding
	for _, f := range t.r.Findings {
		if f.Suppressed == nil {
			told = append(told, f)
		}
	}
	for _, c := range all {
		color := map[string]string{"+": green, "−": red}[sign(c.Action)]
		if color == "" {
			color = yellow
		}
		t.printf("\n%s %s", t.paint(color, sign(c.Action)), t.paint(bold, inert(c.Ref.String())))
		if in := place(c); in != "" {
			t.printf("  %s", t.paint(dim, in))
		}
		t.printf("\n")
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
		if !t.o.ShowHidden && saidAbove(t.r, c.Change, told, hunkLines) {
			t.printf("  %s\n", t.paint(dim, "its diff stands above, with the finding"))
			continue
		}
		t.diff(inertLines(shown))
	}
}

// diff prints the lines of a diff. On a terminal the long ones are folded: that of a
// whole object says little after its first page.
func (t *text) diff(lines []string) {
	const most, whole = 200, 60 // lines
	fold := most
	if strings.HasPrefix(lines[0], "@@ -0,0 ") || strings.Contains(lines[0], " +0,0 @@") {
		fold = whole
	}
	for i, l := range lines {
		if i == fold && len(lines) > fold+fold/4 && t.o.Width > 0 && !t.o.ShowHidden {
			t.printf("  %s\n", t.paint(dim, fmt.Sprintf("… %d more lines (--show-hidden prints them)", len(lines)-i)))
			return
		}
		if l != "" {
			t.printf("  %s\n", t.diffLine(l))
		}
	}
}

// place says where a set of changes is; "." is where the reader stands.
func place(c same) string {
	switch in := c.spread(inert); {
	case in == ".":
		return ""
	case len(c.units) > 2:
		return in
	default:
		return "in " + in
	}
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
		name := e.name
		code := dim
		switch {
		case e.Kind == diff.DataLoss || e.Kind == diff.Refused:
			code = boldRed
		case grave(e.Kind):
			code = yellow
		}
		t.wrapped("  ", "    ", inert(words), func(l string) string { return t.paint(code, name) + strings.TrimPrefix(l, name) })
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
