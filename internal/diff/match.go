package diff

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A match is one object on both sides, nil on a side that lacks it.
type match struct {
	before, after *object.Object
	renamed       bool // under another name or in another namespace
	hashed        bool // the names differ in a content hash only
}

// movedGroups gives the group that took over kinds of the group extensions
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-16).
var movedGroups = map[string]string{
	"Deployment":        "apps",
	"DaemonSet":         "apps",
	"ReplicaSet":        "apps",
	"Ingress":           "networking.k8s.io",
	"NetworkPolicy":     "networking.k8s.io",
	"PodSecurityPolicy": "policy",
}

// currentGroup gives ref in the group that its kind lives in today.
func currentGroup(ref object.Ref) object.Ref {
	if ref.Group == "extensions" {
		if group, ok := movedGroups[ref.Kind]; ok {
			ref.Group = group
		}
	}
	return ref
}

// identity is the ref under which an object is the same on both sides: without
// unit, in the group that its kind lives in today, without a namespace where the
// kind has none.
func (e *engine) identity(o *object.Object) object.Ref { return e.identityOf(o.Ref) }

func (e *engine) identityOf(ref object.Ref) object.Ref {
	ref = currentGroup(ref)
	ref.Unit = ""
	if ref.Namespace != "" && e.isClusterScoped(ref) {
		ref.Namespace = ""
	}
	return ref
}

func (e *engine) isClusterScoped(ref object.Ref) bool {
	return object.ClusterScoped(currentGroup(ref)) || e.schemas.clusterScoped(ref)
}

// match pairs the objects of both sides: by name, then by name without a content
// hash, then by name in another namespace, then by content. What is left was
// deleted or created.
func (e *engine) match() []match {
	byName := make(map[object.Ref]*object.Object, e.before.Len())
	for _, o := range e.before.All() {
		byName[e.identity(o)] = o
	}
	var matches []match
	var gone, come []*object.Object
	for _, o := range e.after.All() {
		id := e.identity(o)
		if b, ok := byName[id]; ok {
			matches = append(matches, match{before: b, after: o})
			delete(byName, id)
			continue
		}
		come = append(come, o)
	}
	if len(byName) > 0 {
		for _, o := range e.before.All() {
			if byName[e.identity(o)] == o {
				gone = append(gone, o)
			}
		}
	}
	for _, stage := range []func(gone, come []*object.Object) []match{e.matchHashed, e.matchNamespaces, e.matchContent} {
		if len(gone) == 0 || len(come) == 0 {
			break
		}
		found := stage(gone, come)
		matches = append(matches, found...)
		taken := make(map[*object.Object]bool, 2*len(found))
		for _, m := range found {
			taken[m.before], taken[m.after] = true, true
		}
		left := func(o *object.Object) bool { return taken[o] }
		gone, come = slices.DeleteFunc(gone, left), slices.DeleteFunc(come, left)
	}
	for _, o := range come {
		matches = append(matches, match{after: o})
	}
	for _, o := range gone {
		matches = append(matches, match{before: o})
	}
	return matches
}

// matchHashed pairs objects of which the names differ in a hash at the end. When
// several share the rest of the name, they are paired in order.
func (e *engine) matchHashed(gone, come []*object.Object) []match {
	byBase := map[object.Ref][]*object.Object{}
	for _, o := range gone {
		if base, ok := withoutHash(o.Ref.Name); ok {
			id := e.identity(o)
			id.Name = base
			byBase[id] = append(byBase[id], o)
		}
	}
	var matches []match
	for _, o := range come {
		base, ok := withoutHash(o.Ref.Name)
		if !ok {
			continue
		}
		id := e.identity(o)
		id.Name = base
		if rest := byBase[id]; len(rest) > 0 {
			matches = append(matches, match{before: rest[0], after: o, renamed: true, hashed: true})
			byBase[id] = rest[1:]
		}
	}
	return matches
}

// withoutHash takes a content hash off the end of a name: the ten characters
// that kustomize appends, which come from a reduced alphabet
// (sigs.k8s.io/kustomize/api/hasher), or a hexadecimal hash of seven characters
// or more, with letters and digits.
func withoutHash(name string) (base string, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i <= 0 {
		return "", false
	}
	suffix := name[i+1:]
	hasDigit := strings.ContainsAny(suffix, "0123456789")
	hasLetter := strings.Trim(suffix, "0123456789") != ""
	if !hasDigit || !hasLetter {
		return "", false
	}
	kustomize := len(suffix) == 10 && strings.Trim(suffix, "2456789bcdfghkmt") == ""
	hexadecimal := len(suffix) >= 7 && len(suffix) <= 64 && strings.Trim(suffix, "0123456789abcdef") == ""
	return name[:i], kustomize || hexadecimal
}

// matchNamespaces pairs objects of one kind and name that exist once on each
// side, in different namespaces, and are alike.
func (e *engine) matchNamespaces(gone, come []*object.Object) []match {
	type count struct {
		before, after *object.Object
		nb, na        int
	}
	counts := map[object.Ref]*count{}
	get := func(o *object.Object) *count {
		id := e.identity(o)
		id.Namespace = ""
		if counts[id] == nil {
			counts[id] = &count{}
		}
		return counts[id]
	}
	for _, o := range gone {
		c := get(o)
		c.before, c.nb = o, c.nb+1
	}
	for _, o := range come {
		c := get(o)
		c.after, c.na = o, c.na+1
	}
	var matches []match
	for _, o := range come {
		c := get(o)
		if c.nb != 1 || c.na != 1 || similarity(leavesOf(c.before), leavesOf(c.after)) < alike {
			continue
		}
		// A namespace that was or will be left to the tool may be the same one: the
		// field shows, but nothing says that the object moves.
		moved := c.before.Ref.Namespace != "" && c.after.Ref.Namespace != ""
		matches = append(matches, match{before: c.before, after: c.after, renamed: moved})
	}
	return matches
}
