package report

import (
	"slices"
	"strings"
	"unicode"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// findingHunk gives the lines of a diff that show the field a finding is about
// and nothing else, at most n of them, or half as many of a whole object; nil when
// the finding is about no field and the object has no diff. at is the field, "" for
// an object as a whole: the object is named where the finding is. all says that no
// line was left out.
func findingHunk(r *Report, f Finding, n int) (at string, hunk []string, all bool) {
	var lines []string
	all = true
	if f.Path != "" && (f.Before.Exists() || f.After.Exists()) {
		at = inert(string(f.Path))
		if len(at) > narrow {
			at = inert(shortPath(f.Path))
		}
		lines = valueLines(f)
		if list, several := variableLines(r, f); several != nil {
			at, lines = inert(list), several
		}
	} else {
		i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Ref == f.Ref })
		if i < 0 || r.Changes[i].Diff == "" {
			return "", nil, false
		}
		n /= 2
		for l := range strings.SplitSeq(strings.TrimSuffix(r.Changes[i].Diff, "\n"), "\n") {
			if !strings.HasPrefix(l, "@@ -0,0 ") { // all of it is new
				lines = append(lines, l)
			}
		}
		if len(lines) > n+1 {
			lines, all = withoutHead(lines)
		}
	}
	for i, l := range lines {
		if i == n && len(lines) > n+1 {
			hunk = append(hunk, " … "+plural(len(lines)-n, "more line"))
			all = false
			break
		}
		hunk = append(hunk, cut(inert(l), lineLimit))
	}
	return at, hunk, all
}

// variableLines gives what changes of all the environment variables that the message
// of a finding about one of them names, and the path of their list; nil when it names
// no other one that changes.
func variableLines(r *Report, f Finding) (at string, lines []string) {
	list, _, _ := variable(f.Path)
	if list == "" {
		return "", nil
	}
	i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Ref == f.Ref })
	if i < 0 {
		return "", nil
	}
	named := strings.FieldsFunc(f.Message, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	})
	told := map[string]bool{}
	for _, field := range r.Changes[i].Fields {
		of, name, whole := variable(field.Path)
		if of != list || field.Hidden != "" || !slices.Contains(named, name) {
			continue
		}
		shift := ""
		if !whole {
			shift = "  "
			if !told[name] {
				lines = append(lines, "   - name: "+name)
			}
		}
		told[name] = true
		for _, l := range valueLines(Finding{Finding: rule.Finding{Path: field.Path, Before: field.Before, After: field.After}}) {
			lines = append(lines, l[:1]+shift+l[1:])
		}
	}
	if len(told) < 2 {
		return "", nil
	}
	return shortPath(list), lines
}

// variable gives the list and the name of the environment variable that a path leads
// to, and whether it leads to the whole of it; "" when it leads to none.
func variable(p object.Path) (list object.Path, name string, whole bool) {
	segs := p.Segments()
	for i, s := range segs {
		switch {
		case s.Select != nil && i > 0 && segs[i-1].Key == "env":
			return list, s.Select[0][1], i+1 == len(segs)
		case s.Select != nil:
			var pairs []string
			for _, kv := range s.Select {
				pairs = append(pairs, kv[0], kv[1])
			}
			list = list.Select(pairs...)
		case s.Index >= 0:
			list = list.Index(s.Index)
		default:
			list = list.Key(s.Key)
		}
	}
	return "", "", false
}

// withoutHead leaves out of a whole object what the finding's title says: kind and
// name, and what stands beside them. all says that there was nothing to leave out.
func withoutHead(lines []string) (out []string, all bool) {
	for i, l := range lines {
		if l == "" || l[0] != lines[0][0] || l[0] != '+' && l[0] != '-' {
			return lines, true
		}
		if key, _, ok := strings.Cut(l[1:], ":"); ok && strings.TrimLeft(key, " -") == key && !slices.Contains([]string{"apiVersion", "kind", "metadata"}, key) {
			return lines[i:], i == 0
		}
	}
	return lines, true
}

// oneOfSeveral says whether a finding gives one value of a text of which the change
// knows several: a timeout of two in a configuration file.
func oneOfSeveral(c Change, f Finding) bool {
	for _, field := range c.Fields {
		if string(field.Path) != string(f.Path) && within(string(field.Path), string(f.Path)) && plainLine(f.Before) && plainLine(f.After) {
			return true
		}
	}
	return false
}

// plainLine says whether a value is no structure and fits a line.
func plainLine(v object.Value) bool {
	return v.Type() != object.Map && v.Type() != object.List && !strings.Contains(v.Text(), "\n")
}

// saidAbove says whether the hunks of findings that were shown have all of a
// change's diff: then it is not printed again.
func saidAbove(r *Report, c Change, shown []Finding, n int) bool {
	if c.Diff == "" {
		return false
	}
	var paths []string
	for _, f := range shown {
		same := f.Ref
		same.Unit = c.Ref.Unit
		if same != c.Ref || f.Ref.Unit != c.Ref.Unit && !slices.Contains(f.Units, c.Ref.Unit) {
			continue
		}
		at, hunk, all := findingHunk(r, f, n)
		switch {
		case hunk == nil || !all:
		case at == "":
			return true
		case oneOfSeveral(c, f):
		default:
			paths = append(paths, string(f.Path))
		}
	}
	if len(paths) == 0 || len(c.Fields) == 0 || c.Action == diff.Rename {
		return false
	}
	for _, field := range c.Fields {
		if field.Hidden == "" && !slices.ContainsFunc(paths, func(p string) bool { return within(string(field.Path), p) }) {
			return false
		}
	}
	return true
}

// within says whether a path is another one, or leads into what is there.
func within(path, at string) bool {
	rest, ok := strings.CutPrefix(path, at)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// hunkLines is how many lines of the field that it is about a finding shows.
const hunkLines = 16

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
