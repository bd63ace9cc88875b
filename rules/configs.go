package rules

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it says who reads the keys of ConfigMaps and Secrets, for
// the rules about them.

var configKinds = []string{"ConfigMap", "Secret"}

// dataFields are the maps of keys of a ConfigMap or Secret.
var dataFields = []string{"data", "binaryData", "stringData"}

// touchesReferences says whether a workload's change may be about the ConfigMaps and
// Secrets that it names: most changes are about images, labels and annotations only.
func touchesReferences(c diff.Change) bool {
	return slices.ContainsFunc(c.Fields, func(f diff.Field) bool {
		path := string(f.Path)
		return !strings.HasSuffix(path, ".image") && !strings.Contains(path, ".labels") && !strings.Contains(path, ".annotations")
	})
}

// dataKeys gives the keys of a ConfigMap or Secret, and where each stands.
func dataKeys(o *object.Object) map[string]object.Path {
	out := map[string]object.Path{}
	for _, field := range dataFields {
		for key := range o.At(field).Fields() {
			out[key] = object.Path(field).Key(key)
		}
	}
	return out
}

// changedKeys gives the keys of a ConfigMap or Secret that are on both sides and
// differ in more than layout.
func changedKeys(c diff.Change) []string {
	before, after := dataKeys(c.Before), dataKeys(c.After)
	var out []string
	for _, f := range c.Fields {
		if f.Hidden != "" {
			continue
		}
		segments := f.Path.Segments()
		if len(segments) < 2 || !slices.Contains(dataFields, segments[0].Key) {
			continue
		}
		key := segments[1].Key
		if before[key] != "" && after[key] != "" && !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	return out
}

// A mountedFile is one file of a volume, as a container sees it.
type mountedFile struct {
	container object.Container
	path      string      // in the container
	subPath   bool        // mounted by itself
	at        object.Path // of the mount
}

// mountsOfKey gives where containers of w see a key of an object that is a whole
// volume: as a file below the mount, or mounted by subPath.
func mountsOfKey(w object.Workload, r object.Reference, key string) []mountedFile {
	segments := r.Path.Segments()
	volume := ""
	for _, s := range segments {
		for _, pair := range s.Select {
			if pair[0] == "name" {
				volume = pair[1]
			}
		}
	}
	if volume == "" {
		return nil
	}
	var out []mountedFile
	for _, c := range w.Containers() {
		for i, m := range c.Spec.Field("volumeMounts").Items() {
			if m.Field("name").Text() != volume {
				continue
			}
			dir, sub := strings.TrimSuffix(m.Field("mountPath").Text(), "/"), m.Field("subPath").Text()
			switch at := c.Path.Key("volumeMounts").Index(i); {
			case sub == key:
				out = append(out, mountedFile{c, dir, true, at})
			case sub == "":
				out = append(out, mountedFile{c, dir + "/" + key, false, at})
			}
		}
	}
	return out
}

// madeElsewhere says whether something of the set makes the ConfigMap or Secret in
// the cluster: a SealedSecret, an ExternalSecret, a Certificate.
func madeElsewhere(set *object.Set, ref object.Ref) bool {
	return slices.ContainsFunc(set.ReferencesTo(ref), func(r object.Reference) bool { return r.Use == object.UseMadeSecret })
}

// restartsAnyway says whether a workload gets new pods by the same merge.
func restartsAnyway(u *rule.Unit, w object.Ref) bool {
	c, ok := changeOf(u, w)
	if !ok {
		return false
	}
	return slices.ContainsFunc(c.Effects, func(e diff.Effect) bool { return e.Kind == diff.Rolling || e.Kind == diff.Restart }) || c.Before == nil || c.Action == diff.Replace || c.Action == diff.Rename
}
