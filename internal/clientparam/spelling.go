package clientparam

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A spelling is one way to write a parameter, taken apart into words.
type spelling struct {
	parameter *Parameter
	place     string
	kind      string   // of the object, for fields
	before    []string // words that must stand somewhere before, in order
	words     []string
	text      string
}

var (
	brackets    = regexp.MustCompile(`\[[^\]]*\]`)
	placeholder = regexp.MustCompile(`<[^>]*>`)
)

// parseSpelling reads "place:text". In the text, <name> stands for words of the
// user's choice and [] for a list.
func parseSpelling(p *Parameter, text string) (spelling, error) {
	place, rest, ok := strings.Cut(text, ":")
	if !ok || rest == "" {
		return spelling{}, fmt.Errorf("spelling %q has no place", text)
	}
	s := spelling{parameter: p, place: place, text: rest}
	switch place {
	case "key", "env", "flag", "annotation", "label", "directive", "uri", "name":
	case "field":
		kind, path, ok := strings.Cut(rest, " ")
		if !ok {
			return spelling{}, fmt.Errorf("spelling %q names no kind", text)
		}
		s.kind = kind
		// A traffic policy of Istio may also stand in a subset or below a port.
		rest = strings.TrimPrefix(strings.TrimPrefix(path, "spec."), "trafficPolicy.")
	default:
		return spelling{}, fmt.Errorf("spelling %q: place %q is not known", text, place)
	}
	rest = brackets.ReplaceAllString(rest, ".")
	parts := placeholder.Split(rest, -1)
	last := len(parts) - 1
	s.words = words(parts[last])
	for _, part := range parts[:last] {
		s.before = append(s.before, words(part)...)
	}
	if len(s.words) == 0 {
		return spelling{}, fmt.Errorf("spelling %q has no words", text)
	}
	return s, nil
}

// fits says whether the spelling can stand at a place of an object.
func (s spelling) fits(set *Setting) bool {
	switch s.place {
	case "directive":
		return set.directive
	case "annotation":
		return set.Place == Annotation
	case "label":
		return false
	case "field":
		return set.Place == Field && s.kind == set.kind
	case "flag":
		return set.Place == Flag || set.Place == Env
	case "env":
		return set.Place == Env || set.Place == Config
	}
	return set.Place != Annotation
}

// hinted says whether family is named in what stands before the spelling, or by
// the container, image or file that the setting is in.
func hinted(family *Family, before []string, scope map[string]bool) bool {
	for _, h := range family.Hints {
		if scope[h] || containsWords(before, strings.Split(h, "_")) {
			return true
		}
	}
	return false
}

// containsWords says whether part stands in all as a run.
func containsWords(all, part []string) bool {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// inOrder says whether all of part stand in all in that order.
func inOrder(all, part []string) bool {
	for _, w := range part {
		i := slices.Index(all, w)
		if i < 0 {
			return false
		}
		all = all[i+1:]
	}
	return true
}

// literal says whether a name ends as the spelling is written, dots as dots:
// reconnect.backoff.ms is Kafka's, reconnectBackoffMs may be anybody's.
func (s spelling) literal(name string) bool {
	return strings.HasSuffix(unify(name), unify(brackets.ReplaceAllString(s.text, "")))
}

func unify(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// evident says whether the spelling alone tells its family: it names it, it has
// a place of its own, or it is long, written just so, and no other family has it.
func (t *table) evident(s spelling, name string, whole bool) bool {
	f := family(s.parameter.Family)
	switch {
	case s.place == "annotation", s.place == "field":
		return true
	case s.place == "env" && whole:
		return true
	case len(s.words) == 1:
		return false
	case hinted(f, append(slices.Clone(s.before), s.words...), nil):
		return true
	case len(s.words) < 3, len(s.before) == 0 && !s.literal(name):
		return false
	}
	for _, other := range t.spellings[strings.Join(s.words, "_")] {
		o := family(other.parameter.Family)
		if o.ID != f.ID && (f.group == "" || o.group != f.group) {
			return false
		}
	}
	return true
}

// lookup finds the parameter that a setting spells, nil when there is none. The
// longest spelling counts; among several, one whose family is named nearby.
func (t *table) lookup(set *Setting) *Parameter {
	name := set.words
	for i := max(0, len(name)-t.longest); i < len(name); i++ {
		candidates := t.spellings[strings.Join(name[i:], "_")]
		var best *Parameter
		bestScore := 0
		for _, s := range candidates {
			if !s.fits(set) || !inOrder(name[:i], s.before) {
				continue
			}
			score := 0
			if hinted(family(s.parameter.Family), name[:i], set.hints) {
				score = 2
			}
			if t.evident(s, set.Name, i == 0) {
				score++
			}
			// One word, such as timeout, belongs to a family only when nothing
			// stands between them: NATS_REQUEST_TIMEOUT is not NATS_TIMEOUT.
			if len(s.words) == 1 && i > 0 && len(s.before) == 0 && !hinted(family(s.parameter.Family), name[i-1:i], nil) {
				score = 0
			}
			if score > bestScore {
				best, bestScore = s.parameter, score
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}
