package incident

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// narrowest is the width in columns below which nothing is laid out.
const narrowest = 40

// usual is the width in columns when the caller does not know one.
const usual = 80

// WriteTable writes one line for each match: ID, date, organisation and title,
// cut to width columns (0 cuts nothing, for what is not a terminal), and the number
// of entries below. Text from files is printed without its control characters.
func WriteTable(w io.Writer, matches []Match, width int) error {
	id, org := len("ID"), len("ORGANISATION")
	for _, m := range matches {
		id = max(id, utf8.RuneCountInString(m.ID))
		org = max(org, utf8.RuneCountInString(plain(m.Org)))
	}
	const date = len("2006-01-02")
	title := math.MaxInt
	if width > 0 {
		width = columns(width)
		id, org = min(id, width/2), min(org, 24)
		title = width - id - date - org - 6
	}
	var b strings.Builder
	row := func(cells ...string) {
		line := pad(cells[0], id) + "  " + pad(cells[1], date)
		if title >= 16 { // on a narrow terminal the organisation gives way
			line += "  " + pad(cells[2], org) + "  " + clip(cells[3], title)
		} else if rest := width - id - date - 4; rest >= 8 {
			line += "  " + clip(cells[3], rest)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("ID", "DATE", "ORGANISATION", "WHAT HAPPENED")
	for _, m := range matches {
		row(plain(m.ID), day(m.Incident), plain(m.Org), plain(m.Title))
	}
	fmt.Fprintf(&b, "\n%s\n", count(len(matches)))
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteTableMarkdown writes the table in Markdown, each title a link to its
// source. Text from files is inert.
func WriteTableMarkdown(w io.Writer, matches []Match) error {
	var b strings.Builder
	b.WriteString("| ID | Date | Organisation | What happened |\n|---|---|---|---|\n")
	for _, m := range matches {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.ID, day(m.Incident), markdown(m.Org), link(m.Incident, m.Title))
	}
	fmt.Fprintf(&b, "\n%s\n", count(len(matches)))
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes the matches as {"incidents": [...]}, the fields of Incident
// and, where there is one, the reason.
func WriteJSON(w io.Writer, matches []Match) error {
	if matches == nil {
		matches = []Match{}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		Incidents []Match `json:"incidents"`
	}{matches})
}

// Listed makes matches without a reason of entries, for the writers above.
func Listed(entries []Incident) []Match {
	out := make([]Match, len(entries))
	for i, e := range entries {
		out[i] = Match{Incident: e}
	}
	return out
}

// A part is one headed piece of an entry's page; empty ones are left out.
type part struct{ head, text string }

func (i Incident) parts() []part {
	return []part{
		{"What changed", i.Change},
		{"Why it broke", i.Mechanism},
		{"Impact", i.Impact},
		{"Lesson", i.Lesson},
		{"Not in a diff", i.Related},
		{"Note", i.Note},
	}
}

func (i Incident) facts() []part {
	facts := []part{
		{"Seen in", strings.Join(slices.Concat(i.Kinds, i.Fields), ", ")},
		{"Software", strings.Join(i.Software, ", ")},
		{"Symptoms", strings.Join(i.Symptoms, ", ")},
		{"Rules", strings.Join(i.Rules, ", ")},
		{"Topics", strings.Join(i.Topics, ", ")},
	}
	if t := i.Trigger; t != nil && t.Rule != "" {
		facts = append(facts, part{"Trigger", "rule " + t.Rule})
	} else if t != nil {
		facts = append(facts, part{"Trigger", t.When})
	}
	return facts
}

// sources says where an entry comes from, in the words of the page.
func (i Incident) sources() []part {
	var out []part
	switch {
	case i.URL != "":
		out = append(out, part{"Source", i.URL})
	case i.Own():
	default:
		out = append(out, part{"Source", "no public address is known to us"})
	}
	if i.Own() {
		out = append(out, part{"File", i.File})
	}
	if read := basis[i.Source]; read != "" {
		out = append(out, part{"What we read", read})
	}
	if i.IncidentLib != "" {
		text := i.IncidentLib
		if i.API != "" {
			text += ", " + i.API
		}
		out = append(out, part{"incidentlib", text})
	}
	return out
}

var basis = map[string]string{
	"report":  "the whole report",
	"excerpt": "a part of the report",
	"case":    "its incidentlib case, whole, and the opening of the report",
	"thread":  "an issue or pull request",
	"summary": "a summary by somebody else",
}

// WritePage writes one entry as a page of text, wrapped at width columns (0 means
// 80). Addresses are not broken.
func WritePage(w io.Writer, i Incident, width int) error {
	width = columns(width)
	var b strings.Builder
	wrap(&b, i.Title, "", width)
	wrap(&b, strings.Join(nonEmpty(i.Org, day(i), i.ID), " · "), "", width)
	for _, p := range i.parts() {
		if p.text != "" {
			b.WriteString("\n" + p.head + "\n")
			wrap(&b, p.text, "  ", width)
		}
	}
	b.WriteString("\n")
	for _, p := range append(i.facts(), i.sources()...) {
		if p.text != "" {
			b.WriteString(pad(p.head, 13))
			var text strings.Builder
			wrap(&text, p.text, strings.Repeat(" ", 13), width)
			b.WriteString(strings.TrimPrefix(text.String(), strings.Repeat(" ", 13)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WritePageMarkdown writes one entry as a Markdown page.
func WritePageMarkdown(w io.Writer, i Incident) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", link(i, i.Title))
	fmt.Fprintf(&b, "%s\n", strings.Join(nonEmpty(markdown(i.Org), day(i), "`"+i.ID+"`"), " · "))
	for _, p := range i.parts() {
		if p.text != "" {
			fmt.Fprintf(&b, "\n**%s.** %s\n", p.head, markdown(p.text))
		}
	}
	b.WriteString("\n")
	for _, p := range append(i.facts(), i.sources()...) {
		switch {
		case p.text == "":
		case p.head == "Source" && i.URL != "":
			fmt.Fprintf(&b, "- Source: <%s>\n", address(i.URL))
		case p.head == "incidentlib" && i.API != "":
			fmt.Fprintf(&b, "- incidentlib: [%s](%s)\n", markdown(i.IncidentLib), address(i.API))
		default:
			fmt.Fprintf(&b, "- %s: %s\n", p.head, markdown(p.text))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMatches writes what was found for a finding or a search: each with its
// reason and its lesson.
func WriteMatches(w io.Writer, matches []Match, width int) error {
	width = columns(width)
	var b strings.Builder
	for n, m := range matches {
		if n > 0 {
			b.WriteString("\n")
		}
		wrap(&b, strings.Join(nonEmpty(m.ID, m.Org, day(m.Incident)), " · "), "", width)
		wrap(&b, m.Title, "  ", width)
		wrap(&b, "Lesson: "+m.Lesson, "  ", width)
		if m.Reason != "" {
			wrap(&b, "Why: "+m.Reason, "  ", width)
		}
	}
	if len(matches) == 0 {
		b.WriteString("no other incident shares its field, its software or its mechanism\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// link gives text as a Markdown link to the entry's source, or the text alone.
func link(i Incident, text string) string {
	if i.URL == "" {
		return markdown(text)
	}
	return "[" + markdown(text) + "](" + address(i.URL) + ")"
}

func day(i Incident) string {
	if i.Date == "" {
		return "undated"
	}
	return plain(i.Date)
}

func count(n int) string {
	if n == 1 {
		return "1 incident"
	}
	return fmt.Sprintf("%d incidents", n)
}

func columns(width int) int {
	if width <= 0 {
		return usual
	}
	return max(width, narrowest)
}

// pad fills a text with spaces to n columns, or cuts it to them. A character
// counts as one column; wide ones of East Asia take two, and their rows are off.
func pad(s string, n int) string {
	s = clip(s, n)
	return s + strings.Repeat(" ", n-utf8.RuneCountInString(s))
}

// wrap writes text in lines of at most width columns, each behind the indent. A
// word that is longer, such as an address, has a line of its own.
func wrap(b *strings.Builder, text, indent string, width int) {
	line := ""
	for word := range strings.FieldsSeq(plain(text)) {
		if line != "" && utf8.RuneCountInString(indent)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(indent + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}
