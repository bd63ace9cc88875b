package plain

import (
	"errors"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// deniedGroups are API groups of files that look like objects and are read by a
// tool on someone's machine, never sent to a cluster. "*" stands for any prefix.
var deniedGroups = []string{
	"kustomize.config.k8s.io", "tanka.dev", "kind.x-k8s.io", "k3d.io", "skaffold", "eksctl.io", "backstage.io", "krew.googlecontainer.com",
	"chainsaw.kyverno.io", "cli.kyverno.io", "kuttl.dev", "*.config.k8s.io", "kubeadm.k8s.io", "config.kubernetes.io",
	"controller-runtime.sigs.k8s.io", "kapp.k14s.io", "vendir.k14s.io", "scorecard.operatorframework.io", "schema.plugin.fluxcd.io",
	"meta.pkg.crossplane.io", "builtin", "getoutline.org", "tilt.dev", "ctlptl.dev", "config.karmada.io", "updatecli.io", "kubeconform.io",
}

// deniedGroup says whether objects of an API version and kind never reach a cluster.
func deniedGroup(apiVersion, kind string) bool {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		// kubeconfig files: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
		return apiVersion == "v1" && kind == "Config" || group == "builtin" || strings.HasPrefix(group, "skaffold")
	}
	return slices.ContainsFunc(deniedGroups, func(denied string) bool {
		if suffix, any := strings.CutPrefix(denied, "*"); any {
			return strings.HasSuffix(group, suffix)
		}
		return group == denied
	})
}

// clusterObject says whether an object is one that a cluster would be given: not a
// tool's own file, and of a kind that begins with a capital letter, as all do.
func clusterObject(o *object.Object) bool {
	first := o.Ref.Kind[0]
	return !deniedGroup(o.APIVersion(), o.Ref.Kind) && first >= 'A' && first <= 'Z'
}

// isForeign says whether an error only means that a document is none of ours.
func isForeign(err error) bool {
	return errors.Is(err, object.ErrNotManifest) || errors.Is(err, object.ErrNoName) || errors.Is(err, object.ErrDuplicateKey)
}

// isToolFile says whether an error is about a nameless document of a tool's own.
func isToolFile(err error) bool {
	var nameless *object.NoNameError
	return errors.As(err, &nameless) && deniedGroup(nameless.APIVersion, nameless.Kind)
}
