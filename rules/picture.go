package rules

import (
	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/impact"
	"github.com/prdiff/prdiff/internal/rule"
)

// This file is no rule: it gives the steps of a rollout to findings that tell of
// one, so that a report can draw it.

// maxSteps bounds the steps of a picture: those in the middle of a long rollout
// are much like each other.
const maxSteps = 40

// picture gives the rollout of a Service that reaches none of the pods that run
// now, when one workload replaces them and everything about it is known; nil
// otherwise, as half a picture is none.
func (s shift) picture(p *rule.Pass) *rule.Rollout {
	if len(s.lost) != 1 || len(s.coming) != 1 || len(s.kept)+len(s.gained) > 0 || !has(s.coming, s.lost[0].Ref) {
		return nil
	}
	running, w := s.lost[0], s.coming[0]
	if c, ok := changeOf(p.Unit, w.Ref); !running.Replicas.Known || !w.Replicas.Known || ok && c.Action == diff.Replace {
		return nil
	}
	r := rolloutOf(w)
	if r.Strategy == impact.Still || running.Replicas.Count != r.Replicas {
		return nil
	}
	out := &rule.Rollout{Workload: w.Ref, Before: running.Replicas.Count, FirstWave: r.FirstWave(), ReachesNew: true}
	for step := range r.Steps() {
		if len(out.Steps) == 1<<14 {
			return nil // manifests may say any number
		}
		out.Steps = append(out.Steps, rule.Step{Old: step.Old, New: step.New})
	}
	out.Steps = thinned(out.Steps)
	return out
}

// thinned keeps the first half of the steps that are allowed, where a rollout is
// dangerous, and of the others as many as there is room for, the last among them.
func thinned(steps []rule.Step) []rule.Step {
	if len(steps) <= maxSteps {
		return steps
	}
	const head = maxSteps / 2
	out := steps[:head:head]
	rest := steps[head:]
	for i := 1; i <= maxSteps-head; i++ {
		out = append(out, rest[i*len(rest)/(maxSteps-head)-1])
	}
	return out
}
