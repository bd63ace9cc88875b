package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MemoryLimitBelowHeap reports a program that is told to use more memory than its
// container may have.
var MemoryLimitBelowHeap = &rule.Rule{
	ID:       "memory-limit-below-heap",
	Title:    "A program may use more memory than its container's limit",
	Subject:  "workloads",
	Severity: rule.Error,
	Doc: `
The heap is only a part of what a process uses: stacks, buffers, code and the runtime come on top. A program whose own bound is at or
above the limit of its container never gets to its bound. It is killed, without a dump or a log line of its own, the first
time it is busy, and again after each restart, because it believes to have room left. The bound and the limit stand in two places, and one
of them gets changed.

Read are -Xmx and -XX:MaxHeapSize of Java, GOMEMLIMIT of Go, --max-old-space-size of Node.js, maxmemory of Redis and -m of
memcached, in command lines and variables. Above the limit it is an error, from 90 % of it on a warning.`,
	Advice: `Raise the limit first, or lower the bound: for Java some 75 % of the limit (` + "`-XX:MaxRAMPercentage=75`" + ` follows the limit by itself), for Go
90 %, for caches 80 %.`,
	Incidents: []string{"spotify-envoy-2025"},
	Kinds:     podKinds,
	Actions:   []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:     checkMemoryLimitBelowHeap,
}

func checkMemoryLimitBelowHeap(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, ".resources", ".env", ".args", ".command") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var before object.Workload
	if c.Before != nil {
		before, _ = p.Before.Workload(c.Before.Ref)
	}
	for _, box := range after.Containers() {
		h, limit, share := heapShare(box)
		if share < 0.9 {
			continue
		}
		if was, found := before.Container(box.Name); found {
			if _, _, old := heapShare(was); old >= 0.9 && (old > 1) == (share > 1) {
				continue
			}
		}
		f := rule.Finding{
			Path:        h.path,
			Message:     fmt.Sprintf("container %s is told %s, and its memory limit is %s", box.Name, h.text, limit),
			Consequence: "it is killed when it comes near its own bound, and again after each restart",
		}
		if touched(c, string(box.Path.Key("resources"))) {
			f.Path = box.Path.Key("resources").Key("limits").Key("memory")
		}
		if share <= 1 {
			f.Severity = rule.Warning
			f.Consequence = fmt.Sprintf("%.0f%% of the limit leave little for all that is not heap: stacks, buffers, the runtime itself", 100*share)
		}
		p.Report(c, f)
	}
}

// A heap is a bound that a program is told to keep.
type heap struct {
	bytes int64
	text  string
	path  object.Path
}

// heapShare gives the largest bound of a container that has a memory limit, and
// which share of the limit it is.
func heapShare(box object.Container) (heap, object.Value, float64) {
	limit := box.At("resources.limits.memory")
	q, err := limit.Quantity()
	if err != nil || q.IsZero() {
		return heap{}, limit, 0
	}
	var most heap
	take := func(n int64, text string, path object.Path) {
		if n > most.bytes {
			most = heap{n, text, path}
		}
	}
	for _, e := range box.Env() {
		text := e.Value.Text()
		if e.Name == "GOMEMLIMIT" {
			if n, ok := goBytes(text); ok {
				take(n, "GOMEMLIMIT="+text, e.Path.Key("value"))
			}
			continue
		}
		heapsIn(text, e.Path.Key("value"), take)
	}
	words := box.CommandLine()
	for i, w := range words {
		heapsIn(w.Text, w.Path, take)
		if i+1 == len(words) {
			continue
		}
		next := words[i+1].Text
		switch {
		case w.Text == "--maxmemory":
			if n, ok := suffixed(next, 1); ok {
				take(n, w.Text+" "+next, w.Path)
			}
		case w.Text == "-m" && strings.Contains(box.Image(), "memcached"):
			if n, ok := suffixed(next, 1<<20); ok {
				take(n, w.Text+" "+next, w.Path)
			}
		}
	}
	return most, limit, float64(most.bytes) / float64(q.Bytes())
}

// heapsIn finds bounds in a text of options.
func heapsIn(text string, path object.Path, take func(int64, string, object.Path)) {
	if !strings.ContainsAny(text, "-") {
		return
	}
	for _, option := range []struct {
		prefix string
		unit   int64 // of a bare number
	}{
		{"-Xmx", 1}, {"-XX:MaxHeapSize=", 1}, // https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html
		{"--max-old-space-size=", 1 << 20}, {"--max_old_space_size=", 1 << 20}, // https://nodejs.org/api/cli.html
		{"--maxmemory=", 1}, {"--memory-limit=", 1 << 20}, // memcached's long form
	} {
		for rest := text; ; {
			_, after, ok := strings.Cut(rest, option.prefix)
			if !ok {
				break
			}
			rest = after
			value := after
			if i := strings.IndexAny(after, " \t\n\"',;"); i >= 0 {
				value = after[:i]
			}
			if n, ok := suffixed(value, option.unit); ok {
				take(n, option.prefix+value, path)
			}
		}
	}
}

// suffixed reads a number of bytes with a letter for its unit: k, m, g or t, powers
// of 1024, and Redis' kb, mb and gb.
func suffixed(s string, unit int64) (int64, bool) {
	digits := strings.TrimRight(strings.ToLower(s), "bkmgt")
	n, err := strconv.ParseInt(digits, 10, 63)
	if err != nil || n <= 0 {
		return 0, false
	}
	switch strings.TrimSuffix(strings.ToLower(s[len(digits):]), "b") {
	case "":
		if strings.HasSuffix(strings.ToLower(s), "b") {
			return n, true
		}
		return saturated(n, unit), true
	case "k":
		return saturated(n, 1<<10), true
	case "m":
		return saturated(n, 1<<20), true
	case "g":
		return saturated(n, 1<<30), true
	case "t":
		return saturated(n, 1<<40), true
	}
	return 0, false
}

func saturated(n, unit int64) int64 {
	if n > 1<<62/unit {
		return 1 << 62
	}
	return n * unit
}

// goBytes reads GOMEMLIMIT: digits with B, KiB, MiB, GiB or TiB
// (https://pkg.go.dev/runtime#hdr-Environment_Variables).
func goBytes(s string) (int64, bool) {
	unit := int64(1)
	digits := s
	for suffix, n := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			digits, unit = rest, n
		}
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(digits, "B"), 10, 64)
	if err != nil || n <= 0 {
		return 0, false
	}
	return saturated(n, unit), true
}
