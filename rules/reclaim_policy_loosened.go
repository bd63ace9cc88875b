package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ReclaimPolicyLoosened reports volumes and snapshots that are deleted with their
// claims from now on, and volumes that go.
var ReclaimPolicyLoosened = &rule.Rule{
	ID:       "reclaim-policy-loosened",
	Title:    "A volume or snapshot is deleted with its claim from now on, or is removed",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
The reclaim policy decides what becomes of the disk when the claim goes. Delete deletes it, within seconds, and whoever deletes a claim, a namespace or a
release by mistake has no way back. Retain keeps it for somebody to bind again. On a PersistentVolume it counts at once; that of a StorageClass is copied
into volumes when they are made, cannot change in place, and a class that is made anew under the same name gives it to new volumes only.

A PersistentVolume that is written down and goes leaves its claim in the state Lost, though the disk may still be there.`,
	Advice:  "Keep Retain for what people would miss. Before a volume goes, see that its claim is gone and its data is somewhere else.",
	Kinds:   []string{"PersistentVolume", "StorageClass.storage.k8s.io", "VolumeSnapshotClass.snapshot.storage.k8s.io", "VolumeSnapshotContent.snapshot.storage.k8s.io"},
	Actions: []diff.Action{diff.Update, diff.Replace, diff.Delete},
	Check:   checkReclaimPolicyLoosened,
}

func checkReclaimPolicyLoosened(p *rule.Pass, c diff.Change) {
	if c.Action == diff.Delete {
		if c.Ref.Kind != "PersistentVolume" || keptBehind(c.Before) != "" {
			return
		}
		f := rule.Finding{Message: "the volume goes", Consequence: "the claim that is bound to it is lost, and pods that mount it do not start again"}
		for _, r := range p.After.ReferencesTo(c.Before.Ref) {
			f.Related = append(f.Related, r.From.Ref)
		}
		if len(f.Related) > 0 {
			f.Severity = rule.Error
			f.Message += fmt.Sprintf(", and %s still names it", roleNames(f.Related))
		}
		p.Report(c, f)
		return
	}
	path, initial := "spec.persistentVolumeReclaimPolicy", "Retain"
	switch c.Ref.Kind {
	case "StorageClass":
		path, initial = "reclaimPolicy", "Delete"
	case "VolumeSnapshotClass":
		path, initial = "deletionPolicy", ""
	case "VolumeSnapshotContent":
		path, initial = "spec.deletionPolicy", ""
	}
	was, now := orText(c.Before.Text(path), initial), orText(c.After.Text(path), initial)
	if was != "Retain" || now != "Delete" {
		return
	}
	f := rule.Finding{Message: fmt.Sprintf("the policy Retain becomes %s", now)}
	if c.After.At(path).Exists() {
		f.Message = "the policy Retain becomes Delete"
	} else {
		f.Message = "the policy Retain becomes Delete, which is filled in where nothing is written"
	}
	switch c.Ref.Kind {
	case "PersistentVolume":
		f.Consequence = "the disk is deleted with its claim"
	case "StorageClass":
		f.Consequence = "the disks of volumes that are made from it later are deleted with their claims"
	default:
		f.Consequence = "the snapshot in the storage system is deleted with its object"
	}
	f.Path = object.Path(path)
	p.Report(c, f)
}
