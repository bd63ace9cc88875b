package config

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// IgnoreAnnotation is the annotation by which an object silences rules about
// itself: "RULE reason", several on lines of their own or with commas between them.
// In a diff, that of the side before counts: see Scope.
const IgnoreAnnotation = "prdiff.dev/ignore"

// An Ignore is one rule that an object silences.
type Ignore struct{ Rule, Reason string }

// Ignores reads the annotation of an object, nil when it has none. A comma ends an
// entry only where a rule follows it, so that reasons may have commas. What is
// wrong is told in sentences: an entry without a reason, or for a rule that known
// does not know, silences nothing.
func Ignores(o *object.Object, known func(rule string) bool) (ignores []Ignore, wrong []string) {
	text := o.Annotation(IgnoreAnnotation)
	if text == "" {
		return nil, nil
	}
	for _, entry := range ignoreEntries(text, known) {
		id, reason, _ := strings.Cut(entry, " ")
		id = strings.TrimSuffix(id, ":")
		reason = strings.TrimSpace(reason)
		switch {
		case !known(id):
			wrong = append(wrong, fmt.Sprintf("%s: %s on it names no rule with %q: it silences nothing", o.Ref, IgnoreAnnotation, id))
		case reason == "":
			wrong = append(wrong, fmt.Sprintf("%s: %s on it gives no reason for %s: it silences nothing", o.Ref, IgnoreAnnotation, id))
		default:
			ignores = append(ignores, Ignore{id, reason})
		}
	}
	return ignores, wrong
}

func ignoreEntries(text string, known func(string) bool) []string {
	var out []string
	for line := range strings.Lines(text) {
		start := len(out)
		for part := range strings.SplitSeq(line, ",") {
			part = strings.TrimSpace(part)
			first, _, _ := strings.Cut(part, " ")
			if len(out) > start && !known(strings.TrimSuffix(first, ":")) {
				out[len(out)-1] += ", " + part
				continue
			}
			if part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}
