package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ContainerRemoved reports a container that goes from a pod while the others stay.
var ContainerRemoved = &rule.Rule{
	ID:       "container-removed",
	Title:    "A container goes from a pod, and others of it may need it",
	Subject:  "workloads",
	Severity: rule.Note,
	Doc: `
Containers of one pod count on each other: a proxy on localhost, an agent that refreshes credentials, an init container that prepares a volume or
waits for a database. The others do not say so anywhere but in an address or a mount. When one of them still calls a port of the container that
goes, on localhost or 127.0.0.1, nothing answers there any more, and that is an error; as is a volume that nobody but the container that goes
has ever written, which is a warning. So is an empty folder of the pod that an init container and those after it mount: it is how the one hands files to
the others, plugins, keys, a configuration that was filled in.`,
	Advice:    `Take the address out of the others first, in a merge of its own, and remove the container when nobody calls it any more.`,
	Incidents: []string{"pagerduty-sidecar-health-2023", "wikimedia-mcrouter-dns-2024"},
	Kinds:     podKinds,
	Actions:   updates,
	Check:     checkContainerRemoved,
}

func checkContainerRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "ontainers") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	kept := map[string]bool{}
	for _, pair := range pairContainers(before, after) {
		kept[pair.before.Name] = true
	}
	for _, gone := range before.Containers() {
		if kept[gone.Name] || gone.Kind == object.EphemeralContainer {
			continue
		}
		if _, ok := after.Container(gone.Name); ok {
			continue
		}
		what := map[object.ContainerKind]string{object.InitContainer: "init container", object.SidecarContainer: "sidecar", object.MainContainer: "container"}[gone.Kind]
		f := rule.Finding{Path: gone.Path, Message: fmt.Sprintf("%s %s goes", what, gone.Name), Consequence: "what it did for the others of the pod is not done any more"}
		if at, address, ok := callsLocally(after, gone); ok {
			f.Severity = rule.Error
			f.Message += fmt.Sprintf(", and %s still calls it at %s", at, address)
			f.Consequence = "nothing answers there in new pods"
		} else if volume := onlyWriter(before, after, gone); volume != "" {
			f.Severity = rule.Warning
			f.Consequence = fmt.Sprintf("the others only read the volume %s, which it filled: it stays empty in new pods", volume)
		} else if volume := handedOver(before, after, gone); volume != "" {
			f.Severity = rule.Warning
			f.Consequence = fmt.Sprintf("the others still mount the volume %s, and what it put there, files or plugins, is not in new pods", volume)
		}
		f.Before, f.After = object.Of(gone.Image()), object.Value{}
		p.Report(c, f)
	}
}

// callsLocally finds a variable or word of the command line that names a port of a
// container that is gone on the pod's own address.
func callsLocally(w object.Workload, gone object.Container) (at object.Path, address string, ok bool) {
	var addresses []string
	for _, v := range gone.At("ports").Items() {
		n := v.Field("containerPort").String()
		if slices.ContainsFunc(containerPorts(w), func(x containerPort) bool { return x.number == n }) {
			continue // another container has it now
		}
		for _, host := range []string{"localhost:", "127.0.0.1:", "[::1]:"} {
			addresses = append(addresses, host+n)
		}
	}
	find := func(text string) (string, bool) {
		for _, a := range addresses {
			_, rest, found := strings.Cut(text, a)
			if found && (rest == "" || rest[0] < '0' || rest[0] > '9') {
				return a, true
			}
		}
		return "", false
	}
	for _, box := range w.Containers() {
		for _, e := range box.Env() {
			if a, found := find(e.Value.Text()); found {
				return e.Path, a, true
			}
		}
		for _, x := range box.CommandLine() {
			if a, found := find(x.Text); found {
				return x.Path, a, true
			}
		}
	}
	return "", "", false
}

// onlyWriter gives a scratch volume that a container filled and that those which stay
// mount read-only, "" for none.
func onlyWriter(before, after object.Workload, gone object.Container) string {
	for _, m := range gone.At("volumeMounts").Items() {
		name := m.Field("name").Text()
		if isTrue(m.Field("readOnly")) || !isScratch(before, name) {
			continue
		}
		readers, writers := 0, 0
		for _, box := range after.Containers() {
			for _, x := range box.At("volumeMounts").Items() {
				if x.Field("name").Text() != name {
					continue
				}
				if isTrue(x.Field("readOnly")) {
					readers++
				} else {
					writers++
				}
			}
		}
		if readers > 0 && writers == 0 {
			return name
		}
	}
	return ""
}

// handedOver gives an empty folder of the pod by which an init container that goes
// handed files to the containers after it, and no other init container does. What is
// mounted at /tmp is the container's own.
func handedOver(before, after object.Workload, gone object.Container) string {
	if gone.Kind != object.InitContainer {
		return ""
	}
	for _, m := range gone.At("volumeMounts").Items() {
		name := m.Field("name").Text()
		if isTrue(m.Field("readOnly")) || strings.TrimSuffix(m.Field("mountPath").Text(), "/") == "/tmp" || !isScratch(before, name) || !isScratch(after, name) {
			continue
		}
		readers, others := false, false
		for _, box := range after.Containers() {
			if !mounts(box, name) {
				continue
			}
			others = others || box.Kind == object.InitContainer
			readers = readers || box.Kind == object.MainContainer
		}
		if readers && !others {
			return name
		}
	}
	return ""
}

// isScratch says whether a volume of the pod is an empty folder.
func isScratch(w object.Workload, name string) bool {
	for _, v := range w.PodSpec.Field("volumes").Items() {
		if v.Field("name").Text() == name {
			return v.Field("emptyDir").Exists()
		}
	}
	return false
}
