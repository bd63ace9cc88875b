package diff

import (
	"github.com/prdiff/prdiff/internal/object"
)

// A match is one object on both sides, nil on a side that lacks it.
type match struct {
	before, after *object.Object
	renamed       bool
}

// movedGroups gives the group that took over kinds of the group extensions
// (https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-16).
var movedGroups = map[string]string{
	"Deployment":        "apps",
	"DaemonSet":         "apps",
	"ReplicaSet":        "apps",
	"Ingress":           "networking.k8s.io",
	"NetworkPolicy":     "networking.k8s.io",
	"PodSecurityPolicy": "policy",
}

// identity is the ref under which an object is the same on both sides: without
// unit, in the group that its kind lives in today, without a namespace where the
// kind has none.
func (e *engine) identity(o *object.Object) object.Ref {
	ref := o.Ref
	ref.Unit = ""
	if ref.Group == "extensions" {
		if group, ok := movedGroups[ref.Kind]; ok {
			ref.Group = group
		}
	}
	if ref.Namespace != "" && (clusterScoped(ref) || e.schemas.clusterScoped(ref)) {
		ref.Namespace = ""
	}
	return ref
}

// match pairs the objects of both sides.
func (e *engine) match() []match {
	byName := make(map[object.Ref]*object.Object, e.before.Len())
	for _, o := range e.before.All() {
		byName[e.identity(o)] = o
	}
	var matches []match
	for _, o := range e.after.All() {
		id := e.identity(o)
		matches = append(matches, match{before: byName[id], after: o})
		delete(byName, id)
	}
	for _, o := range e.before.All() {
		if byName[e.identity(o)] == o {
			matches = append(matches, match{before: o})
		}
	}
	return matches
}

// clusterScopedKinds are the built-in kinds that live in no namespace.
const clusterScopedKinds = `
	Namespace Node PersistentVolume ComponentStatus
	ClusterRole.rbac.authorization.k8s.io ClusterRoleBinding.rbac.authorization.k8s.io
	CustomResourceDefinition.apiextensions.k8s.io APIService.apiregistration.k8s.io
	MutatingWebhookConfiguration.admissionregistration.k8s.io ValidatingWebhookConfiguration.admissionregistration.k8s.io
	MutatingAdmissionPolicy.admissionregistration.k8s.io MutatingAdmissionPolicyBinding.admissionregistration.k8s.io
	ValidatingAdmissionPolicy.admissionregistration.k8s.io ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io
	StorageClass.storage.k8s.io CSIDriver.storage.k8s.io CSINode.storage.k8s.io VolumeAttachment.storage.k8s.io
	VolumeAttributesClass.storage.k8s.io
	PriorityClass.scheduling.k8s.io IngressClass.networking.k8s.io IPAddress.networking.k8s.io ServiceCIDR.networking.k8s.io
	RuntimeClass.node.k8s.io PodSecurityPolicy.policy
	FlowSchema.flowcontrol.apiserver.k8s.io PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io
	CertificateSigningRequest.certificates.k8s.io ClusterTrustBundle.certificates.k8s.io
	DeviceClass.resource.k8s.io ResourceSlice.resource.k8s.io
	StorageVersionMigration.storagemigration.k8s.io
	GatewayClass.gateway.networking.k8s.io ClusterIssuer.cert-manager.io
	ClusterSecretStore.external-secrets.io ClusterPolicy.kyverno.io
`

func clusterScoped(ref object.Ref) bool { return hasWord(clusterScopedKinds, ref.GroupKind()) }
