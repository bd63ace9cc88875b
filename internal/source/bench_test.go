package source

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// benchRepo has 2,000 files of about 2 KB in 200 folders.
func benchRepo(b *testing.B) *testRepo {
	b.Helper()
	r := newRepo(b)
	for i := range 2000 {
		r.write(fmt.Sprintf("env%d/file%d.yaml", i%200, i), strings.Repeat(fmt.Sprintf("key%d: value\n", i), 150))
	}
	r.commit("one")
	r.write("env7/file7.yaml", "changed: true\n")
	r.commit("two")
	r.git("gc", "-q")
	return r
}

func BenchmarkRead2000FilesOfARevision(b *testing.B) {
	r := benchRepo(b)
	b.ReportAllocs()
	for b.Loop() {
		tree, err := Open(context.Background(), r.dir, "HEAD", r.options())
		if err != nil {
			b.Fatal(err)
		}
		names, err := tree.Files(".")
		if err != nil || len(names) != 2000 {
			b.Fatal(len(names), err)
		}
		for _, name := range names {
			if _, err := tree.ReadFile(name); err != nil {
				b.Fatal(err)
			}
		}
		if err := tree.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChanged(b *testing.B) {
	r := benchRepo(b)
	for name, head := range map[string]string{"two commits": "HEAD", "working tree": ""} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := Git(context.Background(), r.dir, "HEAD~1", head, r.options())
				if err != nil {
					b.Fatal(err)
				}
				if names, err := s.Changed(context.Background()); err != nil || len(names) != 1 {
					b.Fatal(names, err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
