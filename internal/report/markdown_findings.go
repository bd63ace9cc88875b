package report

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/rule"
)

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
		who := mdProse(whose(inc.Incident))
		if webLink(inc.URL) {
			who = "[" + who + "](" + inc.URL + ")"
		} else if inc.File != "" {
			who += " (" + mdCode(inc.File) + ")"
		}
		if above[inc.ID] {
			b.WriteString(who + ", as above.")
			continue
		}
		b.WriteString(who + mdProse(inc.because()) + ": " + mdProse(story(inc.Incident, i == 0)))
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
