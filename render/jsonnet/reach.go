package jsonnet

import (
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/render"
)

// A NotFound is an import that leads to no file.
type NotFound struct {
	Path   string // the importing file; "" for code given as a variable
	Line   int
	Import string // as written
}

// A Reach is what a program can read.
type Reach struct {
	render.Inputs
	// Code are the files among Inputs.Files that are read as jsonnet, in byte order.
	Code []string
	// NotFound are imports without a file, in the order of Code and of lines. Such
	// an import is no fault as long as it is not evaluated.
	NotFound []NotFound
}

// Reach follows the import statements of a program without evaluating it. What a
// statement in dead code names counts as read.
func (s *Side) Reach(p Program) Reach {
	w := walker{side: s, program: p, seen: map[string]bool{}, files: map[string]bool{}, missing: map[string]bool{}}
	w.start()
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.follow(next)
	}
	return w.reach()
}

type walker struct {
	side    *Side
	program Program
	queue   []string // code files to scan
	code    []string
	seen    map[string]bool // code files queued
	files   map[string]bool
	missing map[string]bool

	notFound  []NotFound
	unknown   string
	helm      bool
	kustomize bool
}

func (w *walker) start() {
	found, err := w.side.Find(w.program.Entry)
	switch {
	case err != nil:
		w.unknown = err.Error()
	case found.Missing != "":
		w.missing[found.Missing] = true
	default:
		w.read(w.program.Entry, found, Code)
	}
	v := w.program.Vars
	for _, code := range []map[string]string{v.ExtCode, v.TLACode, w.program.ExtCode} {
		for _, text := range code {
			w.scanned("", ".", ScanSource([]byte(text)))
		}
	}
	for _, name := range []map[string]string{v.ExtCodeFile, v.TLACodeFile} {
		for _, file := range name {
			w.importing("", ".", Import{Kind: Code, Path: file})
		}
	}
	for _, name := range []map[string]string{v.ExtStrFile, v.TLAStrFile} {
		for _, file := range name {
			w.importing("", ".", Import{Kind: Text, Path: file})
		}
	}
}

// read takes note of a file that is there.
func (w *walker) read(name string, found Found, kind Kind) {
	w.files[name] = true
	w.files[found.Real] = true
	for _, link := range found.Links {
		w.files[link] = true
	}
	if kind == Code && !w.seen[name] {
		w.seen[name] = true
		w.queue = append(w.queue, name)
	}
}

func (w *walker) follow(name string) {
	w.code = append(w.code, name)
	scan, err := w.side.Scan(name)
	if err != nil {
		w.unknown = err.Error()
		return
	}
	w.scanned(name, path.Dir(name), scan)
}

func (w *walker) scanned(from, dir string, scan Scan) {
	for _, i := range scan.Imports {
		w.importing(from, dir, i)
	}
	for _, n := range scan.Natives {
		w.helm = w.helm || n == "helmTemplate"
		w.kustomize = w.kustomize || n == "kustomizeBuild"
	}
	if scan.ComputedNative {
		w.unknown = from + ": looks up a native function by a computed name"
	}
}

func (w *walker) importing(from, dir string, i Import) {
	if _, ok := w.program.Builtin[i.Path]; ok {
		return
	}
	l, err := w.side.lookup(dir, i.Path, w.program.Search)
	for _, m := range l.missing {
		w.missing[m] = true
	}
	for _, link := range l.found.Links {
		w.files[link] = true
	}
	if err != nil {
		// The program fails when it comes to this import; what it would read
		// when the fault is mended, nobody knows.
		w.unknown = err.Error()
		return
	}
	if l.hit == "" {
		w.notFound = append(w.notFound, NotFound{Path: from, Line: i.Line, Import: i.Path})
		return
	}
	w.read(l.hit, l.found, i.Kind)
}

func (w *walker) reach() Reach {
	slices.Sort(w.code)
	slices.SortStableFunc(w.notFound, func(a, b NotFound) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	})
	r := Reach{Code: w.code, NotFound: w.notFound}
	r.Files, r.Missing, r.Unknown = sortedKeys(w.files), sortedKeys(w.missing), w.unknown
	if w.kustomize && r.Unknown == "" {
		r.Unknown = "calls kustomizeBuild, which may read any file"
	}
	if w.helm {
		charts, err := w.side.charts()
		if err != nil && r.Unknown == "" {
			r.Unknown = err.Error()
		}
		r.Dirs = slices.Clone(charts)
	}
	return r
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
