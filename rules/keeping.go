package rules

import (
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it says what becomes of objects that a unit no longer
// renders, for the rules about what goes with them.

// keptBehind names the mark by which an object asks its tool to leave it in the
// cluster when it is no longer rendered, "" when it has none
// (https://helm.sh/docs/howto/charts_tips_and_tricks/#tell-helm-not-to-uninstall-a-resource,
// https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#no-prune-resources,
// https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-garbage-collection).
func keptBehind(o *object.Object) string {
	if policy := strings.TrimSpace(o.Annotation("helm.sh/resource-policy")); strings.EqualFold(policy, "keep") {
		return "helm.sh/resource-policy: keep"
	}
	for option := range strings.SplitSeq(o.Annotation("argocd.argoproj.io/sync-options"), ",") {
		switch option = strings.TrimSpace(option); option {
		case "Prune=false", "Prune=confirm", "Delete=false":
			return "argocd.argoproj.io/sync-options: " + option
		}
	}
	const flux = "kustomize.toolkit.fluxcd.io/prune"
	if strings.EqualFold(o.Annotation(flux), "disabled") || strings.EqualFold(o.Labels()[flux], "disabled") {
		return flux + ": disabled"
	}
	return ""
}

// newHomes gives the other units that gain an object of the same name in this
// change: it moves there, as far as both go to one cluster.
func newHomes(units []*rule.Unit, from *rule.Unit, ref object.Ref) []string {
	var out []string
	for _, u := range units {
		if u == from {
			continue
		}
		ref.Unit = u.Name
		if c, ok := changeOf(u, ref); ok && c.Action == diff.Create {
			out = append(out, u.Name)
		}
	}
	return out
}

// shownField gives the first difference below one of the paths that is not noise.
func shownField(c diff.Change, paths ...string) (diff.Field, bool) {
	for _, f := range c.Fields {
		if f.Hidden != "" {
			continue
		}
		for _, p := range paths {
			if strings.HasPrefix(string(f.Path), p) {
				return f, true
			}
		}
	}
	return diff.Field{}, false
}

// clipped cuts a text to a length.
func clipped(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "..."
}
