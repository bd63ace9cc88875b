package report

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// maxSources is how many source files are named for one change.
const maxSources = 5

// sources knows where the changes of a report came from.
type sources struct {
	byUnit map[string]Unit
	cache  map[[2]string][]string // by unit and origin
}

func newSources(r *Report) sources {
	s := sources{map[string]Unit{}, map[[2]string][]string{}}
	for _, u := range r.Units {
		if len(u.Sources) > 0 {
			s.byUnit[u.Name] = u
		}
	}
	return s
}

// of gives the files of a change that differ between both sides and that its unit
// reads, the nearest to its object first, as many as are worth a look. An object
// that a manifest holds as it is comes from that manifest alone.
func (s sources) of(c Change) []string {
	u, ok := s.byUnit[c.Ref.Unit]
	if !ok {
		return nil
	}
	key := [2]string{u.Name, c.Origin.Path}
	if list, ok := s.cache[key]; ok {
		return list
	}
	list := Nearest(u.Sources, c.Origin.Path)
	if u.Renderer == "plain" && len(list) > 0 && list[0] == c.Origin.Path {
		list = list[:1]
	}
	list = list[:min(len(list), maxSources)]
	s.cache[key] = list
	return list
}

// Nearest sorts files by how far they are from an origin: itself, then those in
// its folder, then by the folders between them. It gives a new slice.
func Nearest(files []string, origin string) []string {
	list := slices.Clone(files)
	from := strings.Split(path.Dir(origin), "/")
	distance := func(file string) int {
		if file == origin {
			return -1
		}
		to := strings.Split(path.Dir(file), "/")
		shared := 0
		for shared < len(from) && shared < len(to) && from[shared] == to[shared] {
			shared++
		}
		return len(from) - shared + len(to) - shared
	}
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), strings.Compare(a, b))
	})
	return list
}

// sourceWords names the files that a change came from.
func sourceWords(files []string, show func(string) string) string {
	shown := make([]string, len(files))
	for i, f := range files {
		shown[i] = show(cut(f, 160))
	}
	return strings.Join(shown, ", ")
}
