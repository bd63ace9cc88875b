package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// QuotaTooSmall reports a ResourceQuota that leaves no room for what runs.
var QuotaTooSmall = &rule.Rule{
	ID:       "quota-too-small",
	Title:    "A ResourceQuota is below what the namespace runs, or demands what its pods do not have",
	Subject:  "capacity and names",
	Severity: rule.Error,
	Doc: `
A quota is checked when a pod is made. What runs stays, and so it looks fine: until pods end, by a rollout, a drain or a crash, and the next ones are refused, without an error in any pod.
A rolling update needs room for its surge pods besides. A quota on requests or limits also refuses every pod that does not write that request or
limit, unless a LimitRange fills it in.

It adds up what the workloads of this unit request in the namespace, each with its replicas, autoscalers at their minimum. Whoever else runs
there comes on top. A quota that is lowered below what autoscalers may ask for at their maximum is a warning, one that still leaves room for that a note.`,
	Advice:    "Set the quota by the sum at the maximum of all autoscalers and the surge of a rollout, with a margin; alert on kube_resourcequota above 90 %. Add requests to all workloads, or a LimitRange, before a quota asks for them.",
	Incidents: []string{"mybinder-quota-2022", "allegro-2018"},
	Kinds:     []string{"ResourceQuota"},
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace},
	Check:     checkQuotaTooSmall,
}

func checkQuotaTooSmall(p *rule.Pass, c diff.Change) {
	if c.After.At("spec.scopes").Len() > 0 || c.After.At("spec.scopeSelector").Exists() {
		return // of some pods only
	}
	var running []object.Workload
	for _, w := range p.After.Workloads() {
		if w.Ref.Namespace == c.Ref.Namespace && w.Ref.Kind != "CronJob" && w.Ref.Kind != "Job" {
			running = append(running, w)
		}
	}
	for key, hard := range c.After.At("spec.hard").Fields() {
		was := c.Before.At("spec.hard").Field(key)
		limit, err := hard.Quantity()
		if err != nil {
			continue
		}
		old, oldErr := was.Quantity()
		lowered := was.Exists() && oldErr == nil && limit.Cmp(old) < 0
		if was.Exists() && !lowered {
			continue
		}
		path := object.Path("spec.hard").Key(key)
		used, known, lacking := usedOf(p.After, running, key)
		text := fmt.Sprintf("%s %s", key, hard)
		if lowered {
			text = fmt.Sprintf("%s %s becomes %s", key, was, hard)
		}
		f := rule.Finding{Path: path, Message: text}
		switch {
		case known && used > measure(key, limit):
			f.Message += fmt.Sprintf(", below the %s that the workloads of this unit have there", amountText(key, used))
			f.Related = refs(running)[:min(len(running), 10)]
			f.Consequence = "pods that end are refused when they are to be made again"
		case len(lacking) > 0 && !was.Exists():
			f.Message += fmt.Sprintf(", and %s writes none", names(lacking))
			f.Related = refs(lacking)
			f.Consequence = "the quota demands it: pods without it are refused when they are made again"
		case lowered && known && atMost(p.After, running, key) > measure(key, limit):
			f.Severity = rule.Warning
			f.Message += fmt.Sprintf(", and the autoscalers of this unit may go up to %s there", amountText(key, atMost(p.After, running, key)))
			f.Related = refs(running)[:min(len(running), 10)]
			f.Consequence = "they raise the count under load, and the pods above the quota are refused"
		case lowered:
			f.Severity = rule.Note
			f.Consequence = "there is less room for rollouts and autoscalers"
		default:
			continue
		}
		p.Report(c, f)
	}
}

// measure gives an amount of a quota's resource as a number: millicores, bytes, pods.
func measure(key string, q object.Quantity) float64 {
	if strings.HasSuffix(key, "memory") {
		return float64(q.Bytes())
	}
	if strings.HasSuffix(key, "cpu") {
		return float64(q.Millis())
	}
	return float64(q.Millis()) / 1000
}

// usedOf sums up what workloads take of a quota's resource, and gives those that do
// not write it. known is false for resources that are not read, and where nothing runs.
func usedOf(set *object.Set, running []object.Workload, key string) (sum float64, known bool, lacking []object.Workload) {
	what, resource, ok := strings.Cut(key, ".")
	switch {
	case key == "pods" || key == "count/pods":
		for _, w := range running {
			sum += float64(w.Replicas.Count)
		}
		return sum, sum > 0, nil
	case key == "cpu" || key == "memory":
		what, resource = "requests", key
	case !ok || what != "requests" && what != "limits" || resource != "cpu" && resource != "memory":
		return 0, false, nil
	}
	for _, w := range running {
		one, complete := perPod(w, what, resource)
		if !complete && !filledIn(set, w.Ref.Namespace, what, resource) {
			lacking = append(lacking, w)
		}
		sum += measure(key, one) * float64(max(0, w.Replicas.Count))
	}
	return sum, len(running) > 0, lacking
}

// atMost sums up what workloads take of a quota's resource with all autoscalers at their maximum.
func atMost(set *object.Set, running []object.Workload, key string) (sum float64) {
	for _, w := range running {
		one, known, _ := usedOf(set, []object.Workload{w}, key)
		if a, ok := object.AsAutoscaler(w.Replicas.Autoscaler); ok && known && w.Replicas.Count > 0 && int(a.Max) > w.Replicas.Count {
			one = one / float64(w.Replicas.Count) * float64(a.Max)
		}
		sum += one
	}
	return sum
}

// perPod adds up a request or limit over a pod's running containers; complete says
// whether all containers write it.
func perPod(w object.Workload, what, resource string) (sum object.Quantity, complete bool) {
	complete = true
	for _, box := range w.Containers() {
		v := box.At("resources." + what).Field(resource)
		if !v.Exists() && what == "requests" {
			v = box.At("resources.limits").Field(resource)
		}
		q, err := v.Quantity()
		if !v.Exists() || err != nil {
			complete = false
			continue
		}
		if box.Kind != object.InitContainer {
			sum = sum.Add(q)
		}
	}
	return sum, complete
}

// filledIn says whether a LimitRange gives a request or limit to who writes none.
func filledIn(set *object.Set, namespace, what, resource string) bool {
	fields := []string{"default"}
	if what == "requests" {
		fields = []string{"default", "defaultRequest"}
	}
	return slices.ContainsFunc(set.Kind("LimitRange"), func(o *object.Object) bool {
		if o.Ref.Namespace != namespace {
			return false
		}
		for _, l := range o.At("spec.limits").Items() {
			for _, field := range fields {
				if l.Field(field).Field(resource).Exists() {
					return true
				}
			}
		}
		return false
	})
}

// amountText writes an amount of a quota's resource.
func amountText(key string, amount float64) string {
	n := int64(min(amount, 1<<62))
	switch {
	case strings.HasSuffix(key, "cpu"):
		return cores(n)
	case strings.HasSuffix(key, "memory"):
		return bytes(n)
	}
	return plural(int(n), "pod")
}
