package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
)

type effectWord struct {
	kind diff.EffectKind
	name string
}

// effectNames says in a word or two what each kind of effect is, the gravest first.
var effectNames = []effectWord{
	{diff.DataLoss, "deletes data"},
	{diff.Refused, "refused"},
	{diff.Removed, "ends"},
	{diff.LoadBalancer, "load balancer"},
	{diff.Address, "address"},
	{diff.Traffic, "traffic"},
	{diff.Restart, "restart"},
	{diff.Rolling, "rolling restart"},
	{diff.InPlace, "in place"},
	{diff.Future, "later"},
	{diff.NoEffect, "nothing restarts"},
}

// effectName gives the words for a kind, "" for one that is not known.
func effectName(k diff.EffectKind) string {
	for _, e := range effectNames {
		if e.kind == k {
			return e.name
		}
	}
	return ""
}

// grave says whether an effect ends, stops or moves something.
func grave(k diff.EffectKind) bool {
	switch k {
	case diff.InPlace, diff.Future, diff.NoEffect:
		return false
	}
	return true
}

// An effect is one consequence of a set of identical changes.
type effect struct {
	diff.Effect
	units []string // those that have it, nil when all of the set have
	name  string   // the word or two in front of what it says
}

// says gives what follows the name, and what stands between them: a text that
// begins with the name does not say it twice.
func (e effect) says() (between, text string) {
	if rest, ok := strings.CutPrefix(e.Text, e.name+" "); ok {
		return " ", rest
	}
	return ": ", e.Text
}

// effects gives the consequences of all members and of those that differ, each once,
// the gravest first. The same fields may do more in one unit than in another: there
// may be more pods.
func (s same) effects() []effect {
	var out []effect
	all := s.members
	for _, o := range s.others {
		all = slices.Concat(all, o.members)
	}
	for _, c := range all {
		for _, e := range c.Effects {
			i := slices.IndexFunc(out, func(x effect) bool { return x.Kind == e.Kind && x.Text == e.Text })
			if i < 0 {
				i = len(out)
				out = append(out, effect{Effect: e})
			}
			out[i].units = append(out[i].units, c.Ref.Unit)
		}
	}
	for i := range out {
		if len(out[i].units) == len(all) {
			out[i].units = nil
		}
	}
	rank := func(e effect) int {
		return slices.IndexFunc(effectNames, func(w effectWord) bool { return w.kind == e.Kind })
	}
	slices.SortStableFunc(out, func(a, b effect) int { return rank(a) - rank(b) })
	for i, e := range out {
		out[i].name = effectName(e.Kind)
		if e.Kind == diff.NoEffect && out[0].Kind != diff.NoEffect {
			out[i].name = "besides" // something restarts after all, or ends
		}
	}
	return out
}

// effectWords says what an effect is, in one line.
func effectWords(e effect, show func(string) string) string {
	between, text := e.says()
	s := e.name + between + text
	if e.units != nil {
		s += " (" + inUnits(e.units, show) + ")"
	}
	return s
}

// noise says what the filters hide of a change of which they hide everything, ""
// when something of it is left to see, or nothing was hidden.
func noise(c diff.Change) string {
	var filters []string
	count := map[string]int{}
	for _, f := range c.Fields {
		if f.Hidden == "" {
			return ""
		}
		if count[f.Hidden]++; count[f.Hidden] == 1 {
			filters = append(filters, f.Hidden)
		}
	}
	for i, f := range filters {
		filters[i] = fmt.Sprintf("%d %s", count[f], inert(f))
	}
	return strings.Join(filters, ", ")
}
