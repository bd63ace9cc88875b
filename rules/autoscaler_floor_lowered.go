package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AutoscalerFloorLowered reports an autoscaler that keeps fewer pods than before.
var AutoscalerFloorLowered = &rule.Rule{
	ID:       "autoscaler-floor-lowered",
	Title:    "An autoscaler keeps fewer pods than before",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
The minimum is what is left in a quiet hour, and what meets the burst that ends it: new pods take a minute or more to be scheduled, started and ready. It is also what is
left when the metric fails or is wrong. With one pod left, every node drain and every crash is an outage; with none (KEDA), the first request
waits for a whole start.

One pod or none, and a cut to half or less, are a warning, anything else a note.`,
	Advice:  "Keep at least two pods of what serves requests, and as many as the steepest rise of load needs during one pod's start.",
	Kinds:   []string{"HorizontalPodAutoscaler.autoscaling", "ScaledObject.keda.sh"},
	Actions: []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:   checkAutoscalerFloorLowered,
}

func checkAutoscalerFloorLowered(p *rule.Pass, c diff.Change) {
	was, ok := object.AsAutoscaler(c.Before)
	now, alsoOK := object.AsAutoscaler(c.After)
	if !ok || !alsoOK || now.Min >= was.Min {
		return
	}
	f := rule.Finding{Path: now.MinPath, Related: []object.Ref{now.Target}, Message: fmt.Sprintf("%s %d becomes %d", fieldName(now.MinPath), was.Min, now.Min)}
	switch {
	case now.Min <= 0:
		f.Consequence = "in a quiet hour nothing runs, and the first request waits for a whole start"
	case now.Min == 1:
		f.Consequence = "in a quiet hour one pod is left: a node drain or a crash is an outage"
	case 2*now.Min <= was.Min:
		f.Consequence = fmt.Sprintf("a burst after a quiet hour meets %s, %d before, until new ones are ready", plural(int(now.Min), "pod"), was.Min)
	default:
		f.Severity = rule.Note
		f.Consequence = fmt.Sprintf("a burst after a quiet hour meets %s, %d before, until new ones are ready", plural(int(now.Min), "pod"), was.Min)
	}
	p.Report(c, f)
}
