package report

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// findingHunk gives the lines of a diff that show the field a finding is about
// and nothing else, at most n of them, or half as many of a whole object; nil when
// the finding is about no field and the object has no diff. at is the field, "" for
// an object as a whole: the object is named where the finding is.
func findingHunk(r *Report, f Finding, n int) (at string, hunk []string) {
	var lines []string
	if f.Path != "" && (f.Before.Exists() || f.After.Exists()) {
		at = inert(string(f.Path))
		if len(at) > narrow {
			at = inert(shortPath(f.Path))
		}
		lines = valueLines(f)
	} else {
		i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Ref == f.Ref })
		if i < 0 || r.Changes[i].Diff == "" {
			return "", nil
		}
		n /= 2
		for l := range strings.SplitSeq(strings.TrimSuffix(r.Changes[i].Diff, "\n"), "\n") {
			if !strings.HasPrefix(l, "@@ -0,0 ") { // all of it is new
				lines = append(lines, l)
			}
		}
	}
	for i, l := range lines {
		if i == n && len(lines) > n+1 {
			hunk = append(hunk, " … "+plural(len(lines)-n, "more line"))
			break
		}
		hunk = append(hunk, cut(inert(l), lineLimit))
	}
	return at, hunk
}

// narrow is how many characters of code a phone shows in one line.
const narrow = 44

// lineLimit is how many characters of one line are shown to people.
const lineLimit = 240

// valueLines gives the values before and after at a finding's path as diff lines.
func valueLines(f Finding) []string {
	print := func(v object.Value, changed string) []string {
		if !v.Exists() {
			return nil
		}
		node := plain(v)
		if v.Masked() != nil {
			node = v.Text() + changed
		}
		segs := f.Path.Segments()
		last := segs[len(segs)-1]
		if m, ok := node.(map[string]any); ok && len(m) > 0 && last.Select == nil {
			return yamlLines(node, 2)
		}
		if last.Select != nil || last.Index >= 0 {
			return yamlLines([]any{node}, 2)
		}
		return yamlLines(map[string]any{last.Key: node}, 2)
	}
	changed := ""
	if b, a := f.Before.Masked(), f.After.Masked(); b != nil && a != nil && !b.Same(a) {
		changed = " (another value)"
	}
	text := hunks(print(f.Before, ""), print(f.After, changed))
	var out []string
	for l := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if !strings.HasPrefix(l, "@@") && l != "" {
			out = append(out, l)
		}
	}
	return out
}
