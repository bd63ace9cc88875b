package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// StorageClassChanged reports a StorageClass that goes while claims name it, and a
// default that moves.
var StorageClassChanged = &rule.Rule{
	ID:       "storage-class-changed",
	Title:    "A StorageClass goes while claims name it, or another one is the default",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
Volumes that exist do not need their class any more, so nothing happens at first. New claims that name a class that is gone stay Pending, and their pods with
them: at the next scale-up of a StatefulSet, the next restore, the next preview environment. A claim without a class takes the default at the time when it
is made: with another default it gets another kind of disk, zone or file system, and with none it stays Pending. Growing a volume needs its class too.`,
	Advice:  "Keep the old class for as long as claims name it; set the default on the new class and take it from the old one in the same change; name the class in claims that care.",
	Kinds:   []string{"StorageClass.storage.k8s.io"},
	Actions: []diff.Action{diff.Delete, diff.Rename, diff.Create, diff.Update, diff.Replace},
	Check:   checkStorageClassChanged,
}

func checkStorageClassChanged(p *rule.Pass, c diff.Change) {
	if c.Before != nil && leavesUnit(c) {
		var users []object.Ref
		for _, r := range p.After.ReferencesTo(c.Before.Ref) {
			users = append(users, r.From.Ref)
		}
		users = compactRefs(users)
		f := rule.Finding{Ref: c.Before.Ref, Message: "the class goes", Consequence: "new claims that name it stay Pending, and volumes of it can grow no more", Related: users}
		if len(users) > 0 {
			f.Severity = rule.Error
			f.Message += fmt.Sprintf(", and %s still names it", roleNames(users))
		}
		if isDefaultClass(c.Before) && !anyDefaultClass(p.After) {
			f.Message += "; it was the default"
			f.Consequence += "; claims without a class stay Pending too, unless the cluster has another default"
		}
		p.Report(c, f)
		if c.Action == diff.Delete {
			return
		}
	}
	const key = "storageclass.kubernetes.io/is-default-class"
	path := object.Path("metadata.annotations").Key(key)
	was, now := isDefaultClass(c.Before), isDefaultClass(c.After)
	switch {
	case was && !now && c.Action != diff.Rename:
		f := rule.Finding{Path: path, Message: "the class is no longer the default", Consequence: "claims without a class stay Pending, unless the cluster has another default"}
		if anyDefaultClass(p.After) {
			f.Severity = rule.Note
			f.Consequence = "claims without a class get another kind of volume from now on"
		}
		p.Report(c, f)
	case !was && now && p.Before.Len() > 0:
		f := rule.Finding{Path: path, Severity: rule.Note, Message: "the class is the default from now on", Consequence: "claims without a class get another kind of volume from now on"}
		if c.Action == diff.Create && c.Before == nil {
			f.Consequence += "; where the cluster has another default, the newest one counts"
		}
		p.Report(c, f)
	}
	if grows, _ := c.Before.At("allowVolumeExpansion").Bool(); grows && c.After != nil && c.Action != diff.Rename {
		if still, _ := c.After.At("allowVolumeExpansion").Bool(); !still {
			p.Report(c, rule.Finding{Path: "allowVolumeExpansion", Severity: rule.Note, Message: "volumes of the class can grow no more", Consequence: "a disk that is full stays so until its data is moved"})
		}
	}
}

// isDefaultClass says whether claims without a class get this one
// (https://kubernetes.io/docs/concepts/storage/storage-classes/#default-storageclass).
func isDefaultClass(o *object.Object) bool {
	return o != nil && (o.Annotation("storageclass.kubernetes.io/is-default-class") == "true" || o.Annotation("storageclass.beta.kubernetes.io/is-default-class") == "true")
}

func anyDefaultClass(set *object.Set) bool {
	for _, o := range set.Kind("StorageClass.storage.k8s.io") {
		if isDefaultClass(o) {
			return true
		}
	}
	return false
}
