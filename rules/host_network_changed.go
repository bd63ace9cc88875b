package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// HostNetworkChanged reports pods that move into the node's network or out of it.
var HostNetworkChanged = &rule.Rule{
	ID:       "host-network-changed",
	Title:    "Pods move into the node's network or out of it, or take a port of it",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
In the node's network a pod has the node's address and shares its ports. Two pods that listen on one port do not fit on one node, so that a
rollout with a surge finds no place, and a port that something else of the node has taken kills the pod at start. Network policies by pod
labels do not hold for it, and with dnsPolicy ClusterFirst it asks the node's resolvers and finds no Service
([Kubernetes](https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy)): it needs ClusterFirstWithHostNet.
Out of the node's network, whoever reached it by the node's address finds nobody.

A hostPort is the same for one port.`,
	Advice: `Set dnsPolicy: ClusterFirstWithHostNet together with hostNetwork, and let the rollout take pods away first (maxSurge 0). See who uses the
node's address, load balancers and firewalls included, before you leave it.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkHostNetworkChanged,
}

func checkHostNetworkChanged(p *rule.Pass, c diff.Change) {
	if !touched(c, "hostNetwork", ".ports") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	was, now := isTrue(before.PodSpec.Field("hostNetwork")), isTrue(after.PodSpec.Field("hostNetwork"))
	path := after.SpecPath().Key("hostNetwork")
	switch {
	case now && !was:
		f := rule.Finding{Path: path, Message: "pods move into the node's network"}
		says := []string{"they share the node's ports, and two of them that listen on one port do not fit on one node"}
		if policy := after.PodSpec.Field("dnsPolicy").Text(); policy == "" || policy == "ClusterFirst" {
			says = append(says, "with dnsPolicy ClusterFirst they find no Service by its name")
		}
		if policies := p.After.PoliciesFor(after.Ref); len(policies) > 0 {
			says = append(says, fmt.Sprintf("%s holds for them no longer", policies[0].Ref))
			f.Related = append(f.Related, policies[0].Ref)
		}
		f.Consequence = strings.Join(says, "; ")
		p.Report(c, f)
	case was && !now:
		p.Report(c, rule.Finding{
			Path:        path,
			Message:     "pods leave the node's network",
			Consequence: "whoever reached them by a node's address finds nobody, and what they listen on for the node is closed",
		})
	default:
		gained, lost := lostOf(hostPorts(after), hostPorts(before)), lostOf(hostPorts(before), hostPorts(after))
		f := rule.Finding{Path: hostPortPath(before, after, gained, lost), Before: object.Of(strings.Join(lost, ", ")), After: object.Of(strings.Join(gained, ", "))}
		switch {
		case len(gained) == 0 && len(lost) == 0 || now:
			return
		case len(lost) == 0:
			f.Message = fmt.Sprintf("pods take port %s of their node", listed(gained))
			f.Consequence = "one pod fits on a node, and none where the port is taken; a rollout with a surge needs free nodes"
		case len(gained) == 0:
			f.Message = fmt.Sprintf("pods give up port %s of their node", listed(lost))
			f.Consequence = "whoever reached them by a node's address finds nobody"
		default:
			f.Message = fmt.Sprintf("pods take port %s of their node in place of %s", listed(gained), listed(lost))
			f.Consequence = "whoever reached them by a node's address must change with it"
		}
		p.Report(c, f)
	}
}

// hostPortPath names the first port that pods take of their node, or give back.
func hostPortPath(before, after object.Workload, gained, lost []string) object.Path {
	w, ports := after, gained
	if len(gained) == 0 {
		w, ports = before, lost
	}
	for _, box := range w.Running() {
		for _, v := range box.At("ports").Items() {
			if len(ports) > 0 && hostPortText(v) == ports[0] {
				return box.Path.Key("ports").Select("containerPort", v.Field("containerPort").String()).Key("hostPort")
			}
		}
	}
	return w.SpecPath().Key("containers")
}

// hostPortText gives the port of the node that a container's port takes, or "".
func hostPortText(v object.Value) string {
	s := v.Field("hostPort").String()
	if !v.Field("hostPort").Exists() || s == "0" {
		return ""
	}
	if x := v.Field("protocol").Text(); x != "" && x != "TCP" {
		s += "/" + x
	}
	return s
}

// hostPorts gives the node ports that a pod takes, "9100" or "53/UDP".
func hostPorts(w object.Workload) []string {
	var out []string
	for _, box := range w.Running() {
		for _, v := range box.At("ports").Items() {
			if s := hostPortText(v); s != "" {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return out
}
