package report

import (
	"fmt"
	"slices"
	"strings"
)

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
