package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/rule"
)

// CommentBudget is how long a comment may be. GitHub's error speaks of 65,536
// characters; whether it counts bytes, characters or UTF-16 units has changed
// over the years and between GitHub and its server product. That many bytes
// satisfies every reading
// (https://github.com/dead-claudia/github-limits, https://github.com/telia-oss/github-pr-resource/issues/259).
const CommentBudget = 65536

// Markdown writes the report as a pull request comment. It keeps to the budget:
// detail is dropped from the bottom, diffs first, then rows of the table of
// changes, then the details of findings, and the report says what was dropped.
// A finding is never dropped.
func Markdown(w io.Writer, r *Report, o Options) error {
	budget := o.Budget
	if budget == 0 {
		budget = CommentBudget
	}
	_, err := io.WriteString(w, comment(r, o, budget))
	return err
}

// GitLab writes the report as Markdown for GitLab and others that read Markdown as
// CommonMark with tables and folds (details, summary): without GitHub's alerts, graphs
// and small print. It keeps to the same budget, of which GitLab would take more
// (https://docs.gitlab.com/administration/instance_limits/). No line begins with a
// slash, which GitLab takes for a command to it.
func GitLab(w io.Writer, r *Report, o Options) error {
	o.portable = true
	return Markdown(w, r, o)
}

// small gives the small print of a comment.
func (o Options) small(text string) string {
	if o.portable {
		return text
	}
	return "<sub>" + text + "</sub>"
}

// Marker is the first line of a comment: by it, it is found again.
func Marker(key string) string {
	return "<!-- prdiff:comment v1 key=" + keyText(key) + " -->"
}

// keyText gives a key without what could end a comment or mean something in a path.
func keyText(key string) string {
	if key == "" {
		key = "default"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/", r) {
			return r
		}
		return '_'
	}, key)
}

// comment lays the report out. What must be there is measured first; the rest
// of the room goes to findings, then to changes, then to diffs, from the top.
func comment(r *Report, o Options, budget int) string {
	head := Marker(o.Key) + "\n" + mdVerdict(r) + mdNotLooked(r, o, budget/3)
	foot := mdFoot(r, o)
	const reserve = 512 // for the sentence on what was dropped, and the frames of the folds
	room := budget - len(head) - len(foot) - reserve

	findings, told, room, briefs := mdFindings(r, o, room)
	silenced := mdSilenced(r) + mdSilencers(r)
	if len(silenced) > room {
		silenced = fmt.Sprintf("%s silenced, %s to look at.\n\n", plural(countSilenced(r), "finding"), plural(len(silencerWords(r)), "suppression"))
	}
	room -= len(silenced)
	numbers := mdTables(r, room)
	room -= len(numbers)
	changes, noRows, noDiffs := mdChanges(r, o, told, room)

	var dropped []string
	if briefs > 0 {
		dropped = append(dropped, "the details of "+plural(briefs, "finding"))
	}
	if noRows > 0 {
		dropped = append(dropped, plural(noRows, "row")+" of the table of changes")
	}
	if noDiffs > 0 {
		dropped = append(dropped, plural(noDiffs, "diff"))
	}
	var b strings.Builder
	b.WriteString(head)
	b.WriteString(findings)
	b.WriteString(strings.TrimSuffix(changes, "\n"))
	b.WriteString(numbers)
	if changes != "" || numbers != "" {
		b.WriteString("\n")
	}
	b.WriteString(silenced)
	if len(dropped) > 0 {
		elsewhere := o.Elsewhere
		if elsewhere == "" {
			elsewhere = "`prdiff --format json` has everything"
		}
		fmt.Fprintf(&b, "Left out for want of room: %s; %s.\n\n", strings.Join(dropped, ", "), elsewhere)
	}
	b.WriteString(foot)
	return b.String()
}

func mdVerdict(r *Report) string {
	var words []string
	for _, v := range verdicts(r) {
		words = append(words, v.icon+" "+v.words)
	}
	return "### " + strings.Join(words, " · ") + "\n\n" + accounting(r) + "\n"
}

// mdNotLooked names what the report cannot speak for, in at most room bytes, so
// that it cannot crowd out the findings below.
func mdNotLooked(r *Report, o Options, room int) string {
	for most := 15; ; most /= 2 {
		if s := mdNotLookedMost(r, o, most, 28*most); len(s) <= room || most == 0 {
			return s
		}
	}
}

// mdNotLookedMost gives so many entries of each list, errors and notes cut to
// limit characters.
func mdNotLookedMost(r *Report, o Options, most, limit int) string {
	var b strings.Builder
	if failed := reasons(r, Failed); len(failed) > 0 {
		alert := "> [!WARNING]\n> **"
		if o.portable {
			alert = "> ⚠️ **"
		}
		b.WriteString("\n" + alert + "Could not be looked at: what changes there is not known.**\n>\n")
		for i, why := range failed {
			if i == most {
				rest := 0
				for _, w := range failed[i:] {
					rest += len(w.units)
				}
				fmt.Fprintf(&b, "> - and %s more\n", plural(rest, "unit"))
				break
			}
			fmt.Fprintf(&b, "> - %s: %s\n", inUnits(cutNames(names(why.units)), mdCode), mdCode(cut(why.text, limit)))
		}
	}
	if skipped, others := skips(r); len(skipped)+len(others) > 0 {
		if len(others) <= fewReasons {
			skipped, others = append(skipped, others...), nil
		}
		fmt.Fprintf(&b, "\n<details><summary>Skipped: %d</summary>\n\n", r.Count(Skipped))
		for i, why := range skipped {
			if i == most {
				fmt.Fprintf(&b, "- and more, for %s\n", plural(len(skipped)-i, "other reason"))
				break
			}
			fmt.Fprintf(&b, "- %s: %s\n", inUnits(cutNames(names(why.units)), mdCode), mdProse(cut(inOneLine(why.text), limit)))
		}
		if len(others) > 0 {
			fmt.Fprintf(&b, "- %s\n", untouched(others))
		}
		b.WriteString("\n</details>\n")
	}
	var notes []string
	for _, u := range r.Units {
		for _, n := range u.Notes {
			notes = append(notes, fmt.Sprintf("- %s: %s\n", mdCode(cut(u.Name, 120)), mdProse(cut(n, limit))))
		}
	}
	if len(notes) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>To know about single units: %d</summary>\n\n", len(notes))
		for i, n := range notes {
			if i == most {
				fmt.Fprintf(&b, "- and %d more\n", len(notes)-i)
				break
			}
			b.WriteString(n)
		}
		b.WriteString("\n</details>\n")
	}
	return b.String()
}

func cutNames(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = cut(n, 120)
	}
	return out
}

// How much of the findings is in sight without a click: a reader on a phone goes
// through a few, and opens the rest.
const (
	openErrors = 5  // that stand open; further ones are folded, a line each
	inSight    = 15 // findings of all severities; a fold holds the others
)

// mdFindings gives every finding, in full as long as there is room: those that are
// told so, and how many got less. When not even their lines fit, rules stand for the
// least severe of them.
func mdFindings(r *Report, o Options, room int) (text string, told []Finding, left, briefs int) {
	var findings []Finding
	var brief []string
	total := 0
	for _, f := range r.Findings {
		if f.Suppressed == nil {
			findings, brief = append(findings, f), append(brief, mdBrief(f))
			total += len(brief[len(brief)-1])
		}
	}
	if len(findings) == 0 {
		return "", nil, room, 0
	}
	// The lines of what is told one by one; byRule is what is not.
	lines, reserve := len(findings), 0
	for cutoff := rule.Note; total > room-reserve && cutoff <= rule.Error; cutoff++ {
		reserve = room / 2
		for lines > 0 && findings[lines-1].Severity <= cutoff {
			lines--
			total -= len(brief[lines])
		}
	}
	byRule := findings[lines:]
	// Every finding has its line; details are added from the top while they fit.
	spare := room - reserve - total
	fold := lines > inSight+inSight/3
	if fold {
		spare -= 200
	}
	var b strings.Builder
	above := map[string]bool{} // incidents that were told
	for i, f := range findings[:lines] {
		if fold && i == inSight {
			fmt.Fprintf(&b, "\n<details><summary><b>%s more</b>: %s</summary>\n\n", plural(lines-i, "finding"), severityCounts(findings[i:lines]))
		}
		if briefs == 0 {
			// Where nothing is worse, the first stands open: all that matters is said
			// without a click.
			full := mdFinding(r, f, o, i == 0 && f.Severity == rule.Warning, f.Severity != rule.Error || i >= openErrors, above)
			if more := len(full) - len(brief[i]); more <= spare {
				b.WriteString(full)
				told = append(told, f)
				for _, inc := range cited(r, f) {
					above[inc.ID] = true
				}
				spare -= more
				continue
			}
			b.WriteString("\n")
			spare--
		}
		briefs++
		b.WriteString(brief[i])
	}
	if fold {
		b.WriteString("\n</details>\n")
	}
	b.WriteString("\n")
	left = spare + reserve - 1
	if len(byRule) > 0 {
		counts := mdByRule(byRule, left/2)
		b.WriteString(counts)
		left -= len(counts)
	}
	return b.String(), told, left, briefs + len(byRule)
}

// severityCounts says how many findings there are of each severity.
func severityCounts(findings []Finding) string {
	count := map[rule.Severity]int{}
	for _, f := range findings {
		count[f.Severity]++
	}
	var parts []string
	for _, s := range []rule.Severity{rule.Error, rule.Warning, rule.Note} {
		if count[s] > 0 {
			parts = append(parts, severityIcons[s]+" "+plural(count[s], s.String()))
		}
	}
	return strings.Join(parts, ", ")
}

var severityIcons = map[rule.Severity]string{rule.Error: "🔴", rule.Warning: "🟡", rule.Note: "🔵"}

// mdFinding gives one finding in full: errors as an alert with what belongs to
// it, the others folded, or open. The incidents above were told of another one.
func mdFinding(r *Report, f Finding, o Options, open, fold bool, above map[string]bool) string {
	var b strings.Builder
	what := fmt.Sprintf("%s %s", mdKind(f.Ref.Kind), mdCode(qualified(f.Ref)))
	icon := severityIcons[f.Severity]
	fold = fold && !(open && o.portable)
	switch {
	case !fold && o.portable:
		fmt.Fprintf(&b, "\n> %s **%s**: %s\n", icon, what, stopped(mdProse(f.Message)))
	case !fold:
		fmt.Fprintf(&b, "\n> [!CAUTION]\n> **%s**: %s\n", what, stopped(mdProse(f.Message)))
	default:
		details := "<details>"
		if open {
			details = "<details open>"
		}
		fmt.Fprintf(&b, "\n%s<summary>%s <b>%s %s</b>: %s</summary>\n",
			details, icon, htmlKind(f.Ref.Kind), htmlCode(qualified(f.Ref)), htmlText(cut(f.Message, 400)))
	}
	if at, hunk, _ := findingHunk(r, f, hunkLines); hunk != nil {
		if at != "" {
			hunk = append([]string{" " + at}, hunk...)
		}
		b.WriteString("\n" + mdFence("diff", hunk))
	}
	for _, p := range [][2]string{{"What happens", happens(f)}, {"Instead", f.Advice}} {
		if p[1] != "" {
			fmt.Fprintf(&b, "\n**%s.** %s\n", p[0], sentence(mdProse(p[1])))
		}
		if p[0] == "What happens" && !fold && !o.portable {
			b.WriteString(mdRollout(f))
		}
	}
	for i, inc := range cited(r, f) {
		if i == 0 {
			b.WriteString("\n**Seen before.** ")
		} else {
			b.WriteString(" ")
		}
		who := mdProse(inc.Org)
		if inc.Date != "" {
			who += ", " + mdProse(year(inc.Date))
		}
		if webLink(inc.URL) {
			who = "[" + who + "](" + inc.URL + ")"
		} else if inc.File != "" {
			who += " (" + mdCode(inc.File) + ")"
		}
		if above[inc.ID] {
			b.WriteString(who + ", as above.")
			continue
		}
		b.WriteString(who + ": " + mdProse(story(inc, i == 0)))
	}
	if len(f.Incidents) > 0 {
		b.WriteString("\n")
	}
	if more := similar(r, f); len(more) > 0 {
		fmt.Fprintf(&b, "\n**%s.** %s\n", similarTitle, similarText(more, mdProse))
	}
	place := findingPlace(f, htmlCode)
	fmt.Fprintf(&b, "\n%s\n", o.small(strings.Join(place, " · ")))
	if fold {
		b.WriteString("\n</details>\n")
	}
	return b.String()
}

// mdRollout draws who answers before the merge and once the first new pods are
// ready; the words for it are in the consequence. Names that could mean something in
// the language of the graph are left out with it. GitHub breaks graphs in closed
// folds (https://github.com/mermaid-js/mermaid/issues/3504), so they stand in none.
func mdRollout(f Finding) string {
	x := f.Rollout
	if x == nil || x.Before == 0 || !x.ReachesNew || x.ReachesOld || !graphName(f.Ref.Kind) || !graphName(f.Ref.Name) {
		return ""
	}
	wave := min(x.FirstWave, x.Before)
	first := fmt.Sprintf("after: %s", plural(wave, "pod"))
	if wave > 0 && wave < x.Before {
		first += fmt.Sprintf(", %s times the load", short(float64(x.Before)/float64(wave)))
	}
	return "\n" + mdFence("mermaid", []string{
		"flowchart LR",
		fmt.Sprintf("  S([%s %s]) -- \"before: %s\" --> O[running pods, out of reach]", f.Ref.Kind, f.Ref.Name, plural(x.Before, "pod")),
		fmt.Sprintf("  S == \"%s\" ==> N[first new pods]", first),
		"  linkStyle 0 stroke:#999,stroke-dasharray:4",
		"  linkStyle 1 stroke:#d1242f",
	})
}

// graphName says whether a name is but a name in a graph.
func graphName(s string) bool {
	return s != "" && len(s) <= 63 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == "" && !strings.Contains(s, "--") && s != "end"
}

// mdBrief gives one finding in one line.
func mdBrief(f Finding) string {
	icon := severityIcons[f.Severity]
	return fmt.Sprintf("- %s %s %s: %s (%s, %s)\n", icon, mdKind(f.Ref.Kind), mdCode(cut(qualified(f.Ref), 120)),
		mdProse(cut(f.Message, 300)), mdCode(f.Rule), inUnits(cutNames(f.Units), mdCode))
}

// mdByRule counts findings by rule, with as many names as there is room for, folded.
// It is for reports with thousands of findings.
func mdByRule(findings []Finding, room int) string {
	type group struct {
		rule     string
		severity rule.Severity
		names    []string
	}
	var groups []*group
	at := map[string]*group{}
	for _, f := range findings {
		key := f.Rule + f.Severity.String()
		if at[key] == nil {
			at[key] = &group{rule: f.Rule, severity: f.Severity}
			groups = append(groups, at[key])
		}
		at[key].names = append(at[key].names, mdCode(cut(f.Ref.String(), 120)))
	}
	var b strings.Builder
	share := max(0, room-64)/len(groups) - 200
	for _, g := range groups {
		title := fmt.Sprintf("%s %s: %s", severityIcons[g.severity], htmlCode(cut(g.rule, 100)), plural(len(g.names), "finding"))
		used, shown := 0, 0
		for _, n := range g.names {
			if used += len(n) + 2; used > share {
				break
			}
			shown++
		}
		names := strings.Join(g.names[:shown], ", ")
		if more := len(g.names) - shown; more > 0 {
			names = strings.TrimPrefix(fmt.Sprintf("%s and %d more", names, more), " and ")
		}
		fmt.Fprintf(&b, "<details><summary>%s</summary>\n\n%s\n\n</details>\n", title, names)
	}
	b.WriteString("\n")
	return b.String()
}

func countSilenced(r *Report) int {
	n := 0
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			n++
		}
	}
	return n
}

func mdSilenced(r *Report) string {
	n := countSilenced(r)
	if n == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<details><summary>%s silenced</summary>\n\n", plural(n, "finding"))
	for _, f := range r.Findings {
		if f.Suppressed != nil {
			fmt.Fprintf(&b, "- %s %s: %s\n", mdCode(f.Rule), mdCode(f.Ref.String()), mdProse(cut(silencedBy(f), 400)))
		}
	}
	b.WriteString("\n</details>\n\n")
	return b.String()
}

// mdChanges gives the folded list of changes and their diffs as far as room
// reaches, and how many rows and diffs it does not.
func mdChanges(r *Report, o Options, told []Finding, room int) (text string, noRows, noDiffs int) {
	all := folded(r, o.ShowHidden)
	if len(all) == 0 {
		return "", 0, 0
	}
	from := newSources(r)
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary><b>All changes</b>: %s</summary>\n\n| | object | change | in |\n|---|---|---|---|\n", changesTitle(all))
	const tail = "\n</details>\n\n"
	room -= b.Len() + len(tail)
	for i, c := range all {
		row := fmt.Sprintf("| %s | %s %s | %s | %s |\n", sign(c.Action), mdKind(c.Ref.Kind), mdCell(qualified(c.Ref)),
			mdSummary(c), c.spread(mdCell))
		if len(row) > room {
			noRows = len(all) - i
			break
		}
		b.WriteString(row)
		room -= len(row)
	}
	for i, c := range all {
		if noRows > 0 {
			noDiffs = len(all)
			break
		}
		block := mdChange(c, o, from.of(c.Change), saidAbove(r, c.Change, told, hunkLines))
		if len(block) > room {
			noDiffs = len(all) - i
			break
		}
		b.WriteString(block)
		room -= len(block)
	}
	b.WriteString(tail)
	return b.String(), noRows, noDiffs
}

// mdSummary says in a cell what a change is, and the gravest that it does.
func mdSummary(c same) string {
	s := summary(c.Change, mdCell)
	if effects := c.effects(); len(effects) > 0 && (grave(effects[0].Kind) || noise(c.Change.Change) != "") {
		between, text := effects[0].says()
		s += " · **" + effects[0].name + "**"
		if text = shortEffect(text); text != "" {
			s += between + mdCellProse(text)
		}
	}
	return strings.TrimSuffix(s, ": ")
}

// shortEffect gives the first part of what an effect does, for a cell, or nothing
// when that is long, too.
func shortEffect(text string) string {
	if i := strings.IndexAny(text, ",;:"); i > 0 {
		text = text[:i]
	}
	if len(text) > 60 {
		return ""
	}
	return text
}

// mdChange gives one change folded: what it does, its diff unless a finding has shown
// it, and the source files that it came from; "" when the table has said it all.
func mdChange(c same, o Options, from []string, said bool) string {
	const most = 400 // lines of one diff
	var b strings.Builder
	for _, e := range c.effects() {
		between, text := e.says()
		s := "- **" + e.name + "**" + between + mdProse(cut(text, 400))
		if e.units != nil {
			s += " (" + inUnits(cutNames(e.units), mdCode) + ")"
		}
		b.WriteString(s + "\n")
	}
	for _, o := range c.others {
		fmt.Fprintf(&b, "- %s: %s\n", inUnits(cutNames(o.units), mdCode), mdProse(strings.Join(o.how, ", ")))
	}
	if said && len(from) > 0 {
		b.WriteString("\nIts diff stands above, with the finding.\n")
	}
	if c.Diff != "" && !said {
		lines := inertLines(c.Diff)
		if len(lines) > most {
			lines = append(lines[:most:most], fmt.Sprintf(" … %d more lines", len(lines)-most))
		}
		for j := range lines {
			lines[j] = cut(lines[j], lineLimit)
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(mdFence("diff", lines))
	}
	if len(from) > 0 {
		fmt.Fprintf(&b, "\n%s\n", o.small("from "+sourceWords(from, htmlCode)))
	}
	if (c.Diff == "" || said && len(from) == 0) && len(c.others) == 0 && len(c.effects()) < 2 {
		return ""
	}
	return fmt.Sprintf("\n<details><summary>%s %s %s</summary>\n\n%s\n</details>\n", sign(c.Action), htmlKind(c.Ref.Kind),
		htmlCode(qualified(c.Ref)), b.String())
}

func changesTitle(all []same) string {
	objects, shared := 0, 0
	units := map[string]bool{}
	for _, c := range all {
		has := c.units
		for _, o := range c.others {
			has = slices.Concat(has, o.units)
		}
		objects += len(has)
		for _, u := range has {
			units[u] = true
		}
		if len(c.units) > 1 {
			shared += len(c.units)
		}
	}
	s := plural(objects, "object") + " in " + plural(len(units), "unit")
	if shared > 0 {
		s += fmt.Sprintf(", %d of them alike", shared)
	}
	return s
}

// mdKind and htmlKind give a kind as it is when it is a word, as kinds are.
func mdKind(kind string) string {
	if isWord(kind) {
		return kind
	}
	return mdCode(kind)
}

func htmlKind(kind string) string {
	if isWord(kind) {
		return kind
	}
	return htmlCode(kind)
}

func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') }) < 0
}

// htmlText gives a sentence for places where Markdown may not be read.
func htmlText(s string) string {
	var b strings.Builder
	for i, w := range strings.Split(strings.Join(strings.Fields(inert(s)), " "), " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		if linkish.MatchString(w) {
			b.WriteString(htmlCode(w))
			continue
		}
		for _, r := range w {
			if strings.ContainsRune("&<>\"'`*_~[]\\|$", r) {
				fmt.Fprintf(&b, "&#%d;", r)
				continue
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

func mdFoot(r *Report, o Options) string {
	parts := []string{sides(r, htmlCode), statuses(r)}
	if words := hiddenWords(r); words != "" {
		parts = append(parts, "hidden: "+htmlText(words))
	}
	reasons := 0
	for _, h := range r.Hidden {
		if h.Reason == "" {
			continue
		}
		if reasons++; reasons <= 5 {
			parts = append(parts, htmlCode(h.Filter)+": "+htmlText(cut(h.Reason, 200)))
		}
	}
	if words := offWords(r, htmlCode); words != "" {
		parts = append(parts, words)
	}
	tool := "prdiff"
	if r.Version != "" {
		tool += " " + htmlText(r.Version)
	}
	if o.Times {
		var ms int64
		for _, u := range r.Units {
			ms += u.Ms
		}
		tool += fmt.Sprintf(", %.1f s of rendering", float64(ms)/1000)
	}
	return o.small(strings.Join(append(parts, tool), " · ")) + "\n"
}
