package object

import (
	"strings"
)

// clusterKinds are kinds that live in no namespace: all built-in ones, and custom
// ones that are often used without their definition at hand.
var clusterKinds = func() map[string]bool {
	known := map[string]bool{}
	for _, kind := range strings.Fields(`
	Namespace Node PersistentVolume ComponentStatus
	ClusterRole.rbac.authorization.k8s.io ClusterRoleBinding.rbac.authorization.k8s.io
	CustomResourceDefinition.apiextensions.k8s.io APIService.apiregistration.k8s.io
	MutatingWebhookConfiguration.admissionregistration.k8s.io ValidatingWebhookConfiguration.admissionregistration.k8s.io
	MutatingAdmissionPolicy.admissionregistration.k8s.io MutatingAdmissionPolicyBinding.admissionregistration.k8s.io
	ValidatingAdmissionPolicy.admissionregistration.k8s.io ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io
	StorageClass.storage.k8s.io CSIDriver.storage.k8s.io CSINode.storage.k8s.io VolumeAttachment.storage.k8s.io
	VolumeAttributesClass.storage.k8s.io
	PriorityClass.scheduling.k8s.io IngressClass.networking.k8s.io IPAddress.networking.k8s.io ServiceCIDR.networking.k8s.io
	RuntimeClass.node.k8s.io PodSecurityPolicy.policy PodSecurityPolicy.extensions
	FlowSchema.flowcontrol.apiserver.k8s.io PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io
	CertificateSigningRequest.certificates.k8s.io ClusterTrustBundle.certificates.k8s.io
	DeviceClass.resource.k8s.io ResourceSlice.resource.k8s.io
	StorageVersionMigration.storagemigration.k8s.io
	VolumeSnapshotClass.snapshot.storage.k8s.io VolumeSnapshotContent.snapshot.storage.k8s.io
	VolumeGroupSnapshotClass.groupsnapshot.storage.k8s.io VolumeGroupSnapshotContent.groupsnapshot.storage.k8s.io
	GatewayClass.gateway.networking.k8s.io
	AdminNetworkPolicy.policy.networking.k8s.io BaselineAdminNetworkPolicy.policy.networking.k8s.io ClusterNetworkPolicy.policy.networking.k8s.io

	ClusterIssuer.cert-manager.io Bundle.trust.cert-manager.io
	ClusterSecretStore.external-secrets.io ClusterExternalSecret.external-secrets.io ClusterPushSecret.external-secrets.io
	ClusterGenerator.generators.external-secrets.io
	ClusterPolicy.kyverno.io ClusterCleanupPolicy.kyverno.io GlobalContextEntry.kyverno.io ClusterPolicyReport.wgpolicyk8s.io
	ValidatingPolicy.policies.kyverno.io MutatingPolicy.policies.kyverno.io GeneratingPolicy.policies.kyverno.io
	DeletingPolicy.policies.kyverno.io ImageValidatingPolicy.policies.kyverno.io
	ConstraintTemplate.templates.gatekeeper.sh
	Assign.mutations.gatekeeper.sh AssignMetadata.mutations.gatekeeper.sh AssignImage.mutations.gatekeeper.sh ModifySet.mutations.gatekeeper.sh
	NodePool.karpenter.sh NodeClaim.karpenter.sh Provisioner.karpenter.sh EC2NodeClass.karpenter.k8s.aws AWSNodeTemplate.karpenter.k8s.aws
	AKSNodeClass.karpenter.azure.com
	CiliumClusterwideNetworkPolicy.cilium.io CiliumClusterwideEnvoyConfig.cilium.io CiliumCIDRGroup.cilium.io
	CiliumLoadBalancerIPPool.cilium.io CiliumL2AnnouncementPolicy.cilium.io CiliumEgressGatewayPolicy.cilium.io
	CiliumBGPPeeringPolicy.cilium.io CiliumBGPClusterConfig.cilium.io CiliumBGPPeerConfig.cilium.io CiliumBGPAdvertisement.cilium.io
	CiliumBGPNodeConfigOverride.cilium.io CiliumNode.cilium.io CiliumIdentity.cilium.io
	GlobalNetworkPolicy.projectcalico.org GlobalNetworkSet.projectcalico.org IPPool.projectcalico.org FelixConfiguration.projectcalico.org
	BGPConfiguration.projectcalico.org BGPPeer.projectcalico.org BGPFilter.projectcalico.org HostEndpoint.projectcalico.org
	GlobalNetworkPolicy.crd.projectcalico.org GlobalNetworkSet.crd.projectcalico.org IPPool.crd.projectcalico.org
	FelixConfiguration.crd.projectcalico.org BGPConfiguration.crd.projectcalico.org BGPPeer.crd.projectcalico.org
	BGPFilter.crd.projectcalico.org HostEndpoint.crd.projectcalico.org
	Installation.operator.tigera.io APIServer.operator.tigera.io
	Provider.pkg.crossplane.io Function.pkg.crossplane.io Configuration.pkg.crossplane.io DeploymentRuntimeConfig.pkg.crossplane.io
	CompositeResourceDefinition.apiextensions.crossplane.io Composition.apiextensions.crossplane.io
	ClusterWorkflowTemplate.argoproj.io ClusterAnalysisTemplate.argoproj.io
	ClusterTask.tekton.dev ClusterTriggerBinding.triggers.tekton.dev ClusterInterceptor.triggers.tekton.dev
	ClusterTriggerAuthentication.keda.sh ClusterCloudEventSource.eventing.keda.sh
	KongClusterPlugin.configuration.konghq.com
	ClusterQueue.kueue.x-k8s.io ResourceFlavor.kueue.x-k8s.io AdmissionCheck.kueue.x-k8s.io WorkloadPriorityClass.kueue.x-k8s.io
	ClusterPolicy.nvidia.com NVIDIADriver.nvidia.com NodeFeatureRule.nfd.k8s-sigs.io
	SecurityContextConstraints.security.openshift.io Project.project.openshift.io
	`) {
		known[kind] = true
	}
	return known
}()

// ClusterScoped says whether objects of ref's kind are known to live in no namespace.
// Of a custom kind that is not often met only its definition tells: see Scopes.
func ClusterScoped(ref Ref) bool {
	return clusterKinds[ref.GroupKind()] || ref.Group == "constraints.gatekeeper.sh"
}

// Scopes are the scopes of the custom kinds that some objects define.
type Scopes map[string]bool // by "Kind.group": whether the kind lives in no namespace

// ScopesOf reads the CustomResourceDefinitions among objects.
func ScopesOf(objects []*Object) Scopes {
	out := Scopes{}
	for _, o := range objects {
		if o.Ref.Kind == "CustomResourceDefinition" && o.Ref.Group == "apiextensions.k8s.io" {
			out[Ref{Group: o.Text("spec.group"), Kind: o.Text("spec.names.kind")}.GroupKind()] = o.Text("spec.scope") == "Cluster"
		}
	}
	return out
}

// Cluster says whether objects of ref's kind live in no namespace, by its definition
// or, where that is not at hand, as ClusterScoped says.
func (s Scopes) Cluster(ref Ref) bool {
	if cluster, ok := s[ref.GroupKind()]; ok {
		return cluster
	}
	return ClusterScoped(ref)
}

// InNamespace gives a copy that names a namespace; all other content is shared.
func (o *Object) InNamespace(namespace string) *Object {
	moved := *o
	moved.Ref.Namespace = namespace
	meta := o.root.below("metadata").clone()
	meta.set("namespace", namespace)
	moved.root = o.root.clone()
	moved.root.set("metadata", meta)
	return &moved
}
