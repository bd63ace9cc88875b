package gitops

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/prdiff/prdiff/internal/source"
)

// skipMark makes Argo CD leave a file out
// (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/#skipping-file-rendering).
var skipMark = []byte("+argocd:skip-file-rendering")

// files gives the manifests of a directory source in the order of their names, and
// the jsonnet files (https://argo-cd.readthedocs.io/en/stable/user-guide/directory/).
func (d Directory) files(t *source.Tree, dir string) (manifests, jsonnet []string, err error) {
	names, err := t.Files(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		rel := strings.TrimPrefix(name, dir+"/")
		if dir == "." {
			rel = name
		}
		if !d.Recurse && strings.Contains(rel, "/") {
			continue
		}
		if d.Exclude != "" && glob(d.Exclude, rel) || d.Include != "" && !glob(d.Include, rel) {
			continue
		}
		switch path.Ext(name) {
		case ".yaml", ".yml", ".json":
			if data, err := t.ReadFile(name); err == nil && bytes.Contains(data, skipMark) {
				continue
			}
			manifests = append(manifests, name)
		case ".jsonnet":
			jsonnet = append(jsonnet, name)
		}
	}
	return manifests, jsonnet, nil
}

// glob matches a whole path as Argo CD does: * stops at slashes, ** does not, and
// {a,b} is either.
func glob(pattern, name string) bool {
	re, err := regexp.Compile(globExpression(pattern))
	return err == nil && re.MatchString(name)
}

func globExpression(pattern string) string {
	var b strings.Builder
	b.WriteString("^(?:")
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			b.WriteString("(?:")
			braces++
		case c == '}' && braces > 0:
			b.WriteString(")")
			braces--
		case c == ',' && braces > 0:
			b.WriteString("|")
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	b.WriteString(")$")
	return b.String()
}
