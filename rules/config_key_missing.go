package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ConfigKeyMissing reports a key of a ConfigMap or Secret that goes while pods read
// it, and pods that begin to read one that is not there.
var ConfigKeyMissing = &rule.Rule{
	ID:       "config-key-missing",
	Title:    "Pods read a key that the ConfigMap or Secret does not have",
	Subject:  "config",
	Severity: rule.Error,
	Doc: `
Running pods notice nothing. The next one does not start: with a variable from the key its container stays in CreateContainerConfigError, with
the key as an item of a volume the pod stays in ContainerCreating, and with subPath the kubelet makes an empty folder in place of the file. When the rollout
of the same merge needs the key it stops there; when there is no rollout, it shows at the next node drain.

A file that falls out of a volume which is mounted whole is told of where the command line or a variable names it, and is a warning, as is a variable
that falls out of envFrom: what it set falls back to the program's default at the next start, or the program does not start. Where the same merge brings another image, which may
no longer ask for it, that is a note. References that are marked optional are left alone, and so are objects that something else fills in
(ExternalSecret, SealedSecret, Certificate).`,
	Advice:  `Add the new key beside the old one, roll out what reads it, and remove the old key in a second pull request.`,
	Kinds:   append(slices.Clone(configKinds), podKinds...),
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkConfigKeyMissing,
}

func checkConfigKeyMissing(p *rule.Pass, c diff.Change) {
	if slices.Contains(configKinds, c.Ref.GroupKind()) {
		if c.Before != nil && c.Action != diff.Rename {
			checkKeysRemoved(p, c)
		}
		return
	}
	checkKeysRead(p, c)
}

// checkKeysRemoved looks from the ConfigMap to its readers.
func checkKeysRemoved(p *rule.Pass, c diff.Change) {
	before, after := dataKeys(c.Before), dataKeys(c.After)
	var lost []string
	for key := range before {
		if _, ok := after[key]; !ok {
			lost = append(lost, key)
		}
	}
	if len(lost) == 0 || madeElsewhere(p.After, c.After.Ref) {
		return
	}
	slices.Sort(lost)
	users := p.After.ReferencesTo(c.After.Ref)
	for _, key := range lost {
		f := rule.Finding{Path: before[key]}
		var says []string
		grave, follows := false, true
		for _, r := range users {
			if r.Optional || r.Key != "" && r.Key != key {
				continue
			}
			text, bad := missesKey(p, r, key)
			if text == "" {
				continue
			}
			grave = grave || bad
			follows = follows && r.Use == object.UseEnvFrom && otherImage(p, r)
			says = append(says, text)
			if !slices.Contains(f.Related, r.From.Ref) {
				f.Related = append(f.Related, r.From.Ref)
			}
		}
		if len(says) == 0 {
			continue
		}
		switch {
		case grave:
		case follows:
			f.Severity = rule.Note
		default:
			f.Severity = rule.Warning
		}
		f.Message = fmt.Sprintf("key %s goes", key)
		if now := renamedKey(c, key, before, after); now != "" {
			f.Message = fmt.Sprintf("key %s becomes %s", key, now)
		}
		f.Message += ", and " + listed(says)
		f.Consequence = startFails(p, f.Related, grave)
		if !grave && onlyVariables(users, f.Related) {
			f.Consequence = "at their next start it is not set: the program falls back to its default, or does not start"
		}
		p.Report(c, f)
	}
}

// onlyVariables says whether readers take an object as variables and in no other way.
func onlyVariables(users []object.Reference, readers []object.Ref) bool {
	return !slices.ContainsFunc(users, func(r object.Reference) bool {
		return slices.Contains(readers, r.From.Ref) && r.Use != object.UseEnvFrom
	})
}

// otherImage says whether the container that reads a key gets another image in the same
// merge, whose program may ask for other keys.
func otherImage(p *rule.Pass, r object.Reference) bool {
	c, ok := changeOf(p.Unit, r.From.Ref)
	if !ok || c.Before == nil {
		return ok
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return false
	}
	was, _ := before.Container(r.Container)
	now, _ := after.Container(r.Container)
	return was.Image() != now.Image()
}

// missesKey says how a reader misses a key, and whether its pods cannot start.
func missesKey(p *rule.Pass, r object.Reference, key string) (text string, grave bool) {
	who := r.From.Ref.String()
	if r.Container != "" {
		who = fmt.Sprintf("container %s of %s", r.Container, who)
	}
	switch {
	case r.Use == object.UseEnv:
		return who + " takes a variable from it", true
	case r.Key == key && (r.Use == object.UseVolume || r.Use == object.UseProjected):
		return who + " has it as an item of a volume", true
	case r.Key == key:
		return fmt.Sprintf("%s (%s) reads it", who, r.Path), true
	}
	w, ok := p.After.Workload(r.From.Ref)
	if !ok {
		return "", false
	}
	if r.Use == object.UseEnvFrom {
		if box, ok := w.Container(r.Container); ok {
			for _, e := range box.Env() {
				if e.Name == key {
					return "", false // it has one of its own, which wins
				}
			}
			for _, a := range box.CommandLine() {
				if strings.Contains(a.Text, "$("+key+")") || strings.Contains(a.Text, "${"+key+"}") {
					return fmt.Sprintf("%s expands it in its command line", who), false
				}
			}
		}
		if !variableName(key) {
			return "", false // no variable was ever made of it
		}
		return fmt.Sprintf("%s takes every key as a variable", who), false
	}
	for _, m := range mountsOfKey(w, r, key) {
		if m.subPath {
			return fmt.Sprintf("container %s of %s mounts it at %s", m.container.Name, who, m.path), true
		}
		if at, ok := namesPath(m.container, m.path); ok {
			return fmt.Sprintf("container %s of %s names the file %s (%s)", m.container.Name, who, m.path, at), false
		}
	}
	return "", false
}

// variableName says whether a key becomes a variable by envFrom, as nearly all programs
// ask for one. Newer versions of Kubernetes let most other keys pass, too
// (https://kubernetes.io/docs/tasks/inject-data-application/distribute-credentials-secure/#configure-all-key-value-pairs-in-a-secret-as-container-environment-variables).
func variableName(key string) bool {
	for i, c := range key {
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return key != ""
}

// renamedKey gives the one new key with the same content.
func renamedKey(c diff.Change, key string, before, after map[string]object.Path) string {
	for now, path := range after {
		if _, old := before[now]; !old && c.After.At(string(path)).Equal(c.Before.At(string(before[key]))) {
			return now
		}
	}
	return ""
}

// startFails says when the readers find out.
func startFails(p *rule.Pass, readers []object.Ref, grave bool) string {
	if !grave {
		return "they see the file or variable no more: at once where it is a file, at their next start where it is a variable"
	}
	for _, ref := range readers {
		if restartsAnyway(p.Unit, ref) {
			return fmt.Sprintf("the rollout of %s in this change stops at its first new pod", ref)
		}
	}
	return "running pods go on; none that is started later gets up: after an eviction, a node drain, a scale-up"
}

// checkKeysRead looks from a workload to the keys that it begins to read.
func checkKeysRead(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touchesReferences(c) {
		return
	}
	for _, r := range object.References(c.After) {
		if r.Key == "" || r.Optional || !slices.Contains(configKinds, r.To.GroupKind()) {
			continue
		}
		target := p.After.Get(r.To)
		if target == nil || len(dataKeys(target)) == 0 || madeElsewhere(p.After, r.To) {
			continue // it is not among the manifests, or something else fills it in
		}
		if _, ok := dataKeys(target)[r.Key]; ok || c.Before != nil && readBefore(c, r) {
			continue
		}
		text, _ := missesKey(p, r, r.Key)
		p.Report(c, rule.Finding{Path: r.Path, Related: []object.Ref{r.To},
			Message:     fmt.Sprintf("%s has no key %s: %s", r.To, r.Key, text),
			Consequence: "no new pod of it gets up"})
	}
}

// readBefore says whether the workload read the key already: what is missing then is
// told of on the ConfigMap.
func readBefore(c diff.Change, now object.Reference) bool {
	return slices.ContainsFunc(object.References(c.Before), func(r object.Reference) bool {
		return r.To.Name == now.To.Name && r.To.Kind == now.To.Kind && r.Key == now.Key
	})
}
