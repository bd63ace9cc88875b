package plain

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
	"github.com/prdiff/prdiff/render"
)

// kustomizationNames are the file names that make a folder an overlay
// (https://kubectl.docs.kubernetes.io/references/kustomize/glossary/#kustomization).
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// template is the reason for files that another tool makes manifests of.
const template = "another tool's template"

// A scan sorts the files of a tree.
type scan struct {
	r        *Renderer
	t        *source.Tree
	all      []string
	dirs     map[string]bool   // every folder
	charts   map[string]bool   // folders with a Chart.yaml
	overlays map[string]string // folders with a kustomization, by its file

	plain   map[string][]string        // folders with manifests, and those
	near    map[string][]string        // files that are manifests with a mistake, if others lie beside them
	example map[string][]string        // the same for examples by name
	skipped map[render.Skipped]bool    // single files and folders
	settled map[string]map[string]bool // reason to topmost folder: no need to look further
}

func newScan(r *Renderer, t *source.Tree) (*scan, error) {
	all, err := t.Files(".")
	if err != nil {
		return nil, err
	}
	s := &scan{
		r: r, t: t, all: all,
		dirs: map[string]bool{}, charts: map[string]bool{}, overlays: map[string]string{},
		plain: map[string][]string{}, near: map[string][]string{}, example: map[string][]string{}, skipped: map[render.Skipped]bool{}, settled: map[string]map[string]bool{},
	}
	s.index()
	for _, name := range all {
		base := path.Base(name)
		switch {
		case !hasManifestName(base) || slices.Contains(kustomizationNames, base):
		case r.claims.has(name):
			s.claimed(name)
		default:
			s.file(name)
		}
	}
	// A repository of nothing but examples has them for its product; test data
	// is never one.
	if len(s.plain) == 0 {
		s.plain = s.example
		for skip := range s.skipped {
			if skip.Reason == "example" {
				delete(s.skipped, skip)
			}
		}
	}
	for dir, names := range s.near {
		if len(s.plain[dir]) > 0 {
			s.plain[dir] = append(s.plain[dir], names...)
			slices.Sort(s.plain[dir])
		}
	}
	return s, nil
}

func (s *scan) index() {
	for _, name := range s.all {
		for dir := path.Dir(name); !s.dirs[dir]; dir = path.Dir(dir) {
			s.dirs[dir] = true
		}
		base := path.Base(name)
		switch {
		case base == "Chart.yaml":
			s.charts[path.Dir(name)] = true
		case slices.Contains(kustomizationNames, base) && !s.isFlux(name):
			s.overlays[path.Dir(name)] = base
		}
	}
	for _, name := range s.all {
		if base := path.Base(name); slices.Contains(kustomizationNames, base) && s.overlays[path.Dir(name)] == "" && !s.r.claims.has(name) {
			s.file(name) // a Flux object with an unlucky name
		}
	}
}

// isFlux says whether a file called kustomization.yaml is an object of Flux.
func (s *scan) isFlux(name string) bool {
	data, err := s.t.ReadFile(name)
	return err == nil && bytes.Contains(data, []byte("kustomize.toolkit.fluxcd.io/"))
}

// file sorts one file that has the name of a manifest and that nobody claims.
func (s *scan) file(name string) {
	dir := path.Dir(name)
	if at, reason := s.outside(dir); reason != "" {
		s.leave(name, at, reason)
		return
	}
	if isTemplateName(path.Base(name)) {
		if v, _ := s.look(name); v.verdict != foreign {
			s.skip(name, template)
		}
		return
	}
	v, data := s.look(name)
	switch {
	case v.verdict == foreign && v.near && s.overlays[dir] == "" && s.governor(dir) == "":
		s.near[dir] = append(s.near[dir], name)
	case v.verdict == foreign:
	case v.verdict == leftOut && path.Base(name) == "spec.json": // of a Tanka environment, whose finder speaks of it
	case v.verdict == leftOut:
		s.skip(name, v.reason)
	case s.overlays[dir] != "" && s.r.claims.has(path.Join(dir, s.overlays[dir])):
		s.skip(name, "not listed by "+s.overlays[dir])
	case s.overlays[dir] != "":
		s.skip(dir, "belongs to "+s.overlays[dir]+", which is not rendered")
	case s.governor(dir) != "":
		s.skip(name, "used by no overlay: below "+s.governor(dir))
	case linksInside(s.t, name):
	default:
		if origin := s.generatedFrom(name, data); origin != "" {
			s.skip(name, "generated from "+origin)
			return
		}
		s.plain[dir] = append(s.plain[dir], name)
	}
}

// claimed notes manifests below the folder of an environment. They may be read by
// it, but are no units of their own: most are output.
func (s *scan) claimed(name string) {
	dir := s.r.claims.folder(name)
	if dir == "" || s.inChart(path.Dir(name)) || render.Vendored(path.Dir(name)) || render.Vendored(dir) || !s.t.Exists(path.Join(dir, "main.jsonnet")) {
		return
	}
	v, data := s.look(name)
	if v.verdict != manifest {
		return
	}
	for at := path.Dir(name); at != dir && at != "."; at = path.Dir(at) {
		if isOutputFolder(path.Base(at)) {
			s.skip(at, "generated from "+dir)
			return
		}
	}
	if saysGenerated(data) {
		s.skip(name, "generated from "+dir)
		return
	}
	s.skip(name, "below the environment "+dir+", which decides what is read")
}

func (s *scan) inChart(dir string) bool {
	for up := dir; up != "."; up = path.Dir(up) {
		if s.charts[up] {
			return true
		}
	}
	return false
}

// governor gives the nearest folder above dir whose kustomization decides about
// what lies below it, "" when there is none. The root's decides about its own
// folder alone: repositories list a part of themselves there.
func (s *scan) governor(dir string) string {
	for up := path.Dir(dir); up != "."; up = path.Dir(up) {
		if file := s.overlays[up]; file != "" && s.r.claims.has(path.Join(up, file)) {
			return up
		}
	}
	return ""
}

// outside says why nothing in a folder is plain, and the topmost folder for which
// that holds; "" when it may be.
func (s *scan) outside(dir string) (at, reason string) {
	// A chart that is the whole repository does not own all of it.
	for up := dir; up != "."; up = path.Dir(up) {
		if s.charts[up] {
			return up, "helm chart, not rendered"
		}
	}
	if render.Vendored(dir) {
		return topmost(dir, render.Vendored), "vendored"
	}
	if s.r.opts.Include != nil && s.r.opts.Include(dir) {
		return "", ""
	}
	notDeployed := func(dir string) string {
		return render.NotDeployedAmong(dir, func(d string) bool { return s.dirs[d] })
	}
	if reason := notDeployed(dir); reason != "" {
		return topmost(dir, func(d string) bool { return notDeployed(d) == reason }), reason
	}
	switch path.Base(dir) {
	case "templates":
		return dir, template
	case "patches":
		return dir, "patches that no kustomization lists"
	}
	return "", ""
}

// topmost gives the folder nearest to the root, at or above dir, for which holds is true.
func topmost(dir string, holds func(string) bool) string {
	for up := path.Dir(dir); up != "." && holds(up); up = path.Dir(dir) {
		dir = up
	}
	return dir
}

// leave notes a folder that is left out, once there is a manifest in it. Of test
// data and vendored trees there can be thousands of files: one is enough.
func (s *scan) leave(name, at, reason string) {
	if s.settled[reason][at] && reason != "example" {
		return
	}
	if v, _ := s.look(name); v.verdict != manifest && (v.verdict != leftOut || reason != template) {
		return
	}
	if s.settled[reason] == nil {
		s.settled[reason] = map[string]bool{}
	}
	s.settled[reason][at] = true
	s.skip(at, reason)
	if reason == "example" {
		s.example[path.Dir(name)] = append(s.example[path.Dir(name)], name)
	}
}

func (s *scan) skip(name, reason string) {
	s.skipped[render.Skipped{Path: name, Reason: reason}] = true
}

// look reads a file and judges it. One that cannot be read is left out, with the reason.
func (s *scan) look(name string) (sight, []byte) {
	data, err := s.t.View(name)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return sight{verdict: leftOut, reason: err.Error()}, nil
	}
	return look(name, data), data
}

// outputFolders are names of folders for what a program writes.
func isOutputFolder(base string) bool {
	switch base {
	case "gen", "generated", "rendered", "dist", "build", "out", "bundle":
		return true
	}
	return strings.HasSuffix(base, "-compiled")
}

// generatedFrom says what a manifest is committed output of, "" when it is a
// source or when nothing that is rendered here could have made it: then the output
// is the best there is.
func (s *scan) generatedFrom(name string, data []byte) string {
	dir := path.Dir(name)
	for up := dir; up != "."; up = path.Dir(up) {
		if isOutputFolder(path.Base(up)) {
			return s.sourceAround(path.Dir(up))
		}
	}
	if saysGenerated(data) {
		return s.sourceAround(dir)
	}
	return ""
}

// sourceAround gives something that another renderer reads in a folder or in one
// above it, the root only when it is the folder itself.
func (s *scan) sourceAround(dir string) string {
	for up := dir; ; up = path.Dir(up) {
		if claim := s.r.claims.dirs[up]; claim != "" && (up != "." || dir == ".") {
			return claim
		}
		if up == "." {
			return ""
		}
	}
}

// saysGenerated says whether the head of a file says that a program wrote it. The
// bare word "generated" also stands in ordinary comments.
func saysGenerated(data []byte) bool {
	head := data[:min(len(data), 2048)]
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || bytes.Equal(line, []byte("---")):
			continue
		case line[0] != '#':
			return false
		}
		upper := bytes.ToUpper(line)
		if bytes.HasPrefix(line, []byte("# Source: ")) || bytes.Contains(upper, []byte("DO NOT EDIT")) || bytes.Contains(upper, []byte("AUTO-GENERATED")) || bytes.Contains(upper, []byte("AUTOGENERATED")) {
			return true
		}
	}
	return false
}

func (s *scan) folders() []string {
	var out []string
	for dir := range s.plain {
		out = append(out, dir)
	}
	slices.Sort(out)
	return out
}

func (s *scan) reasons() []render.Skipped {
	var out []render.Skipped
	for skip := range s.skipped {
		out = append(out, skip)
	}
	slices.SortFunc(out, func(a, b render.Skipped) int {
		return strings.Compare(fmt.Sprint(a.Path, "\x00", a.Reason), fmt.Sprint(b.Path, "\x00", b.Reason))
	})
	return out
}
