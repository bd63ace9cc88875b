// Package rules is the catalogue of risks: one file a rule, and All, the list of
// them. README.md beside it tells each one with its examples.
package rules

import (
	"embed"

	"github.com/prdiff/prdiff/internal/rule"
)

// All is every rule, in the order in which the catalogue tells them.
var All = []*rule.Rule{
	ServiceSelectorNarrowed,
	ServiceSelectorChanged,
	ServiceSelectorWidened,
	ServiceWithoutEndpoints,
	ServiceRecreated,
	ServicePortRemoved,
	ServicePortChanged,
	ServicePortRenamed,
	ServiceTargetPortChanged,
	ServiceTargetPortBroken,
	ServiceTrafficPolicyChanged,
	ServiceRemoved,
	RouteRemoved,
	RouteBackendChanged,
	RouteWithoutHost,
	IngressClassChanged,
	IngressTLSChanged,
	IngressAnnotationChanged,
	NetworkPolicyIsolates,
	NetworkPolicyTightened,

	ImmutableFieldChanged,
	WorkloadRemoved,
	WorkloadKindChanged,
	WorkloadRenamed,

	ReplicasReduced,
	ScaledToZero,
	ReplicasFieldRemoved,
	ReplicasSetUnderHPA,
	ReplicasRaisedSharply,
	RolloutRecreate,
	RolloutBoundsWidened,
	RolloutHeldBack,
	RolloutWatchedLess,

	ProbeRemoved,
	ProbeTightened,
	StartupBudgetShortened,
	ProbeMoved,
	ProbePortMissing,
	LivenessChecksDependency,
	ContainerPortChanged,
	ContainerRemoved,
	GracePeriodShortened,
	GracefulShutdownRemoved,
	PreStopOutlastsGrace,

	ResourcesRemoved,
	ResourcesReduced,
	LimitAdded,
	MemoryLimitBelowHeap,
	RequestsRaisedSharply,
	ResourcesRefused,

	PDBBlocksEviction,
	PDBRemoved,
	PDBSelectorChanged,
	SpreadLoosened,
	SpreadHardened,
	NodeSelectorChanged,
	NodeLabelObsolete,
	TolerationRemoved,
	PriorityClassChanged,
	DaemonSetAPILoad,

	ImageTagUnpinned,
	ImageVersionJumped,
	ImageReplaced,
	ImagePullPolicyChanged,
	EnvRemoved,
	ArgsFlagRenamed,
	MountRemoved,

	SecurityContextTightened,
	SecurityContextLoosened,
	FSGroupChanged,
	HostNetworkChanged,
	ServiceAccountChanged,

	JobRetryUnbounded,
	CronJobConcurrency,
	CronJobScheduleChanged,
	JobSuspended,

	AutoscalerCeilingRaised,
	DNSCapacity,

	ClaimRemoved,
	StatefulSetVolumesLeft,
	ClaimsDeletedWithSet,
	ReclaimPolicyLoosened,
	StorageClassChanged,
	StorageShrunk,

	ReconnectDefaultOverridden,
	ReconnectDefaultRemoved,
	ClientRetryOrTimeoutChanged,
	ConfigKeyMissing,
	ConfigReferenceMissing,
	ConfigRestartsNobody,
	ProxyFiltersChanged,
	ClusterMembershipChanged,
	CRDRemoved,
	CRDVersionRemoved,
	CRDSchemaNarrowed,
	CRDConversionChanged,
	WebhookFailClosed,
	WebhookTimeoutChanged,
	WebhookScopeWidened,
	WebhookServiceChanged,
	WebhookRemoved,
	RBACRulesRemoved,
	RBACBindingRemoved,
	RBACWidened,
	RBACGroupMisspelt,
	NamespaceRemoved,
	NamespaceLabelsChanged,
	CloudIdentityChanged,
	APIServiceRemoved,
	APIVersionRemoved,
	MonitoringRemoved,
	MonitoringLabelsChanged,
	GitOpsSourceRemoved,
	GitOpsPruneEnabled,
	GitOpsTargetChanged,
	GitOpsSyncStopped,
	MassRestart,
	MassRename,
	MassRemoval,
	EnvironmentLeftOut,
}

// Fixtures holds the cases of each rule, testdata/RULE-ID/*.txtar, for showing
// them beside the rule.
//
//go:embed testdata
var Fixtures embed.FS
