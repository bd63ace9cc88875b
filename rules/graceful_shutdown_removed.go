package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// GracefulShutdownRemoved reports a container that no longer waits or tidies up
// before it ends.
var GracefulShutdownRemoved = &rule.Rule{
	ID:       "graceful-shutdown-removed",
	Title:    "A container loses its preStop hook, or sleeps less in it",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A pod that ends is taken out of its Services at the same moment as it is told to stop, and the news takes its time: kube-proxy on every
node, ingress controllers and cloud load balancers go on sending for seconds. A program that stops listening at SIGTERM refuses these
connections. A preStop hook that sleeps, before SIGTERM, is what bridges the gap; without it each rollout and each scale-down
costs some requests. Other hooks leave a cluster, drain a queue or flush: that work is not done any more.`,
	Advice: `Keep a preStop sleep of 5 to 15 seconds on what serves (longer behind a cloud load balancer that targets pods), or let the program itself go on
answering for that long after SIGTERM while its readiness fails.`,
	Incidents: []string{"ravelin-502-2019"},
	Kinds:     servingKinds,
	Actions:   updates,
	Check:     checkGracefulShutdownRemoved,
}

func checkGracefulShutdownRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "lifecycle") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		b, a := pair.before.At("lifecycle.preStop"), pair.after.At("lifecycle.preStop")
		if !b.Exists() || b.Equal(a) {
			continue
		}
		f := rule.Finding{Path: pair.after.Path.Key("lifecycle").Key("preStop"), Before: b, After: a, Related: serving(p.After, after)}
		was, sleeps := preStopSleep(b)
		now, _ := preStopSleep(a)
		switch {
		case !a.Exists() && sleeps:
			f.Message = fmt.Sprintf("container %s no longer sleeps %d s before it stops", pair.after.Name, was)
			f.Consequence = "requests that are still on their way when a pod stops are refused, with every rollout"
		case !a.Exists():
			f.Message = fmt.Sprintf("container %s loses its preStop hook (%s)", pair.after.Name, hookText(b))
			f.Consequence = "what the hook did before a pod stops is not done any more"
		case sleeps && now < was:
			f.Message = fmt.Sprintf("container %s sleeps %d s before it stops, in place of %d", pair.after.Name, now, was)
			f.Consequence = "requests that are still on their way after that time are refused, with every rollout"
			if 2*now > was {
				f.Severity = rule.Note
			}
		default:
			continue
		}
		p.Report(c, f)
	}
}

// preStopSleep reads how long a preStop hook sleeps, in seconds: as an action of its
// own, or by the sleep command.
func preStopSleep(hook object.Value) (seconds int64, ok bool) {
	if n, ok := hook.At("sleep.seconds").Int(); ok {
		return n, true
	}
	words := strings.FieldsFunc(strings.Join(hook.At("exec.command").Texts(), " "), func(r rune) bool { return strings.ContainsRune(" \t\n;&|'\"", r) })
	for i, w := range words {
		if w != "sleep" && !strings.HasSuffix(w, "/sleep") || i+1 == len(words) {
			continue
		}
		text, unit := strings.TrimSuffix(words[i+1], "s"), int64(1)
		if m, found := strings.CutSuffix(text, "m"); found {
			text, unit = m, 60
		}
		if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && n < 1e6 {
			seconds, ok = seconds+int64(n)*unit, true
		}
	}
	return seconds, ok
}

func hookText(hook object.Value) string {
	if words := hook.At("exec.command").Texts(); len(words) > 0 {
		return shortened(strings.Join(words, " "), 60)
	}
	if v := hook.Field("httpGet"); v.Exists() {
		return "httpGet " + pathText(v)
	}
	return shortened(hook.String(), 60)
}
