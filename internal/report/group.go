package report

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Group marks the changes that are the same in several units: same action, kind
// and name, same difference. The namespace may differ, as it does between
// environments. Changes whose every field is hidden are marked too.
func Group(changes []Change) {
	ids := make([]string, len(changes))
	count := map[string]int{}
	for i, c := range changes {
		ids[i] = groupID(c)
		count[ids[i]]++
	}
	for i := range changes {
		changes[i].Group = ""
		if count[ids[i]] > 1 {
			changes[i].Group = ids[i]
		}
	}
}

func groupID(c Change) string {
	h := sha256.New()
	part := func(s string) {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	part(string(c.Action))
	part(c.Ref.GroupKind())
	part(c.Ref.Name)
	part(c.RenamedFrom.Name)
	if c.MovedFrom != "" {
		part(c.MovedFrom)
		part(c.Ref.Unit)
	}
	for _, f := range c.Fields {
		part(string(f.Path))
		part(string(f.Op))
		part(f.Before.String())
		part(f.After.String())
		part(f.Hidden)
	}
	if len(c.Fields) == 0 {
		namespace := "  namespace: " + scalarText(c.Ref.Namespace)
		for l := range strings.SplitSeq(c.Diff, "\n") {
			if len(l) > 0 && l[1:] != namespace {
				part(l)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
