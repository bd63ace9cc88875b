package rules

import (
	"fmt"
	"testing"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// pictureOf gives the picture of a Service whose selector asks for one label more,
// over a Deployment of so many pods that gets it.
func pictureOf(t *testing.T, replicas int, strategy string) *rule.Rollout {
	t.Helper()
	side := func(more string) *object.Set {
		objects, errs := object.Parse("u", "all.yaml", fmt.Appendf(nil, `
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: a}, spec: {selector: {app: s%s}, ports: [{port: 80}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: s, namespace: a}
spec:
  replicas: %d
  strategy: %s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s%s}}, spec: {containers: [{name: s, image: "s:1"}]}}
`, more, replicas, strategy, more))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return object.NewSet(objects)
	}
	u := &rule.Unit{Name: "u", Before: side(""), After: side(", zone: a")}
	u.Changes = diff.Compare(u.Before, u.After, diff.Options{})
	findings := rule.Run([]*rule.Rule{ServiceSelectorNarrowed}, []*rule.Unit{u})
	if len(findings) != 1 {
		t.Fatalf("%d findings, want 1", len(findings))
	}
	return findings[0].Rollout
}

func TestPictureOfARollout(t *testing.T) {
	r := pictureOf(t, 140, "{rollingUpdate: {maxSurge: 15, maxUnavailable: 1}}")
	if r == nil {
		t.Fatal("no picture")
	}
	if r.Before != 140 || r.FirstWave != 16 || r.ReachesOld || !r.ReachesNew {
		t.Errorf("picture = %+v, want 140 before, a first wave of 16, only new pods reached", r)
	}
	first, last := r.Steps[0], r.Steps[len(r.Steps)-1]
	if first != (rule.Step{Old: 140}) || last != (rule.Step{New: 140}) {
		t.Errorf("it goes from %+v to %+v, want from 140 old to 140 new pods", first, last)
	}
	if got := r.Answering(r.Steps[2]); got != 16 {
		t.Errorf("%d pods answer once the first wave is ready, want 16", got)
	}
}

func TestPictureOfALongRollout(t *testing.T) {
	r := pictureOf(t, 5000, "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}")
	if r == nil || len(r.Steps) != maxSteps || r.Steps[len(r.Steps)-1] != (rule.Step{New: 5000}) || r.Steps[1] != (rule.Step{Old: 5000, New: 1}) {
		t.Errorf("picture = %+v, want %d steps, the first wave and the end among them", r, maxSteps)
	}
	if r := pictureOf(t, 1<<30, "{rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"); r != nil {
		t.Errorf("a picture of %d steps", len(r.Steps))
	}
}
