package incidentlib

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the cache keeps, and for how long.
const (
	fresh     = 24 * time.Hour   // an answer
	pause     = 10 * time.Minute // that there was none
	maxFiles  = 64               // entries; the oldest go first
	maxEntry  = 16 << 10         // bytes of one, so that all are below 1 MiB
	failure   = "unreachable.json"
	version   = 1
	tmpPrefix = "tmp-"
)

// A Cache remembers answers in a folder of its own: at most 64 files of at most 16
// KiB, for a day, and for ten minutes that there was no answer. Whatever is
// wrong with it makes it forget, and nothing else. A nil Cache remembers nothing.
type Cache struct{ dir string }

// NewCache makes a cache in a folder, which need not be there yet.
func NewCache(dir string) *Cache { return &Cache{dir} }

// An entry is one file.
type entry struct {
	Version int       `json:"version"`
	Base    string    `json:"base"` // who answered
	At      time.Time `json:"at"`
	Case    Case      `json:"case"`
}

// get gives a case that was answered within a day. One without a title and
// similar cases is one that does not exist.
func (c *Cache) get(base, id string, now time.Time) (Case, bool) {
	e, ok := c.read(base, id+".json", now, fresh)
	if !ok || e.Case.ID != id {
		return Case{}, false
	}
	// Others may write here: it is no more trusted than the network.
	k := e.Case
	k.Org, k.Title, k.Lesson = clean(k.Org), clean(k.Title), clean(k.Lesson)
	k.Date = dateIn(k.Date)
	k.Similar = slices.DeleteFunc(k.Similar, func(s Similar) bool { return !Valid(s.ID) || clean(s.Title) == "" })
	k.Similar = k.Similar[:min(len(k.Similar), MaxSimilar)]
	for i := range k.Similar {
		s := &k.Similar[i]
		s.Org, s.Title, s.Reason, s.Date = clean(s.Org), clean(s.Title), clean(s.Reason), dateIn(s.Date)
	}
	return k, true
}

// failed says whether there was no answer within the last minutes.
func (c *Cache) failed(base string, now time.Time) bool {
	_, ok := c.read(base, failure, now, pause)
	return ok
}

func (c *Cache) read(base, name string, now time.Time, age time.Duration) (entry, bool) {
	if c == nil {
		return entry{}, false
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return entry{}, false
	}
	defer root.Close()
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxEntry {
		return entry{}, false
	}
	f, err := root.Open(name)
	if err != nil {
		return entry{}, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEntry+1))
	var e entry
	if err != nil || len(data) > maxEntry || json.Unmarshal(data, &e) != nil || e.Version != version || e.Base != base {
		return entry{}, false
	}
	// An entry from the future is one of a clock that was wrong.
	return e, !e.At.After(now) && now.Sub(e.At) < age
}

// put remembers whole answers, and whether there was none at all.
func (c *Cache) put(base string, now time.Time, answers map[string]answer, none bool) {
	if c == nil || os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	root, err := os.OpenRoot(c.dir)
	if err != nil {
		return
	}
	defer root.Close()
	if none {
		_ = write(root, failure, entry{Version: version, Base: base, At: now})
		return
	}
	for id, a := range answers {
		if a.whole {
			_ = write(root, id+".json", entry{version, base, now, a.Case})
		}
	}
	trim(root)
}

// write puts a file in its place at once, so that nobody reads half of one.
func write(root *os.Root, name string, e entry) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if len(data) > maxEntry {
		return errors.New("too large")
	}
	tmp := tmpPrefix + strconv.Itoa(os.Getpid()) + "-" + name
	if err := root.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	if err := root.Rename(tmp, name); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return nil
}

// trim removes the oldest entries beyond maxFiles, and what a process that was
// killed left behind. Files of others are left alone.
func trim(root *os.Root) {
	list, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	type file struct {
		name string
		at   time.Time
	}
	var files []file
	for _, d := range list {
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		id, isJSON := strings.CutSuffix(d.Name(), ".json")
		if isJSON && Valid(id) || strings.HasPrefix(d.Name(), tmpPrefix) {
			files = append(files, file{d.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range files[min(len(files), maxFiles):] {
		_ = root.Remove(f.name)
	}
}
