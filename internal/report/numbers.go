package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// Numbers are the figures of a change that need whole units to be worked out.
// Those that follow from the changes alone are in none of its fields.
type Numbers struct {
	Restarts []Restart  // in the order of objects
	Loads    []UnitLoad // of the units of which it differs, by name
}

// A Restart is a workload of which pods start or end.
type Restart struct {
	Ref   object.Ref
	Pods  int  // that the workload runs; 0 when not known
	Known bool // false when it depends on the cluster
	How   How
}

// A How says in which way pods start or end.
type How string

// The ways, in the words of the report.
const (
	Rolls     How = "rolling"   // new pods replace old ones in turns
	AtOnce    How = "at once"   // without a rolling order
	Ends      How = "ends"      // the workload goes, or is scaled to nothing
	Starts    How = "starts"    // it is new
	Recreates How = "recreated" // it must be deleted, and is made anew
)

var hows = []How{Rolls, AtOnce, Ends, Starts, Recreates}

// A Load is what the workloads of a unit ask for. Jobs and CronJobs, which come
// and go, are not counted.
type Load struct {
	Pods        int   `json:"pods"`        // of workloads that say how many
	CPU         int64 `json:"cpu"`         // requested, millicores
	Memory      int64 `json:"memory"`      // requested, bytes
	CPULimit    int64 `json:"cpuLimit"`    // of containers that have a limit, millicores
	MemoryLimit int64 `json:"memoryLimit"` // of containers that have a limit, bytes
	// What is requested when every autoscaler is at its maximum.
	MostPods   int   `json:"mostPods"`
	MostCPU    int64 `json:"mostCPU"`
	MostMemory int64 `json:"mostMemory"`
	// What DaemonSets request on every node that they run on.
	NodeCPU    int64 `json:"nodeCPU"`
	NodeMemory int64 `json:"nodeMemory"`
}

// A UnitLoad is the load of one unit on both sides.
type UnitLoad struct {
	Unit          string
	Before, After Load
}

// Count works the numbers out.
func Count(units []*rule.Unit) Numbers {
	var n Numbers
	for _, u := range units {
		for _, c := range u.Changes {
			n.Restarts = append(n.Restarts, restarts(u, c)...)
		}
		if before, after := loadsOf(u); before != after {
			n.Loads = append(n.Loads, UnitLoad{u.Name, before, after})
		}
	}
	n.sort()
	return n
}

// sort puts the lists in order, and tells a workload once that restarts for
// itself and for what it mounts.
func (n *Numbers) sort() {
	slices.SortStableFunc(n.Restarts, func(a, b Restart) int { return a.Ref.Compare(b.Ref) })
	n.Restarts = slices.CompactFunc(n.Restarts, func(a, b Restart) bool { return a.Ref == b.Ref })
	slices.SortStableFunc(n.Loads, func(a, b UnitLoad) int { return strings.Compare(a.Unit, b.Unit) })
}

// restarts says which workloads start or end pods because of one change.
func restarts(u *rule.Unit, c diff.Change) []Restart {
	of := func(set *object.Set, o *object.Object, how How) []Restart {
		if o == nil {
			return nil
		}
		w, ok := set.Workload(o.Ref)
		if !ok || o.Ref.Kind == "CronJob" || w.Replicas.Known && w.Replicas.Count == 0 {
			return nil
		}
		return []Restart{{o.Ref, w.Replicas.Count, w.Replicas.Known, how}}
	}
	has := func(kind diff.EffectKind) bool {
		return slices.ContainsFunc(c.Effects, func(e diff.Effect) bool { return e.Kind == kind })
	}
	switch {
	case c.Action == diff.Create:
		return of(u.After, c.After, Starts)
	case c.Action == diff.Delete:
		return of(u.Before, c.Before, Ends)
	case c.Action == diff.Replace, c.Action == diff.Rename:
		return of(u.After, c.After, Recreates)
	case has(diff.Restart):
		return append(of(u.After, c.After, AtOnce), reloaders(u, c)...)
	case has(diff.Rolling):
		return append(of(u.After, c.After, Rolls), reloaders(u, c)...)
	}
	if w, ok := u.After.Workload(c.Ref); ok && w.Replicas.Known && w.Replicas.Count == 0 {
		return of(u.Before, c.Before, Ends)
	}
	return nil
}

// reloaders are the workloads that an operator restarts when what they mount
// changes, as diff tells of it.
func reloaders(u *rule.Unit, c diff.Change) []Restart {
	if c.Ref.Kind != "ConfigMap" && c.Ref.Kind != "Secret" {
		return nil
	}
	var out []Restart
	for _, e := range c.Effects {
		if e.Kind != diff.Rolling {
			continue
		}
		for _, r := range u.After.ReferencesTo(c.Ref) {
			if w, ok := u.After.Workload(r.From.Ref); ok && strings.Contains(e.Text, r.From.Ref.String()) {
				out = append(out, Restart{w.Ref, w.Replicas.Count, w.Replicas.Known, Rolls})
			}
		}
	}
	return out
}

// loadsOf gives the load of both sides of a unit. What most workloads ask for is
// worked out once: they are the same on both.
func loadsOf(u *rule.Unit) (before, after Load) {
	olds, loads := u.Before.Workloads(), make([]Load, 0, len(u.Before.Workloads()))
	for _, w := range olds {
		l := loadOf(u.Before, w)
		before = before.add(l)
		loads = append(loads, l)
	}
	// Both lists are in order.
	for _, w := range u.After.Workloads() {
		for len(olds) > 0 && olds[0].Ref.Compare(w.Ref) < 0 {
			olds, loads = olds[1:], loads[1:]
		}
		if len(olds) > 0 && olds[0].Shares(w.Object) && olds[0].Replicas == w.Replicas && most(u.Before, olds[0]) == most(u.After, w) {
			after = after.add(loads[0])
			continue
		}
		after = after.add(loadOf(u.After, w))
	}
	return before, after
}

// most gives the number of pods that a workload's autoscalers allow at most.
func most(set *object.Set, w object.Workload) int64 {
	n := int64(max(0, w.Replicas.Count))
	for _, a := range set.AutoscalersOf(w.Ref) {
		n = max(n, a.Max)
	}
	return n
}

// loadOf gives the load of one workload.
func loadOf(set *object.Set, w object.Workload) Load {
	if w.Ref.Kind == "Job" || w.Ref.Kind == "CronJob" {
		return Load{}
	}
	cpu, memory := w.Requests()
	if w.Ref.Kind == "DaemonSet" {
		return Load{NodeCPU: plus(0, cpu, 1), NodeMemory: plus(0, memory, 1)}
	}
	pods, most := int64(max(0, w.Replicas.Count)), most(set, w)
	l := Load{
		Pods: int(plus(0, 1, pods)), CPU: plus(0, cpu, pods), Memory: plus(0, memory, pods),
		MostPods: int(plus(0, 1, most)), MostCPU: plus(0, cpu, most), MostMemory: plus(0, memory, most),
	}
	for _, c := range w.Running() {
		if q, err := c.At("resources.limits.cpu").Quantity(); err == nil {
			l.CPULimit = plus(l.CPULimit, q.Millis(), pods)
		}
		if q, err := c.At("resources.limits.memory").Quantity(); err == nil {
			l.MemoryLimit = plus(l.MemoryLimit, q.Bytes(), pods)
		}
	}
	return l
}

// plus gives a + each*n, no more than an int64 holds: manifests may say anything.
func plus(a, each, n int64) int64 {
	const most = 1 << 62
	if each <= 0 || n <= 0 {
		return a
	}
	if each > (most-min(a, most))/n {
		return most
	}
	return a + each*n
}

// add sums loads.
func (l Load) add(o Load) Load {
	return Load{
		int(plus(int64(l.Pods), int64(o.Pods), 1)), plus(l.CPU, o.CPU, 1), plus(l.Memory, o.Memory, 1),
		plus(l.CPULimit, o.CPULimit, 1), plus(l.MemoryLimit, o.MemoryLimit, 1),
		int(plus(int64(l.MostPods), int64(o.MostPods), 1)), plus(l.MostCPU, o.MostCPU, 1), plus(l.MostMemory, o.MostMemory, 1),
		plus(l.NodeCPU, o.NodeCPU, 1), plus(l.NodeMemory, o.NodeMemory, 1),
	}
}

// An imageChange is one container image that becomes another, wherever it does.
type imageChange struct {
	before, after string
	jump          string // "backwards", "major version", or ""
	where         []object.Ref
}

// images gives the images that changes replace, in the order of their names. It
// looks at fields, so that images of custom resources are among them.
func images(changes []Change) []imageChange {
	at := map[[2]string]int{}
	var out []imageChange
	for _, c := range changes {
		for _, f := range c.Fields {
			if f.Op != diff.Set || f.Hidden != "" || !imagePath(f.Path) || f.Before.Type() != object.String || f.After.Type() != object.String {
				continue
			}
			key := [2]string{f.Before.Text(), f.After.Text()}
			i, ok := at[key]
			if !ok {
				i = len(out)
				at[key] = i
				out = append(out, imageChange{before: key[0], after: key[1], jump: jump(key[0], key[1])})
			}
			if !slices.Contains(out[i].where[max(0, len(out[i].where)-8):], c.Ref) {
				out[i].where = append(out[i].where, c.Ref)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b imageChange) int {
		return cmp.Or(strings.Compare(a.before, b.before), strings.Compare(a.after, b.after))
	})
	return out
}

func imagePath(p object.Path) bool {
	return strings.HasSuffix(string(p), ".image") || strings.HasSuffix(string(p), ".image.tag")
}

// jump says whether an image goes back to an older version or on to another major one.
func jump(before, after string) string {
	nameBefore, tagBefore := splitImage(before)
	nameAfter, tagAfter := splitImage(after)
	b, a := versionOf(tagBefore), versionOf(tagAfter)
	if nameBefore[strings.LastIndexByte(nameBefore, '/')+1:] != nameAfter[strings.LastIndexByte(nameAfter, '/')+1:] || b == nil || a == nil {
		return ""
	}
	switch c := slices.Compare(b, a); {
	case c > 0:
		return "backwards"
	case b[0] != a[0] && a[0] < 1000: // above it, it is a build number or a year
		return "major version"
	}
	return ""
}

// splitImage parts an image into its name and its tag, without the digest.
func splitImage(image string) (name, tag string) {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i], image[i+1:]
	}
	return image, ""
}

// versionOf reads the numbers at the start of a tag, nil when it is no version:
// "v1.2.3-alpine" is 1, 2, 3.
func versionOf(tag string) []int {
	tag = strings.TrimPrefix(tag, "v")
	var out []int
	for len(out) < 4 {
		digits := len(tag) - len(strings.TrimLeft(tag, "0123456789"))
		if digits == 0 || digits > 6 {
			return nil
		}
		n := 0
		for _, d := range tag[:digits] {
			n = 10*n + int(d-'0')
		}
		out = append(out, n)
		tag = tag[digits:]
		if !strings.HasPrefix(tag, ".") {
			break
		}
		tag = tag[1:]
	}
	if tag != "" && tag[0] != '-' && tag[0] != '+' && tag[0] != '_' {
		return nil
	}
	return out
}
