package gitops

import (
	"regexp"
	"slices"
	"strings"
)

var (
	scheme = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)
	scp    = regexp.MustCompile(`^([^/@]+@)?([^/:]+):([^/0-9].*|[0-9]+[^/0-9].*)$`)
)

// normal gives an address of a repository without what does not tell two apart:
// scheme, user, port, ".git", slashes at the end, case. git@host:o/r, git@host/o/r,
// ssh://git@host:22/o/r and https://host/o/r.git/ are one.
func normal(address string) string {
	a := strings.ToLower(strings.TrimSpace(address))
	if m := scheme.FindString(a); m != "" {
		a = a[len(m):]
	} else if m := scp.FindStringSubmatch(a); m != nil {
		a = m[1] + m[2] + "/" + m[3]
	}
	host, rest, _ := strings.Cut(a, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host, _, _ = strings.Cut(host, ":")
	rest = strings.Trim(rest, "/")
	rest = strings.TrimSuffix(rest, ".git")
	return strings.TrimRight(host+"/"+rest, "/")
}

// isPlaceholder says whether an address is one that something fills in.
func isPlaceholder(address string) bool {
	return address == "" || strings.ContainsAny(address, "${}<>") || !strings.ContainsAny(address, "/:") && strings.ToUpper(address) == address
}

// addresses tells whether an address is that of the repository itself.
type addresses struct {
	known []string       // normal; what the user said
	votes map[string]int // normal address to the number of objects whose path exists
}

// vote counts an address that an object names together with a path of the tree.
func (a *addresses) vote(address string) {
	if isPlaceholder(address) {
		return
	}
	if a.votes == nil {
		a.votes = map[string]int{}
	}
	a.votes[normal(address)]++
}

// here says whether an address is this repository: one that the user named, a
// placeholder, or, when the user named none, the one that most objects name whose
// paths are in the tree.
func (a *addresses) here(address string) bool {
	n := normal(address)
	switch {
	case isPlaceholder(address), slices.Contains(a.known, n):
		return true
	case len(a.known) > 0:
		return false
	}
	for _, votes := range a.votes {
		if votes > a.votes[n] {
			return false
		}
	}
	return a.votes[n] > 0
}
