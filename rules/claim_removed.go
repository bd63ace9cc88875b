package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ClaimRemoved reports a PersistentVolumeClaim that goes, or gets another name, with
// what it holds.
var ClaimRemoved = &rule.Rule{
	ID:       "claim-removed",
	Title:    "A PersistentVolumeClaim is removed or renamed, with the data on it",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
When the last pod that uses a claim ends, the claim is deleted, and under the reclaim policy Delete, which is what most classes have, the disk with it.
Until then it stays in Terminating, and nothing can stop that any more: the next rollout or node drain takes the data. A claim of another name or
namespace is another, empty volume.

A claim that a workload still mounts afterwards is an error: its next pod stays Pending. One that is marked to be kept is a note.`,
	Advice: `Take a snapshot or backup and try it. Set the reclaim policy of its volume to Retain first (` + "`kubectl patch pv NAME -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'`" + `).
To rename it, bind the new claim to the same volume (volumeName, after the old claim is gone and claimRef is cleared), or copy the data with both mounted.`,
	CheckAll: checkClaimRemoved,
}

func checkClaimRemoved(l *rule.Fleet) {
	for _, u := range l.Units {
		for _, c := range u.Changes {
			if c.Before != nil && c.Before.Ref.GroupKind() == "PersistentVolumeClaim" && leavesUnit(c) {
				reportClaimRemoved(l, u, c)
			}
		}
	}
}

func reportClaimRemoved(l *rule.Fleet, u *rule.Unit, c diff.Change) {
	claim := c.Before
	f := rule.Finding{Ref: claim.Ref, Message: "the claim goes"}
	if size := claim.At("spec.resources.requests.storage"); size.Exists() {
		f.Message = fmt.Sprintf("the claim of %s goes", size)
	}
	if c.Action == diff.Rename {
		f.Message = fmt.Sprintf("the claim gets another name: %s, which is a new, empty volume", c.After.Ref)
	}
	f.Consequence = "its data goes with it, unless its volume's reclaim policy is Retain"
	if policy := reclaimPolicy(u.Before, claim); policy != "" {
		f.Consequence = fmt.Sprintf("the reclaim policy of its class is %s", policy)
		if policy == "Delete" {
			f.Consequence += ": its data is deleted when the last pod that uses it ends"
		}
	}
	users := usersOfClaim(u.After, claim.Ref)
	if len(users) > 0 {
		f.Severity, f.Related = rule.Error, users
		f.Consequence += fmt.Sprintf("; %s still mounts it: its next pod stays Pending", roleNames(users))
	} else if was := usersOfClaim(u.Before, claim.Ref); len(was) > 0 {
		f.Related = was
		f.Consequence += fmt.Sprintf("; %s used it", roleNames(was))
	}
	if mark := keptBehind(claim); mark != "" && len(users) == 0 {
		f.Severity = rule.Note
		f.Consequence = mark + " leaves it in the cluster"
	} else if homes := newHomes(l.Units, u, claim.Ref); len(homes) > 0 {
		f.Severity = rule.Warning
		f.Message = fmt.Sprintf("the claim moves out of this unit, and %s has it now", strings.Join(homes, ", "))
		f.Consequence = "if both go to one cluster and the old unit is pruned after the new one is applied, it is deleted with its data"
	}
	l.Report(u, c, f)
}

// usersOfClaim gives the workloads of a set that mount a claim.
func usersOfClaim(set *object.Set, claim object.Ref) []object.Ref {
	var out []object.Ref
	for _, r := range set.ReferencesTo(claim) {
		if r.Use == object.UseClaim {
			out = append(out, r.From.Ref)
		}
	}
	return compactRefs(out)
}

// reclaimPolicy is that of a claim's volume or class, "" where neither is in the set.
func reclaimPolicy(set *object.Set, claim *object.Object) string {
	if pv := set.Get(object.Ref{Unit: claim.Ref.Unit, Kind: "PersistentVolume", Name: claim.Text("spec.volumeName")}); pv != nil {
		return orText(pv.Text("spec.persistentVolumeReclaimPolicy"), "Retain")
	}
	class := set.Get(object.Ref{Unit: claim.Ref.Unit, Group: "storage.k8s.io", Kind: "StorageClass", Name: claim.Text("spec.storageClassName")})
	if class == nil {
		return ""
	}
	return orText(class.Text("reclaimPolicy"), "Delete")
}
