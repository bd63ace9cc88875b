package rules

import (
	"strconv"
	"strings"
)

// This file is no rule: it takes image names apart, for the rules about images.

// An image is a container image reference, such as
// "registry.example:5000/team/app:v1.2.3@sha256:...".
type image struct {
	registry   string // "docker.io" where none is written
	repository string // "library/redis" for redis
	tag        string // "" when none is written
	digest     string
}

// parseImage reads a reference as container runtimes do: the first part is a registry
// when it has a dot or a colon, or is localhost
// (https://github.com/distribution/reference/blob/main/normalize.go).
func parseImage(s string) image {
	var i image
	s, i.digest, _ = strings.Cut(s, "@")
	if at := strings.LastIndexByte(s, ':'); at > strings.LastIndexByte(s, '/') {
		s, i.tag = s[:at], s[at+1:]
	}
	first, rest, ok := strings.Cut(s, "/")
	switch {
	case ok && (strings.ContainsAny(first, ".:") || first == "localhost"):
		i.registry, i.repository = first, rest
	case ok:
		i.registry, i.repository = "docker.io", s
	default:
		i.registry, i.repository = "docker.io", "library/"+s
	}
	if i.registry == "index.docker.io" || i.registry == "registry-1.docker.io" {
		i.registry = "docker.io"
	}
	return i
}

// name is the last part of the repository: what the program is called.
func (i image) name() string {
	return i.repository[strings.LastIndexByte(i.repository, '/')+1:]
}

// floating says whether the reference may mean another image tomorrow: no tag and
// no digest, or the tag latest and its kind.
func (i image) floating() bool {
	if i.digest != "" {
		return false
	}
	switch strings.ToLower(i.tag) {
	case "", "latest", "main", "master", "head", "edge", "nightly", "dev", "develop", "snapshot", "unstable", "canary", "stable", "rolling":
		return true
	}
	return false
}

// version reads a tag as a version: "v1.2.3-alpine", "14.5", "8". ok is false for
// hashes, dates and words. The parts are the numbers, and suffix what follows them.
func version(tag string) (parts []int, suffix string, ok bool) {
	rest := strings.TrimPrefix(strings.TrimPrefix(tag, "v"), "V")
	for {
		digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		if digits == "" || len(digits) > 6 {
			return nil, "", false
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, "", false
		}
		parts = append(parts, n)
		rest = rest[len(digits):]
		if !strings.HasPrefix(rest, ".") || len(parts) == 4 {
			break
		}
		rest = rest[1:]
	}
	if rest != "" && !strings.ContainsAny(rest[:1], "-_+") {
		return nil, "", false // 7a3f: a hash
	}
	// A year, a build number or a date is no major version; nor is a lone number
	// with a hash behind it.
	last := rest[strings.LastIndexAny(rest, "-_+")+1:]
	if parts[0] >= 1000 || len(parts) == 1 && len(last) >= 7 && strings.Trim(last, "0123456789abcdef") == "" {
		return nil, "", false
	}
	return parts, strings.TrimLeft(rest, "-_+"), true
}

// compareVersions gives -1, 0 or +1 by the numbers that both have.
func compareVersions(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i] < b[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}
