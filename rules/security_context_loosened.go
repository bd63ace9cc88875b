package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// SecurityContextLoosened reports a container that may do more to its node than before.
var SecurityContextLoosened = &rule.Rule{
	ID:       "security-context-loosened",
	Title:    "A container may do more to its node than before",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A privileged container, one in the node's process or IPC namespace, one with a mount of the node's root or of its container runtime, and one with
capabilities like SYS_ADMIN is root on the node, and from there mostly on the cluster. A namespace with the pod security
levels baseline or restricted refuses such pods: not the Deployment but each new pod, so that the rollout stands still and a pod that ends
does not come back.

A user that becomes root, a root file system that may be written again and capabilities of less weight are a note.`,
	Advice: `Give the one capability that is needed, on the one container that needs it, and look at the namespace's pod-security labels
(` + "`pod-security.kubernetes.io/enforce`" + `) before the merge.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkSecurityContextLoosened,
}

// strong are capabilities that amount to root on the node, or to its network.
var strong = []string{"ALL", "SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "DAC_READ_SEARCH", "NET_ADMIN", "BPF", "PERFMON"}

func checkSecurityContextLoosened(p *rule.Pass, c diff.Change) {
	if !touched(c, "securityContext", "hostPID", "hostIPC", ".volumes") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, field := range []string{"hostPID", "hostIPC"} {
		if isTrue(after.PodSpec.Field(field)) && !isTrue(before.PodSpec.Field(field)) {
			p.Report(c, rule.Finding{
				Path:        after.SpecPath().Key(field),
				Message:     fmt.Sprintf("pods see the node's own %s", map[string]string{"hostPID": "processes", "hostIPC": "shared memory"}[field]),
				Consequence: "they can read and stop what runs on the node; pod security levels baseline and restricted refuse them",
			})
		}
	}
	reportHostPaths(p, c, before, after)
	for _, pair := range pairContainers(before, after) {
		reportLoosened(p, c, before, after, pair)
	}
}

func reportLoosened(p *rule.Pass, c diff.Change, before, after object.Workload, pair containerPair) {
	f := rule.Finding{Severity: rule.Note}
	var parts []string
	add := func(field, part string, grave bool) {
		if f.Path == "" || grave && f.Severity == rule.Note {
			f.Path = securityPath(after, pair.after, field)
		}
		if grave {
			f.Severity = rule.Warning
		}
		parts = append(parts, part)
	}
	was := func(field string) object.Value { return security(before, pair.before, field) }
	now := func(field string) object.Value { return security(after, pair.after, field) }
	if isTrue(now("privileged")) && !isTrue(was("privileged")) {
		add("privileged", "it becomes privileged", true)
	}
	gained := lostOf(pair.after.At("securityContext.capabilities.add").Texts(), pair.before.At("securityContext.capabilities.add").Texts())
	gained = lostOf(gained, []string{"NET_BIND_SERVICE"}) // the one that every level allows
	if len(gained) > 0 {
		add("capabilities", fmt.Sprintf("it gains %s", listed(gained)), len(lostOf(gained, strong)) < len(gained))
	}
	if isTrue(was("runAsNonRoot")) && !isTrue(now("runAsNonRoot")) || was("runAsUser").Exists() && was("runAsUser").String() != "0" && now("runAsUser").String() == "0" {
		add("runAsUser", "it may run as root", false)
	}
	if isTrue(was("readOnlyRootFilesystem")) && !isTrue(now("readOnlyRootFilesystem")) {
		add("readOnlyRootFilesystem", "its root file system may be written", false)
	}
	if v := was("allowPrivilegeEscalation"); v.Exists() && !isTrue(v) && (!now("allowPrivilegeEscalation").Exists() || isTrue(now("allowPrivilegeEscalation"))) {
		add("allowPrivilegeEscalation", "it may gain privileges", false)
	}
	if len(parts) == 0 {
		return
	}
	f.Message = fmt.Sprintf("container %s: %s", pair.after.Name, strings.Join(parts, ", "))
	f.Consequence = "a namespace with the pod security level restricted refuses its new pods"
	if f.Severity == rule.Warning {
		f.Consequence = "who breaks into it has the node; a namespace with the pod security level baseline or restricted refuses its new pods"
	}
	p.Report(c, f)
}

// reportHostPaths tells of mounts of the node's root or container runtime.
func reportHostPaths(p *rule.Pass, c diff.Change, before, after object.Workload) {
	paths := func(w object.Workload) []string {
		var out []string
		for _, v := range w.PodSpec.Field("volumes").Items() {
			if s := v.At("hostPath.path").Text(); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	var grave []string
	for _, s := range lostOf(paths(after), paths(before)) {
		switch strings.TrimSuffix(s, "/") {
		case "", "/etc", "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/var/run/containerd/containerd.sock",
			"/var/run/crio/crio.sock", "/run/crio/crio.sock", "/var/lib/kubelet", "/proc", "/var/run", "/run":
			grave = append(grave, s)
		}
	}
	if len(grave) > 0 {
		p.Report(c, rule.Finding{
			Path:        after.SpecPath().Key("volumes"),
			Before:      object.Value{},
			After:       object.Of(grave[0]),
			Message:     fmt.Sprintf("pods mount %s of the node", listed(grave)),
			Consequence: "who breaks into one has the node; pod security levels baseline and restricted refuse them",
		})
	}
}
