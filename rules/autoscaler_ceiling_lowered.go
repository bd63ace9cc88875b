package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AutoscalerCeilingLowered reports an autoscaler that may run fewer pods than
// before, or fewer than run now.
var AutoscalerCeilingLowered = &rule.Rule{
	ID:       "autoscaler-ceiling-lowered",
	Title:    "An autoscaler may run fewer pods than before, or than run now",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
An autoscaler whose maximum is below the current count scales down at once, within 15 s, whatever the load. At its maximum it is a fixed size: load above it
goes to the pods that are there, which slow down, fail their probes, and leave even fewer. It shows at the next peak, not at the merge.

Told of are a maximum that is lowered, a new autoscaler whose maximum is below the replicas that were written before, and a minimum above the
maximum, which the API server refuses.`,
	Advice:    "Look at the highest count of the last weeks (kube_horizontalpodautoscaler_status_current_replicas) and keep the maximum well above it; alert on autoscalers that stand at their maximum.",
	Incidents: []string{"mitodl-apisix-hpa-2026", "zalando-ksm-hpa-2026"},
	Kinds:     []string{"HorizontalPodAutoscaler.autoscaling", "ScaledObject.keda.sh"},
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkAutoscalerCeilingLowered,
}

func checkAutoscalerCeilingLowered(p *rule.Pass, c diff.Change) {
	now, ok := object.AsAutoscaler(c.After)
	if !ok {
		return
	}
	f := rule.Finding{Path: now.MaxPath, Related: []object.Ref{now.Target}}
	name := fieldName(now.MaxPath)
	was, had := object.AsAutoscaler(c.Before)
	switch {
	case now.Min > now.Max && (!had || was.Min <= was.Max):
		f.Severity = rule.Error
		f.Message = fmt.Sprintf("%s %d is below %s %d", name, now.Max, fieldName(now.MinPath), now.Min)
		f.Consequence = "the API server or the operator refuses it"
	case had && now.Max < was.Max:
		f.Message = fmt.Sprintf("%s %d becomes %d", name, was.Max, now.Max)
		f.Consequence = fmt.Sprintf("where more than %d run now, the others end at once, and load above that has nowhere to go", now.Max)
		if w, ok := p.Before.Workload(now.Target); ok && w.Object.At("spec.replicas").Exists() {
			if n, _ := w.Object.At("spec.replicas").Int(); n > now.Max {
				f.Severity = rule.Error
				f.Message += fmt.Sprintf(", below the %d replicas that %s was given", n, now.Target)
			}
		}
	case !had:
		w, ok := p.Before.Workload(now.Target)
		if !ok || w.Replicas.Autoscaler != nil || !w.Replicas.Known || int64(w.Replicas.Count) <= now.Max {
			return
		}
		f.Severity = rule.Error
		f.Message = fmt.Sprintf("%s has %s, and the new autoscaler allows %d", now.Target, plural(w.Replicas.Count, "replica"), now.Max)
		f.Consequence = fmt.Sprintf("%s end at once", isAre(w.Replicas.Count-int(now.Max), "pod", "pods"))
	default:
		return
	}
	if now.Min == now.Max && now.Min <= now.Max {
		f.Consequence += "; minimum and maximum are the same: nothing scales any more"
	}
	p.Report(c, f)
}

// fieldName is the last part of a path.
func fieldName(path object.Path) string {
	segments := path.Segments()
	if len(segments) == 0 {
		return ""
	}
	return segments[len(segments)-1].Key
}
