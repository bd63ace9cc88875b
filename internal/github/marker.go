package github

import (
	"fmt"
	"strconv"
	"strings"
)

// A Marker is the first line of a comment of ours. It tells comments of several
// workflows on one pull request apart, and which run wrote each.
type Marker struct {
	Key     string // "" is "default"
	Run     int64  // GITHUB_RUN_ID; 0 outside of Actions
	Attempt int64  // GITHUB_RUN_ATTEMPT
	SHA     string // the head of the pull request that was looked at
}

const (
	markerStart = "<!-- prdiff:comment v1 key="
	markerEnd   = " -->"
)

// String gives the line, without its end.
func (m Marker) String() string {
	s := m.prefix()
	if m.Run > 0 {
		s += fmt.Sprintf(" run=%d attempt=%d", m.Run, max(1, m.Attempt))
	}
	if isSHA(m.SHA) {
		s += " sha=" + m.SHA
	}
	return s + markerEnd
}

func (m Marker) prefix() string { return markerStart + cleanKey(m.Key) }

// cleanKey gives a key in which nothing can end the marker. Two keys that differ
// only in other characters become one.
func cleanKey(key string) string {
	if key == "" {
		return "default"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._/", r) {
			return r
		}
		return '_'
	}, key)
}

// parseMarker reads the marker at the very start of a comment: one that is quoted
// further down is somebody's answer to the comment.
func parseMarker(body string) (Marker, bool) {
	line, _, _ := strings.Cut(body, "\n")
	line = strings.TrimSuffix(line, "\r") // GitHub may give line ends as a browser sent them
	rest, ok := strings.CutPrefix(line, markerStart)
	if !ok {
		return Marker{}, false
	}
	rest, ok = strings.CutSuffix(rest, markerEnd)
	if !ok {
		return Marker{}, false
	}
	words := strings.Split(rest, " ")
	m := Marker{Key: words[0]}
	if m.Key == "" {
		return Marker{}, false
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		switch name {
		case "run":
			m.Run, _ = strconv.ParseInt(value, 10, 64)
		case "attempt":
			m.Attempt, _ = strconv.ParseInt(value, 10, 64)
		case "sha":
			m.SHA = value
		}
	}
	return m, true
}

// yields says whether a run must leave a comment alone because a newer one wrote
// it. Runs have growing numbers. The exception is a run that a person started
// again for the commit that the comment is about.
func (m Marker) yields(written Marker) bool {
	if m.Run == 0 || written.Run == 0 {
		return false
	}
	if m.Run == written.Run {
		return m.Attempt < written.Attempt
	}
	rerun := m.Attempt > 1 && m.SHA != "" && m.SHA == written.SHA
	return m.Run < written.Run && !rerun
}

// isSHA says whether s is the name of a commit, in SHA-1 or SHA-256.
func isSHA(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
