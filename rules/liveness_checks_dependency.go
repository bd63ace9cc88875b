package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// LivenessChecksDependency reports a liveness probe that fails with something that a
// restart does not mend.
var LivenessChecksDependency = &rule.Rule{
	ID:       "liveness-checks-dependency",
	Title:    "A liveness probe depends on more than its own process",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A liveness probe asks whether a restart would help. One that asks for readiness, or for a database or another service, fails in all pods
when that is slow, and the kubelet restarts every one of them: connections and caches are lost, and the dependency gets all the
reconnects on top of its trouble. With the same check for readiness and liveness a pod under load is killed where it should only
have been left out of the Service for a while.

Told from the path (ready, deep, dependencies, db), from a command that names another host, and from a check that is the same as
readiness, which alone is a note.`,
	Advice: `Let liveness answer from memory, without a lock and without a call, or leave it out. Put dependencies into readiness, with care: if all
pods fail it together, nobody serves.`,
	Incidents: []string{"pawtograder-liveness-2026", "akb-liveness-2026"},
	Kinds:     servingKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkLivenessChecksDependency,
}

func checkLivenessChecksDependency(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, "readinessProbe", "livenessProbe") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var before object.Workload
	if c.Before != nil {
		before, _ = p.Before.Workload(c.Before.Ref)
	}
	for _, box := range after.Containers() {
		what, severity := dependsOn(box)
		if what == "" || c.Before == nil && severity == rule.Note {
			continue
		}
		if c.Before == nil {
			severity = rule.Note // nothing gets worse than it was
		}
		if was, found := before.Container(box.Name); found {
			if old, _ := dependsOn(was); old != "" {
				continue // it was so before
			}
		}
		p.Report(c, rule.Finding{
			Path:        box.Path.Key("livenessProbe"),
			Severity:    severity,
			Message:     fmt.Sprintf("the liveness probe of container %s (%s) %s", box.Name, probeText(probeOf(box.At("livenessProbe"))), what),
			Consequence: "when that is slow or gone, all pods are killed and started again, together",
		})
	}
}

// dependsOn says what else a container's liveness probe asks for, "" for nothing.
func dependsOn(box object.Container) (what string, severity rule.Severity) {
	live := probeOf(box.At("livenessProbe"))
	kind, v := live.handler()
	switch kind {
	case "httpGet":
		for part := range strings.FieldsFuncSeq(strings.ToLower(v.Field("path").Text()), func(r rune) bool { return r < 'a' || r > 'z' }) {
			switch part {
			case "ready", "readyz", "readiness", "deep", "dependencies", "dependency", "db", "database", "upstream":
				return fmt.Sprintf("asks for %q, which is more than being alive", part), rule.Warning
			}
		}
		if host := v.Field("host").Text(); host != "" && host != "localhost" && host != "127.0.0.1" {
			return "asks another host", rule.Warning
		}
	case "tcpSocket":
		if host := v.Field("host").Text(); host != "" && host != "localhost" && host != "127.0.0.1" {
			return "asks another host", rule.Warning
		}
	case "exec":
		if host := hostIn(v.Field("command").Texts()); host != "" {
			return fmt.Sprintf("asks %s, another host", host), rule.Warning
		}
	case "":
		return "", 0
	}
	if ready := probeOf(box.At("readinessProbe")); ready.Exists() {
		if other, r := ready.handler(); other == kind && r.Equal(v) && kind != "tcpSocket" && live.budget() <= ready.budget() {
			return "asks what readiness asks, with no more patience", rule.Note
		}
	}
	return "", 0
}

// hostIn finds another host in a probe's command: in an address with a scheme.
func hostIn(words []string) string {
	text := strings.Join(words, " ")
	for _, scheme := range []string{"http://", "https://", "postgres://", "postgresql://", "redis://", "mysql://", "mongodb://", "amqp://", "grpc://", "tcp://"} {
		_, rest, ok := strings.Cut(text, scheme)
		if !ok {
			continue
		}
		host := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool { return !strings.ContainsRune("/ \"'?;|&", r) }))]
		if _, after, found := strings.Cut(host, "@"); found {
			host = after
		}
		host, _, _ = strings.Cut(host, ":")
		switch {
		case host == "" || host == "localhost" || strings.HasPrefix(host, "127.") || strings.HasPrefix(host, "0.0.0.0") || strings.HasPrefix(host, "[") || strings.HasPrefix(host, "$"):
			continue
		}
		return host
	}
	return ""
}
