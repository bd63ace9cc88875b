package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/rule"
)

// ServiceSelectorChanged reports a Service whose selector asks for something else
// than before, so that its traffic leaves the pods that serve it now.
var ServiceSelectorChanged = &rule.Rule{
	ID:       "service-selector-changed",
	Title:    "A Service selector asks for other labels, and leaves pods that serve it now",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
A selector counts from the moment of the merge, for the pods that run then. If the same pull request gives the pods their
new labels, these reach them only by a rollout: until the first new pod is ready the Service has no endpoint, and then
the first wave takes the traffic of everybody. A Deployment whose own selector changes too cannot even be updated; the API
server refuses it, its pods keep their labels, and the Service stays empty.

Where the selector moves to pods that run already, as in a blue-green switch, all traffic moves at once, cold caches and all:
a warning, with the number of pods on each side. Where running pods match before and after, nothing happens.`,
	Advice: `Give the pods both the old and the new labels first and wait until that rollout is done; change the selector in a second pull
request, and drop the old labels in a third. For a switch between two workloads, make sure that the new one has as many ready
pods as the old one before the merge.`,
	Incidents: []string{"grafana-loki-selector-2022"},
	Kinds:     []string{"Service"},
	Actions:   []diff.Action{diff.Update, diff.Replace, diff.Rename},
	Check:     checkServiceSelectorChanged,
}

func checkServiceSelectorChanged(p *rule.Pass, c diff.Change) {
	if isExternalName(c) {
		return
	}
	s := shiftOf(p, c)
	f := rule.Finding{Path: "spec.selector", Related: refs(s.running, s.gained, s.coming)}
	change := fmt.Sprintf("selector %s becomes %s", labelText(gains(s.after, s.before)), labelText(gains(s.before, s.after)))
	switch {
	case len(s.before) == 0 && len(s.after) == 0:
		return
	case len(s.before) == 0:
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("a Service without selector gets %s", labelText(s.after))
		f.Consequence = "endpoints that were managed by hand or by another controller are replaced by the pods that match, " + plural(podsNow(s), "running pod")
	case len(s.after) == 0:
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("the selector %s is removed", labelText(s.before))
		f.Consequence = "nobody updates the endpoints any more: the addresses of today stay until their pods are replaced, and then lead nowhere"
	case len(gains(s.before, s.after)) == 0 || len(gains(s.after, s.before)) == 0:
		return // only narrower or only wider
	case len(s.running) == 0 && len(s.gained) == 0 && len(s.coming) == 0:
		if s.asleep {
			return
		}
		f.Severity = rule.Warning
		f.Message = change + ": whether running pods match is unknown, " + s.whoMakesPods()
		f.Related = s.unknownRefs()
		f.Consequence = "pods that do not carry the new labels leave the Service at the moment of the merge"
	case len(s.lost) == 0:
		return
	case len(s.gained) > 0:
		to, known := podCount(s.gained)
		from, alsoKnown := podCount(s.lost)
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("%s: all traffic of %s moves to %s", change, withCount(s.lost), withCount(s.gained))
		f.Consequence = "it moves at once, not pod by pod, and so does a fault in what is behind the new labels"
		if len(s.kept) > 0 {
			f.Message = fmt.Sprintf("%s: %s leave, %s join, %s stay", change, withCount(s.lost), withCount(s.gained), withCount(s.kept))
			f.Consequence = "they leave and join at once, not pod by pod"
		} else if share := impact.Share(from, to); known && alsoKnown && share > 1 {
			f.Consequence += fmt.Sprintf("; each pod takes %s the share that a pod has now", times(share))
		}
	case len(s.kept) > 0:
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("%s, which %s do not carry", change, withCount(s.lost))
		f.Consequence = fewer(s)
	case len(s.coming) == 0:
		return // nothing will match, which is another risk
	default:
		f.Message = fmt.Sprintf("%s: %s", change, noneCarries(s.lost, len(gains(s.before, s.after))))
		f.Consequence, f.Severity = s.onlyNewPods(p, c.After)
		f.Rollout = s.picture(p)
	}
	p.Report(c, f)
}
