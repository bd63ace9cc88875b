package report

import (
	"fmt"
	"io"
	"strings"
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
	if words := timeWords(r, o); words != "" {
		tool += ", " + words
	}
	return o.small(strings.Join(append(parts, tool), " · ")) + "\n"
}
