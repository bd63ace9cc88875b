package jsonnet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	gojsonnet "github.com/google/go-jsonnet"
)

// A lookup is what became of one import.
type lookup struct {
	hit     string // "" when nothing was found
	found   Found
	missing []string // what was looked for in vain, before the hit
	outside bool     // one of the places would have been outside the tree
}

// lookup looks for imported in the folder of the importing file and then in each
// folder of search.
func (s *Side) lookup(dir, imported string, search []string) (lookup, error) {
	var l lookup
	if imported == "" {
		return l, errors.New("import of an empty path")
	}
	if path.IsAbs(imported) {
		return l, fmt.Errorf("import %q: absolute paths are not read, only files of the repository by relative path", imported)
	}
	if strings.IndexByte(imported, 0) >= 0 {
		return l, fmt.Errorf("import %q: the path holds a zero byte", imported)
	}
	for i := -1; i < len(search); i++ {
		if i >= 0 {
			dir = search[i]
		}
		name := path.Join(dir, imported)
		if outside(name) {
			l.outside = true
			continue
		}
		found, err := s.Find(name)
		if err != nil {
			return l, fmt.Errorf("import %q: %w", imported, err)
		}
		l.found.Links = append(l.found.Links, found.Links...)
		if found.Missing != "" {
			l.missing = append(l.missing, found.Missing)
			continue
		}
		if found.Dir {
			return l, fmt.Errorf("import %q: %s is a folder", imported, name)
		}
		found.Links = l.found.Links
		l.hit, l.found = name, found
		return l, nil
	}
	return l, nil
}

// snippetName is the file name of the program that prdiff puts around an entry
// point. No file of a tree has it: their names begin with a slash here.
const snippetName = "<prdiff>"

// importer implements gojsonnet.Importer for one evaluator. The program it works
// for changes between evaluations.
type importer struct {
	side    *Side
	ctx     context.Context
	program *Program
	builtin map[string]gojsonnet.Contents // by text of the content
	missing string                        // the last import that was not found
}

// Import gives names of files as the program sees them: "/" and the path in the
// tree.
func (im *importer) Import(from, imported string) (gojsonnet.Contents, string, error) {
	if err := im.ctx.Err(); err != nil {
		return gojsonnet.Contents{}, "", err
	}
	if from == snippetName {
		name := strings.TrimPrefix(imported, "/")
		if err := im.side.checkDepth(name); err != nil {
			return gojsonnet.Contents{}, "", err
		}
		contents, err := im.side.Read(name)
		return contents, imported, err
	}
	if text, ok := im.program.Builtin[imported]; ok {
		contents, ok := im.builtin[text]
		if !ok {
			contents = gojsonnet.MakeContents(text)
			im.builtin[text] = contents
		}
		return contents, "<internal>/" + imported + ".libsonnet", nil
	}
	dir := "." // code from the command line is at home in the root
	if strings.HasPrefix(from, "/") {
		dir = path.Dir(from[1:])
	}
	l, err := im.side.lookup(dir, imported, im.program.Search)
	if err != nil {
		return gojsonnet.Contents{}, "", err
	}
	if l.hit == "" {
		im.missing = imported
		return gojsonnet.Contents{}, "", notFound(imported, dir, im.program.Search, l.outside)
	}
	if im.isCode(from, imported) {
		if err := im.side.checkDepth(l.hit); err != nil {
			return gojsonnet.Contents{}, "", err
		}
	}
	contents, err := im.side.Read(l.hit)
	return contents, "/" + l.hit, err
}

// isCode says whether a file imports another one as code, not as text.
func (im *importer) isCode(from, imported string) bool {
	if !strings.HasPrefix(from, "/") {
		return true
	}
	scan, err := im.side.Scan(from[1:])
	if err != nil {
		return true
	}
	for _, i := range scan.Imports {
		if i.Kind == Code && i.Path == imported {
			return true
		}
	}
	return false
}

func (s *Side) checkDepth(name string) error {
	scan, err := s.Scan(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s does not exist", name)
		}
		return err
	}
	if err := scan.tooDeep(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func notFound(imported, dir string, search []string, left bool) error {
	places := []string{dir}
	for _, s := range search {
		if s != dir {
			places = append(places, s)
		}
	}
	hint := ""
	if left {
		hint = "; paths that lead out of the repository are not followed"
	}
	return fmt.Errorf("import %q not found in %s%s", imported, strings.Join(places, ", "), hint)
}

// Resolve gives the file that an import in a file of the folder dir leads to, ""
// when it leads to none.
func (s *Side) Resolve(dir, imported string, search []string) string {
	l, err := s.lookup(dir, imported, search)
	if err != nil {
		return ""
	}
	return l.hit
}
