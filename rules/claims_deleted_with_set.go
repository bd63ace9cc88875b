package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// ClaimsDeletedWithSet reports a StatefulSet whose claims are deleted from now on
// when it goes or shrinks.
var ClaimsDeletedWithSet = &rule.Rule{
	ID:       "claims-deleted-with-set",
	Title:    "Claims of a StatefulSet are deleted when it is scaled down or deleted",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
By default claims outlive their StatefulSet: scaling down and up again, or deleting and creating the set, gives each pod its old disk. With
persistentVolumeClaimRetentionPolicy Delete the disk goes instead. whenScaled: Delete turns every scale-down, by an autoscaler or by hand, into a
loss of data; whenDeleted: Delete turns every forced recreation into one, such as tools do for a field that cannot change.`,
	Advice:  "Leave both at Retain for what cannot be rebuilt from its peers, and delete claims by hand when they are known to be of no use.",
	Kinds:   []string{"StatefulSet.apps"},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkClaimsDeletedWithSet,
}

func checkClaimsDeletedWithSet(p *rule.Pass, c diff.Change) {
	for _, key := range []string{"whenScaled", "whenDeleted"} {
		path := "spec.persistentVolumeClaimRetentionPolicy." + key
		if c.Before.Text(path) == "Delete" || c.After.Text(path) != "Delete" {
			continue
		}
		f := rule.Finding{}
		f.Path = "spec.persistentVolumeClaimRetentionPolicy"
		f.Path = f.Path.Key(key)
		f.Message = fmt.Sprintf("%s: %s becomes Delete", key, orText(c.Before.Text(path), "Retain"))
		f.Consequence = "a set that is deleted, or made anew by force, loses its data"
		if key == "whenScaled" {
			f.Consequence = "each scale-down deletes the data of the pods that go"
			was, _ := p.Before.Workload(c.Before.Ref)
			now, _ := p.After.Workload(c.After.Ref)
			if was.Replicas.Known && now.Replicas.Known && now.Replicas.Count < was.Replicas.Count {
				f.Severity = rule.Error
				f.Consequence = fmt.Sprintf("this change scales it from %d to %d: the claims of %s are deleted", was.Replicas.Count, now.Replicas.Count, plural(was.Replicas.Count-now.Replicas.Count, "pod"))
			}
		}
		p.Report(c, f)
	}
}
