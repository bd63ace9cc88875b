package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/incident"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

func plural(n int, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "y"):
		return fmt.Sprintf("%d %sies", n, one[:len(one)-1])
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// sentence gives s with a capital and a full stop.
func sentence(s string) string {
	return stopped(capital(strings.TrimSpace(s)))
}

// happens gives the consequence of a finding, and what is another one in some of its units.
// It is as untrusted as the finding.
func happens(f Finding) string {
	const most = 2
	text := f.Consequence
	for i, e := range f.Elsewhere {
		if i == most {
			return stopped(text) + fmt.Sprintf(" Other numbers hold in %d more.", otherUnits(f.Elsewhere[most:]))
		}
		told := e.Consequence
		if e.Message != "" {
			told = strings.TrimSuffix(e.Message+"; "+e.Consequence, "; ")
		}
		plain := func(s string) string { return s }
		text = strings.TrimSpace(stopped(text) + " In " + inUnits(e.Units, plain) + ": " + told)
	}
	return text
}

func otherUnits(all []rule.Elsewhere) (n int) {
	for _, e := range all {
		n += len(e.Units)
	}
	return n
}

// stopped gives s with a full stop.
func stopped(s string) string {
	if s = strings.TrimSpace(s); s == "" || strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// verdicts says what a reader must know who reads nothing else, worst first.
func verdicts(r *Report) []verdict {
	var out []verdict
	errors, warnings, notes := r.CountFindings(rule.Error), r.CountFindings(rule.Warning), r.CountFindings(rule.Note)
	if failed := r.Count(Failed); failed > 0 {
		out = append(out, verdict{"⚠️", "warning", plural(failed, "unit") + " could not be looked at"})
	}
	if errors > 0 {
		words := plural(errors, "dangerous change")
		if repeats(r) {
			words = fmt.Sprintf("%s here %s taken production down before", plural(errors, "change"), hasHave(errors))
		}
		out = append(out, verdict{"🔴", "error", words})
	}
	if warnings > 0 {
		words := plural(warnings, "change") + " to look at"
		if errors > 0 {
			words = fmt.Sprintf("%d more to look at", warnings)
		}
		out = append(out, verdict{"🟡", "warning", words})
	}
	if notes > 0 {
		out = append(out, verdict{"🔵", "note", plural(notes, "note")})
	}
	if len(out) > 0 {
		return out
	}
	if n := len(r.Visible()); n > 0 {
		return []verdict{{"🟢", "ok", plural(n, "object") + " " + changeVerb(n) + ", nothing known to be dangerous"}}
	}
	if len(r.Units)-r.Count(Skipped) == 0 {
		return []verdict{{"⚪", "note", "Nothing here renders to Kubernetes objects"}}
	}
	if n := touchedSkips(r); n > 0 {
		return []verdict{{"⚪", "note", "Nothing changes in what could be looked at; " + plural(n, "changed unit") + " could not"}}
	}
	return []verdict{{"🟢", "ok", "Nothing changes in the cluster"}}
}

// touchedSkips counts the skipped units whose files differ between both sides.
func touchedSkips(r *Report) int {
	n := 0
	for _, u := range r.Units {
		if u.Status == Skipped && len(u.Sources) > 0 && (u.Renderer != "" || unread(u.Error)) {
			n++
		}
	}
	return n
}

// unread says whether what was left out for this reason may well have been meant
// for the cluster, so that a change of it is one that was not looked at.
func unread(reason string) bool {
	return reason == "not text" || strings.Contains(reason, "looks like a manifest")
}

type verdict struct{ icon, level, words string }

func hasHave(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func changeVerb(n int) string {
	if n == 1 {
		return "changes"
	}
	return "change"
}

// repeats says whether every error cites an incident.
func repeats(r *Report) bool {
	for _, f := range r.Findings {
		if f.Severity == rule.Error && f.Suppressed == nil && len(f.Incidents) == 0 {
			return false
		}
	}
	return true
}

// accounting says how much was looked at and how much of it changes.
func accounting(r *Report) string {
	changed := map[string]bool{}
	counts := map[diff.Action]int{}
	visible := r.Visible()
	for _, c := range visible {
		changed[c.Ref.Unit] = true
		counts[c.Action]++
	}
	looked := len(r.Units) - r.Count(Skipped)
	for _, u := range r.Units {
		if u.Status == Skipped && changed[u.Name] {
			looked++ // a part of it could be: the values of a chart that is elsewhere
		}
	}
	var b strings.Builder
	verb := changeVerb(len(changed))
	if looked == 1 {
		verb = "changes" // "0 of 1 unit changes"
	}
	fmt.Fprintf(&b, "%d of %s %s", len(changed), plural(looked, "unit"), verb)
	if len(visible) > 0 {
		fmt.Fprintf(&b, ", %s: +%d ~%d −%d", plural(len(visible), "object"),
			counts[diff.Create], counts[diff.Update]+counts[diff.Replace]+counts[diff.Rename], counts[diff.Delete])
	}
	b.WriteString(".")
	switch n := r.Count(Unchanged); {
	case n == 0:
	case n == looked && n == 1:
		b.WriteString(" It has equal inputs on both sides.")
	case n == looked:
		b.WriteString(" All have equal inputs on both sides.")
	default:
		fmt.Fprintf(&b, " %s equal inputs on both sides.", subject(n, "has", "have"))
	}
	switch f, s := r.Count(Failed), r.Count(Skipped); {
	case f == 0 && s == 0 && countNotes(r) > 0:
		// A note may tell of a file that was left out: "nothing" would be too much.
		fmt.Fprintf(&b, " No unit failed or was skipped; %s below.", plural(countNotes(r), "note"))
	case f == 0 && s == 0:
		b.WriteString(" Nothing failed, nothing was skipped.")
	case f == 0:
		fmt.Fprintf(&b, " Nothing failed, %d skipped.", s)
	default:
		fmt.Fprintf(&b, " %d failed, %d skipped.", f, s)
	}
	return b.String()
}

// countNotes counts what is to be known about single units.
func countNotes(r *Report) int {
	n := 0
	for _, u := range r.Units {
		n += len(u.Notes)
	}
	return n
}

// timeWords says how long rendering took, all units together; "" when that is not to
// be said, or not known, as of parts that were written without it.
func timeWords(r *Report, o Options) string {
	var ms int64
	for _, u := range r.Units {
		ms += u.Ms
	}
	if !o.Times || ms == 0 {
		return ""
	}
	if ms < 100 {
		return fmt.Sprintf("%d ms of rendering", ms)
	}
	return fmt.Sprintf("%.1f s of rendering", float64(ms)/1000)
}

func subject(n int, one, many string) string {
	if n == 1 {
		return "1 other " + one
	}
	return fmt.Sprintf("%d others %s", n, many)
}

// statuses says what became of the units, for the footer.
func statuses(r *Report) string {
	return fmt.Sprintf("%d rendered, %d unchanged, %d skipped, %d failed",
		r.Count(Rendered), r.Count(Unchanged), r.Count(Skipped), r.Count(Failed))
}

// hiddenWords says what the filters took out.
func hiddenWords(r *Report) string {
	var parts []string
	for _, h := range r.Hidden {
		parts = append(parts, fmt.Sprintf("%d %s", h.Fields, inert(h.Filter)))
	}
	return strings.Join(parts, ", ")
}

// sides gives both sides in words, each name through show.
func sides(r *Report, show func(string) string) string {
	name := func(s Side) string {
		if s.SHA == "" {
			return show(s.Rev)
		}
		short := s.SHA[:min(7, len(s.SHA))]
		if s.Rev == "" || strings.HasPrefix(s.SHA, s.Rev) {
			return show(short)
		}
		return show(s.Rev) + " (" + show(short) + ")"
	}
	if r.Head.SHA == "" {
		return "from " + name(r.Base) + " to " + name(r.Head)
	}
	return "merging " + name(r.Head) + " into " + name(r.Base)
}

// inUnits names the units of a finding or a change: the first, and how many more.
func inUnits(units []string, show func(string) string) string {
	switch len(units) {
	case 0:
		return ""
	case 1:
		return show(units[0])
	case 2:
		return show(units[0]) + " and " + show(units[1])
	}
	return fmt.Sprintf("%s and %d more", show(units[0]), len(units)-1)
}

// A citation is an incident that a finding repeats.
type citation struct {
	incident.Incident
	reason string // why it is shown, "" where that is not known
}

// cited gives the incidents of a finding that the report knows, three at most.
func cited(r *Report, f Finding) []citation {
	var out []citation
	for n, id := range f.Incidents {
		i := slices.IndexFunc(r.Incidents, func(i incident.Incident) bool { return i.ID == id })
		if i < 0 || len(out) == 3 {
			continue
		}
		c := citation{Incident: r.Incidents[i]}
		if n < len(f.Reasons) {
			c.reason = f.Reasons[n]
		}
		out = append(out, c)
	}
	return out
}

// because says why it is shown, behind a semicolon, or nothing.
func (c citation) because() string {
	if c.reason == "" {
		return ""
	}
	return "; " + c.reason
}

// story says what an incident was: its title, and for the first of a finding what
// it did to whom, or, where that is not known, the lesson.
func story(i incident.Incident, first bool) string {
	s := sentence(i.Title)
	if more := cmp.Or(i.Impact, i.Lesson); first && more != "" {
		s += " " + sentence(more)
	}
	return s
}

// whose says whose incident it was, and in which year where that is known.
func whose(i incident.Incident) string {
	if i.Date == "" {
		return i.Org
	}
	return i.Org + ", " + year(i.Date)
}

func year(date string) string { return date[:min(4, len(date))] }

// sign gives the one character that stands for an action.
func sign(a diff.Action) string {
	switch a {
	case diff.Create:
		return "+"
	case diff.Delete:
		return "−"
	case diff.Replace:
		return "±"
	case diff.Rename:
		return "→"
	}
	return "~"
}

// summary says in a few words what a change does; show formats names and values.
func summary(c Change, show func(string) string) string {
	var parts []string
	switch c.Action {
	case diff.Create:
		return "new"
	case diff.Delete:
		return "deleted"
	case diff.Rename:
		if c.MovedFrom != "" {
			if movesAlone(c) {
				return "moved from " + show(c.MovedFrom) + ", not changed"
			}
			parts = append(parts, "moved from "+show(c.MovedFrom))
			break
		}
		if c.RenamedFrom.Name == "" { // many at once, see foldMoves
			parts = append(parts, "move to another namespace")
			break
		}
		parts = append(parts, "renamed from "+show(qualified(c.RenamedFrom)))
	case diff.Replace:
		parts = append(parts, "must be deleted and created again")
	}
	if hidden := noise(c.Change); hidden != "" {
		parts = append(parts, "only noise ("+hidden+")")
	}
	const most = 3
	shown, more := 0, 0
	for _, f := range c.Fields {
		if f.Hidden != "" {
			continue
		}
		if shown++; shown > most {
			more++
			continue
		}
		parts = append(parts, fieldWords(f, 24, show))
	}
	if more > 0 {
		parts = append(parts, plural(more, "field")+" more")
	}
	return strings.Join(parts, ", ")
}

// fieldWords says what happens to one field, with the values where they have at
// most limit bytes.
func fieldWords(f diff.Field, limit int, show func(string) string) string {
	small := func(v object.Value) bool { return small(v, limit) }
	path := show(cut(shortPath(f.Path), 80))
	value := func(v object.Value) string { return show(cmp.Or(v.String(), `""`)) }
	if f.Reordered {
		return path + " in another order"
	}
	if before, after, ok := tagsOf(f); ok {
		return path + " " + show(before) + " → " + show(after)
	}
	switch f.Op {
	case diff.Add:
		if small(f.After) {
			return path + " added: " + value(f.After)
		}
		return path + " added"
	case diff.Remove:
		if small(f.Before) {
			return path + " removed, was " + value(f.Before)
		}
		return path + " removed"
	}
	if small(f.Before) && small(f.After) && f.Before.String() != f.After.String() {
		return path + " " + value(f.Before) + " → " + value(f.After)
	}
	return path + " changed"
}

// tagsOf gives the tags of an image that stays the same but for its tag.
func tagsOf(f diff.Field) (before, after string, ok bool) {
	if f.Op != diff.Set || !strings.HasSuffix(string(f.Path), ".image") || f.Before.Masked() != nil || f.After.Masked() != nil {
		return "", "", false
	}
	nameBefore, tagBefore := splitImage(f.Before.String())
	nameAfter, tagAfter := splitImage(f.After.String())
	if nameBefore != nameAfter || tagBefore == tagAfter || tagBefore == "" || tagAfter == "" || len(tagBefore)+len(tagAfter) > 80 ||
		strings.Contains(f.Before.String()+f.After.String(), "@") {
		return "", "", false
	}
	return tagBefore, tagAfter, true
}

// shortPath leaves out of a path what everybody knows.
func shortPath(p object.Path) string {
	for _, prefix := range []string{"spec.template.spec.", "spec.jobTemplate.spec.template.spec.", "spec."} {
		if short, ok := strings.CutPrefix(string(p), prefix); ok {
			return short
		}
	}
	return string(p)
}

// small says whether a value is short enough to stand in a sentence.
func small(v object.Value, limit int) bool {
	return v.Type() != object.Map && v.Type() != object.List && len(v.String()) <= limit && !strings.Contains(v.String(), "\n")
}

// qualified gives namespace and name.
func qualified(r object.Ref) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// A reason is one cause that several units share.
type reason struct {
	text  string
	units []Unit
}

// reasons groups the units of one status by their error. A fault in a library that
// several units come to by their own ways is one fault, told without the ways.
func reasons(r *Report, s Status) []reason {
	return reasonsOf(r, func(u Unit) bool { return u.Status == s })
}

// fewReasons is how many reasons are told for what is skipped and untouched.
const fewReasons = 4

// skips gives what was skipped and the change touches, or may: units are rendered
// only then. The others come second.
func skips(r *Report) (touched, others []reason) {
	of := func(want bool) func(Unit) bool {
		return func(u Unit) bool { return u.Status == Skipped && (u.Renderer != "" || len(u.Sources) > 0) == want }
	}
	return reasonsOf(r, of(true)), reasonsOf(r, of(false))
}

// inOneLine joins what both sides say of a unit, which stands on a line each.
func inOneLine(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// untouched tells of many things that were skipped and that the change does not touch.
func untouched(others []reason) string {
	n := 0
	for _, why := range others {
		n += len(why.units)
	}
	return fmt.Sprintf("%s that this change does not touch, for %s", plural(n, "other"), plural(len(others), "reason"))
}

func reasonsOf(r *Report, of func(Unit) bool) []reason {
	var out []reason
	at := map[string]int{}
	for _, u := range r.Units {
		if !of(u) {
			continue
		}
		cause, _, _ := strings.Cut(u.Error, " (called from ")
		i, ok := at[cause]
		if !ok {
			i = len(out)
			at[cause] = i
			out = append(out, reason{text: u.Error})
		}
		if out[i].text != u.Error {
			out[i].text = cause
		}
		out[i].units = append(out[i].units, u)
	}
	return out
}

func names(units []Unit) []string {
	var out []string
	for _, u := range units {
		out = append(out, u.Name)
	}
	return out
}

// splitQualified undoes qualified.
func splitQualified(s string) (namespace, name string) {
	if before, after, ok := strings.Cut(s, "/"); ok {
		return before, after
	}
	return "", s
}
