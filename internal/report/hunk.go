package report

import (
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// findingHunk gives the lines of a diff that show the field a finding is about
// and nothing else, at most n of them; nil when the finding is about no field
// and the object has no diff. The first line names the object and the path.
func findingHunk(r *Report, f Finding, n int) []string {
	head := " " + f.Ref.String()
	var lines []string
	if f.Path != "" && (f.Before.Exists() || f.After.Exists()) {
		head += "   " + string(f.Path)
		lines = valueLines(f)
	} else {
		i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Ref == f.Ref })
		if i < 0 || r.Changes[i].Diff == "" {
			return nil
		}
		lines = strings.Split(strings.TrimSuffix(r.Changes[i].Diff, "\n"), "\n")
	}
	out := []string{cut(inert(head), lineLimit)}
	for i, l := range lines {
		if i == n && len(lines) > n+1 {
			out = append(out, " … "+plural(len(lines)-n, "more line"))
			break
		}
		out = append(out, cut(inert(l), lineLimit))
	}
	return out
}

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
