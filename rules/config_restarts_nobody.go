package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ConfigRestartsNobody reports a changed ConfigMap or Secret whose readers see the
// change only at their next restart, which nothing brings about.
var ConfigRestartsNobody = &rule.Rule{
	ID:       "config-restarts-nobody",
	Title:    "Pods read a changed value at their next restart only, and nothing restarts them",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
Variables, and files that are mounted with subPath, are read when a container starts and stay as they are. A merge that changes only the ConfigMap is
not deployed but waiting: for the next rollout, node drain or crash, days later, when nobody thinks of it. Pods that happen to restart run with the
new value beside others with the old one. If the value is wrong, it shows at the worst moment.

Quiet where the reader gets new pods in the same merge, by a hash in the name or a checksum annotation for instance, or asks a reloader to restart it
(Stakater's Reloader, Kyverno-like annotations with the word reload). Files that are mounted whole change in running pods within about a minute; whether the program reads
them again is its own affair, and left alone.`,
	Advice:    "Put a hash of the content into the object's name (configMapGenerator), or into an annotation of the pod template (checksum/config), so that a change of content is a rollout that the tool watches.",
	Incidents: []string{"universe-ingress-auth-2018"},
	Kinds:     configKinds,
	Actions:   []diff.Action{diff.Update},
	Check:     checkConfigRestartsNobody,
}

func checkConfigRestartsNobody(p *rule.Pass, c diff.Change) {
	keys := slices.DeleteFunc(changedKeys(c), func(key string) bool { return sameDuration(c, key) })
	if len(keys) == 0 {
		return
	}
	f := rule.Finding{}
	var how []string
	for _, r := range p.After.ReferencesTo(c.After.Ref) {
		env := r.Use == object.UseEnv || r.Use == object.UseEnvFrom
		w, ok := p.After.Workload(r.From.Ref)
		if !ok || !env && !r.SubPath || r.Key != "" && !slices.Contains(keys, r.Key) || runsByItself(w) ||
			reloadedOn(w, c.Ref) || restartsAnyway(p.Unit, w.Ref) || slices.Contains(f.Related, w.Ref) {
			continue
		}
		if r.SubPath && r.Key == "" && !subPathOf(w, r, keys) {
			continue
		}
		f.Related = append(f.Related, w.Ref)
		if env {
			how = append(how, fmt.Sprintf("%s reads it as a variable", w.Ref))
		} else {
			how = append(how, fmt.Sprintf("%s mounts it with subPath", w.Ref))
		}
	}
	if len(how) == 0 {
		return
	}
	path := dataKeys(c.After)[keys[0]]
	f.Path = path
	what := "key " + keys[0] + " changes"
	if len(keys) > 1 {
		what = fmt.Sprintf("%d keys change", len(keys))
	}
	f.Message = fmt.Sprintf("%s, and nothing restarts the pods that read it: %s", what, listed(how))
	f.Consequence = "running pods keep the old value until something else restarts them"
	p.Report(c, f)
}

// sameDuration says whether a key holds one duration in two spellings: 5s and 5000ms.
func sameDuration(c diff.Change, key string) bool {
	before, err := time.ParseDuration(c.Before.At("data").Field(key).Text())
	after, alsoErr := time.ParseDuration(c.After.At("data").Field(key).Text())
	return err == nil && alsoErr == nil && before == after
}

// runsByItself says whether pods of w start anew on their own soon, or none run.
func runsByItself(w object.Workload) bool {
	return w.Ref.Kind == "CronJob" || w.Ref.Kind == "Job" || w.Replicas.Known && w.Replicas.Count == 0
}

// reloadedOn says whether a workload asks somebody to restart it on changes.
func reloadedOn(w object.Workload, ref object.Ref) bool {
	reloads := func(key, value string) bool {
		if !strings.Contains(key, "reload") && !strings.Contains(key, "restart") {
			return false
		}
		return value == "true" || value == "" || slices.ContainsFunc(strings.Split(value, ","), func(s string) bool { return strings.TrimSpace(s) == ref.Name })
	}
	for key, v := range w.At("metadata.annotations").Fields() {
		if reloads(key, v.Text()) {
			return true
		}
	}
	for key, v := range w.PodAnnotations {
		if reloads(key, v) {
			return true
		}
	}
	return false
}

// subPathOf says whether w mounts one of the keys by subPath.
func subPathOf(w object.Workload, r object.Reference, keys []string) bool {
	for _, key := range keys {
		if slices.ContainsFunc(mountsOfKey(w, r, key), func(m mountedFile) bool { return m.subPath }) {
			return true
		}
	}
	return false
}
