package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A table is one of the short tables that tell a change in numbers.
type table struct {
	title string // with the total
	head  []string
	right int // the columns from here on are numbers
	rows  [][]cell
	left  int // rows for which there was no room
}

// A cell is a text, or a name from a manifest that is shown as code.
type cell struct {
	text string
	code bool
}

func word(format string, args ...any) cell { return cell{fmt.Sprintf(format, args...), false} }
func code(s string) cell                   { return cell{s, true} }

// tableRows is how many rows a table may have; the rest is counted.
const tableRows = 12

func (t *table) add(row ...cell) {
	if len(t.rows) < tableRows {
		t.rows = append(t.rows, row)
	} else {
		t.left++
	}
}

// tables gives the change in numbers; those that have nothing to say are left out.
func tables(r *Report) []table {
	var out []table
	for _, t := range []table{imageTable(r), restartTable(r), loadTable(r), kindTable(r)} {
		if len(t.rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

func imageTable(r *Report) table {
	all := images(r.Visible())
	t := table{title: plural(len(all), "image") + " " + changeVerb(len(all)), head: []string{"image", "before", "after", "where"}}
	marked := 0
	// What goes back or jumps is told first.
	slices.SortStableFunc(all, func(a, b imageChange) int { return -cmp.Compare(len(a.jump), len(b.jump)) })
	for _, i := range all {
		nameBefore, tagBefore := splitImage(i.before)
		nameAfter, tagAfter := splitImage(i.after)
		name, before, after := nameBefore, cmp.Or(tagBefore, "no tag"), cmp.Or(tagAfter, "no tag")
		switch {
		case nameBefore != nameAfter:
			name, before, after = nameBefore[strings.LastIndexByte(nameBefore, '/')+1:], i.before, i.after
		case before == after: // the digest differs
			before, after = digest(i.before, before), digest(i.after, after)
		}
		if i.jump != "" {
			marked++
			after += " (" + i.jump + ")"
		}
		t.add(code(name), code(before), code(after), word("%s", where(i.where)))
	}
	if marked > 0 {
		t.title += fmt.Sprintf(", %d backwards or over a major version", marked)
	}
	return t
}

// digest shortens an image's digest for a table.
func digest(image, tag string) string {
	_, d, ok := strings.Cut(image, "@")
	if !ok {
		return tag
	}
	d = strings.TrimPrefix(d, "sha256:")
	return tag + "@" + d[:min(8, len(d))]
}

// where names the objects of a row, each once, with the number of its units.
func where(refs []object.Ref) string {
	const most = 3
	var names []string
	units := map[string]int{}
	for _, ref := range refs {
		name := ref.String()
		if units[name]++; units[name] == 1 {
			names = append(names, name)
		}
	}
	left := max(0, len(names)-most)
	names = names[:len(names)-left]
	for i, n := range names {
		if units[n] > 1 {
			names[i] = n + " in " + plural(units[n], "unit")
		}
	}
	s := strings.Join(names, ", ")
	if left > 0 {
		s += fmt.Sprintf(" and %d more", left)
	}
	return s
}

func restartTable(r *Report) table {
	type group struct {
		first   Restart
		pods, n int
		known   bool
		units   []string
	}
	var groups []*group
	at := map[string]*group{}
	pods, unknown := 0, 0
	for _, x := range r.Numbers.Restarts {
		key := x.Ref.GroupKind() + "\x00" + qualified(x.Ref) + "\x00" + string(x.How)
		g := at[key]
		if g == nil {
			g = &group{first: x, known: true}
			at[key] = g
			groups = append(groups, g)
		}
		g.pods, g.n, g.known = g.pods+x.Pods, g.n+1, g.known && x.Known
		g.units = append(g.units, x.Ref.Unit)
		pods += x.Pods
		if !x.Known {
			unknown++
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return cmp.Compare(b.pods, a.pods) })
	t := table{head: []string{"workload", "pods", "how", "in"}}
	t.title = plural(len(r.Numbers.Restarts), "workload") + " with " + plural(pods, "pod") + " restart, start or end"
	if len(r.Numbers.Restarts) == 1 {
		t.title = "1 workload with " + plural(pods, "pod") + " restarts, starts or ends"
	}
	if unknown > 0 {
		t.title += fmt.Sprintf(", those of %d not counted", unknown)
	}
	for _, g := range groups {
		count := strconv.Itoa(g.pods)
		if !g.known {
			count = "by the cluster"
			if g.pods > 0 {
				count = strconv.Itoa(g.pods) + " or more"
			}
		}
		t.add(code(g.first.Ref.String()), word("%s", count), word("%s", g.first.How), code(inUnits(g.units, func(s string) string { return s })))
	}
	return t
}

func loadTable(r *Report) table {
	t := table{head: []string{"", "before", "after", "change"}, right: 1}
	if len(r.Numbers.Loads) == 0 {
		return t
	}
	var before, after Load
	for _, u := range r.Numbers.Loads {
		before, after = before.add(u.Before), after.add(u.After)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	measures := []struct {
		name string
		of   func(Load) int64
		show func(int64) string
	}{
		{"pods", func(l Load) int64 { return int64(l.Pods) }, number},
		{"CPU requested", func(l Load) int64 { return l.CPU }, cores},
		{"memory requested", func(l Load) int64 { return l.Memory }, mebibytes},
		{"CPU limit", func(l Load) int64 { return l.CPULimit }, cores},
		{"memory limit", func(l Load) int64 { return l.MemoryLimit }, mebibytes},
		{"pods, autoscalers at their maximum", func(l Load) int64 { return int64(l.MostPods) }, number},
		{"CPU requested, at the maximum", func(l Load) int64 { return l.MostCPU }, cores},
		{"memory requested, at the maximum", func(l Load) int64 { return l.MostMemory }, mebibytes},
		{"CPU requested, on each node", func(l Load) int64 { return l.NodeCPU }, cores},
		{"memory requested, on each node", func(l Load) int64 { return l.NodeMemory }, mebibytes},
	}
	scaled := before.Pods != before.MostPods || after.Pods != after.MostPods
	var said []string
	for i, m := range measures {
		b, a := m.of(before), m.of(after)
		units := slices.Clone(r.Numbers.Loads)
		units = slices.DeleteFunc(units, func(u UnitLoad) bool { return m.of(u.Before) == m.of(u.After) })
		if len(units) == 0 || i >= 5 && i < 8 && !scaled {
			continue
		}
		t.rows = append(t.rows, []cell{word("%s", m.name), word("%s", m.show(b)), word("%s", m.show(a)), word("%s", percent(b, a))})
		if len(said) < 2 {
			said = append(said, m.name+" "+m.show(b)+" → "+m.show(a))
		}
		if len(r.Numbers.Loads) == 1 {
			continue
		}
		slices.SortStableFunc(units, func(x, y UnitLoad) int {
			return cmp.Compare(math.Abs(float64(m.of(y.After)-m.of(y.Before))), math.Abs(float64(m.of(x.After)-m.of(x.Before))))
		})
		const most = 3 // units of one measure
		for j, u := range units {
			if j == most {
				t.left += len(units) - most
				break
			}
			b, a := m.of(u.Before), m.of(u.After)
			t.rows = append(t.rows, []cell{code(u.Unit), word("%s", m.show(b)), word("%s", m.show(a)), word("%s", percent(b, a))})
		}
	}
	t.title = strings.Join(said, ", ")
	return t
}

// percent gives a change in percent, or in words where that says nothing.
func percent(before, after int64) string {
	switch {
	case before == after:
		return "same"
	case before == 0:
		return "new"
	case after == 0:
		return "none left"
	}
	p := 100 * (float64(after) - float64(before)) / float64(before)
	switch {
	case p >= 999.5:
		return fmt.Sprintf("×%.0f", float64(after)/float64(before))
	case math.Abs(p) < 0.5:
		return fmt.Sprintf("%+.1f %%", p)
	}
	return strings.Replace(fmt.Sprintf("%+.0f %%", p), "-", "−", 1)
}

// cores writes millicores: "250m", "1.5 cores".
func cores(milli int64) string {
	if milli < 1000 && milli%1000 != 0 {
		return strconv.FormatInt(milli, 10) + "m"
	}
	n := short(float64(milli) / 1000)
	if n == "1" {
		return "1 core"
	}
	return n + " cores"
}

// mebibytes writes bytes in the unit that suits them: "512 MiB", "1.5 GiB".
func mebibytes(b int64) string {
	const mib, gib, tib = 1 << 20, 1 << 30, 1 << 40
	switch f := float64(b); {
	case b >= 10*tib:
		return short(f/tib) + " TiB"
	case b >= gib:
		return short(f/gib) + " GiB"
	case b >= mib:
		return short(f/mib) + " MiB"
	case b == 0:
		return "0"
	}
	return strconv.FormatInt(b, 10) + " B"
}

// short writes a number with two places at most, whole from 100 on.
func short(f float64) string {
	if f >= 100 {
		return strconv.FormatFloat(math.Round(f), 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(f*100)/100, 'f', -1, 64)
}

func kindTable(r *Report) table {
	const few = 5 // objects that a reader counts in the list of changes
	visible := r.Visible()
	if len(visible) <= few {
		return table{}
	}
	kinds := kindsOf(visible)
	slices.SortStableFunc(kinds, func(a, b kindCount) int {
		return cmp.Or(cmp.Compare(b.Created+b.Changed+b.Deleted, a.Created+a.Changed+a.Deleted), strings.Compare(a.Kind, b.Kind))
	})
	t := table{title: plural(len(visible), "object") + " of " + plural(len(kinds), "kind"), head: []string{"kind", "new", "changed", "deleted"}, right: 1}
	number := func(n int) cell {
		if n == 0 {
			return word("")
		}
		return word("%d", n)
	}
	for _, k := range kinds {
		t.add(code(k.Kind), number(k.Created), number(k.Changed), number(k.Deleted))
	}
	return t
}

// cells gives the texts of a table's cells, names through show.
func (t table) cells(row []cell, show, say func(string) string) []string {
	out := make([]string, len(row))
	for i, c := range row {
		switch {
		case c.text == "":
		case c.code:
			out[i] = show(c.text)
		default:
			out[i] = say(c.text)
		}
	}
	return out
}

// mdTables gives the change in numbers for Markdown, folded, as far as room reaches.
func mdTables(r *Report, room int) string {
	var b strings.Builder
	all := tables(r)
	if len(all) == 0 {
		return ""
	}
	var titles []string
	for _, t := range all[:min(2, len(all))] {
		titles = append(titles, t.title)
	}
	fmt.Fprintf(&b, "\n<details><summary><b>In numbers</b>: %s</summary>\n", htmlText(strings.Join(titles, ", ")))
	for _, t := range all {
		b.WriteString("\n")
		if len(all) > 1 {
			fmt.Fprintf(&b, "%s:\n\n", capital(mdProse(t.title)))
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.head, " | "),
			strings.Repeat("---|", max(0, t.leftColumns()))+strings.Repeat("--:|", len(t.head)-t.leftColumns()))
		for _, row := range t.rows {
			cells := t.cells(row, func(s string) string { return mdCell(cut(s, 120)) }, func(s string) string { return mdCellProse(cut(s, 300)) })
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
		if t.left > 0 {
			fmt.Fprintf(&b, "\nand %s more\n", plural(t.left, "row"))
		}
	}
	b.WriteString("\n</details>\n")
	if b.Len() > room {
		return ""
	}
	return b.String()
}

// leftColumns is how many columns are words.
func (t table) leftColumns() int {
	if t.right == 0 {
		return len(t.head)
	}
	return t.right
}

// numbers prints the tables for a terminal.
func (t *text) numbers() {
	all := tables(t.r)
	if len(all) == 0 {
		return
	}
	t.printf("\n%s\n", t.paint(bold, "In numbers"))
	for _, tab := range all {
		t.printf("\n")
		t.wrapped("  ", "  ", capital(inert(tab.title)), nil)
		show := func(s string) string { return cut(inert(s), 60) }
		rows := [][]string{tab.head}
		for _, row := range tab.rows {
			rows = append(rows, tab.cells(row, show, func(s string) string { return inert(s) }))
		}
		widths := t.fit(rows)
		for n, row := range rows {
			var line strings.Builder
			for i, s := range row {
				s = middle(s, widths[i])
				pad := strings.Repeat(" ", widths[i]-len([]rune(s)))
				if i >= tab.leftColumns() {
					s, pad = pad+s, ""
				}
				line.WriteString(s + pad + "  ")
			}
			l := strings.TrimRight(line.String(), " ")
			if n == 0 {
				l = t.paint(dim, l)
			}
			t.printf("    %s\n", l)
		}
		if tab.left > 0 {
			t.printf("    and %s more\n", plural(tab.left, "row"))
		}
	}
}

// fit gives the widths of a table's columns. Where the terminal is narrower than the
// table, the widest columns give way, as far as they can be read.
func (t *text) fit(rows [][]string) []int {
	const least = 10
	widths := make([]int, len(rows[0]))
	total := 4
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], len([]rune(row[i])))
		}
		total += widths[i] + 2
	}
	for ; t.o.Width > 0 && total > t.o.Width+2; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= least {
			break
		}
		widths[widest]--
	}
	return widths
}
