package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// ProbeMoved reports a probe that asks another question.
var ProbeMoved = &rule.Rule{
	ID:       "probe-moved",
	Title:    "A probe asks another port, path or way",
	Subject:  "workloads",
	Severity: rule.Warning,
	Doc: `
A probe that asks where nobody answers fails on every new pod. A readiness probe stops the rollout, and what was surge or spare is
gone; a liveness probe is worse, since the pods count as ready first, the rollout replaces all of them, and then the kubelet kills
them in turn. Another kind of probe is another program: exec runs inside the container and needs its binary, grpc asks from the
node, needs the health service of the gRPC protocol, and takes no TLS; httpGet follows redirects and takes anything from 200 to 399 for
health. Timeouts that stood in a command line go with it, and the probe's own timeoutSeconds, 1 by default, counts.

A port that is moved together with the container's own, or named in place of its number, is the same question and left alone; a
command that changes within exec is a note.`,
	Advice: `Ask the new image by hand first (` + "`kubectl exec`" + `, ` + "`kubectl port-forward`" + `). Where image and probe must change together, ship an image
that answers both, then move the probe. Write timeoutSeconds down.`,
	Kinds:   servingKinds,
	Actions: updates,
	Check:   checkProbeMoved,
}

func checkProbeMoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "readinessProbe", "livenessProbe", "startupProbe") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		for _, kind := range []string{"readinessProbe", "livenessProbe", "startupProbe"} {
			b, a := pair.before.At(kind), pair.after.At(kind)
			if b.Exists() && a.Exists() {
				reportProbeMoved(p, c, pair, kind, probeOf(b), probeOf(a))
			}
		}
	}
}

func reportProbeMoved(p *rule.Pass, c diff.Change, pair containerPair, kind string, was, now probe) {
	wasKind, b := was.handler()
	nowKind, a := now.handler()
	base := pair.after.Path.Key(kind)
	f := rule.Finding{Path: base.Key(nowKind), Before: b, After: a}
	f.Message = fmt.Sprintf("%s of container %s: %s becomes %s", kind, pair.after.Name, probeText(was), probeText(now))
	if wasKind != nowKind {
		if nowKind == "" || wasKind == "" {
			return
		}
		f.Consequence = fmt.Sprintf("another program must answer, within %d s", now.timeout)
		if wasKind == "exec" && nowKind != "exec" {
			f.Consequence = fmt.Sprintf("the kubelet asks over the network and waits %d s; a timeout in the old command line counts no more", now.timeout)
		}
		if nowKind == "exec" {
			f.Consequence = fmt.Sprintf("the image must have %s, and it runs in the container's own CPU limit", shortened(commandOf(a), 40))
		}
		p.Report(c, f)
		return
	}
	moved := func(field string) bool { return !b.Field(field).Equal(a.Field(field)) }
	switch {
	case nowKind == "exec":
		if !moved("command") {
			return
		}
		f.Path, f.Severity = f.Path.Key("command"), rule.Note
	case moved("port") && !sameProbePort(pair, b.Field("port"), a.Field("port")):
		f.Path = f.Path.Key("port")
		f.Consequence = "new pods that do not answer there are never ready, or killed"
	case pathText(b) != pathText(a) && nowKind == "httpGet":
		f.Path = f.Path.Key("path")
		f.Consequence = "an image that does not know the path answers 404, which is a failure"
	case moved("scheme") && nowKind == "httpGet" && schemeText(b) != schemeText(a):
		f.Path = f.Path.Key("scheme")
		f.Message += fmt.Sprintf(" over %s", schemeText(a))
		f.Consequence = "a port speaks one of both, HTTP or HTTPS"
	case moved("service") && nowKind == "grpc", moved("host") && nowKind != "grpc":
	default:
		return
	}
	f.Before, f.After = c.Before.At(string(f.Path)), c.After.At(string(f.Path))
	if kind == "livenessProbe" && f.Consequence != "" {
		f.Consequence += "; a liveness probe kills them after they were taken for ready, so that a rollout does not stop"
	}
	p.Report(c, f)
}

func commandOf(exec object.Value) string {
	if words := exec.Field("command").Texts(); len(words) > 0 {
		return words[0]
	}
	return "the command"
}

func pathText(v object.Value) string {
	if s := v.Field("path").Text(); s != "" {
		return s
	}
	return "/"
}

func schemeText(v object.Value) string {
	if s := v.Field("scheme").Text(); s != "" {
		return s
	}
	return "HTTP"
}

// sameProbePort says whether two ports of a probe are the same container port: by name in
// place of its number, or a number that moves with the port of that name.
func sameProbePort(pair containerPair, b, a object.Value) bool {
	was, wasName := portIn(pair.before, b)
	now, nowName := portIn(pair.after, a)
	return was != "" && was == now || wasName != "" && wasName == nowName
}

// portIn looks up a probe's port among those of its container; a number that is
// not declared stands for itself.
func portIn(box object.Container, port object.Value) (number, name string) {
	for _, v := range box.At("ports").Items() {
		n, text := v.Field("containerPort").String(), v.Field("name").Text()
		if port.String() == n || text != "" && port.Text() == text {
			return n, text
		}
	}
	if _, ok := port.Int(); ok {
		return port.String(), ""
	}
	return "", ""
}
