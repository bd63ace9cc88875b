package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MountRemoved reports files that a container does not find any more where it looks.
var MountRemoved = &rule.Rule{
	ID:       "mount-removed",
	Title:    "A container loses a mount that its command line or variables still name",
	Subject:  "workloads",
	Severity: rule.Error,
	Doc: `
A path in an argument or a variable, ` + "`--config.file=/etc/app/config.yaml`" + `, says where the program looks. When the mount of that path goes, or
moves, while the path stays, the file is not there: the program does not start, or goes on with what the image has at that place, which is worse.
The pod itself is fine for Kubernetes.

A mount that goes and is not named by anybody is a note when it held a claim, a ConfigMap or a Secret. One that another mount covers is
quiet.`,
	Advice:  `Change the mount and what names its path together, and start the container once with both.`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkMountRemoved,
}

func checkMountRemoved(p *rule.Pass, c diff.Change) {
	if !touched(c, "volumeMounts") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		for _, m := range pair.before.At("volumeMounts").Items() {
			path := strings.TrimSuffix(m.Field("mountPath").Text(), "/")
			if path == "" || covered(pair.after, path) {
				continue
			}
			moved := mounts(pair.after, m.Field("name").Text())
			f := rule.Finding{Path: pair.after.Path.Key("volumeMounts").Select("mountPath", m.Field("mountPath").Text()), Before: m}
			what := volumeText(before, m.Field("name").Text())
			f.Message = fmt.Sprintf("container %s loses its mount of %s at %s", pair.after.Name, what, path)
			if at, ok := namesPath(pair.after, path); ok {
				f.Message += fmt.Sprintf(", and %s still names that path", at)
				f.Consequence = "the program does not find its files there, or finds those of the image"
			} else if !strings.HasPrefix(what, "volume") && !moved {
				f.Severity = rule.Note
				f.Consequence = "what it held is not seen by the container any more"
			} else {
				continue
			}
			p.Report(c, f)
		}
	}
}

// mounts says whether a container mounts a volume somewhere.
func mounts(box object.Container, volume string) bool {
	for _, m := range box.At("volumeMounts").Items() {
		if m.Field("name").Text() == volume {
			return true
		}
	}
	return false
}

// covered says whether a path lies in a mount of a container.
func covered(box object.Container, path string) bool {
	for _, m := range box.At("volumeMounts").Items() {
		at := strings.TrimSuffix(m.Field("mountPath").Text(), "/")
		if at == path || strings.HasPrefix(path, at+"/") {
			return true
		}
	}
	return false
}

// namesPath finds a word of the command line or a variable that names a path or a
// file below it.
func namesPath(box object.Container, path string) (object.Path, bool) {
	names := func(text string) bool {
		for at := 0; ; {
			i := strings.Index(text[at:], path)
			if i < 0 {
				return false
			}
			start, end := at+i, at+i+len(path)
			if (start == 0 || strings.IndexByte(" \t\n=:,;\"'(@", text[start-1]) >= 0) && (end == len(text) || !wordByte(text[end])) {
				return true
			}
			at = end
		}
	}
	for _, a := range box.CommandLine() {
		if names(a.Text) {
			return a.Path, true
		}
	}
	for _, e := range box.Env() {
		if names(e.Value.Text()) {
			return e.Path, true
		}
	}
	return "", false
}

// wordByte says whether a byte would make a path another one.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}

// volumeText says what a volume of the pod holds.
func volumeText(w object.Workload, name string) string {
	for _, v := range w.PodSpec.Field("volumes").Items() {
		if v.Field("name").Text() != name {
			continue
		}
		for _, x := range []struct{ kind, path string }{
			{"ConfigMap", "configMap.name"}, {"Secret", "secret.secretName"}, {"PersistentVolumeClaim", "persistentVolumeClaim.claimName"},
		} {
			if s := v.At(x.path).Text(); s != "" {
				return x.kind + " " + s
			}
		}
	}
	for _, v := range w.At("spec.volumeClaimTemplates").Items() {
		if v.At("metadata.name").Text() == name {
			return "claim " + name
		}
	}
	return "volume " + name
}
