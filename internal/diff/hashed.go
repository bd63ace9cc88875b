package diff

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// A renaming knows the names that changed in a content hash only, so that the
// references to them can be followed.
type renaming struct {
	after    map[string]string // name before -> name after
	replacer *strings.Replacer // nil when nothing was renamed
}

func newRenaming(matches []match) renaming {
	r := renaming{after: map[string]string{}}
	var names []string
	for _, m := range matches {
		if m.hashed {
			r.after[m.before.Ref.Name] = m.after.Ref.Name
			names = append(names, m.before.Ref.Name)
		}
	}
	if len(names) == 0 {
		return r
	}
	// A replacer prefers earlier pairs: longer names first.
	slices.SortFunc(names, func(x, y string) int {
		if d := len(y) - len(x); d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	names = slices.Compact(names)
	pairs := make([]string, 0, 2*len(names))
	for _, name := range names {
		pairs = append(pairs, name, r.after[name])
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// apply gives text before with every such name as it is after.
func (r renaming) apply(text string) string {
	if r.replacer == nil {
		return text
	}
	return r.replacer.Replace(text)
}

// explains says whether two texts differ in such names only.
func (r renaming) explains(before, after object.Value) bool {
	return r.replacer != nil && before.Type() == object.String && after.Type() == object.String &&
		before.Masked() == nil && after.Masked() == nil &&
		r.replacer.Replace(before.Text()) == after.Text()
}
