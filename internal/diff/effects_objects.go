package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// deletion tells what goes with an object that is deleted, or that continues
// under another name.
func (e *engine) deletion(c *Change, o *object.Object, out *effects) {
	if w, ok := e.workload(e.before, o); ok && startsPods(w) {
		out.add(Removed, "", "ends %s", pods(w.Replicas))
	}
	switch currentGroup(o.Ref).GroupKind() {
	case "Deployment.apps", "DaemonSet.apps":
		if c.Action == Rename {
			out.add(Removed, "", "the pods under the new name are new ones: both run at once or none, by the tool's order")
		}
	case "StatefulSet.apps":
		if c.Action == Rename {
			out.add(DataLoss, "", "the pods under the new name start with new, empty claims; the old claims stay unused")
		} else if o.Text("spec.persistentVolumeClaimRetentionPolicy.whenDeleted") == "Delete" {
			out.add(DataLoss, "", "deletes its claims with it (persistentVolumeClaimRetentionPolicy)")
		}
	case "Service":
		what := "its cluster IP and DNS name go"
		if o.Text("spec.clusterIP") == "None" {
			what = "its DNS name goes"
		}
		if c.Action == Rename {
			what += "; the new one has another DNS name, and another address unless it is pinned"
		}
		out.add(Address, "", "%s", what)
		if o.Text("spec.type") == "LoadBalancer" {
			out.add(LoadBalancer, "", "the cloud load balancer is deleted and its address with it, unless reserved")
		}
	case "PersistentVolumeClaim":
		out.add(DataLoss, "", "once no pod uses it, the volume goes under reclaim policy Delete and stays detached under Retain")
	case "Namespace":
		out.add(DataLoss, "", "everything in the namespace goes")
	case "CustomResourceDefinition.apiextensions.k8s.io":
		out.add(DataLoss, "", "every %s in the cluster goes", o.Text("spec.names.kind"))
	case "NetworkPolicy.networking.k8s.io":
		out.add(Traffic, "", "pods that no other policy selects are open to all again")
	case "Ingress.networking.k8s.io":
		out.add(Traffic, "", "its hosts and paths are served no more")
	case "ServiceAccount":
		out.add(Removed, "", "tokens of running pods become invalid, new pods that name it are refused")
	case "HorizontalPodAutoscaler.autoscaling":
		out.add(InPlace, "", "the count stays until the workload's own replicas are applied")
	case "PodDisruptionBudget.policy":
		out.add(NoEffect, "", "drains may evict its pods without limit")
	case "ConfigMap", "Secret":
		if c.Action == Delete {
			if users := e.users(o.Ref, func(r object.Reference) bool { return !r.Optional }); users != "" {
				out.add(Restart, "", "running pods of %s go on, their next start fails", users)
			}
		}
	}
}

// replacement tells what a replace does: the refusal, and what goes when the
// object is deleted and created again.
func (e *engine) replacement(c *Change, out *effects) {
	tool := recreatedBy(c.After)
	for _, f := range c.Fields {
		switch {
		case f.Immutable == "":
		case tool != "":
			out.add(Removed, f.Path, "%s deletes and creates it: %s", tool, f.Immutable)
		default:
			out.add(Refused, f.Path, "the API server refuses the update: %s", f.Immutable)
		}
	}
	switch currentGroup(c.Ref).GroupKind() {
	case "Deployment.apps", "DaemonSet.apps", "ReplicaSet.apps":
		if w, ok := e.workload(e.before, c.Before); ok {
			out.add(Removed, "", "deleting and creating it ends %s at once", pods(w.Replicas))
		}
	case "StatefulSet.apps":
		out.add(Removed, "", "deleting and creating it ends its pods, unless with --cascade=orphan; claims stay as they are")
	case "Job.batch":
		out.add(Removed, "", "deleting and creating it runs the work again from the start")
	case "Service":
		out.add(Address, "", "deleting and creating it allocates another cluster IP unless one is pinned")
		if c.Before.Text("spec.type") == "LoadBalancer" {
			out.add(LoadBalancer, "", "deleting and creating it makes a new cloud load balancer, often with another address")
		}
	case "PersistentVolumeClaim":
		out.add(DataLoss, "", "deleting the claim deletes its volume under reclaim policy Delete")
	case "CustomResourceDefinition.apiextensions.k8s.io":
		out.add(DataLoss, "", "deleting the definition deletes every %s in the cluster", c.Before.Text("spec.names.kind"))
	case "RoleBinding.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io":
		out.add(Removed, "", "between delete and create the grant is gone")
	}
}

// recreatedBy names the tool that an object's annotations ask to delete and
// create it where an update is refused
// (https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/,
// https://fluxcd.io/flux/components/kustomize/kustomizations/#force).
func recreatedBy(o *object.Object) string {
	options := o.Annotation("argocd.argoproj.io/sync-options")
	switch {
	case strings.Contains(options, "Force=true") && strings.Contains(options, "Replace=true"):
		return "Argo CD"
	case isWord("enabled", strings.ToLower(o.Annotation("kustomize.toolkit.fluxcd.io/force")), o.Labels()["kustomize.toolkit.fluxcd.io/force"]):
		return "Flux"
	}
	return ""
}

// configEffects tells when those who use a ConfigMap or Secret see its change.
func (e *engine) configEffects(c *Change, out *effects) {
	var paths []object.Path
	keys := map[string]bool{}
	whole := false
	for _, f := range c.Fields {
		if f.Hidden == filterDefaults || f.Hidden == filterServer || f.Hidden == filterLayout || f.Hidden == filterUnsettled || len(f.steps) == 0 {
			continue
		}
		switch f.steps[0].key {
		case "data", "binaryData", "stringData":
			paths = append(paths, f.Path)
			if len(f.steps) > 1 {
				keys[f.steps[1].key] = true
			} else {
				whole = true
			}
		}
	}
	if len(paths) == 0 || c.Action == Rename && c.hashed {
		return
	}
	touches := func(r object.Reference) bool { return r.Key == "" || whole || keys[r.Key] }
	add := func(kind EffectKind, users, format string) {
		if users == "" {
			return
		}
		for _, p := range paths {
			out.add(kind, p, format, users)
		}
	}
	reloaded := func(r object.Reference) bool { return reloads(r.From, c.Ref) }
	add(Rolling, e.users(c.Ref, func(r object.Reference) bool { return touches(r) && reloaded(r) }),
		"a reloader restarts the pods of %s")
	add(InPlace, e.users(c.Ref, func(r object.Reference) bool {
		return touches(r) && !reloaded(r) && (r.Use == object.UseVolume || r.Use == object.UseProjected) && !r.SubPath
	}), "files in running pods of %s change within about a minute; the program must read them again")
	add(NoEffect, e.users(c.Ref, func(r object.Reference) bool {
		return touches(r) && !reloaded(r) && (r.Use == object.UseEnv || r.Use == object.UseEnvFrom || r.SubPath)
	}), "running pods of %s keep the old value until they restart")
	add(InPlace, e.users(c.Ref, func(r object.Reference) bool { return r.Use == object.UseTLS }),
		"%s serves the new certificate")
}

// reloads says whether a workload asks Stakater's Reloader to restart it when
// the object changes
// (https://github.com/stakater/Reloader#how-to-use-reloader).
func reloads(workload *object.Object, ref object.Ref) bool {
	kind := strings.ToLower(ref.Kind)
	if workload.Annotation("reloader.stakater.com/auto") == "true" || workload.Annotation(kind+".reloader.stakater.com/auto") == "true" {
		return true
	}
	for name := range strings.SplitSeq(workload.Annotation(kind+".reloader.stakater.com/reload"), ",") {
		if strings.TrimSpace(name) == ref.Name {
			return true
		}
	}
	return false
}

// maxUsers bounds how many users one effect names.
const maxUsers = 5

// users names those that use an object after the change, in order.
func (e *engine) users(ref object.Ref, uses func(object.Reference) bool) string {
	var names []string
	for _, r := range e.after.ReferencesTo(ref) {
		if name := r.From.Ref.String(); uses(r) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxUsers {
		return strings.Join(names[:maxUsers], ", ") + fmt.Sprintf(" and %d more", len(names)-maxUsers)
	}
	return strings.Join(names, ", ")
}

// An effectRule is the effect of one field of a kind.
type effectRule struct {
	kinds string // as object.Ref.GroupKind, divided by spaces
	path  string // keys joined by dots, list items left out; what is below belongs to it
	kind  EffectKind
	text  string
}

// effectRules come from the field documentation at
// https://kubernetes.io/docs/reference/kubernetes-api/, the concept pages on
// Services, Ingress, NetworkPolicy, PersistentVolumes and autoscaling there, and
// the documentation of each load balancer controller.
var effectRules = []effectRule{
	{"Deployment.apps StatefulSet.apps DaemonSet.apps", "metadata.labels", NoEffect, "the object's own labels are not on its pods"},
	{"Deployment.apps", "spec.strategy", NoEffect, "rules the next rollout"},
	{"Deployment.apps", "spec.progressDeadlineSeconds", NoEffect, "only when a stuck rollout is reported"},
	{"Deployment.apps StatefulSet.apps DaemonSet.apps", "spec.revisionHistoryLimit", NoEffect, "revisions beyond the limit are deleted, and cannot be rolled back to"},
	{"Deployment.apps StatefulSet.apps DaemonSet.apps", "spec.minReadySeconds", InPlace, "changes the pace of this and the next rollout"},
	{"Deployment.apps", "spec.paused", InPlace, "true holds template changes back, false releases all of them at once"},
	{"StatefulSet.apps DaemonSet.apps", "spec.updateStrategy.type", NoEffect, "rules the next rollout"},
	{"StatefulSet.apps", "spec.updateStrategy.rollingUpdate.partition", Rolling, "a lower partition releases the template to more pods"},
	{"StatefulSet.apps", "spec.persistentVolumeClaimRetentionPolicy", DataLoss, "with Delete, scaling down or deleting the set deletes its claims"},
	{"StatefulSet.apps", "spec.ordinals", Restart, "pods outside the new range go, new ordinals with new claims come"},
	{"Job.batch", "spec.suspend", Removed, "true ends the running pods"},
	{"Job.batch", "spec.ttlSecondsAfterFinished", Removed, "when it runs out, the finished Job and its logs go, and a GitOps tool runs it again"},
	{"Job.batch", "spec.parallelism", InPlace, "pods are added or end at once"},
	{"CronJob.batch", "spec.schedule", Future, "a start that is missed in between may run at once"},
	{"CronJob.batch", "spec.suspend", Future, "running Jobs go on"},
	{"CronJob.batch", "spec.concurrencyPolicy", Future, "from the next run; Replace ends a running Job then"},

	{"Service", "spec.selector", Traffic, "endpoints are recomputed at once, long before a rollout of the same merge is done"},
	{"Service", "spec.ports.port", Traffic, "clients must change in the same moment"},
	{"Service", "spec.ports.targetPort", Traffic, "endpoints change at once; a name that a pod does not have gives that pod no endpoint"},
	{"Service", "spec.ports.name", Traffic, "routes, monitors and SRV records that name the port lose it"},
	{"Service", "spec.ports.nodePort", Address, "clients of the node port must change"},
	{"Service", "spec.ports.appProtocol", Traffic, "meshes, Gateways and cloud load balancers speak another protocol"},
	{"Service", "spec.ports", Traffic, "the port comes or goes at once"},
	{"Service", "spec.externalTrafficPolicy", Traffic, "Local drops traffic on nodes without a ready pod, Cluster hides the client's address"},
	{"Service", "spec.internalTrafficPolicy", Traffic, "with Local, pods on nodes without an endpoint get nothing"},
	{"Service", "spec.sessionAffinity", Traffic, "which pod a client gets changes"},
	{"Service", "spec.publishNotReadyAddresses", Traffic, "true sends traffic to pods that are not ready"},
	{"Service", "spec.trafficDistribution", Traffic, "which pods get requests changes by zone"},
	{"Service", "spec.loadBalancerIP", Address, "the load balancer's address changes, by provider"},
	{"Service", "spec.loadBalancerSourceRanges", Traffic, "the firewall of the load balancer changes"},
	{"Service", "spec.externalName", Traffic, "clients follow once DNS caches run out"},
	{"Ingress.networking.k8s.io", "spec.rules", Traffic, "as soon as the controller reloads"},
	{"Ingress.networking.k8s.io", "spec.defaultBackend", Traffic, "as soon as the controller reloads"},
	{"Ingress.networking.k8s.io", "spec.ingressClassName", Address, "another controller takes over, with another address"},
	{"Ingress.networking.k8s.io", "spec.tls", Traffic, "another certificate; a missing Secret means the controller's default one"},
	{"NetworkPolicy.networking.k8s.io", "spec", Traffic, "new connections at once, established ones by network plugin"},
	{"Gateway.gateway.networking.k8s.io", "spec.listeners", Traffic, "attached routes may lose their parent"},
	{"Gateway.gateway.networking.k8s.io", "spec.gatewayClassName", LoadBalancer, "another controller makes another load balancer"},
	{"Gateway.gateway.networking.k8s.io", "spec.addresses", Address, "the Gateway's address changes"},
	{"Endpoints EndpointSlice.discovery.k8s.io", "subsets", Traffic, "at once"},
	{"Endpoints EndpointSlice.discovery.k8s.io", "endpoints", Traffic, "at once"},

	{"PersistentVolumeClaim", "spec.resources", InPlace, "grows the disk; the file system at once or at the next mount, by driver"},
	{"PersistentVolumeClaim", "spec.volumeAttributesClassName", InPlace, "the driver changes the volume live"},
	{"PersistentVolume", "spec.persistentVolumeReclaimPolicy", Future, "with Delete, the data goes with the claim"},
	{"StorageClass.storage.k8s.io", "metadata.annotations", Future, "claims without a class may get another one"},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.versions.served", Removed, "clients of a version that is no longer served fail at once"},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.versions.schema", InPlace, "fields that the schema no longer has are hidden in reads and dropped at the next write"},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.versions", InPlace, "clients of a version that goes fail at once"},
	{"CustomResourceDefinition.apiextensions.k8s.io", "spec.conversion", InPlace, "a webhook that does not answer makes reads of stored objects fail"},

	{"HorizontalPodAutoscaler.autoscaling", "spec", InPlace, "at the next evaluation, within 15 s"},
	{"ScaledObject.keda.sh", "spec", InPlace, "at the next evaluation"},
	{"PodDisruptionBudget.policy", "spec", NoEffect, "evictions only: drains, node autoscalers"},
	{"ResourceQuota LimitRange", "spec", Future, "running pods stay, new ones are held to it"},
	{"PriorityClass.scheduling.k8s.io", "globalDefault", Future, "pods that are created later"},
	{"Role.rbac.authorization.k8s.io ClusterRole.rbac.authorization.k8s.io", "rules", InPlace, "from the next request"},
	{"RoleBinding.rbac.authorization.k8s.io ClusterRoleBinding.rbac.authorization.k8s.io", "subjects", InPlace, "from the next request"},
	{"ValidatingWebhookConfiguration.admissionregistration.k8s.io MutatingWebhookConfiguration.admissionregistration.k8s.io", "webhooks", InPlace, "from the next request on"},
	{"APIService.apiregistration.k8s.io", "spec", InPlace, "an aggregated API that does not answer breaks discovery and namespace deletion"},
	{"Namespace", "metadata.labels", Future, "admission of new pods; namespace selectors at once"},
	{"ServiceAccount", "imagePullSecrets", Future, "copied into pods when they are created"},
	{"ServiceAccount", "metadata.annotations", Future, "cloud identities are injected when pods are created"},
	{"ConfigMap Secret", "immutable", InPlace, "from then on the data cannot change"},
}

// fieldEffects adds the effects of one field by table, and of those that need
// both sides.
func fieldEffects(c *Change, kind string, f *Field, out *effects) {
	var keys []string
	for _, s := range f.steps {
		if !s.list {
			keys = append(keys, s.key)
		}
	}
	if kind == "HorizontalPodAutoscaler.autoscaling" && len(keys) == 2 && boundEffects(c, keys[1], f, out) {
		return
	}
	if kind == "Service" && len(keys) == 2 && keys[0] == "spec" && keys[1] == "type" {
		typeEffects(c, f, out)
		return
	}
	if len(keys) == 3 && keys[0] == "metadata" && keys[1] == "annotations" {
		if effect, text := annotationEffect(keys[2]); effect != "" && (kind == "Service" || kind == "Ingress.networking.k8s.io") {
			out.add(effect, f.Path, "%s", text)
			return
		}
	}
	path := strings.Join(keys, "\x00") + "\x00"
	for _, r := range effectRules {
		if hasWord(r.kinds, kind) && strings.HasPrefix(path, strings.ReplaceAll(r.path, ".", "\x00")+"\x00") {
			out.add(r.kind, f.Path, "%s", r.text)
			return
		}
	}
}

// boundEffects adds what another bound of an autoscaler does at once, which depends on
// its direction.
func boundEffects(c *Change, name string, f *Field, out *effects) bool {
	bound := func(o *object.Object) int64 {
		n, ok := o.At("spec." + name).Int()
		if !ok && name == "minReplicas" {
			return 1 // https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2/
		}
		return n
	}
	before, after := bound(c.Before), bound(c.After)
	switch {
	case name == "maxReplicas" && after < before:
		out.add(InPlace, f.Path, "if more than %d run, it scales down at once", after)
	case name == "maxReplicas":
		out.add(InPlace, f.Path, "it may go beyond %d when it has reason to", before)
	case name == "minReplicas" && after > before:
		out.add(InPlace, f.Path, "if fewer than %d run, it scales up at once", after)
	case name == "minReplicas":
		out.add(InPlace, f.Path, "it may go below %d when load is low", before)
	default:
		return false
	}
	return true
}

func typeEffects(c *Change, f *Field, out *effects) {
	typeOf := func(o *object.Object) string {
		if t := o.Text("spec.type"); t != "" {
			return t
		}
		return "ClusterIP"
	}
	before, after := typeOf(c.Before), typeOf(c.After)
	switch {
	case before == "LoadBalancer":
		out.add(LoadBalancer, f.Path, "the cloud load balancer is deleted and its address with it, unless reserved")
	case after == "ExternalName":
		out.add(Address, f.Path, "the cluster IP is released, DNS answers an alias")
	case before == "ExternalName":
		out.add(Address, f.Path, "a cluster IP is allocated, DNS answers it in place of an alias")
	case before == "NodePort" && after == "ClusterIP":
		out.add(Address, f.Path, "node ports are released")
	case after == "LoadBalancer":
		out.add(Address, f.Path, "a cloud load balancer is made, with an address of its own")
	default:
		out.add(Address, f.Path, "node ports are allocated")
	}
}

// annotationEffect gives the effect of a load balancer controller's annotation,
// from the documentation of the AWS Load Balancer Controller v3.5.0
// (docs/guide/service/annotations.md, docs/guide/ingress/annotations.md),
// cloud-provider-gcp, GKE (service-parameters) and cloud-provider-azure
// (topics/loadbalancer.md).
func annotationEffect(key string) (EffectKind, string) {
	const aws, alb, azure = "service.beta.kubernetes.io/aws-load-balancer-", "alb.ingress.kubernetes.io/", "service.beta.kubernetes.io/azure-"
	switch key {
	case aws + "scheme", aws + "internal", aws + "type", alb + "scheme", alb + "group.name",
		"networking.gke.io/load-balancer-type", "cloud.google.com/load-balancer-type", "cloud.google.com/l4-rbs":
		return LoadBalancer, "another load balancer is made, with another name and other addresses; the old one goes or is left behind"
	case aws + "disable-nlb-sg", alb + "customer-owned-ipv4-pool":
		return Refused, "the controller cannot change this on a load balancer that exists"
	case aws + "name", alb + "load-balancer-name":
		return NoEffect, "only when the load balancer is made"
	case aws + "subnets", aws + "eip-allocations", aws + "private-ipv4-addresses", aws + "ip-address-type",
		"networking.gke.io/internal-load-balancer-subnet", "networking.gke.io/load-balancer-ip-addresses",
		"cloud.google.com/network-tier", "kubernetes.io/ingress.global-static-ip-name",
		azure + "load-balancer-internal", azure + "load-balancer-internal-subnet", azure + "load-balancer-ipv4", azure + "load-balancer-ipv6",
		azure + "pip-name", azure + "pip-prefix-id", azure + "load-balancer-resource-group", azure + "dns-label-name",
		"metallb.io/address-pool", "metallb.universe.tf/address-pool", "metallb.io/loadBalancerIPs", "metallb.universe.tf/loadBalancerIPs":
		return Address, "the load balancer's address changes"
	case aws + "attributes", aws + "ssl-cert", "networking.gke.io/internal-load-balancer-allow-global-access",
		"cloud.google.com/backend-config", azure + "load-balancer-tcp-idle-timeout":
		return InPlace, "the controller changes the load balancer in place"
	}
	for _, prefix := range []string{aws, alb, azure, "cloud.google.com/", "networking.gke.io/", "nginx.ingress.kubernetes.io/", "haproxy.org/"} {
		if strings.HasPrefix(key, prefix) {
			return Traffic, "the controller rewrites its listeners, routes or target groups"
		}
	}
	return "", ""
}
