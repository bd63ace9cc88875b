package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// SecurityContextTightened reports a container that may do less than before, or runs
// as another user.
var SecurityContextTightened = &rule.Rule{
	ID:       "security-context-tightened",
	Title:    "A container may do less than before, or runs as another user",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
Good for safety, and it fails at the program's first forbidden step, not at review. A read-only root file system breaks what writes
temporary files, caches, sockets or its process id; some of it only after hours. runAsNonRoot is refused by the kubelet when the image's user is
root or a name. Another user id cannot read files that the old one wrote with mode 600, in volumes for years. Dropped
capabilities take ports below 1024 (NET_BIND_SERVICE), chown and setuid at start, and raw sockets.

A rollout stops at the first pod that does not become ready, when there is a readiness probe; a DaemonSet or a pod with a volume has
lost an old pod by then.`,
	Advice: `Run the image with the same settings first (` + "`docker run --read-only --user 1000 --cap-drop ALL`" + `), mount an emptyDir where it writes, and change
one workload at a time. For another user id set fsGroup too, or chown the volume once.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkSecurityContextTightened,
}

func checkSecurityContextTightened(p *rule.Pass, c diff.Change) {
	if !touched(c, "securityContext") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	var told []string // what a setting of the pod does to each container alike
	for _, pair := range pairContainers(before, after) {
		var parts, says []string
		var path object.Path
		add := func(field, part, effect string) {
			if path == "" {
				path = securityPath(after, pair.after, field)
			}
			parts, says = append(parts, part), append(says, effect)
		}
		is := func(field string) (was, now bool) {
			return isTrue(security(before, pair.before, field)), isTrue(security(after, pair.after, field))
		}
		if was, now := is("readOnlyRootFilesystem"); now && !was {
			add("readOnlyRootFilesystem", "its root file system becomes read-only", "whatever writes outside of a mount fails")
		}
		user, userBefore := security(after, pair.after, "runAsUser"), security(before, pair.before, "runAsUser")
		if user.Exists() && user.String() != userBefore.String() {
			add("runAsUser", fmt.Sprintf("it runs as user %s%s", user, inPlaceOf(userBefore)), "files that the old user wrote may be closed to it")
		}
		if was, now := is("runAsNonRoot"); now && !was && (!user.Exists() || user.String() == "0") {
			add("runAsNonRoot", "it must not run as root", "the kubelet does not start it if the image's user is root or a name")
		}
		if was, now := is("privileged"); was && !now {
			add("privileged", "it is privileged no longer", "devices and the node's kernel are closed to it")
		}
		if drop := lostCapabilities(pair); len(drop) > 0 {
			add("capabilities", fmt.Sprintf("it loses %s", listed(drop)), capabilityEffect(drop))
		}
		if was, now := security(before, pair.before, "allowPrivilegeEscalation"), security(after, pair.after, "allowPrivilegeEscalation"); now.Exists() && !isTrue(now) && (!was.Exists() || isTrue(was)) && len(parts) > 0 {
			parts = append(parts, "it may not gain privileges")
		}
		if len(parts) == 0 {
			continue
		}
		text := strings.Join(parts, ", ")
		if slices.Contains(told, text) {
			continue
		}
		told = append(told, text)
		p.Report(c, rule.Finding{
			Path:        path,
			Message:     fmt.Sprintf("container %s: %s", pair.after.Name, text),
			Consequence: strings.Join(says, "; "),
		})
	}
}

func inPlaceOf(v object.Value) string {
	if !v.Exists() {
		return " in place of the image's own"
	}
	return " in place of " + v.String()
}

// lostCapabilities gives what a container could do before and cannot after: what is
// dropped anew, and what is not added any more.
func lostCapabilities(pair containerPair) []string {
	var lost []string
	at := func(box object.Container, list string) []string {
		return box.At("securityContext.capabilities." + list).Texts()
	}
	added, addedBefore := at(pair.after, "add"), at(pair.before, "add")
	for _, s := range lostOf(at(pair.after, "drop"), at(pair.before, "drop")) {
		if !slices.Contains(at(pair.before, "drop"), "ALL") && !slices.Contains(added, s) {
			lost = append(lost, capabilityText(s))
		}
	}
	for _, s := range lostOf(addedBefore, added) {
		if !slices.Contains(added, "ALL") && !slices.Contains(lost, capabilityText(s)) {
			lost = append(lost, capabilityText(s))
		}
	}
	return lost
}

func capabilityText(s string) string {
	if s == "ALL" {
		return "all capabilities"
	}
	return s
}

func capabilityEffect(lost []string) string {
	if slices.Contains(lost, "all capabilities") || slices.Contains(lost, "NET_BIND_SERVICE") {
		return "ports below 1024 and changes of owner or user may be refused"
	}
	return "what needs them is refused"
}
