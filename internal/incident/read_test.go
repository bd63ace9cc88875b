package incident_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/incident"
)

func TestRead(t *testing.T) {
	named := func(id string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.Replace(sound, "cache-2026", id, 1))}
	}
	fsys := fstest.MapFS{
		"docs/pm/b.yaml":             named("b"),
		"docs/pm/a.md":               {Data: []byte(strings.Replace(postmortem, "cache-2026", "a", 1))},
		"docs/pm/2026/c.json":        {Data: []byte(`{"id":"c","date":"2026","title":"T","change":"C.","lesson":"L."}`)},
		"docs/pm/README.md":          {Data: []byte("# How we write postmortems\n")},
		"docs/pm/picture.png":        {Data: []byte{0x89}},
		"docs/pm/.drafts/draft.yaml": named("draft"),
		"docs/broken/bad.yaml":       {Data: []byte("id: bad\nsev: 1\n")},
		"docs/broken/good.yaml":      named("good"),
	}
	tests := []struct {
		name  string
		paths []string
		ids   string
		want  string // what the error says, "" for none
	}{
		{"a folder, and those below it", []string{"docs/pm/"}, "c a b", ""},
		{"one file", []string{"docs/pm/b.yaml"}, "b", ""},
		{"the sound file beside a broken one", []string{"docs/broken"}, "good", `docs/broken/bad.yaml:2: unknown key "sev"`},
		{"a Markdown file that is no postmortem, named by itself", []string{"docs/pm/README.md"}, "", "docs/pm/README.md:1: no front matter"},
		{"a folder that is not there", []string{"docs/gone"}, "", "docs/gone: no such file or folder"},
		{"a path that leads outside", []string{"../secrets"}, "", "../secrets: not a path inside the repository"},
		{"no paths", nil, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			entries, err := incident.Read(fsys, tt.paths...)
			var ids []string
			for _, e := range entries {
				ids = append(ids, e.ID)
			}
			if got := strings.Join(ids, " "); got != tt.ids {
				t.Errorf("Read() gave %q, want %q", got, tt.ids)
			}
			if got := errorText(err); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("Read() error = %q, want %q", got, tt.want)
			}
		})
	}
}
