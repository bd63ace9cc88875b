package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// NodeNetworkChanged reports settings by which every node carries its pods' traffic.
var NodeNetworkChanged = &rule.Rule{
	ID:       "node-network-changed",
	Title:    "Every node carries its pods' traffic in another way",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
The CNI plugin gives pods their addresses and routes, kube-proxy or its stand-in sends Services to pods, and conntrack remembers every connection. A setting of one of them
reaches all nodes within one rolling update of a DaemonSet, and what it does shows only under load: subnets run out of addresses, connections that were tracked by
one mode are dropped by the other, a table that is full drops every new connection. Going back is another change of the same kind, and often does not bring back
what was.

Sysctls of pods count too: one that the kubelet does not allow keeps the pod from starting (SysctlForbidden).`,
	Advice:    "Give it to one node group first, the smallest, at the size of production and with its rate of new pods. Write down how to go back, and try that too.",
	Incidents: []string{"neon-cni-2025", "neon-cni-dns-2023", "moj-prefix-delegation-2023", "preply-conntrack-2020"},
	Kinds:     append([]string{"ConfigMap"}, podKinds...),
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkNodeNetworkChanged,
}

// networkConfigs are ConfigMaps of network plugins, by their names.
var networkConfigs = []string{"kube-proxy", "cilium-config", "calico-config", "amazon-vpc-cni", "aws-node", "kube-flannel-cfg", "antrea-config", "azure-ip-masq-agent-config", "ip-masq-agent", "weave-net", "kube-router-cfg"}

// networkDaemons are DaemonSets of network plugins, by their names.
var networkDaemons = []string{"aws-node", "calico-node", "cilium", "kube-flannel-ds", "kube-proxy", "weave-net", "antrea-agent", "kube-router", "azure-cns"}

// quietSettings say nothing about how traffic goes.
var quietSettings = []string{"log", "debug", "metrics", "prometheus", "hubble", "monitor", "healthz", "pprof", "gops"}

func checkNodeNetworkChanged(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "ConfigMap" {
		if slices.Contains(networkConfigs, c.Ref.Name) {
			checkNetworkConfig(p, c)
		}
		return
	}
	if c.Ref.Kind == "DaemonSet" && slices.Contains(networkDaemons, c.Ref.Name) {
		checkNetworkDaemon(p, c)
	}
	if touched(c, "sysctls") {
		checkSysctls(p, c)
	}
}

func checkNetworkConfig(p *rule.Pass, c diff.Change) {
	for _, f := range c.Fields {
		path := string(f.Path)
		if f.Hidden != "" || !strings.HasPrefix(path, "data") || isQuietSetting(path) {
			continue
		}
		x := rule.Finding{Path: f.Path, Before: f.Before, After: f.After, Message: change(lastKey(f.Path), clipped(f.Before.String(), 60), clipped(f.After.String(), 60))}
		x.Consequence = "every node takes it up when its agent restarts, and traffic of its pods goes another way from then on"
		lower := strings.ToLower(path)
		switch {
		case strings.Contains(lower, "conntrack") || strings.Contains(lower, "ct-global") || strings.Contains(lower, "ct_global"):
			b, hadB := f.Before.Int()
			a, hadA := f.After.Int()
			if hadA && hadB && a > b {
				continue // more room
			}
			x.Consequence = "a table of connections that is full drops every new one, DNS first"
		case strings.HasSuffix(lower, ".mode") || strings.HasSuffix(lower, "kube-proxy-replacement"):
			x.Consequence = "Services are sent to pods by another mechanism: connections that are open may hang, and rules of the old one stay on nodes until they are rebooted or cleaned"
		case strings.Contains(lower, "clustercidr") || strings.Contains(lower, "cluster-pool") || strings.Contains(lower, "ipam"):
			x.Severity = rule.Error
			x.Consequence = "addresses of running pods are outside of what the nodes route, or are given twice, until all of them restarted"
		}
		p.Report(c, x)
	}
}

// isQuietSetting says whether a word of a setting's name begins like one that says
// nothing about traffic.
func isQuietSetting(path string) bool {
	words := strings.FieldsFunc(strings.ToLower(path), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.ContainsFunc(quietSettings, func(s string) bool { return strings.HasPrefix(word, s) })
	})
}

func lastKey(path object.Path) string {
	out := ""
	for _, s := range path.Segments() {
		if s.Select == nil && s.Index < 0 {
			out = s.Key
		}
	}
	return out
}

func checkNetworkDaemon(p *rule.Pass, c diff.Change) {
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		was, now := map[string]string{}, map[string]bool{}
		paths := map[string]object.Path{}
		for _, e := range pair.before.Env() {
			was[e.Name] = e.Value.Text()
			paths[e.Name] = e.Path
		}
		for _, e := range pair.after.Env() {
			now[e.Name] = true
			if old, had := was[e.Name]; (!had || old != e.Value.Text()) && e.Value.Exists() && !isQuietSetting(e.Name) {
				p.Report(c, rule.Finding{Path: e.Path, Message: change(e.Name, old, e.Value.Text()), Consequence: "every node takes it up in one rolling update"})
			}
		}
		for _, e := range pair.before.Env() {
			if !now[e.Name] && e.Value.Exists() && !isQuietSetting(e.Name) {
				p.Report(c, rule.Finding{Path: paths[e.Name], Message: fmt.Sprintf("%s goes, which was %s", e.Name, e.Value.Text()), Consequence: "every node goes back to the default in one rolling update"})
			}
		}
	}
}

// safeSysctls are allowed on every node
// (https://kubernetes.io/docs/tasks/administer-cluster/sysctl-cluster/#safe-and-unsafe-sysctls).
var safeSysctls = map[string]bool{
	"kernel.shm_rmid_forced": true, "net.ipv4.ip_local_port_range": true, "net.ipv4.tcp_syncookies": true, "net.ipv4.ping_group_range": true,
	"net.ipv4.ip_unprivileged_port_start": true, "net.ipv4.ip_local_reserved_ports": true, "net.ipv4.tcp_keepalive_time": true,
	"net.ipv4.tcp_fin_timeout": true, "net.ipv4.tcp_keepalive_intvl": true, "net.ipv4.tcp_keepalive_probes": true, "net.ipv4.tcp_rmem": true, "net.ipv4.tcp_wmem": true,
}

func checkSysctls(p *rule.Pass, c diff.Change) {
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	read := func(w object.Workload) map[string]string {
		out := map[string]string{}
		for _, s := range w.PodSpec.At("securityContext.sysctls").Items() {
			out[s.Field("name").Text()] = s.Field("value").String()
		}
		return out
	}
	was, now := read(before), read(after)
	at := after.SpecPath().Key("securityContext").Key("sysctls")
	for _, name := range sortedKeys(now) {
		old, had := was[name]
		switch {
		case !had && !safeSysctls[name]:
			p.Report(c, rule.Finding{Path: at, Message: fmt.Sprintf("pods ask for the sysctl %s=%s, which kubelets allow only when told to", name, now[name]),
				Consequence: "on a node that does not allow it the pod fails with SysctlForbidden, and the rollout makes one after another"})
		case had && old != now[name]:
			p.Report(c, rule.Finding{Path: at, Severity: rule.Note, Message: change(name, old, now[name]), Consequence: "new pods have other limits in their network"})
		}
	}
	for _, name := range sortedKeys(was) {
		if _, ok := now[name]; !ok {
			p.Report(c, rule.Finding{Path: at, Severity: rule.Note, Message: fmt.Sprintf("the sysctl %s=%s goes", name, was[name]), Consequence: "new pods have the node's default: ports, backlogs or keepalives may be short under load"})
		}
	}
}

func sortedKeys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
