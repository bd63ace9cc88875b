package helm

import (
	"path"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/source"
)

// A Need is a chart that rendering takes from outside of the repository. Nobody has
// checked its words.
type Need struct {
	Name, Version string // the version that is locked, else as it is written
	Repository    string // address of a chart repository, or of a folder of a registry with oci://
	At            string // the folder in which the chart would be, unpacked
}

// Needs gives the dependencies of the chart in dir that are not in the repository: its
// own, and those of charts that it takes from there by file://.
func Needs(t *source.Tree, dir string) []Need { return needs(t, dir, 0) }

func needs(t *source.Tree, dir string, depth int) []Need {
	if depth > maxNesting {
		return nil
	}
	declared := func(names ...string) (list []dependency) {
		for _, name := range names {
			var m metadata
			if data, err := t.ReadFile(path.Join(dir, name)); err == nil && yaml.Unmarshal(data, &m) == nil {
				list = append(list, m.Dependencies...)
			}
		}
		return list
	}
	locked := declared("Chart.lock", "requirements.lock")
	var out []Need
	for _, d := range declared(chartFile, "requirements.yaml") {
		at := path.Join(dir, "charts", d.Name)
		if vendored(t, dir, d.Name) || path.Dir(at) != path.Join(dir, "charts") {
			continue
		}
		if rel, local := strings.CutPrefix(d.Repository, "file://"); local {
			if at := path.Join(dir, rel); !strings.HasPrefix(at, "../") {
				out = append(out, needs(t, at, depth+1)...)
			}
			continue
		}
		n := Need{Name: d.Name, Version: d.Version, Repository: d.Repository, At: at}
		for _, l := range locked {
			if l.Name == d.Name && l.Repository == d.Repository && !exact.MatchString(d.Version) {
				n.Version = l.Version
			}
		}
		out = append(out, n)
	}
	return out
}

// exact finds versions that are no range. In Helm's language 1.2.3 is that version alone.
var exact = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?$`)

// vendored says whether a chart's folder has a dependency in charts/, as a folder or packed.
func vendored(t *source.Tree, dir, name string) bool {
	if t.Exists(path.Join(dir, "charts", name, chartFile)) {
		return true
	}
	entries, err := t.ReadDir(path.Join(dir, "charts"))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), name+"-"); ok && strings.HasSuffix(rest, ".tgz") && strings.Trim(rest[:1], "v0123456789") == "" {
			return true
		}
	}
	return false
}
