// Package helm renders Helm charts with Helm's own loader and template engine,
// as libraries: no helm program, no cluster, no network. It is the only package
// that imports Helm.
package helm

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/ignore"

	"github.com/prdiff/prdiff/internal/source"
)

// Limits on what a chart may hold. Helm's own are the same for one file
// (loader.MaxDecompressedFileSize, 5 MiB) and for a packed chart
// (loader.MaxDecompressedChartSize, 100 MiB); folders have none there.
const (
	maxFileBytes  = 5 << 20
	maxChartBytes = 100 << 20
	maxNesting    = 8 // levels of file:// dependencies
)

// chartFile is the file that makes a folder a chart; Helm accepts no other spelling.
const chartFile = "Chart.yaml"

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// loadChart reads the chart in folder dir as `helm template` would read it from
// disk: .helmignore is honoured, packed and unpacked dependencies in charts/ are
// part of it. Dependencies by file:// that are not in charts/ are read from
// where they point, inside the tree. It fails when a dependency is neither.
func loadChart(t *source.Tree, dir string) (*chart.Chart, error) {
	return load(t, dir, 0)
}

func load(t *source.Tree, dir string, depth int) (*chart.Chart, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("%s: dependencies by file:// nest more than %d levels deep", dir, maxNesting)
	}
	files, err := readFiles(t, dir)
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(dir, chartFile), err)
	}
	return c, addDependencies(t, dir, c, depth)
}

// readFiles gives the files of a chart folder with names relative to it.
func readFiles(t *source.Tree, dir string) ([]*loader.BufferedFile, error) {
	rules := ignore.Empty()
	if data, err := t.ReadFile(path.Join(dir, ignore.HelmIgnore)); err == nil {
		parsed, err := ignore.Parse(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(dir, ignore.HelmIgnore), err)
		}
		rules = parsed
	}
	rules.AddDefaults()
	var files []*loader.BufferedFile
	var total int64
	err := walk(t, dir, func(name string, info fs.FileInfo) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
		if dir == "." {
			rel = name
		}
		if rules.Ignore(rel, info) {
			if info.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info.IsDir() {
			return nil
		}
		limit := int64(maxFileBytes)
		if strings.HasSuffix(rel, ".tgz") {
			limit = maxChartBytes
		}
		if info.Size() > limit {
			return fmt.Errorf("%s: %d bytes, more than the %d that a chart's file may have", name, info.Size(), limit)
		}
		if total += info.Size(); total > maxChartBytes {
			return fmt.Errorf("%s: the chart's files have more than %d bytes together", dir, maxChartBytes)
		}
		data, err := t.ReadFile(name)
		if err != nil {
			return err
		}
		files = append(files, &loader.BufferedFile{Name: rel, Data: bytes.TrimPrefix(data, utf8BOM)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// walk visits dir and all below it, links followed, in byte order. fs.WalkDir
// would not follow links to folders, as Helm does.
func walk(t *source.Tree, dir string, visit func(name string, info fs.FileInfo) error) error {
	return walkDepth(t, dir, visit, 0)
}

func walkDepth(t *source.Tree, dir string, visit func(string, fs.FileInfo) error, depth int) error {
	if depth > 64 {
		return fmt.Errorf("%s: folders nest more than 64 levels deep (a link to a folder above it?)", dir)
	}
	entries, err := t.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		info, err := t.Stat(name)
		if err != nil {
			return err
		}
		if err := visit(name, info); errors.Is(err, fs.SkipDir) {
			continue
		} else if err != nil {
			return err
		}
		if info.IsDir() {
			if err := walkDepth(t, name, visit, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// addDependencies makes sure that every declared dependency is there.
func addDependencies(t *source.Tree, dir string, c *chart.Chart, depth int) error {
	present := map[string]bool{}
	for _, d := range c.Dependencies() {
		present[d.Name()] = true
	}
	var missing []string
	for _, d := range c.Metadata.Dependencies {
		if present[d.Name] {
			continue
		}
		rel, local := strings.CutPrefix(d.Repository, "file://")
		if !local || strings.HasPrefix(rel, "/") {
			missing = append(missing, fmt.Sprintf("%s %s from %s", d.Name, d.Version, d.Repository))
			continue
		}
		at := path.Join(dir, rel)
		if at == ".." || strings.HasPrefix(at, "../") {
			return fmt.Errorf("%s: dependency %s points outside the repository: %s", path.Join(dir, chartFile), d.Name, d.Repository)
		}
		sub, err := load(t, at, depth+1)
		if err != nil {
			return fmt.Errorf("dependency %s of %s: %w", d.Name, dir, err)
		}
		present[d.Name] = true
		c.AddDependency(sub)
	}
	if len(missing) > 0 {
		return &MissingDependencies{Chart: dir, Dependencies: missing}
	}
	return nil
}

// MissingDependencies says that a chart cannot render because charts that it
// depends on are not in the repository.
type MissingDependencies struct {
	Chart        string   // the chart's folder
	Dependencies []string // each as "name version from repository"
}

func (e *MissingDependencies) Error() string {
	return fmt.Sprintf("%s: needs chart %s, which is not vendored: run `helm dependency update %s` and commit its charts/ folder",
		path.Join(e.Chart, chartFile), strings.Join(e.Dependencies, ", "), e.Chart)
}

// remoteSchema finds a reference in a values.schema.json that leads to another
// file or to the network: such a schema is not applied, because looking it up
// would leave the tree.
var remoteSchema = regexp.MustCompile(`"\$(?:ref|schema|id)"\s*:\s*"(?:https?|file|ftp)://[^"]*"`)

// unreachableSchema says whether validating values would fetch something. The
// meta schemas of json-schema.org are built into the validator.
func unreachableSchema(c *chart.Chart) bool {
	for _, m := range remoteSchema.FindAll(c.Schema, -1) {
		if bytes.HasPrefix(m, []byte(`"$ref"`)) && !bytes.Contains(m, []byte("://json-schema.org/")) {
			return true
		}
	}
	for _, d := range c.Dependencies() {
		if unreachableSchema(d) {
			return true
		}
	}
	return false
}
