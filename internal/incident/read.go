package incident

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxFiles bounds how many files Read takes from a folder.
const maxFiles = 5000

// Read gives the entries of a team's own from files and folders of a tree, in the
// order of the paths and, within a folder and those below it, of the file names.
// In a folder it reads *.yaml, *.yml and *.json, and of *.md those that begin with
// a front matter; other files, and names that begin with a dot, are left alone. A
// file that is named by itself must hold an incident. The sound entries are given
// beside the errors, each of which has file and line.
func Read(fsys fs.FS, paths ...string) ([]Incident, error) {
	var entries []Incident
	var errs []error
	read := func(name string, named bool) {
		more, err := readFile(fsys, name, named)
		entries = append(entries, more...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	files := 0
	for _, p := range paths {
		root := path.Clean(strings.TrimSuffix(p, "/"))
		if !fs.ValidPath(root) {
			errs = append(errs, fmt.Errorf("%s: not a path inside the repository: write it from the root, such as docs/postmortems", p))
			continue
		}
		info, err := fs.Stat(fsys, root)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: no such file or folder: see `incidents.paths`", p))
			continue
		}
		if !info.IsDir() {
			read(root, true)
			continue
		}
		err = fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case name != root && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			if files++; files > maxFiles {
				return fmt.Errorf("%s: more than %d files", root, maxFiles)
			}
			read(name, false)
			return nil
		})
		if err != nil {
			errs = append(errs, err)
		}
	}
	return entries, errors.Join(errs...)
}

// readFile reads one file; named says that the user asked for this very one.
func readFile(fsys fs.FS, name string, named bool) ([]Incident, error) {
	ext := strings.ToLower(path.Ext(name))
	if !named && !slices.Contains([]string{".yaml", ".yml", ".json", ".md"}, ext) {
		return nil, nil
	}
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if ext != ".md" && ext != ".markdown" {
		return Parse(name, data)
	}
	if !named && !HasFrontMatter(data) {
		return nil, nil
	}
	e, err := ParseMarkdown(name, data)
	if err != nil {
		return nil, err
	}
	return []Incident{e}, nil
}
