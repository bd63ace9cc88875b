package clientparam

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestEveryParameterIsSound(t *testing.T) {
	all := Parameters()
	if len(all) < 500 {
		t.Fatalf("the table has %d parameters, want the whole of it", len(all))
	}
	categories := []Category{Reconnect, Backoff, Retry, Keepalive, ConnectTimeout, RequestTimeout, LoadBalancing, DNS, Pool, Rate, Lease,
		CircuitBreaker, Refresh, Drain, Kernel, Health, Other}
	dangers := []Danger{TooSmall, TooLarge, Changed, Removed, Enabled, Disabled}
	roles := []Role{"", RoleInitial, RoleMax, RoleWait, RoleMultiplier, RoleLimit, RoleAttempts}
	kinds := map[string][]Kind{ // what a default of each unit may be
		"ms": {Duration}, "s": {Duration}, "min": {Duration}, "duration": {Duration},
		"count": {Number}, "percent": {Number}, "per_second": {Number}, "factor": {Number}, "ratio": {Number},
		"fraction": {Number}, "ticks": {Number}, "bytes": {Number},
		"flag": {Bool}, "name": {Word}, "list": {Word, Number}, "value": {Word, Number, Duration},
	}
	for i, p := range all {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("%s %s: "+format, append([]any{p.Family, p.Name}, args...)...)
		}
		if i > 0 && (p.Family < all[i-1].Family || p.Family == all[i-1].Family && p.Name <= all[i-1].Name) {
			fail("stands after %s %s", all[i-1].Family, all[i-1].Name)
		}
		if family(p.Family) == nil {
			fail("no such family")
		}
		if !slices.Contains(categories, p.Category) {
			fail("no category %q", p.Category)
		}
		if !slices.Contains(roles, p.Role) {
			fail("no role %q", p.Role)
		}
		if len(p.Danger) == 0 {
			fail("no danger")
		}
		for _, d := range p.Danger {
			if !slices.Contains(dangers, d) {
				fail("no danger %q", d)
			}
		}
		if !strings.HasSuffix(p.Why, ".") {
			fail("why is no sentence: %q", p.Why)
		}
		if u, err := url.Parse(p.Source); err != nil || u.Scheme != "https" || u.Host == "" || strings.ContainsAny(p.Source, " ()") {
			fail("source %q is no URL", p.Source)
		}
		allowed, ok := kinds[p.Unit]
		if !ok {
			fail("no unit %q", p.Unit)
		}
		v := p.DefaultValue()
		if p.Default != "" && v.Kind != Unlimited && !slices.Contains(allowed, v.Kind) {
			fail("default %q of unit %s reads as %v", p.Default, p.Unit, v.Kind)
		}
		if v.Kind == Duration && math.Abs(v.Number-p.Seconds) > 1e-9 {
			fail("default %q reads as %v s, want %v", p.Default, v.Number, p.Seconds)
		}
		if v.Kind != Duration && p.Seconds != 0 {
			fail("default %q is no time, yet has %v s", p.Default, p.Seconds)
		}
		if len(p.Spellings) == 0 {
			fail("no spelling")
		}
	}
}

// A spelling that several families share must be told apart by what is nearby:
// it is looked up with and without the family's name before it.
func TestEverySpellingFindsItsParameter(t *testing.T) {
	tab := load()
	for _, list := range tab.spellings {
		for _, s := range list {
			f := family(s.parameter.Family)
			set := &Setting{Known: true, kind: s.kind, directive: s.place == "directive", hints: map[string]bool{f.Hints[0]: true}}
			switch s.place {
			case "annotation":
				set.Place = Annotation
			case "label":
				continue
			case "field":
				set.Place = Field
			case "flag":
				set.Place = Flag
			case "env":
				set.Place = Env
			default:
				set.Place = Config
			}
			set.words = append(slices.Clone(s.before), s.words...)
			got := tab.lookup(set)
			if got == nil {
				t.Errorf("%s %q finds nothing", f.ID, s.text)
				continue
			}
			if g := family(got.Family); g.ID != f.ID && (f.group == "" || g.group != f.group) && !sharesHint(g, f) {
				t.Errorf("%s %q finds %s %s", f.ID, s.text, got.Family, got.Name)
			}
		}
	}
}

func sharesHint(a, b *Family) bool {
	return slices.Contains(a.Hints, b.Hints[0])
}

func TestOneFamilyHasASpellingOnce(t *testing.T) {
	for key, list := range load().spellings {
		seen := map[string]string{}
		for _, s := range list {
			id := strings.Join([]string{s.parameter.Family, s.place, s.kind, strings.Join(s.before, "_"), key}, " ")
			if other, ok := seen[id]; ok && other != s.parameter.Name {
				t.Errorf("%s: both %s and %s are spelled so", id, other, s.parameter.Name)
			}
			seen[id] = s.parameter.Name
		}
	}
}

func TestParseRefusesBadData(t *testing.T) {
	for _, line := range []string{
		`{"family":"grpc","nmae":"x"}`,
		`not json`,
		`{"family":"grpc","name":"x","spellings":["x"]}`,
		`{"family":"grpc","name":"x","spellings":["place:x"]}`,
		`{"family":"grpc","name":"x","spellings":["key:<name>"]}`,
		`{"family":"grpc","name":"x","spellings":["field:spec.x"]}`,
	} {
		if _, err := parse(line); err == nil {
			t.Errorf("parse(%s) gave no error", line)
		}
	}
}
