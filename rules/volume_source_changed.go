package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// VolumeSourceChanged reports pods that find another place where their data was.
var VolumeSourceChanged = &rule.Rule{
	ID:       "volume-source-changed",
	Title:    "A volume of pods is another one: their data stays behind",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
The name of a volume and the folder where it is mounted stay, and what lies behind is another claim, a folder of the node or an empty one. New pods start, find
nothing, and begin anew: an empty database, an upload folder without uploads. Nothing is lost yet, as the old claim stays; but what is written from
then on is in another place, and old and new pods of one rollout do not see each other's files. An emptyDir besides ends with its pod, and a hostPath stays on its node.`,
	Advice: `Copy the data first (a Job that mounts both claims), stop writers for the time of the switch, and keep the old claim until the new one is known to be whole.`,
	Kinds:  podKinds, Actions: updates,
	Check: checkVolumeSourceChanged,
}

// keptOn says where a volume keeps data: "claim uploads", "an emptyDir"; kept is false for
// what holds configuration.
func keptOn(v object.Value) (text string, lasting, kept bool) {
	switch {
	case v.Field("persistentVolumeClaim").Exists():
		return "claim " + v.At("persistentVolumeClaim.claimName").Text(), true, true
	case v.Field("nfs").Exists():
		return "NFS " + v.At("nfs.server").Text() + ":" + v.At("nfs.path").Text(), true, true
	case v.Field("hostPath").Exists():
		return "folder " + v.At("hostPath.path").Text() + " of the node", true, true
	case v.Field("ephemeral").Exists():
		return "a volume that ends with the pod", false, true
	case v.Field("emptyDir").Exists():
		return "an emptyDir", false, true
	}
	return "", false, false
}

func checkVolumeSourceChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "volumes") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok || runsByItself(after) {
		return
	}
	was := map[string]object.Value{}
	for _, v := range before.PodSpec.Field("volumes").Items() {
		was[v.Field("name").Text()] = v
	}
	for i, v := range after.PodSpec.Field("volumes").Items() {
		name := v.Field("name").Text()
		old, lasted, kept := keptOn(was[name])
		now, lasts, keeps := keptOn(v)
		if !kept || !keeps || !lasted || old == now {
			continue
		}
		f := rule.Finding{Path: after.SpecPath().Key("volumes").Index(i), Before: was[name], After: v,
			Message:     fmt.Sprintf("volume %s is %s in place of %s", name, now, old),
			Consequence: "new pods do not find what was written there"}
		if !lasts {
			f.Severity = rule.Error
			f.Consequence += ", and what they write ends with each of them"
		}
		p.Report(c, f)
	}
}
