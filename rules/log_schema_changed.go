package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// LogSchemaChanged reports that Loki reads data of the past by another schema than it was
// written with.
var LogSchemaChanged = &rule.Rule{
	ID:       "log-schema-changed",
	Title:    "Loki looks for data of the past by a schema that it was not written with",
	Subject:  "state",
	Severity: rule.Error,
	Doc: `
schema_config lists by date how index and chunks are written, and each period is read by its entry ([Loki](https://grafana.com/docs/loki/latest/operations/storage/schema/)). An entry that is already in force and changes, or goes, does not convert anything: what was
written stays as it is, and is looked for elsewhere and in another form. Queries over that time find nothing, without an error, and what comes in on the running day is spread over both. Only a new entry with a day in
the future is safe.

It is told when the entry of a period changes or goes, in ConfigMaps. Whether the day of a new entry lies in the future is not known here.`,
	Advice: `Leave the entries that are there, and add one whose from is a day after the rollout (00:00 UTC).`,
	Kinds:  []string{"ConfigMap"}, Actions: updates,
	Check: checkLogSchemaChanged,
}

func checkLogSchemaChanged(p *rule.Pass, c diff.Change) {
	for _, f := range c.Fields {
		_, entry, ok := strings.Cut(string(f.Path), "schema_config.configs[")
		if f.Hidden != "" || !ok || !f.Before.Exists() {
			continue
		}
		what := "an entry of schema_config goes"
		if i := strings.IndexByte(entry, ']'); i >= 0 && i+1 < len(entry) {
			name := strings.TrimPrefix(entry[i+1:], ".")
			what = fmt.Sprintf("an entry of schema_config has another %s", name)
			if name == "chunks.prefix" || name == "row_shards" {
				continue // of stores that are long gone
			}
		}
		if before, after := f.Before.String(), f.After.String(); f.After.Exists() && f.Before.Type() != object.Map {
			what += fmt.Sprintf(" (%s becomes %s)", before, after)
		}
		severity := rule.Error
		if strings.HasSuffix(string(f.Path), ".from") {
			severity = rule.Warning // it may be put off before it comes into force
		}
		p.Report(c, rule.Finding{Path: f.Path, Severity: severity, Before: f.Before, After: f.After, Message: what,
			Consequence: "what was written under it is looked for in another place or form: queries over that time find nothing, without an error"})
		return
	}
}
