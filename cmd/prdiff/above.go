package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/gitops"
)

// Two folders of one project, such as two environments of it, may need what is
// beside or above them: the root of a Tanka project with its libraries, a base, a
// chart. Then both are looked at where they stand, in one tree with all of that.

// maxLooked bounds the files that are listed to find out whether that is so.
const maxLooked = 100_000

// projectOf gives the folder that has all that two folders need, and what they are
// called in it. There is none when they need nothing outside of them, when one
// holds the other, or when what they need is not in the same repository (without
// one: in the same Tanka project, in the folder where prdiff was started, or beside
// them).
func projectOf(before, after, start string) (root string, names [2]string, ok bool) {
	b, errB := filepath.EvalSymlinks(before)
	a, errA := filepath.EvalSymlinks(after)
	start, errS := filepath.EvalSymlinks(start)
	if errB != nil || errA != nil || errS != nil {
		return "", names, false
	}
	bound, disk := "", filepath.VolumeName(a)+string(filepath.Separator)
	switch top, project := repositoryAbove(b), tankaRoot(common(a, b), disk); {
	case top != "" && inFolder(a, top):
		bound = top
	case top == "" && project != "":
		bound = project
	case inFolder(a, start) && inFolder(b, start):
		bound = start
	default:
		bound = common(a, b)
	}
	return neededBy(b, a, bound)
}

// projectWithin is projectOf for two folders inside of a third, outside of which
// nothing is looked at: names are relative to that one, and so is root.
func projectWithin(before, after, within string) (root string, names [2]string, ok bool) {
	bound, err := filepath.EvalSymlinks(within)
	if err != nil {
		return "", names, false
	}
	var dirs [2]string
	for i, name := range []string{before, after} {
		dirs[i], err = filepath.EvalSymlinks(filepath.Join(bound, filepath.FromSlash(name)))
		if err != nil || !inFolder(dirs[i], bound) {
			return "", names, false
		}
	}
	root, names, ok = neededBy(dirs[0], dirs[1], bound)
	if !ok {
		return "", names, false
	}
	root, err = filepath.Rel(bound, root)
	return filepath.ToSlash(root), names, err == nil
}

// neededBy gives the folder that has two folders and all that they need inside the
// bound, none when that is nothing or when one holds the other.
func neededBy(b, a, bound string) (root string, names [2]string, ok bool) {
	if inFolder(a, b) || inFolder(b, a) {
		return "", names, false
	}
	root = common(a, b)
	needs := neededAbove(b, bound, neededAbove(a, bound, nil))
	for _, need := range needs {
		root = common(root, need)
	}
	if len(needs) == 0 {
		return "", names, false
	}
	for i, dir := range []string{b, a} {
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return "", names, false
		}
		names[i] = filepath.ToSlash(rel)
	}
	return root, names, true
}

// absolute gives a path that the user wrote as one from the root of the disk.
func (e env) absolute(p string) string {
	abs, err := filepath.Abs(e.path(p))
	if err != nil {
		return e.path(p)
	}
	return abs
}

func (e env) isFolder(p string) bool {
	info, err := os.Stat(e.path(p))
	return err == nil && info.IsDir()
}

// inFolder says whether a path is a folder, or below it.
func inFolder(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}

// common gives the nearest folder that has both.
func common(a, b string) string {
	for !inFolder(b, a) {
		up := filepath.Dir(a)
		if up == a {
			break
		}
		a = up
	}
	return a
}

func repositoryAbove(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// neededAbove adds what is outside of a folder, inside the bound, and named by what
// is in it: the root of a Tanka project, and what kustomizations and charts refer to.
func neededAbove(dir, bound string, needs []string) []string {
	add := func(p string) {
		if real, err := filepath.EvalSymlinks(p); err == nil && !inFolder(real, bound) {
			return // a link leads out, and what it leads to is not read
		}
		if inFolder(p, bound) && !inFolder(p, dir) && !slices.Contains(needs, p) {
			needs = append(needs, p)
		}
	}
	looked := 0
	jsonnet := false
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the rest is looked at; reading the folder tells what is wrong
		}
		if looked++; looked > maxLooked {
			return fs.SkipAll
		}
		switch base := d.Name(); {
		case d.IsDir() && (base == ".git" || base == "node_modules"):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(base, ".jsonnet"):
			jsonnet = jsonnet || tankaRoot(filepath.Dir(name), dir) == ""
		case d.Type().IsRegular():
			for _, p := range references(name) {
				add(p)
			}
		}
		return nil
	})
	if jsonnet {
		if root := tankaRoot(dir, bound); root != "" {
			add(root)
		}
	}
	// A base has a base in its turn.
	for i := 0; i < len(needs) && i < 1000; i++ {
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml"} {
			for _, p := range references(filepath.Join(needs[i], name)) {
				add(p)
			}
		}
	}
	return needs
}

// tankaRoot gives the root of the Tanka project that a folder is in, as Tanka finds
// it, "" when there is none up to the bound.
func tankaRoot(dir, bound string) string {
	for _, marker := range []string{"tkrc.yaml", "jsonnetfile.json"} {
		for d := dir; inFolder(d, bound); d = filepath.Dir(d) {
			if _, err := os.Stat(filepath.Join(d, marker)); err == nil {
				return d
			}
			if d == filepath.Dir(d) {
				break
			}
		}
	}
	return ""
}

// references gives the paths above its folder that a kustomization or chart names.
func references(name string) []string {
	switch filepath.Base(name) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization", "Chart.yaml":
	default:
		return nil
	}
	const most = 1 << 20 // bytes; none that people write comes near
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var content any
	if yaml.Unmarshal(data, &content) != nil {
		return nil // rendering tells what is wrong
	}
	var out []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, item := range v {
				walk(item)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		case string:
			if p := strings.TrimPrefix(v, "file://"); strings.HasPrefix(p, "../") || p == ".." {
				out = append(out, filepath.Join(filepath.Dir(name), filepath.FromSlash(p)))
			}
		}
	}
	walk(content)
	slices.Sort(out)
	return out
}

// relativeTo gives a name relative to a folder; ok is false when it is not below.
func relativeTo(dir, name string) (rel string, ok bool) {
	switch {
	case dir == "." || name == dir:
		return strings.TrimPrefix(strings.TrimPrefix(name, dir), "/"), true
	case strings.HasPrefix(name, dir+"/"):
		return name[len(dir)+1:], true
	}
	return "", false
}

// pairFolders matches the units of two folders of one tree, by where they are in
// them; what is left by itself on both sides goes together.
func pairFolders(base, head *gitops.Walked, from [2]string) []pairing {
	within := func(w *gitops.Walked, dir string) []placedUnit {
		var out []placedUnit
		for _, u := range w.Units {
			if rel, ok := relativeTo(dir, u.Path); ok {
				out = append(out, placedAt(u, rel))
			}
		}
		return out
	}
	return pairPlaced(within(base, from[0]), within(head, from[1]), true)
}

// elsewhere gives the problems of both sides under the names that the files have
// on the other one.
func (c *comparison) elsewhere(before, after *render.Output) []render.Problem {
	if !c.twoFolders() {
		return nil
	}
	var out []render.Problem
	for i, o := range []*render.Output{before, after} {
		for _, p := range o.Problems {
			if rel, ok := relativeTo(c.from[i], p.Path); ok && p.Part == "" {
				p.Path = path.Join(c.from[1-i], rel)
				out = append(out, p)
			}
		}
	}
	return out
}

// withoutTargets leaves out where two environments go: that it is not the same
// place is why there are two.
func withoutTargets(out *render.Output) *render.Output {
	settled := *out
	settled.Parts = slices.Clone(out.Parts)
	for i := range settled.Parts {
		settled.Parts[i].Target = nil
	}
	return &settled
}

// twoFolders says whether two folders of one tree are compared.
func (c *comparison) twoFolders() bool { return c.from != [2]string{} }

// advise adds to an error what to do where folders were named.
func (c *comparison) advise(text string) string {
	if c.folders && strings.Contains(text, " outside the repository") {
		text += "; start prdiff in the folder that has all of it"
	}
	return text
}

// notInProject makes a failure of what was left out because its project was not
// found, where folders were named and it is not the same in both.
func notInProject(u *report.Unit, set pathSet) {
	if strings.HasPrefix(u.Error, "not in a Tanka project") && len(set.below(path.Dir(u.Name))) > 0 {
		u.Status = report.Failed
		u.Error += "; name folders that lie in one project, or put an empty jsonnetfile.json ({}) at its root"
	}
}
