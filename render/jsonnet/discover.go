package jsonnet

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// Leave says which files and folders belong to other renderers; Find proposes
// nothing in them. It is called before Find.
func (r *Renderer) Leave(taken []string) {
	r.taken = map[string]bool{}
	for _, name := range taken {
		r.taken[path.Clean(name)] = true
	}
}

func (r *Renderer) isTaken(name string) bool {
	for at := name; ; at = path.Dir(at) {
		if r.taken[at] {
			return true
		}
		if at == "." || at == "/" {
			return false
		}
	}
}

// discover gives the .jsonnet files that no other file imports and that, or whose
// imports, speak of objects of Kubernetes. Whether they give any, only evaluation
// tells. Those in folders that are not deployed by their name are left out, the
// reason beside them.
func (r *Renderer) discover(t *source.Tree) (entries []string, skipped []render.Skipped, err error) {
	names, err := t.Files(".")
	if err != nil {
		return nil, nil, err
	}
	dirs := map[string]bool{}
	var candidates, code []string
	for _, name := range names {
		for up := path.Dir(name); !dirs[up]; up = path.Dir(up) {
			dirs[up] = true
		}
		ext := path.Ext(name)
		if ext != ".jsonnet" && ext != ".libsonnet" || render.Vendored(path.Dir(name)) {
			continue
		}
		code = append(code, name)
		if ext == ".jsonnet" && !r.isTaken(name) && !slices.Contains(strings.Split(path.Dir(name), "/"), "lib") {
			candidates = append(candidates, name)
		}
	}
	if len(candidates) == 0 {
		return nil, nil, nil
	}
	side := r.Engine.On(t)
	imported := side.importedNames(code)
	var examples []render.Skipped
	for _, name := range candidates {
		if imported[name] || !side.speaksOfObjects(name) {
			continue
		}
		switch reason := render.NotDeployedAmong(path.Dir(name), func(d string) bool { return dirs[d] }); reason {
		case "":
			entries = append(entries, name)
		case render.Example:
			examples = append(examples, render.Skipped{Path: name, Reason: reason})
		default:
			skipped = append(skipped, render.Skipped{Path: name, Reason: reason})
		}
	}
	if len(entries) > 0 {
		return entries, append(skipped, examples...), nil
	}
	for _, e := range examples {
		entries = append(entries, e.Path)
	}
	return entries, skipped, nil
}

// importedNames gives the files that others import.
func (s *Side) importedNames(code []string) map[string]bool {
	out := map[string]bool{}
	for _, name := range code {
		scan, err := s.Scan(name)
		if err != nil || len(scan.Imports) == 0 {
			continue
		}
		search, _, err := s.defaultPath(name)
		if err != nil {
			continue
		}
		for _, i := range scan.Imports {
			if hit := s.Resolve(path.Dir(name), i.Path, search); hit != "" && hit != name {
				out[hit] = true
			}
		}
	}
	return out
}

// speaksOfObjects says whether an entry point, or what it imports, names an
// apiVersion. Alerts and dashboards do not.
func (s *Side) speaksOfObjects(entry string) bool {
	search, _, err := s.defaultPath(entry)
	if err != nil {
		return false
	}
	for _, name := range s.Reach(Program{Entry: entry, Search: search}).Code {
		if contents, err := s.Read(name); err == nil && bytes.Contains(contents.Data(), []byte("apiVersion")) {
			return true
		}
	}
	return false
}

var undefinedVariable = regexp.MustCompile(`[Uu]ndefined external variable: (\S+)`)

// excuse gives the error of an entry point that nobody named: it was a guess, so
// that what does not evaluate alone is left out with the reason.
func excuse(err error) error {
	if m := undefinedVariable.FindStringSubmatch(err.Error()); m != nil {
		return &render.SkipError{Reason: fmt.Sprintf("needs external variable %s: name the file under jsonnet in .prdiff.yaml, and the variable under units", m[1])}
	}
	var fault *Error
	if errors.As(err, &fault) && fault.Missing != "" {
		return &render.SkipError{Reason: fmt.Sprintf("import %s not found: vendor it into the repository", fault.Missing)}
	}
	return &render.SkipError{Reason: "does not evaluate to Kubernetes objects alone: " + err.Error()}
}
