package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AutoscalerCeilingRaised reports autoscalers that may run more pods than before,
// one by one and summed up over all units of the change.
var AutoscalerCeilingRaised = &rule.Rule{
	ID:       "autoscaler-ceiling-raised",
	Title:    "Autoscalers may run many more pods than before",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
The maximum of an autoscaler is the only thing that stops it when its signal stops making sense: while new pods wait for nodes the
metric does not fall, and the autoscaler asks for more. All of them then start at once, look up names, open connections to databases
and brokers, and register everywhere. What is shared and has a fixed size takes it: cluster DNS, connection limits, the API server,
the quota of nodes.

Maxima double without anybody raising one when a workload is split and both halves keep the number of the whole. So the rule
looks at each autoscaler, at new ones that bear the maximum of another workload with the same image, and at the sum over all units
that this change touches. It warns when a maximum grows by half and by ten pods at least; less is a note. Units without a change were
not rendered and are not in the sum.`,
	Advice:     adviceOnMaxima,
	Incidents:  []string{"buildkite-coredns"},
	Parameters: []rule.Parameter{growthPercent, growthPods},
	CheckAll:   checkAutoscalerCeilingRaised,
}

const adviceOnMaxima = `Set a maximum by what the shared services bear (connections per pod times
maximum, pods per DNS replica), raise it in steps, and look at these services after each. Give a scale-up policy that limits pods per
minute, so that a wrong signal has time to be seen.`

func checkAutoscalerCeilingRaised(l *rule.Fleet) {
	var all []raise
	for _, u := range l.Units {
		found := raises(u)
		for _, r := range found {
			if copied, of := copiedCeiling(r); copied {
				reportCopy(l, r, of)
			} else if !r.fresh {
				reportRaise(l, r)
			}
		}
		if u.Before != nil && u.After != nil {
			all = append(all, found...)
		}
	}
	reportSum(l, all)
}

func reportRaise(l *rule.Fleet, r raise) {
	f := rule.Finding{Path: r.scaler.MaxPath, Severity: rule.Note}
	if grows(l, r.before, r.scaler.Max) {
		f.Severity = rule.Warning
	}
	name := strings.TrimPrefix(string(r.scaler.MaxPath), "spec.")
	if r.change.Before != nil {
		f.Message = fmt.Sprintf("%s %d becomes %d: up to %s of %s", name, r.before, r.scaler.Max, plural(int(r.added()), "more pod"), r.target)
	} else {
		f.Message = fmt.Sprintf("%s, which has %s now, may run %d", r.target, plural(int(r.before), "pod"), r.scaler.Max)
	}
	f.Consequence = "what these pods request is not written down, so neither the scheduler nor a quota counts them"
	now := ceilingOf(r.unit.After, r.scaler)
	was := now
	was.Most = int(r.before)
	if text := asked(impact.CeilingOf(now)); text != "" {
		f.Consequence = fmt.Sprintf("at the maximum they request %s, %s before", text, asked(impact.CeilingOf(was)))
	}
	if _, ok := r.unit.After.Workload(r.scaler.Target); ok {
		f.Related = []object.Ref{r.scaler.Target}
	} else {
		f.Consequence = "the workload is not in these manifests, so what its pods request is unknown"
	}
	l.Report(r.unit, r.change, f)
}

// copiedCeiling says whether a new autoscaler bears the maximum of one that scales,
// or scaled before the merge, another workload with the same image.
func copiedCeiling(r raise) (bool, object.Autoscaler) {
	if r.change.Before != nil || !r.fresh || r.scaler.Max < 10 {
		return false, object.Autoscaler{}
	}
	w, ok := r.unit.After.Workload(r.scaler.Target)
	if !ok {
		return false, object.Autoscaler{}
	}
	for _, other := range r.unit.Before.Autoscalers() {
		v, ok := r.unit.Before.Workload(other.Target)
		if !ok || other.Max != r.scaler.Max || v.Ref == w.Ref || repository(v) == "" || repository(v) != repository(w) {
			continue
		}
		return true, other
	}
	return false, object.Autoscaler{}
}

// repository is the image of the first container without tag and digest.
func repository(w object.Workload) string {
	running := w.Running()
	if len(running) == 0 {
		return ""
	}
	image, _, _ := strings.Cut(running[0].Image(), "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

func reportCopy(l *rule.Fleet, r raise, of object.Autoscaler) {
	// All autoscalers of workloads with this image, on both sides.
	w, _ := r.unit.After.Workload(r.scaler.Target)
	sum := func(set *object.Set) (scalers []impact.Autoscaler) {
		for _, a := range set.Autoscalers() {
			if v, ok := set.Workload(a.Target); ok && repository(v) == repository(w) {
				scalers = append(scalers, ceilingOf(set, a))
			}
		}
		return scalers
	}
	was, now := impact.CeilingOf(sum(r.unit.Before)...), impact.CeilingOf(sum(r.unit.After)...)
	if now.Pods <= was.Pods {
		return // the others were lowered by as much
	}
	f := rule.Finding{
		Path:    r.scaler.MaxPath,
		Message: fmt.Sprintf("%d is also the maximum of %s, of the same image: together they may run %d pods, %d before", r.scaler.Max, of.Target, now.Pods, was.Pods),
		Related: []object.Ref{r.scaler.Target, of.Ref},
		Advice:  "Divide the old maximum between the two, by what each of them served before. " + adviceOnMaxima,
	}
	if !grows(l, was.Pods, now.Pods) {
		f.Severity = rule.Note
	}
	if text := asked(now); text != "" {
		f.Consequence = fmt.Sprintf("at their maxima they request %s, %s before", text, asked(was))
	}
	l.Report(r.unit, r.change, f)
}

// reportSum tells of several raises together, on the largest of them.
func reportSum(l *rule.Fleet, all []raise) {
	if len(all) < 2 {
		return
	}
	if was := maxima(l.Units, before); was == 0 || !grows(l, was, maxima(l.Units, after)) {
		return
	}
	was, now := ceiling(l.Units, before), ceiling(l.Units, after)
	largest := all[0]
	units := map[string]bool{}
	var related []object.Ref
	for _, r := range all {
		units[r.unit.Name] = true
		if r.added() > largest.added() {
			largest = r
		}
	}
	told := map[string]bool{largest.scaler.Ref.String(): true}
	for _, r := range all {
		if !told[r.scaler.Ref.String()] {
			told[r.scaler.Ref.String()] = true
			related = append(related, r.scaler.Ref)
		}
	}
	f := rule.Finding{
		Message: fmt.Sprintf("%s rise together: all maxima here sum up to %d pods, %d before", plural(len(all), "autoscaler"), now.Pods, was.Pods),
		Related: related,
	}
	if len(units) > 1 {
		f.Message = fmt.Sprintf("%s in %s rise together: all maxima there sum up to %d pods, %d before", plural(len(all), "autoscaler"), plural(len(units), "unit"), now.Pods, was.Pods)
	}
	if text := asked(now); text != "" {
		f.Consequence = fmt.Sprintf("at their maxima they request %s, %s before", text, asked(was))
		if before := asked(was); before == "" {
			f.Consequence = fmt.Sprintf("at their maxima they request %s", text)
		}
	}
	l.Report(largest.unit, largest.change, f)
}
