package rules

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// APIVersionRemoved reports an object that is new in, or moves to, an API version
// that Kubernetes has dropped.
var APIVersionRemoved = &rule.Rule{
	ID:       "api-version-removed",
	Title:    "An object uses an API version that Kubernetes no longer serves",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
The API server answers "no matches for kind" and the object is not applied; with most tools nothing that comes after it is either. What
was stored through an old version is still there and can be read through the new one, so only manifests break, and only when the
cluster is upgraded or the object is new.

The config says which Kubernetes the clusters run; then it is an error. Without it, a version that no supported release serves any more is a
warning, and one that a newer release drops a note. Only objects that this change adds, or moves to the version, are told of.`,
	Advice:  "Write the version that takes its place; `kubectl convert -f FILE --output-version GROUP/VERSION` does the fields that are spelled differently. Look at what the new version fills in by default.",
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkAPIVersionRemoved,
}

//go:embed api_removals.txt
var apiRemovalsText string

type apiRemoval struct {
	since       rule.Version
	replacement string // "-" for none
}

// apiRemovals gives the dropped versions by "GROUP/VERSION KIND".
var apiRemovals = sync.OnceValue(func() map[string]apiRemoval {
	out := map[string]apiRemoval{}
	for line := range strings.Lines(apiRemovalsText) {
		words := strings.Fields(line)
		if len(words) != 4 || strings.HasPrefix(line, "#") {
			continue
		}
		if since, err := rule.ParseVersion(words[0]); err == nil {
			out[words[1]+" "+words[2]] = apiRemoval{since, words[3]}
		}
	}
	return out
})

// newestKubernetes is the newest release that api_removals.txt knows as past; three
// minors are supported at a time
// (https://kubernetes.io/releases/version-skew-policy/#supported-versions).
var newestKubernetes = rule.Version{Major: 1, Minor: 37}

const supportedMinors = 3

func checkAPIVersionRemoved(p *rule.Pass, c diff.Change) {
	version := c.After.APIVersion()
	if !strings.Contains(version, "beta") && !strings.Contains(version, "alpha") || c.Before != nil && c.Before.APIVersion() == version {
		return
	}
	removal, ok := apiRemovals()[version+" "+c.After.Ref.Kind]
	if !ok {
		return
	}
	f := rule.Finding{Path: "apiVersion", Message: fmt.Sprintf("%s of %s is not served since Kubernetes %s", c.After.Ref.Kind, version, removal.since)}
	target := p.Settings.Kubernetes
	oldest := rule.Version{Major: newestKubernetes.Major, Minor: newestKubernetes.Minor - supportedMinors + 1}
	switch {
	case target != (rule.Version{}) && target.Before(removal.since), newestKubernetes.Before(removal.since):
		return
	case target != (rule.Version{}):
		f.Severity = rule.Error
		f.Consequence = fmt.Sprintf("the clusters run %s: the API server refuses the object", target)
	case oldest.Before(removal.since):
		f.Severity = rule.Note
		f.Consequence = "clusters of that release and later refuse the object"
	default:
		f.Consequence = "no release that is still supported takes the object"
	}
	if removal.replacement == "-" {
		f.Consequence += "; nothing takes its place"
	} else {
		f.Consequence += "; " + removal.replacement + " takes its place"
	}
	p.Report(c, f)
}
