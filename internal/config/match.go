package config

import (
	"path"
	"strings"
)

// Match says whether a pattern matches a path or a folder above it. Patterns are
// read as .gitignore reads them: one without a slash matches at any depth, one
// with a slash from the root on; * and ? stop at slashes, ** does not.
func Match(pattern, name string) bool {
	pattern, anchored := strings.CutPrefix(strings.TrimSuffix(path.Clean(pattern), "/"), "/")
	if pattern == "." || pattern == "**" {
		return true
	}
	parts := strings.Split(pattern, "/")
	if !anchored && len(parts) == 1 {
		parts = []string{"**", pattern}
	}
	return matchParts(parts, strings.Split(path.Clean(name), "/"))
}

// matchParts matches whole segments; names that go on below a match are matched.
func matchParts(pattern, name []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for len(pattern) > 1 && pattern[1] == "**" {
				pattern = pattern[1:]
			}
			if len(pattern) == 1 {
				return len(name) > 0
			}
			for i := range name {
				if matchParts(pattern[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, err := path.Match(pattern[0], name[0]); !ok || err != nil {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	return true
}

// checkPattern says what is wrong with a pattern, "" when nothing is.
func checkPattern(p string) string {
	switch {
	case p == "":
		return "a pattern is empty"
	case p == ".." || strings.HasPrefix(p, "../") || strings.Contains(p, "/../"):
		return "a pattern leads out of the repository"
	case strings.HasPrefix(p, "!"):
		return "patterns cannot be negated: list what to look at under include, what not under exclude"
	}
	for part := range strings.SplitSeq(p, "/") {
		if _, err := path.Match(part, "x"); err != nil {
			return "not a pattern: a bracket is not closed"
		}
	}
	return ""
}
