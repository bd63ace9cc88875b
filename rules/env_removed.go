package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/clientparam"
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// EnvRemoved reports environment variables that a program does not get any more.
var EnvRemoved = &rule.Rule{
	ID:       "env-removed",
	Title:    "A container loses environment variables",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A variable that is gone is a setting that falls back to its default, in silence: another timeout, another address, a feature that is off, a
limit that is no more. A program that requires it does not start, and the rollout tells; one that has a default goes on, and
nothing does. Often it goes with a list that another one replaced, since lists of variables in jsonnet, Kustomize and Helm are replaced
whole more easily than merged.

It is an error where the command line or another variable still asks for it as $(NAME), which Kubernetes then passes on as it
stands, and where a mounted configuration does, as ${NAME}. A variable that comes by envFrom now, from a ConfigMap of the unit, is not lost. Renamed
ones, that come with the same value under another name, are told as such. Documented parameters of client libraries are left to
reconnect-default-removed and its neighbours, which know the default.`,
	Advice: `Look for the name in the program's documentation and source: what is the default, and is it right here? To rename one, set both names until
every version that runs knows the new one.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkEnvRemoved,
}

func checkEnvRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, ".env[", ".env", ".envFrom") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	var judged map[object.Path]bool
	for _, pair := range pairContainers(before, after) {
		lost := lostVariables(p, after, pair)
		if len(lost) > 0 && judged == nil {
			judged = clientParameters(c)
		}
		lost = slices.DeleteFunc(lost, func(v lostVariable) bool {
			_, asked := expands(p, after, pair.after, v.Name)
			return judged[v.Path] && !asked
		})
		if len(lost) == 0 {
			continue
		}
		f := rule.Finding{Path: pair.after.Path.Key("env").Select("name", lost[0].Name), Before: lost[0].shown()}
		var parts, says []string
		for _, v := range lost {
			text := v.Name
			if other := renamedVariable(pair, v.EnvVar); other != "" {
				text += " (" + other + " comes with the same value)"
			}
			parts = append(parts, text)
			if user, ok := expands(p, after, pair.after, v.Name); ok {
				f.Severity = rule.Error
				says = append(says, fmt.Sprintf("%s still asks for %s", user.path, v.Name))
				if user.ref != c.After.Ref {
					f.Related = append(f.Related, user.ref)
					says[len(says)-1] = fmt.Sprintf("%s (%s) still asks for %s", user.ref, user.path, v.Name)
				}
			}
		}
		f.Message = fmt.Sprintf("container %s loses %s", pair.after.Name, listed(parts))
		says = append(says, "what it set falls back to the program's default, or the program does not start")
		f.Consequence = strings.Join(says, "; ")
		p.Report(c, f)
	}
}

// clientParameters gives the variables that are documented parameters of a client
// library, whose removal is judged by what the library does without them.
func clientParameters(c diff.Change) map[object.Path]bool {
	out := map[object.Path]bool{}
	for _, x := range clientparam.Changes(c.Before, c.After) {
		if x.Parameter != nil && !x.Set[1] {
			out[x.Path] = true
			out[object.Path(strings.TrimSuffix(string(x.Path), ".value"))] = true
		}
	}
	return out
}

// A lostVariable is one that a container had and does not get any more.
type lostVariable struct{ object.EnvVar }

func (v lostVariable) shown() object.Value {
	if v.Value.Exists() {
		return v.Value
	}
	return v.From
}

func lostVariables(p *rule.Pass, after object.Workload, pair containerPair) []lostVariable {
	has := map[string]bool{}
	for _, e := range pair.after.Env() {
		has[e.Name] = true
	}
	var lost []lostVariable
	for _, e := range pair.before.Env() {
		if e.Name != "" && !has[e.Name] {
			has[e.Name] = true
			lost = append(lost, lostVariable{e})
		}
	}
	if len(lost) == 0 {
		return nil
	}
	// What envFrom brings after the merge is there.
	for _, r := range p.After.References(after.Object) {
		if r.Use != object.UseEnvFrom || r.Container != pair.after.Name {
			continue
		}
		source := p.After.Get(r.To)
		if source == nil {
			if len(pair.before.At("envFrom").String()) != len(pair.after.At("envFrom").String()) {
				return nil // it comes with this change from an object that the unit does not show
			}
			continue
		}
		lost = slices.DeleteFunc(lost, func(v lostVariable) bool {
			return source.At("data").Field(v.Name).Exists() || source.At("stringData").Field(v.Name).Exists()
		})
	}
	return lost
}

// renamedVariable gives a variable that a container gains with the same value, "" for none.
func renamedVariable(pair containerPair, lost object.EnvVar) string {
	if text := lost.Value.Text(); lost.Value.Exists() && len(text) < 4 {
		return "" // "1" and "true" are everywhere
	}
	for _, e := range pair.after.Env() {
		if e.Value.Equal(lost.Value) && e.From.Equal(lost.From) && !slices.ContainsFunc(pair.before.Env(), func(x object.EnvVar) bool { return x.Name == e.Name }) {
			return e.Name
		}
	}
	return ""
}

// expands finds who asks for a variable: the container's own command line and
// variables as $(NAME), and files that it mounts, as ${NAME}.
func expands(p *rule.Pass, w object.Workload, box object.Container, name string) (portUser, bool) {
	mark := "$(" + name + ")"
	for _, a := range box.CommandLine() {
		if strings.Contains(a.Text, mark) && !strings.Contains(a.Text, "$"+mark) {
			return portUser{w.Ref, a.Path}, true
		}
	}
	for _, e := range box.Env() {
		if text := e.Value.Text(); strings.Contains(text, mark) && !strings.Contains(text, "$"+mark) {
			return portUser{w.Ref, e.Path.Key("value")}, true
		}
	}
	for _, r := range p.After.References(w.Object) {
		if r.Use != object.UseVolume && r.Use != object.UseProjected || r.To.Kind != "ConfigMap" {
			continue
		}
		for k, v := range p.After.Get(r.To).At("data").Fields() {
			if strings.Contains(v.Text(), "${"+name+"}") {
				return portUser{r.To, object.Path("data").Key(k)}, true
			}
		}
	}
	return portUser{}, false
}
