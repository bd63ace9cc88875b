package diff

import (
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// An immutableRule is a field that the API server refuses to change in place.
type immutableRule struct {
	kind   string // as object.Ref.GroupKind
	path   string // keys joined by dots, [] for list items, * for any key; what is below belongs to it
	reason string
	when   func(c *Change, f *Field) bool // nil means always
}

// immutableRules come from the update validation of the API server:
// pkg/apis/{core,apps,batch,scheduling}/validation/validation.go, the
// ValidateUpdate of pkg/registry/apps/*/strategy.go, the +k8s:immutable markers
// and field comments of k8s.io/api v0.37.0, and
// k8s.io/apiextensions-apiserver v0.37.0 pkg/apis/apiextensions/validation.
// Validation runs after defaulting and after allocated values were restored, so
// leaving such a field out is no change.
var immutableRules = []immutableRule{
	{"Deployment.apps", "spec.selector", "the selector of a Deployment cannot change", unlessAllowedByOldVersion},
	{"DaemonSet.apps", "spec.selector", "the selector of a DaemonSet cannot change", unlessAllowedByOldVersion},
	{"ReplicaSet.apps", "spec.selector", "the selector of a ReplicaSet cannot change", unlessAllowedByOldVersion},
	{"StatefulSet.apps", "spec.selector", "the selector of a StatefulSet cannot change", nil},
	{"StatefulSet.apps", "spec.serviceName", "the serviceName of a StatefulSet cannot change", nil},
	{"StatefulSet.apps", "spec.podManagementPolicy", "the podManagementPolicy of a StatefulSet cannot change", nil},
	{"StatefulSet.apps", "spec.volumeClaimTemplates", "the volumeClaimTemplates of a StatefulSet cannot change", nil},
	{"ControllerRevision.apps", "data", "the data of a ControllerRevision cannot change", nil},

	{"Job.batch", "spec.completions", "completions of a Job can change only together with parallelism of an Indexed Job", unlessElasticJob},
	{"Job.batch", "spec.selector", "the selector of a Job cannot change", bothSides},
	{"Job.batch", "spec.template", "the pod template of a Job cannot change", unlessSuspendedJob},
	{"Job.batch", "spec.completionMode", "the completionMode of a Job cannot change", nil},
	{"Job.batch", "spec.podFailurePolicy", "the podFailurePolicy of a Job cannot change", nil},
	{"Job.batch", "spec.successPolicy", "the successPolicy of a Job cannot change", nil},
	{"Job.batch", "spec.backoffLimitPerIndex", "the backoffLimitPerIndex of a Job cannot change", nil},
	{"Job.batch", "spec.managedBy", "managedBy of a Job cannot change", nil},

	{"Pod", "spec", "the spec of a Pod cannot change, but for images and a few others", unlessMutableInPod},
	{"Service", "spec.clusterIP", "the cluster IP of a Service cannot change once it is set", clusterIPKept},
	{"Service", "spec.clusterIPs", "the cluster IP of a Service cannot change once it is set", clusterIPKept},
	{"Service", "spec.ipFamilies", "the first IP family of a Service cannot change once it is set", ipFamilyKept},
	{"Service", "spec.loadBalancerClass", "the loadBalancerClass cannot be set, changed or removed while the type stays LoadBalancer", staysLoadBalancer},
	{"Service", "spec.healthCheckNodePort", "the healthCheckNodePort of a Service cannot change", bothSides},

	{"PersistentVolumeClaim", "spec.accessModes", "the accessModes of a claim cannot change", nil},
	{"PersistentVolumeClaim", "spec.storageClassName", "the storage class of a claim cannot change once it is set", bothSides},
	{"PersistentVolumeClaim", "spec.volumeName", "the volumeName of a claim cannot change once it is set", bothSides},
	{"PersistentVolumeClaim", "spec.volumeMode", "the volumeMode of a claim cannot change", nil},
	{"PersistentVolumeClaim", "spec.selector", "the selector of a claim cannot change", nil},
	{"PersistentVolumeClaim", "spec.dataSource", "the dataSource of a claim cannot change", nil},
	{"PersistentVolumeClaim", "spec.dataSourceRef", "the dataSourceRef of a claim cannot change", nil},
	{"PersistentVolumeClaim", "spec.resources.requests.storage", "a claim cannot become smaller", shrinks},
	{"PersistentVolumeClaim", "spec.volumeAttributesClassName", "volumeAttributesClassName cannot be removed once it is set", emptied},
	{"PersistentVolume", "spec.*", "the source of a PersistentVolume cannot change", isVolumeSource},
	{"PersistentVolume", "spec.volumeMode", "the volumeMode of a PersistentVolume cannot change", nil},
	{"PersistentVolume", "spec.nodeAffinity", "the nodeAffinity of a PersistentVolume cannot change once it is set", wasSet},
	{"PersistentVolume", "spec.volumeAttributesClassName", "volumeAttributesClassName cannot be removed once it is set", emptied},

	{"Secret", "type", "the type of a Secret cannot change", nil},
	{"Secret", "data", "the data of an immutable Secret cannot change", wasImmutable},
	{"Secret", "stringData", "the data of an immutable Secret cannot change", wasImmutable},
	{"Secret", "immutable", "an immutable Secret cannot become mutable", wasImmutable},
	{"ConfigMap", "data", "the data of an immutable ConfigMap cannot change", wasImmutable},
	{"ConfigMap", "binaryData", "the data of an immutable ConfigMap cannot change", wasImmutable},
	{"ConfigMap", "immutable", "an immutable ConfigMap cannot become mutable", wasImmutable},
	{"ResourceQuota", "spec.scopes", "the scopes of a ResourceQuota cannot change", nil},
	{"Node", "spec.providerID", "the providerID of a Node cannot change once it is set", wasSet},
	{"Node", "spec.podCIDRs", "the podCIDRs of a Node cannot change once they are set", wasSet},

	{"StorageClass.storage.k8s.io", "provisioner", "the provisioner of a StorageClass cannot change", nil},
	{"StorageClass.storage.k8s.io", "parameters", "the parameters of a StorageClass cannot change", nil},
	{"StorageClass.storage.k8s.io", "reclaimPolicy", "the reclaimPolicy of a StorageClass cannot change", nil},
	{"StorageClass.storage.k8s.io", "volumeBindingMode", "the volumeBindingMode of a StorageClass cannot change", nil},
	{"VolumeAttributesClass.storage.k8s.io", "driverName", "the driver of a VolumeAttributesClass cannot change", nil},
	{"VolumeAttributesClass.storage.k8s.io", "parameters", "the parameters of a VolumeAttributesClass cannot change", nil},
	{"CSIDriver.storage.k8s.io", "spec.attachRequired", "attachRequired of a CSIDriver cannot change", nil},
	{"CSIDriver.storage.k8s.io", "spec.volumeLifecycleModes", "the volumeLifecycleModes of a CSIDriver cannot change", nil},
	{"CSIStorageCapacity.storage.k8s.io", "nodeTopology", "the nodeTopology of a CSIStorageCapacity cannot change", nil},
	{"CSIStorageCapacity.storage.k8s.io", "storageClassName", "the storageClassName of a CSIStorageCapacity cannot change", nil},
	{"VolumeAttachment.storage.k8s.io", "spec", "the spec of a VolumeAttachment cannot change", nil},

	{"RoleBinding.rbac.authorization.k8s.io", "roleRef", "the roleRef of a binding cannot change", nil},
	{"ClusterRoleBinding.rbac.authorization.k8s.io", "roleRef", "the roleRef of a binding cannot change", nil},
	{"PriorityClass.scheduling.k8s.io", "value", "the value of a PriorityClass cannot change", nil},
	{"PriorityClass.scheduling.k8s.io", "preemptionPolicy", "the preemptionPolicy of a PriorityClass cannot change", nil},
	{"IngressClass.networking.k8s.io", "spec.controller", "the controller of an IngressClass cannot change", nil},
	{"IPAddress.networking.k8s.io", "spec.parentRef", "the parentRef of an IPAddress cannot change", nil},
	{"EndpointSlice.discovery.k8s.io", "addressType", "the addressType of an EndpointSlice cannot change", nil},
	{"RuntimeClass.node.k8s.io", "handler", "the handler of a RuntimeClass cannot change", nil},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.group", "the group of a CustomResourceDefinition cannot change", nil},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.names.plural", "the plural name of a CustomResourceDefinition cannot change", nil},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.scope", "the scope of a CustomResourceDefinition cannot change", nil},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.names.kind", "the kind of a CustomResourceDefinition cannot change", nil},
	{"CertificateSigningRequest.certificates.k8s.io", "spec", "the spec of a CertificateSigningRequest cannot change", nil},
	{"ClusterTrustBundle.certificates.k8s.io", "spec.signerName", "the signerName of a ClusterTrustBundle cannot change", nil},
	{"LeaseCandidate.coordination.k8s.io", "spec.leaseName", "the leaseName of a LeaseCandidate cannot change", nil},
	{"ResourceClaim.resource.k8s.io", "spec", "the spec of a ResourceClaim cannot change", nil},
	{"ResourceClaimTemplate.resource.k8s.io", "spec", "the spec of a ResourceClaimTemplate cannot change", nil},
	{"ResourceSlice.resource.k8s.io", "spec.driver", "the driver of a ResourceSlice cannot change", nil},
	{"ResourceSlice.resource.k8s.io", "spec.nodeName", "the nodeName of a ResourceSlice cannot change", nil},
	{"ResourceSlice.resource.k8s.io", "spec.pool.name", "the pool of a ResourceSlice cannot change", nil},
	{"StorageVersionMigration.storagemigration.k8s.io", "spec.resource", "the resource of a StorageVersionMigration cannot change", nil},
	// sigs.k8s.io/gateway-api v1.1.0 apis/v1/gatewayclass_types.go; cert-manager v1.17.0 pkg/apis/certmanager/v1,
	// internal/apis/acme/validation
	{"GatewayClass.gateway.networking.k8s.io", "spec.controllerName", "the controllerName of a GatewayClass cannot change", nil},
	{"CertificateRequest.cert-manager.io", "spec", "the spec of a CertificateRequest cannot change", nil},
	{"Challenge.acme.cert-manager.io", "spec", "the spec of a Challenge cannot change", nil},
	{"Order.acme.cert-manager.io", "spec.request", "the request of an Order cannot change once it is set", wasSet},
}

// markImmutable says for each field whether the API server refuses it. What it
// refuses is never noise: a list of which only the order changed is compared as
// it stands, and so is text. schema is the object's after the change: custom
// resources bring rules of their own. Hooks are left out: their tool deletes and
// creates them at each release.
func markImmutable(c *Change, schema *node) {
	if isHook(c.Before) && isHook(c.After) {
		return
	}
	kind := currentGroup(c.Ref).GroupKind()
	for i := range c.Fields {
		f := &c.Fields[i]
		switch {
		case f.Hidden == filterDefaults, f.Hidden == filterSameValue, f.Hidden == filterUnsettled:
			continue // the API server stores the same on both sides
		case len(f.steps) > 0 && f.steps[0].key == "status":
			continue
		case f.Hidden == filterReordered && kind == "ResourceQuota":
			continue // compared as a set
		}
		for _, r := range immutableRules {
			if r.kind == kind && r.covers(f) && (r.when == nil || r.when(c, f)) {
				f.Immutable = r.reason
				break
			}
		}
		for n, steps := schema, f.steps; n != nil; steps = steps[1:] {
			if n.frozen != "" && f.Immutable == "" {
				f.Immutable = n.frozen
			}
			if len(steps) == 0 {
				break
			}
			if steps[0].list {
				n = n.item()
			} else {
				n = n.child(steps[0].key)
			}
		}
		if f.Immutable != "" {
			f.Hidden = ""
		}
	}
}

// isHook says whether a tool deletes and creates an object at each release,
// whatever changed in it: a Helm hook
// (https://helm.sh/docs/topics/charts_hooks/#hook-deletion-policies) or an Argo CD
// hook, unless its deletion policy says otherwise.
func isHook(o *object.Object) bool {
	if o.Annotation("helm.sh/hook") != "" {
		policy := o.Annotation("helm.sh/hook-delete-policy")
		return policy == "" || strings.Contains(policy, "before-hook-creation")
	}
	if o.Annotation("argocd.argoproj.io/hook") != "" {
		policy := o.Annotation("argocd.argoproj.io/hook-delete-policy")
		return policy == "" || strings.Contains(policy, "BeforeHookCreation")
	}
	return false
}

// covers says whether f is at or below the rule's path, or above it with a value
// there.
func (r immutableRule) covers(f *Field) bool {
	want := strings.Split(r.path, ".")
	for i, s := range f.steps {
		if i == len(want) {
			return true
		}
		if s.list || want[i] != "*" && want[i] != s.key {
			return false
		}
	}
	if len(f.steps) >= len(want) {
		return true
	}
	below := strings.Join(want[len(f.steps):], ".")
	return !f.Before.At(below).Equal(f.After.At(below))
}

// key gives the i-th key of the field's path, "" when there is none.
func (f *Field) key(i int) string {
	if i >= len(f.steps) || f.steps[i].list {
		return ""
	}
	return f.steps[i].key
}

func wasSet(_ *Change, f *Field) bool    { return f.Before.Exists() }
func bothSides(_ *Change, f *Field) bool { return f.Before.Exists() && f.After.Exists() }
func emptied(_ *Change, f *Field) bool {
	return f.Before.Text() != "" && f.After.Text() == ""
}

func wasImmutable(c *Change, _ *Field) bool {
	immutable, _ := c.Before.At("immutable").Bool()
	return immutable
}

// unlessAllowedByOldVersion: the removed versions extensions/v1beta1 and
// apps/v1beta1 let selectors change.
func unlessAllowedByOldVersion(c *Change, _ *Field) bool {
	v := c.After.APIVersion()
	return v != "extensions/v1beta1" && v != "apps/v1beta1"
}

// unlessElasticJob: an Indexed Job may scale when completions and parallelism
// stay equal.
func unlessElasticJob(c *Change, _ *Field) bool {
	if c.After.Text("spec.completionMode") != "Indexed" {
		return true
	}
	for _, o := range []*object.Object{c.Before, c.After} {
		if !o.At("spec.completions").Equal(o.At("spec.parallelism")) {
			return true
		}
	}
	return false
}

// unlessSuspendedJob: while a Job that never started is suspended, where its
// pods may run and how they are labelled can change.
func unlessSuspendedJob(c *Change, f *Field) bool {
	if suspended, _ := c.Before.At("spec.suspend").Bool(); !suspended {
		return true
	}
	switch f.key(3) {
	case "labels", "annotations":
		return f.key(2) != "metadata"
	case "nodeSelector", "tolerations", "affinity", "schedulingGates":
		return f.key(2) != "spec"
	}
	return true
}

// unlessMutableInPod: of a Pod, images, the deadline and added tolerations may
// change.
func unlessMutableInPod(_ *Change, f *Field) bool {
	switch f.key(1) {
	case "containers", "initContainers":
		return !(len(f.steps) == 4 && f.steps[3].key == "image" && f.Op == Set)
	case "activeDeadlineSeconds":
		return !f.After.Exists()
	case "tolerations":
		return f.Op != Add
	case "schedulingGates":
		return f.Op != Remove
	case "terminationGracePeriodSeconds":
		return true
	}
	return true
}

// clusterIPKept: what is left out is kept, and nothing holds to or from
// ExternalName.
func clusterIPKept(c *Change, f *Field) bool {
	external := c.Before.Text("spec.type") == "ExternalName" || c.After.Text("spec.type") == "ExternalName"
	if external || !f.Before.Exists() && c.Before.Text("spec.clusterIP") == "" || !f.After.Exists() {
		return addressSet(c, f)
	}
	if f.key(1) == "clusterIPs" && len(f.steps) == 3 && max(f.steps[2].before, f.steps[2].after) > 0 {
		return bothSides(c, f)
	}
	return true
}

// addressSet: an existing Service has an address although its manifest does not
// say which, so that writing one, or None, is a change of it.
func addressSet(c *Change, f *Field) bool {
	external := c.Before.Text("spec.type") == "ExternalName" || c.After.Text("spec.type") == "ExternalName"
	return !external && f.Op == Add && f.key(1) == "clusterIP" && f.After.Text() != ""
}

func ipFamilyKept(c *Change, f *Field) bool {
	for _, o := range []*object.Object{c.Before, c.After} {
		if o.Text("spec.type") == "ExternalName" || o.Text("spec.clusterIP") == "None" {
			return false
		}
	}
	first := len(f.steps) < 3 || f.steps[2].before == 0 || f.steps[2].after == 0
	return first && bothSides(c, f) && !c.Before.At("spec.ipFamilies").Item(0).Equal(c.After.At("spec.ipFamilies").Item(0))
}

func staysLoadBalancer(c *Change, _ *Field) bool {
	return c.Before.Text("spec.type") == "LoadBalancer" && c.After.Text("spec.type") == "LoadBalancer"
}

func shrinks(_ *Change, f *Field) bool {
	x, errx := object.ParseQuantity(f.Before.String())
	y, erry := object.ParseQuantity(f.After.String())
	return errx == nil && erry == nil && y.Cmp(x) < 0
}

// isVolumeSource: a PersistentVolume's spec is its source and these fields.
func isVolumeSource(_ *Change, f *Field) bool {
	switch f.key(1) {
	case "capacity", "accessModes", "persistentVolumeReclaimPolicy", "claimRef", "storageClassName", "mountOptions",
		"volumeMode", "nodeAffinity", "volumeAttributesClassName":
		return false
	}
	return true
}
