package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ResourcesRefused reports requests and limits with which no pod can start.
var ResourcesRefused = &rule.Rule{
	ID:       "resources-refused",
	Title:    "No pod can start with these requests and limits",
	Subject:  "workloads",
	Severity: rule.Error,
	Doc: `
A request above the limit is refused by the API server when the manifest is applied: nothing of this object is applied, and the rest of the change is
live without it. In a custom resource, such as a Rollout, it is accepted, and each pod that is to be made is refused in sight of nobody. A unit that
slipped is accepted as well: memory of 512m is half a byte, where 512Mi was meant, and a limit of a few kilobytes kills the container before it runs; 500 is five hundred cores, where 500m was meant. Old pods stay until something ends them, and none comes
after.`,
	Advice:  `Write cores as 500m or 0.5 and memory as 512Mi, and keep the request at or below the limit.`,
	Kinds:   podKinds,
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check:   checkResourcesRefused,
}

func checkResourcesRefused(p *rule.Pass, c diff.Change) {
	if c.Before != nil && !touched(c, ".resources") {
		return
	}
	after, ok := p.After.Workload(c.After.Ref)
	if !ok {
		return
	}
	var before object.Workload
	if c.Before != nil {
		before, _ = p.Before.Workload(c.Before.Ref)
	}
	for _, box := range after.Containers() {
		was, _ := before.Container(box.Name)
		for _, name := range []string{"cpu", "memory"} {
			what, message, consequence := slip(box, name)
			if what == "" {
				continue
			}
			if old, _, _ := slip(was, name); old != "" {
				continue
			}
			// Where the limit alone moved, the difference stands there.
			if at := "resources." + what; c.Before != nil && was.At(at).Field(name).Equal(box.At(at).Field(name)) {
				what = "limits"
			}
			if consequence == "" {
				consequence = "the API server refuses the manifest: nothing of this object is applied, and the rest of the change is"
				if strings.Contains(c.Ref.Group, ".") {
					consequence = "the manifest is accepted, and every new pod is refused"
				}
			}
			p.Report(c, rule.Finding{
				Path:        box.Path.Key("resources").Key(what).Key(name),
				Message:     fmt.Sprintf("container %s: %s", box.Name, message),
				Consequence: consequence,
			})
		}
	}
}

// slip says what is wrong with a container's request and limit of one resource.
func slip(box object.Container, name string) (what, message, consequence string) {
	request, limit := box.At("resources.requests").Field(name), box.At("resources.limits").Field(name)
	r, noRequest := request.Quantity()
	l, noLimit := limit.Quantity()
	for _, x := range []struct {
		what  string
		value object.Value
		q     object.Quantity
		err   error
	}{{"limits", limit, l, noLimit}, {"requests", request, r, noRequest}} {
		if x.err != nil || x.q.IsZero() {
			continue
		}
		// 1 MiB is below what any container runtime needs to start a process.
		if name == "memory" && x.q.Bytes() < 1<<20 {
			if x.what == "limits" {
				return x.what, fmt.Sprintf("the memory limit of %s is %s", x.value, plural(int(x.q.Bytes()), "byte")), "the container is killed before it runs; Mi or Gi was meant"
			}
			return x.what, fmt.Sprintf("the memory request of %s is %s", x.value, plural(int(x.q.Bytes()), "byte")), "nothing is reserved for it; Mi or Gi was meant"
		}
		if name == "cpu" && x.what == "requests" && x.q.Millis() >= 256_000 {
			return x.what, fmt.Sprintf("the CPU request of %s is %s", x.value, cores(x.q.Millis())), "no node has them and the pod stays Pending; an m was meant"
		}
	}
	if noRequest == nil && noLimit == nil && r.Cmp(l) > 0 {
		return "requests", fmt.Sprintf("the %s request of %s is above the limit of %s", name, request, limit), ""
	}
	return "", "", ""
}
