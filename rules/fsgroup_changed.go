package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// FSGroupChanged reports pods whose volumes get another owner at the next start.
var FSGroupChanged = &rule.Rule{
	ID:       "fsgroup-changed",
	Title:    "The group of a pod's volumes changes",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
With an fsGroup the kubelet gives every file of a volume to that group before the containers start. On a volume with millions of files
that takes minutes to hours, during which the pod stays in ContainerCreating and nothing says why; a StatefulSet waits with it. Without an
fsGroup that was there, a program that is not root cannot write its volume, if a fresh one is ever mounted. Databases that check the mode of their
data folder (PostgreSQL wants 0700 or 0750) may refuse a folder that the group can write.

fsGroupChangePolicy OnRootMismatch skips a volume of which the root has the right owner already; losing it brings the walk back to each
start.`,
	Advice: `Set fsGroupChangePolicy: OnRootMismatch together with the group, and chown a large volume once from a Job while the old pod still serves, if
its access mode allows.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkFSGroupChanged,
}

func checkFSGroupChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "fsGroup", "securityContext") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	volumes := claimsOf(after)
	if volumes == 0 {
		return
	}
	base := after.SpecPath().Key("securityContext")
	group := func(w object.Workload) object.Value { return w.PodSpec.At("securityContext.fsGroup") }
	skips := func(w object.Workload) bool {
		return w.PodSpec.At("securityContext.fsGroupChangePolicy").Text() == "OnRootMismatch"
	}
	was, now := group(before), group(after)
	f := rule.Finding{Path: base.Key("fsGroup")}
	switch {
	case !now.Exists() && was.Exists():
		f.Severity = rule.Note
		f.Message = fmt.Sprintf("fsGroup %s goes, for %s", was, plural(volumes, "volume"))
		f.Consequence = "new volumes belong to root, and a program that is not root cannot write them"
	case now.Exists() && now.String() != was.String():
		f.Message = fmt.Sprintf("fsGroup becomes %s%s, for %s", now, inPlaceOfNone(was), plural(volumes, "volume"))
		f.Consequence = "before the pod starts, the kubelet changes the group of every file in them: minutes to hours for millions of files"
		if !skips(after) {
			f.Consequence += ", at each start"
		}
	case now.Exists() && skips(before) && !skips(after):
		f.Path = base.Key("fsGroupChangePolicy")
		f.Message = fmt.Sprintf("fsGroupChangePolicy OnRootMismatch goes, for %s", plural(volumes, "volume"))
		f.Consequence = "the kubelet walks over every file in them at each start of a pod"
	default:
		return
	}
	p.Report(c, f)
}

func inPlaceOfNone(v object.Value) string {
	if !v.Exists() {
		return ", where there was none"
	}
	return " in place of " + v.String()
}

// claimsOf counts the persistent volumes that one pod mounts.
func claimsOf(w object.Workload) int {
	n := w.At("spec.volumeClaimTemplates").Len()
	for _, v := range w.PodSpec.Field("volumes").Items() {
		if v.Field("persistentVolumeClaim").Exists() || v.Field("ephemeral").Exists() {
			n++
		}
	}
	return n
}
