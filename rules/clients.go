package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it says what clients do when their parameters change,
// for all rules that ask.

// connecting are the categories of how clients find, reach and keep their peers.
var connecting = []clientparam.Category{clientparam.Reconnect, clientparam.Backoff, clientparam.Retry, clientparam.Keepalive,
	clientparam.ConnectTimeout, clientparam.LoadBalancing}

// A clientGroup is the changed parameters of one family in one container, file or
// custom resource: they work together, and are told together.
type clientGroup struct {
	family  string // "" when names alone tell what they are about
	scope   string
	changes []clientparam.Change
}

// clientGroups gives the changes that keep lets through, by scope and family, in
// the order of their first paths.
func clientGroups(c diff.Change, keep func(clientparam.Change) bool) []clientGroup {
	var out []clientGroup
	if !tellsClients(c) {
		return nil
	}
	for _, change := range clientparam.Changes(c.Before, c.After) {
		if !keep(change) {
			continue
		}
		g := clientGroup{scope: change.Scope}
		if change.Parameter != nil {
			g.family = change.Parameter.Family
		}
		i := slices.IndexFunc(out, func(o clientGroup) bool { return o.family == g.family && o.scope == g.scope })
		if i < 0 {
			i, out = len(out), append(out, g)
		}
		out[i].changes = append(out[i].changes, change)
	}
	return out
}

// tellsClients says whether any changed field can hold a client parameter. Most
// changes of workloads are about images, labels and sizes, and need no reading.
func tellsClients(c diff.Change) bool {
	if _, ok := object.AsWorkload(c.After); !ok {
		return true
	}
	for _, f := range c.Fields {
		path := string(f.Path)
		if strings.Contains(path, "annotations") || strings.Contains(path, "dnsConfig") {
			return true
		}
		at := strings.Index(path, "ontainers[")
		if at < 0 {
			if strings.HasSuffix(path, "ontainers") || strings.HasSuffix(path, "template") || strings.HasSuffix(path, "spec") {
				return true
			}
			continue
		}
		_, field, inside := strings.Cut(path[at:], "].")
		if !inside || strings.HasPrefix(field, "env") || strings.HasPrefix(field, "args") || strings.HasPrefix(field, "command") {
			return true
		}
	}
	return false
}

// finding begins a finding about the group at one of its parameters. Of a whole
// file only the parameter's own values are shown.
func (g clientGroup) finding(at clientparam.Change) rule.Finding {
	f := rule.Finding{Path: at.Path, Message: g.told()}
	if at.Place == clientparam.Config {
		if at.Set[0] {
			f.Before = object.Of(at.Before.Text)
		}
		if at.Set[1] {
			f.After = object.Of(at.After.Text)
		}
	}
	return f
}

// told says what each parameter was, is, and would be by default.
func (g clientGroup) told() string {
	const most = 4
	var parts []string
	whose := "default"
	if g.family != "" {
		whose = possessive(clientparam.FamilyName(g.family)) + " default"
	}
	for _, c := range g.changes {
		parts = append(parts, parameterText(c, whose))
		whose = "default" // said once
	}
	if n := len(parts) - most; n > 0 {
		parts = append(parts[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(parts, "; ")
}

func parameterText(c clientparam.Change, whose string) string {
	name, def := c.Name, ""
	if c.Place == clientparam.Field {
		name = name[strings.LastIndexByte(name, '.')+1:] // the path says the rest
	}
	if c.Parameter != nil && c.Parameter.Default != "" {
		def = shown(c, c.Default())
	}
	before, after := shown(c, c.Before), shown(c, c.After)
	switch {
	case !c.Set[0] && def != "":
		return fmt.Sprintf("%s: %s %s → %s", name, whose, def, after)
	case !c.Set[0]:
		return fmt.Sprintf("%s: not set → %s", name, after)
	case !c.Set[1] && def != "":
		return fmt.Sprintf("%s: %s → %s %s", name, before, whose, def)
	case !c.Set[1]:
		return fmt.Sprintf("%s: %s → not set", name, before)
	case def != "":
		return fmt.Sprintf("%s: %s → %s (%s %s)", name, before, after, whose, def)
	}
	return fmt.Sprintf("%s: %s → %s", name, before, after)
}

// shown writes a value. In a list of policies the key is the value: {round_robin: {}}.
func shown(c clientparam.Change, v clientparam.Value) string {
	switch {
	case c.Hidden && v.Kind == clientparam.Unknown:
		return "a value from another object"
	case v.Text == "{}":
		return c.Name[strings.LastIndexByte(c.Name, '.')+1:]
	case v.Text == "none" && c.Category == clientparam.Keepalive:
		return "(off)"
	case v.Text == "none" && (c.Has(clientparam.TooSmall) || c.Has(clientparam.Removed)):
		return "(no limit)"
	}
	return v.String()
}

func possessive(name string) string {
	if strings.HasSuffix(name, "s") {
		return name + "'"
	}
	return name + "'s"
}

// worst gives the first change that is worse, and how far the furthest goes.
func (g clientGroup) worst() (first clientparam.Change, factor float64) {
	found := false
	for _, c := range g.changes {
		j := c.Judge()
		if j.Verdict != clientparam.Worse {
			continue
		}
		if !found {
			first, found = c, true
		}
		if j.Factor == 0 {
			factor = math.Inf(1) // another policy, a switch, no limit: no matter of degree
		}
		factor = max(factor, j.Factor)
	}
	return first, factor
}

// A storm is what the clients of a group do to an address that is gone.
type storm struct {
	before, after, byDefault int // attempts of one client in the first minute
	peer                     impact.Peer
	load                     impact.Storm // of all clients at one address; zero when there is no count
	clients                  int          // 0 when it is not known
	who                      string
}

// stormOf computes what the parameters of the whole scope make of an address that
// does not answer, or, where that hardly changes, of one that refuses.
func stormOf(p *rule.Pass, c diff.Change, g clientGroup) (storm, bool) {
	before, _, ok := clientparam.ModelIn(c.Before, g.scope, g.family)
	after, _, _ := clientparam.ModelIn(c.After, g.scope, g.family)
	if !ok {
		return storm{}, false
	}
	def, _ := clientparam.ModelOf(g.family)
	s := storm{peer: impact.Silent}
	count := func() {
		s.before = schedule(before).FirstMinute(s.peer)
		s.after = schedule(after).FirstMinute(s.peer)
		s.byDefault = schedule(def).FirstMinute(s.peer)
	}
	if count(); 2*min(s.before, s.after) > max(s.before, s.after) && before != after {
		s.peer = impact.Refusing
		if count(); s.before == s.after {
			s.peer = impact.Silent
			count()
		}
	}
	clients := clientsOf(p, c)
	if n, known := podCount(clients); known && n > 0 {
		s.clients, s.who = n, names(clients)
		if s.peer == impact.Silent {
			s.load = impact.Reconnect(n, 1, schedule(after))
		}
	}
	return s, true
}

func schedule(m clientparam.Model) impact.Schedule {
	wait := impact.Growing(m.Initial, m.Multiplier, m.Max).Times(m.Jitter)
	limit := impact.Fixed(m.Limit)
	if m.LimitGrows {
		limit = wait.AtLeast(m.Limit)
	}
	return impact.Schedule{Wait: wait, Limit: limit, FromStart: m.FromStart, Attempts: m.Attempts, Least: m.Least}
}

// clientsOf gives the workloads that run with what a change sets: the workload
// itself, or those that read the ConfigMap.
func clientsOf(p *rule.Pass, c diff.Change) []object.Workload {
	if w, ok := p.After.Workload(c.After.Ref); ok {
		return []object.Workload{w}
	}
	var users []object.Ref
	for _, r := range p.After.ReferencesTo(c.Ref) {
		users = append(users, r.From.Ref)
	}
	var out []object.Workload
	for _, w := range p.After.Workloads() {
		if slices.Contains(users, w.Ref) && w.Ref.Kind != "Job" && w.Ref.Kind != "CronJob" {
			out = append(out, w)
		}
	}
	return out
}

// rises says how many attempts become how many.
func (s storm) rises() string {
	peer := "an address that does not answer, such as a deleted pod's"
	if s.peer == impact.Refusing {
		peer = "an address that refuses"
	}
	text := fmt.Sprintf("each client makes %s in the first minute at %s, %d before", plural(s.after, "attempt"), peer, s.before)
	if s.byDefault != s.before && s.byDefault != s.after {
		text += fmt.Sprintf(" and %d by default", s.byDefault)
	}
	if s.after > s.before {
		text += s.together()
	}
	return text
}

// stays says what attempts a schedule makes that is not changed itself.
func (s storm) stays() string {
	return fmt.Sprintf("the reconnect settings beside it then make %s in the first minute at an address that does not answer, %d by default%s",
		plural(s.after, "attempt"), s.byDefault, s.together())
}

// together says what all clients make at one address that does not answer, ""
// where their number is not known.
func (s storm) together() string {
	if s.clients < 2 || s.load.Attempts == 0 {
		return ""
	}
	return fmt.Sprintf("; the %d pods of %s together %s a second at each such address, and %s half-open entries where connections are tracked for 60 s",
		s.clients, s.who, amount(s.load.PerSecond), amount(s.load.HalfOpen))
}

// amount writes a number of events with commas, one digit after the point where
// it is small.
func amount(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64)
	}
	digits := strconv.FormatFloat(math.Round(f), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// follows says what a change for the worse leads to: what the parameter's documentation
// warns of, in the direction in which it goes, or what such settings have in common.
func (g clientGroup) follows(p *rule.Pass, c diff.Change, worst clientparam.Change) string {
	j := worst.Judge()
	if worst.Parameter != nil {
		return lowerFirst(strings.TrimSuffix(warning(worst.Parameter.Why, j.Danger), "."))
	}
	switch {
	case worst.Category == clientparam.Pool && j.Danger == clientparam.TooLarge:
		clients := clientsOf(p, c)
		n, known := podCount(clients)
		if known && n > 1 && worst.After.Kind == clientparam.Number && worst.After.Number < 1e6 {
			return fmt.Sprintf("the %d pods of %s may hold %s together: what they connect to has a limit of its own", n, names(clients), amount(float64(n)*worst.After.Number))
		}
		return "each pod may hold as many: times the number of pods they meet the limit of what they connect to"
	case worst.Category == clientparam.Pool:
		return "requests wait for a free one, or fail"
	case worst.Category == clientparam.Retry:
		return "what fails is asked that many times more while it is down, by every client, and times as much for each hop that retries too"
	case worst.Category == clientparam.Rate:
		return "the limit moves to whatever breaks first behind it"
	case worst.Category == clientparam.RequestTimeout && j.Danger == clientparam.TooSmall:
		return "answers that take longer are cut off, and asked for again"
	case worst.Category == clientparam.RequestTimeout:
		return "requests to what does not answer hold their connections and threads for that long"
	}
	return ""
}

// warning gives the part of a warning that is about one danger: "short values cut slow
// answers; long ones hold requests" is about both, one a part.
func warning(why string, d clientparam.Danger) string {
	words := map[clientparam.Danger][]string{
		clientparam.TooSmall: {"short", "small", "low ", "too low", "few", "1 ", "0 "},
		clientparam.TooLarge: {"long", "large", "high", "many", "above", "more "},
		clientparam.Removed:  {"without", "remov", "no "},
	}[d]
	parts := strings.Split(why, "; ")
	var fit []string
	for _, part := range parts {
		plain := strings.ToLower(part)
		if slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(plain, w) || strings.Contains(plain, " "+w) }) {
			fit = append(fit, part)
		}
	}
	if len(fit) == 0 {
		return why
	}
	return strings.Join(fit, "; ")
}

// lowerFirst makes a sentence part of another one: a capital stays where a second
// one follows, as in DNS.
func lowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] < 'A' || s[1] > 'Z') {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
