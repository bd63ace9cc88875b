package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// CRDVersionRemoved reports a version of a custom resource that is no longer
// served or stored.
var CRDVersionRemoved = &rule.Rule{
	ID:       "crd-version-removed",
	Title:    "A version of a custom resource is no longer served, or stored as another one",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Clients ask for a version by name. Once it is not served they get 404 at once: operators that are one release behind, manifests of other
repositories, finalizers that nobody can remove any more. The API server refuses to drop a version as long as the definition's
status.storedVersions lists it, which it does until every object was written again and the list was cleaned by hand, even if the version was
not served for years; the whole update of the definition then fails.

Another storage version has no effect on what is stored until it is written again. It is a warning where the two schemas differ and no webhook
converts: fields that only one of them has are lost. Objects of this unit that still use a version that goes make it an error.`,
	Advice: `Serve both versions, move all manifests and operators to the new one, write every stored object again (the storage version migrator, or
` + "`kubectl get KIND -A -o json | kubectl replace -f -`" + `), take the old one out of status.storedVersions, set served: false for a release, and only then drop it.`,
	Kinds:   []string{crdKind},
	Actions: []diff.Action{diff.Update, diff.Replace},
	Check:   checkCRDVersionRemoved,
}

func checkCRDVersionRemoved(p *rule.Pass, c diff.Change) {
	if _, ok := shownField(c, "spec.version"); !ok {
		return
	}
	after := map[string]crdVersion{}
	var storage crdVersion
	for _, v := range crdVersions(c.After) {
		after[v.name] = v
		if v.storage {
			storage = v
		}
	}
	for _, was := range crdVersions(c.Before) {
		now, there := after[was.name]
		using := instances(p.After, c.After, was.name)
		f := rule.Finding{Path: was.path, Related: objectRefs(using)}
		switch {
		case !there && was.served:
			f.Message = fmt.Sprintf("version %s is dropped, which is served now", was.name)
			f.Consequence = "clients that ask for it get 404"
		case !there:
			f.Message = fmt.Sprintf("version %s is dropped, which is not served any more", was.name)
		case was.served && !now.served:
			f.Path = was.path.Key("served")
			f.Message = fmt.Sprintf("version %s is no longer served", was.name)
			f.Consequence = "clients that ask for it get 404"
		case was.storage && !now.storage && storage.name != "":
			reportStorageVersion(p, c, was, storage)
			continue
		default:
			continue
		}
		if !there {
			if f.Consequence != "" {
				f.Consequence += "; "
			}
			f.Consequence += "the API server refuses the update while status.storedVersions lists the version"
			if was.storage {
				f.Severity = rule.Error
				f.Consequence += ", and it is the one that objects are stored in"
			}
		}
		if len(using) > 0 {
			f.Severity = rule.Error
			f.Message += fmt.Sprintf(", and %s still uses it", objectsHere(c.After, using))
			if len(using) > 1 {
				f.Message = f.Message[:len(f.Message)-len("uses it")] + "use it"
			}
		}
		p.Report(c, f)
	}
}

// reportStorageVersion tells of objects that are stored in another version from
// their next write on.
func reportStorageVersion(p *rule.Pass, c diff.Change, was, now crdVersion) {
	f := rule.Finding{
		Path:        was.path.Key("storage"),
		Severity:    rule.Note,
		Message:     fmt.Sprintf("objects are stored as %s from now on, as %s before", now.name, was.name),
		Consequence: "what is stored stays as it is until it is written again, and both versions stay in status.storedVersions",
	}
	if converts := c.After.Text("spec.conversion.strategy") == "Webhook"; !converts && !was.schema.Equal(now.schema) {
		f.Severity = rule.Warning
		f.Consequence = "the schemas differ and nothing converts (strategy None only writes the other version's name): fields that one of them lacks are dropped at the next write"
	}
	p.Report(c, f)
}
