package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ListenPortChanged reports a program that is told to listen on, or to ask within its pod,
// a port that the pod's manifest does not have.
var ListenPortChanged = &rule.Rule{
	ID:       "listen-port-changed",
	Title:    "A program listens on another port than its pod says",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Where a program listens is said by its flag or variable; the ports of its container are words for others, and change nothing. When only the flag moves, probes ask the old port and
fail: the rollout stops, or with a liveness probe alone the pods are restarted without end. Without probes the pods count as ready, and Services send requests to a port where
nobody listens. A sidecar that passes requests on to localhost has the same problem the other way round.

Told when a flag or variable that stood on a port which the pod declares, or a probe asks, goes to one that it does not. Flags and variables that name a port of another host are no concern of this rule.`,
	Advice:  "Change the flag, the container port and what goes by its number in one merge: probes, Services with a number as targetPort, network policies, annotations for scraping. With the port's name in probes and Services there are just two places.",
	Kinds:   servingKinds,
	Actions: updates,
	Check:   checkListenPortChanged,
}

// A portSetting is a flag or variable that says where to listen or, with local, whom to ask
// within the pod.
type portSetting struct {
	name  string
	port  int64
	local bool
	path  object.Path
}

func checkListenPortChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, ".env", ".args", ".command") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		was := portSettings(pair.before)
		for _, now := range portSettings(pair.after) {
			i := slices.IndexFunc(was, func(s portSetting) bool { return s.name == now.name })
			if i < 0 || was[i].port == now.port {
				continue
			}
			old := was[i].port
			users := askersOf(p.After, after, pair.after, old)
			declared := declaresPort(after, pair.after, now.local, old)
			if declaresPort(after, pair.after, now.local, now.port) || !declaresPort(before, pair.before, was[i].local, old) && len(askersOf(p.Before, before, pair.before, old)) == 0 {
				continue
			}
			if !declared && len(users) == 0 {
				continue
			}
			f := rule.Finding{Path: now.path, Message: fmt.Sprintf("%s goes from port %d to %d, which no container of the pod declares", now.name, old, now.port)}
			switch {
			case now.local:
				f.Consequence = fmt.Sprintf("container %s asks within its pod where nobody says to listen: its requests are refused", pair.after.Name)
			case len(users) > 0:
				f.Severity = rule.Error
				f.Consequence = fmt.Sprintf("%s still %s for %d", listed(users), asks(len(users)), old)
			default:
				f.Consequence = fmt.Sprintf("container %s still declares %d", pair.after.Name, old)
			}
			p.Report(c, f)
		}
	}
}

func asks(n int) string {
	if n == 1 {
		return "asks"
	}
	return "ask"
}

// listenWords are parts of names of flags and variables that say where to listen.
var listenWords = []string{"port", "listen", "addr", "bind", "server"}

// portSettings gives the flags and variables of a container that say where to listen or
// whom to ask within the pod.
func portSettings(box object.Container) []portSetting {
	var out []portSetting
	add := func(name, value string, path object.Path) {
		if port, local, ok := ownPort(name, value); ok {
			out = append(out, portSetting{name, port, local, path})
		}
	}
	for _, e := range box.Env() {
		text := e.Value.Text()
		if text == "" && e.Value.Exists() {
			text = e.Value.String()
		}
		add(e.Name, text, e.Path.Key("value"))
	}
	for _, f := range box.Flags() {
		add(strings.TrimLeft(f.Name, "-"), f.Value, f.Path)
	}
	return out
}

// ownPort reads a value as a port of the pod itself: ":8080", "0.0.0.0:8080", "8080" under a
// name that says so; with local also "http://localhost:8080".
func ownPort(name, value string) (port int64, local, ok bool) {
	name = strings.ToLower(name)
	listens := slices.ContainsFunc(listenWords, func(w string) bool { return strings.Contains(name, w) })
	host, number := "", value
	if _, rest, found := strings.Cut(value, "://"); found {
		number = rest
	}
	number, _, _ = strings.Cut(number, "/")
	if i := strings.LastIndexByte(number, ':'); i >= 0 {
		host, number = number[:i], number[i+1:]
	} else if number != value {
		return 0, false, false // http://host without a port
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 1 || n > 65535 {
		return 0, false, false
	}
	switch host {
	case "localhost", "127.0.0.1", "[::1]":
		return n, true, true
	case "0.0.0.0", "[::]", "*":
		return n, false, true
	case "":
		return n, false, listens
	}
	return 0, false, false
}

// declaresPort says whether a container, or with anywhere one of its pod, declares a port.
func declaresPort(w object.Workload, box object.Container, anywhere bool, port int64) bool {
	has := func(c object.Container) bool {
		for _, p := range c.At("ports").Items() {
			if n, ok := p.Field("containerPort").Int(); ok && n == port {
				return true
			}
		}
		return false
	}
	return has(box) || anywhere && slices.ContainsFunc(w.Running(), has)
}

// askersOf names the probes of a container and the Services that go by a port of it.
func askersOf(set *object.Set, w object.Workload, box object.Container, port int64) []string {
	var out []string
	for _, x := range box.Probes() {
		_, v := probeOf(x.Spec).handler()
		if n, ok := w.Port(v.Field("port")); ok && n == port {
			out = append(out, x.Kind)
		}
	}
	for _, s := range set.ServicesFor(w.Ref) {
		for _, sp := range servicePorts(s) {
			if n, ok := w.Port(sp.target); ok && n == port {
				out = append(out, s.Ref.String())
				break
			}
		}
	}
	return out
}
