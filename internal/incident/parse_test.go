package incident_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/prdiff/prdiff/internal/incident"
)

const sound = `id: cache-2026
date: 2026-03-04
title: The cache lost half its memory
change: The memory limit went from 2Gi to 1Gi.
lesson: Measure before you cut.
`

func TestParse(t *testing.T) {
	tests := []struct {
		name string
		data string
		ids  string // of the entries given
		want string // the error, "" for none
	}{
		{name: "one entry alone", data: sound, ids: "cache-2026"},
		{name: "a list", data: "- " + strings.ReplaceAll(strings.TrimSpace(sound), "\n", "\n  ") + "\n", ids: "cache-2026"},
		{name: "several documents", data: sound + "---\n" + strings.Replace(sound, "cache-2026", "other", 1), ids: "cache-2026 other"},
		{name: "an unknown key", data: sound + "severity: high\n",
			want: `f.yaml:6: unknown key "severity": known are api, change, date, fields, founding, id, impact, incidentlib, kinds, lesson, mechanism, note, org, related, rules, software, source, symptoms, title, topics, trigger, url`},
		{name: "a key twice", data: sound + "id: again\n", want: `f.yaml:6: key "id" is there twice`},
		{name: "a text where a list belongs", data: sound + "kinds: Service\n", want: `f.yaml:6: kinds must be a list of texts`},
		{name: "a list where a text belongs", data: sound + "org: [a]\n", want: `f.yaml:6: org must be a text`},
		{name: "a list with a hole", data: sound + "kinds: [Service, ]\nrules: [~]\n", want: `f.yaml:7: rules must be a list of texts`},
		{name: "a number as a flag", data: sound + "founding: 1\n", want: `f.yaml:6: founding must be true or false`},
		{name: "no mapping", data: "- one\n", want: "f.yaml:1: an incident must be a mapping with id, date, title, change and lesson"},
		{name: "broken YAML", data: "id: a\n  b: c\n", want: "f.yaml:2: mapping values are not allowed in this context"},
		{name: "nothing in it", data: "# to be written\n", want: "f.yaml: no incident in it"},
		{name: "two lessons", data: strings.Replace(sound, "cut.", "cut. Then cut.", 1), want: "f.yaml:5: lesson is not one sentence with a full stop"},
		{name: "a day that is not in the calendar", data: strings.Replace(sound, "03-04", "02-30", 1), want: `f.yaml:2: date is "2026-02-30": want YYYY, YYYY-MM or YYYY-MM-DD`},
		{name: "an address that runs code", data: sound + "url: javascript:alert(1)\n", want: `f.yaml:6: url is "javascript:alert(1)": want one that begins with https://`},
		{name: "a password in an address", data: sound + "url: https://a:b@example.com/\n", want: `f.yaml:6: url is "https://a:b@example.com/": it has a user name in it`},
		{name: "an ID with spaces", data: strings.Replace(sound, "cache-2026", "Cache 2026", 1), want: `f.yaml:1: id is "Cache 2026": want lower-case words with hyphens between them, at most 64 characters`},
		{name: "what is missing", data: "id: a\n", want: "f.yaml:1: date is missing\nf.yaml:1: title is missing\nf.yaml:1: change is missing\nf.yaml:1: lesson is missing"},
		{name: "the sound entries beside an error", data: sound + "---\nid: a\n", ids: "cache-2026", want: "f.yaml:7: date is missing\nf.yaml:7: title is missing\nf.yaml:7: change is missing\nf.yaml:7: lesson is missing"},
		{name: "a trigger with two ends", data: sound + "trigger:\n  rule: a\n  when: 'true'\n", want: "f.yaml:6: trigger has both a rule and `when`: keep one"},
		{name: "a trigger without an end", data: sound + "trigger: {}\n", want: "f.yaml:6: trigger needs a rule, or a CEL expression in `when`"},
		{name: "an unknown key in a trigger", data: sound + "trigger:\n  cel: 'true'\n", want: `f.yaml:7: unknown key "trigger.cel": known are kinds, message, rule, severity, when`},
		{name: "a severity that no report has", data: sound + "trigger:\n  when: 'true'\n  severity: bad\n", want: `f.yaml:8: trigger.severity is "bad": want note, warning or error`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, err := incident.Parse("f.yaml", []byte(tt.data))
			var ids []string
			for _, e := range entries {
				ids = append(ids, e.ID)
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Errorf("Parse() gave %q, want %q", got, tt.ids)
			}
			if got := errorText(err); got != tt.want {
				t.Errorf("Parse() error:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParseRefusesAFileOfABooksLength(t *testing.T) {
	_, err := incident.Parse("big.yaml", bytes.Repeat([]byte("#"), incident.MaxFile+1))
	if err == nil || !strings.Contains(err.Error(), "split it") {
		t.Errorf("Parse() error = %v, want one that says to split the file", err)
	}
}

const postmortem = "\ufeff---\r\n" + `id: cache-2026
date: 2026-03-04
kinds: [Deployment]
fields: [containers.resources.limits.memory]
trigger:
  kinds: [Deployment.apps]
  when: object.spec.replicas < oldObject.spec.replicas
---

# The cache lost half its memory

A line of introduction.

## What changed

The memory limit went
from 2Gi to 1Gi.

A second paragraph that nobody needs.

## Root cause:

` + "```yaml\n# not a heading\n```" + `
It was killed under load.

## Impact
<!-- a hint -->
12 minutes.

### Lesson
Measure before you cut.
`

func TestParseMarkdown(t *testing.T) {
	got, err := incident.ParseMarkdown("docs/cache.md", []byte(postmortem))
	if err != nil {
		t.Fatal(err)
	}
	want := incident.Incident{
		ID: "cache-2026", Date: "2026-03-04", Title: "The cache lost half its memory",
		Change: "The memory limit went from 2Gi to 1Gi.", Mechanism: "It was killed under load.",
		Impact: "12 minutes.", Lesson: "Measure before you cut.",
		Kinds: []string{"Deployment"}, Fields: []string{"containers.resources.limits.memory"},
		Trigger: &incident.Trigger{Kinds: []string{"Deployment.apps"}, When: "object.spec.replicas < oldObject.spec.replicas"},
		File:    "docs/cache.md", Line: 2,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("ParseMarkdown() = %+v, want %+v", got, want)
	}
	if !got.Own() {
		t.Error("Own() = false for an entry of a file")
	}
}

func TestParseMarkdownNamesFileAndLine(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"no front matter", "# A report\n", "p.md:1: no front matter"},
		{"a front matter without an end", "---\nid: a\n", "p.md:1: no front matter"},
		{"an empty front matter", "---\n---\n", "p.md:1: the front matter must hold one incident, not 0"},
		{"an unknown key", "---\nid: a\nsev: 1\n---\n", `p.md:3: unknown key "sev"`},
		{"broken YAML", "---\nid: a\n\tb: 1\n---\n", "p.md:3: "},
		{"nothing but an ID", "---\nid: a\n---\n", "p.md:2: date is missing\np.md:2: title is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := incident.ParseMarkdown("p.md", []byte(tt.data))
			if got := errorText(err); !strings.HasPrefix(got, tt.want) {
				t.Errorf("ParseMarkdown() error = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTemplateIsReadAndAsksToBeFilledIn(t *testing.T) {
	text := incident.Template("cache-2026", "2026-03-04")
	_, err := incident.ParseMarkdown("new.md", []byte(text))
	for _, field := range []string{"title", "change", "mechanism", "impact", "lesson"} {
		if !strings.Contains(errorText(err), field+" is not filled in") {
			t.Errorf("ParseMarkdown(Template()) error = %v, want it to ask for the %s", err, field)
		}
	}
	for gap, filled := range map[string]string{
		"TITLE: what happened, in one line without a full stop": "The cache lost half its memory",
		"CHANGE: one or two sentences.":                         "The limit was halved.",
		"MECHANISM: how the change led to the outage.":          "It was killed.",
		"IMPACT: for whom, how long, how much, in numbers.":     "12 minutes.",
		"LESSON: one sentence that ends with a full stop.":      "Measure before you cut.",
	} {
		if !strings.Contains(text, gap) {
			t.Errorf("Template() has no %q", gap)
		}
		text = strings.Replace(text, gap, filled, 1)
	}
	e, err := incident.ParseMarkdown("new.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if e.ID != "cache-2026" || e.Date != "2026-03-04" || e.Impact != "12 minutes." {
		t.Errorf("ParseMarkdown(filled template) = %+v", e)
	}
}

func TestCheckRules(t *testing.T) {
	known := func(id string) bool { return id == "there" }
	e := incident.Incident{Rules: []string{"there", "gone"}, Trigger: &incident.Trigger{Rule: "gone-too"}}
	got := e.CheckRules(known)
	want := []incident.Problem{
		{Field: "rules", Text: "holds \"gone\": no rule has this ID (see `prdiff rules`)"},
		{Field: "trigger.rule", Text: "is \"gone-too\": no rule has this ID (see `prdiff rules`)"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("CheckRules() = %v, want %v", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(postmortem))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("- &x {id: a, kinds: [*x]}\n- <<: *x\n"))
	f.Add([]byte("---\n# \n#\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, _ := incident.Parse("f.yaml", data)
		if e, err := incident.ParseMarkdown("f.md", data); err == nil {
			entries = append(entries, e)
		}
		for _, e := range entries {
			if problems := e.Validate(); len(problems) > 0 {
				t.Errorf("an entry was accepted that has %v", problems)
			}
			var b bytes.Buffer
			for _, err := range []error{
				incident.WritePage(&b, e, 40), incident.WritePageMarkdown(&b, e),
				incident.WriteTable(&b, incident.Listed(entries), 60), incident.WriteTableMarkdown(&b, incident.Listed(entries)),
			} {
				if err != nil {
					t.Error(err)
				}
			}
			if strings.ContainsAny(b.String(), "\x1b\x07\x00\r\u202e") {
				t.Errorf("control characters in %q", b.String())
			}
		}
	})
}
