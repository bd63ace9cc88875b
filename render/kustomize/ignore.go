package kustomize

import (
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
)

// ignoreFile is what Flux's source-controller reads patterns from, in any folder of
// a repository: what they match is not in the artifact that is applied
// (https://fluxcd.io/flux/components/source/gitrepositories/#sourceignore-file).
const ignoreFile = ".sourceignore"

// An ignoring is one pattern in the spelling of .gitignore
// (https://git-scm.com/docs/gitignore#_pattern_format), as source-controller takes
// them: the last one that matches decides, and one that begins with ! takes a file
// back also when a folder above it was matched before.
type ignoring struct {
	dir      string // where the pattern stands, "." for the root
	segments []string
	back     bool // it takes back
	folders  bool // it matches folders alone, with all below them
	anywhere bool // it has no slash: the name of a file or folder at any depth
}

// parseIgnore reads the patterns of a text that stands in a folder.
func parseIgnore(dir, text string) []ignoring {
	var out []ignoring
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		if !strings.HasSuffix(line, `\ `) {
			line = strings.TrimRight(line, " ")
		}
		p := ignoring{dir: dir}
		line, p.back = strings.CutPrefix(line, "!")
		line, p.folders = strings.CutSuffix(line, "/")
		p.anywhere = !strings.Contains(line, "/")
		p.segments = strings.Split(strings.TrimPrefix(line, "/"), "/")
		out = append(out, p)
	}
	return out
}

// matches says whether a file, or a folder above it, is matched.
func (p ignoring) matches(name string) bool {
	rel := name
	if p.dir != "." {
		var ok bool
		if rel, ok = strings.CutPrefix(name, p.dir+"/"); !ok {
			return false
		}
	}
	segments := strings.Split(rel, "/")
	for n := 1; n <= len(segments); n++ {
		if p.folders && n == len(segments) {
			return false // the file itself
		}
		if p.anywhere && fits(p.segments[0], segments[n-1]) || !p.anywhere && fitAll(p.segments, segments[:n]) {
			return true
		}
	}
	return false
}

func fits(pattern, segment string) bool {
	ok, err := path.Match(pattern, segment)
	return err == nil && ok
}

// fitAll matches a whole path; ** stands for any number of folders.
func fitAll(patterns, segments []string) bool {
	// With the patterns so far, reach[i] says that the first i segments are matched.
	reach := make([]bool, len(segments)+1)
	reach[0] = true
	for k, pattern := range patterns {
		next := make([]bool, len(segments)+1)
		for i := range reach {
			switch {
			case !reach[i]:
			case pattern == "**" && k == len(patterns)-1:
				for j := i + 1; j <= len(segments); j++ {
					next[j] = true // all below, not the folder itself
				}
			case pattern == "**":
				for j := i; j <= len(segments); j++ {
					next[j] = true
				}
			case i < len(segments) && fits(pattern, segments[i]):
				next[i+1] = true
			}
		}
		reach = next
	}
	return reach[len(segments)]
}

// ignorings gives the patterns that count for the files below a folder: those of
// the folders above it first, and last the source's own.
func ignorings(t *source.Tree, dir string, names []string, own string) []ignoring {
	var out []ignoring
	for _, file := range ignoreFiles(dir, names) {
		if data, err := t.ReadFile(file); err == nil {
			out = append(out, parseIgnore(path.Dir(file), string(data))...)
		}
	}
	return append(out, parseIgnore(".", own)...)
}

// ignoreFiles gives the names under which patterns may lie that count below dir.
func ignoreFiles(dir string, names []string) []string {
	var out []string
	for up := dir; ; up = path.Dir(up) {
		out = append(out, path.Join(up, ignoreFile))
		if up == "." {
			break
		}
	}
	slices.Reverse(out)
	for _, name := range names {
		if path.Base(name) == ignoreFile && path.Dir(name) != dir {
			out = append(out, name)
		}
	}
	return out
}

// kept leaves out of names below dir what is ignored.
func kept(t *source.Tree, dir string, names []string, own string) []string {
	patterns := ignorings(t, dir, names, own)
	if len(patterns) == 0 {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		for _, p := range slices.Backward(patterns) {
			if p.matches(name) {
				return !p.back
			}
		}
		return false
	})
}
