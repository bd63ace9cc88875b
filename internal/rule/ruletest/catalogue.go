package ruletest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/rule"
)

// Catalogue writes the README of a list of rules: a table by subject, then each
// rule with its reason, its way out, and its fixtures as examples. fixtures has
// them by rule id.
func Catalogue(rules []*rule.Rule, fixtures map[string][]*Fixture) []byte {
	var b bytes.Buffer
	b.WriteString(`<!-- Written by go test ./rules -update from the rules and their fixtures. Do not edit. -->

# What prdiff is afraid of

Each rule looks at one thing that a pull request does to a cluster, and says so only when this change brings it: what was
risky before and stays so is left alone. Severity is that of a finding unless its story says otherwise: an **error** takes
something down as soon as it is merged, a **warning** does so under conditions that the manifests cannot tell, a **note** is
good to know. Every example below is a fixture that the tests ran; ` + "`prdiff incidents show ID`" + ` tells an incident.

`)
	for _, subject := range rule.Subjects {
		in := bySubject(rules, subject)
		if len(in) == 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s**\n\n| rule | severity | when |\n|---|---|---|\n", title(subject))
		for _, r := range in {
			fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.ID, r.Severity, r.Title)
		}
		b.WriteByte('\n')
	}
	for _, subject := range rule.Subjects {
		in := bySubject(rules, subject)
		if len(in) == 0 {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n", title(subject))
		for _, r := range in {
			writeStory(&b, r, fixtures[r.ID], false)
		}
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
}

// Story writes one rule in Markdown, under a heading of the third level, with
// what it says of every fixture.
func Story(r *rule.Rule, fixtures []*Fixture) []byte {
	var b bytes.Buffer
	writeStory(&b, r, fixtures, true)
	return b.Bytes()
}

// writeStory tells the first case at length, the one named example if there is
// one, and the others too with all.
func writeStory(b *bytes.Buffer, r *rule.Rule, fixtures []*Fixture, all bool) {
	fmt.Fprintf(b, "### %s\n\n**%s.** %s.\n\n%s\n\n", r.ID, title(r.Severity.String()), r.Title, strings.TrimSpace(r.Doc))
	fmt.Fprintf(b, "**Instead.** %s\n\n", strings.TrimSpace(r.Advice))
	if len(r.Incidents) > 0 {
		b.WriteString("**Seen before.** `" + strings.Join(r.Incidents, "`, `") + "`\n\n")
	}
	var fires, quiet []*Fixture
	for _, f := range fixtures {
		switch {
		case f.Quiet:
			quiet = append(quiet, f)
		case f.Name == "example":
			fires = append([]*Fixture{f}, fires...)
		default:
			fires = append(fires, f)
		}
	}
	link := func(f *Fixture) string {
		return fmt.Sprintf("[%s](testdata/%s/%s.txtar)", firstSentence(f.Comment), r.ID, f.Name)
	}
	for i, f := range fires {
		if i == 0 || all {
			fmt.Fprintf(b, "%s\n\n```text\n%s```\n\n", link(f), f.Text(f.Find(r)))
			continue
		}
		if i == 1 {
			b.WriteString("It fires too:\n\n")
		}
		fmt.Fprintf(b, "- %s\n", link(f))
	}
	if len(fires) > 1 && !all {
		b.WriteByte('\n')
	}
	for i, f := range quiet {
		if i == 0 {
			b.WriteString("It is quiet:\n\n")
		}
		fmt.Fprintf(b, "- %s\n", link(f))
	}
	if len(quiet) > 0 {
		b.WriteByte('\n')
	}
}

func bySubject(rules []*rule.Rule, subject string) []*rule.Rule {
	var out []*rule.Rule
	for _, r := range rules {
		if r.Subject == subject {
			out = append(out, r)
		}
	}
	return out
}

// firstSentence gives a fixture's first sentence as link text on one line.
func firstSentence(comment string) string {
	text := strings.Join(strings.Fields(comment), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return strings.NewReplacer("[", `\[`, "]", `\]`).Replace(text)
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
