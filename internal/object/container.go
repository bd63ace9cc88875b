package object

import (
	"slices"
	"strings"
)

// A ContainerKind tells when a container of a pod runs.
type ContainerKind int

// The kinds of containers.
const (
	MainContainer      ContainerKind = iota // runs as long as the pod
	InitContainer                           // runs to its end before the main ones
	SidecarContainer                        // an init container with restartPolicy Always: starts first, then keeps running
	EphemeralContainer                      // for debugging
)

// A Container is one container of a pod spec and the place where it stands.
type Container struct {
	Spec Value
	Name string
	Kind ContainerKind
	Path Path // from the object's root, such as spec.template.spec.containers[name=app]
}

// SpecPath is the path of the pod spec, such as "spec.template.spec".
func (w Workload) SpecPath() Path {
	if w.Template == "" {
		return "spec"
	}
	return w.Template.Key("spec")
}

// Containers gives all containers of the pod: init containers and sidecars first,
// then the main and ephemeral ones, each in the order of the manifest.
func (w Workload) Containers() []Container {
	return containersOf(w.PodSpec, w.SpecPath())
}

// Running gives the containers that run as long as the pod: the main ones and
// native sidecars
// (https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/).
func (w Workload) Running() []Container {
	var out []Container
	for _, c := range w.Containers() {
		if c.Kind == MainContainer || c.Kind == SidecarContainer {
			out = append(out, c)
		}
	}
	return out
}

// Container gives the container of that name.
func (w Workload) Container(name string) (Container, bool) {
	for _, c := range w.Containers() {
		if c.Name == name {
			return c, true
		}
	}
	return Container{}, false
}

func containersOf(spec Value, path Path) []Container {
	var out []Container
	for _, list := range []struct {
		key  string
		kind ContainerKind
	}{{"initContainers", InitContainer}, {"containers", MainContainer}, {"ephemeralContainers", EphemeralContainer}} {
		items := spec.Field(list.key)
		if items.Len() == 0 {
			continue
		}
		base := path.Key(list.key)
		out = slices.Grow(out, items.Len())
		for i, c := range items.Items() {
			kind := list.kind
			if kind == InitContainer && c.Field("restartPolicy").Text() == "Always" {
				kind = SidecarContainer
			}
			name := c.Field("name").Text()
			at := base.Index(i)
			if name != "" {
				at = base.Select("name", name)
			}
			out = append(out, Container{Spec: c, Name: name, Kind: kind, Path: at})
		}
	}
	return out
}

// At gives the value at a path below the container, such as "resources.limits.memory".
func (c Container) At(path string) Value { return c.Spec.At(path) }

// Image gives the container's image, "" when none is written.
func (c Container) Image() string { return c.Spec.Field("image").Text() }

// An EnvVar is one environment variable of a container.
type EnvVar struct {
	Name  string
	Value Value // the literal value, the zero Value when there is none
	From  Value // valueFrom
	Path  Path  // of the variable, such as ...containers[name=app].env[name=LOG_LEVEL]
}

// Env gives the variables under env in order. What envFrom brings is not in them
// (see Set.References).
func (c Container) Env() []EnvVar {
	env := c.Spec.Field("env")
	if env.Len() == 0 {
		return nil
	}
	base := c.Path.Key("env")
	out := make([]EnvVar, 0, env.Len())
	for i, e := range env.Items() {
		name := e.Field("name").Text()
		at := base.Index(i)
		if name != "" {
			at = base.Select("name", name)
		}
		out = append(out, EnvVar{Name: name, Value: e.Field("value"), From: e.Field("valueFrom"), Path: at})
	}
	return out
}

// An Arg is one word of a container's command line.
type Arg struct {
	Text string
	Path Path
}

// CommandLine gives the words of command and args in order, with their places.
func (c Container) CommandLine() []Arg {
	var out []Arg
	for _, key := range []string{"command", "args"} {
		base := c.Path.Key(key)
		for i, v := range c.Spec.Field(key).Items() {
			if v.Type() == String {
				out = append(out, Arg{v.Text(), base.Index(i)})
			}
		}
	}
	return out
}

// A Flag is a command-line flag and its value, as `--name=value`, `-name=value`
// or `--name value` give it.
type Flag struct {
	Name  string // without dashes
	Value string // "" for a flag that stands alone
	Path  Path   // of the word with the name
}

// Flags gives the flags of the command line in order. A word after a flag without
// "=" counts as its value unless it looks like a flag itself.
func (c Container) Flags() []Flag {
	var out []Flag
	words := c.CommandLine()
	for i, w := range words {
		name := strings.TrimLeft(w.Text, "-")
		if name == w.Text || name == "" || len(w.Text)-len(name) > 2 || strings.ContainsAny(name, " \n") && !strings.Contains(name, "=") {
			continue
		}
		f := Flag{Name: name, Path: w.Path}
		if before, after, ok := strings.Cut(name, "="); ok {
			f.Name, f.Value = before, after
		} else if i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "-") {
			f.Value = words[i+1].Text
		}
		out = append(out, f)
	}
	return out
}

// A Probe is one of a container's probes.
type Probe struct {
	Kind string // "readinessProbe", "livenessProbe" or "startupProbe"
	Spec Value
	Path Path
}

// Probes gives the probes that the container has, readiness first.
func (c Container) Probes() []Probe {
	var out []Probe
	for _, kind := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
		if p := c.Spec.Field(kind); p.Exists() {
			out = append(out, Probe{kind, p, c.Path.Key(kind)})
		}
	}
	return out
}

// Port gives the number of the container port that a Service's targetPort or a
// probe's port means: a number stands for itself, a name is looked up in the
// running containers. ok is false for a name that no container has.
func (w Workload) Port(target Value) (number int64, ok bool) {
	if n, ok := target.Int(); ok {
		return n, true
	}
	name := target.Text()
	if name == "" {
		return 0, false
	}
	for _, c := range w.Running() {
		for _, p := range c.Spec.Field("ports").Items() {
			if p.Field("name").Text() == name {
				return p.Field("containerPort").Int()
			}
		}
	}
	return 0, false
}
