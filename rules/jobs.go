package rules

import (
	"github.com/prdiff/prdiff/internal/object"
)

// This file is no rule: it reads Jobs, alone or in a CronJob, for the rules about them.

var jobKinds = []string{"Job.batch", "CronJob.batch"}

// jobSpec gives the spec of a Job, or of the Jobs that a CronJob makes, and its path.
func jobSpec(o *object.Object) (object.Value, object.Path) {
	if o == nil {
		return object.Value{}, ""
	}
	if o.Ref.Kind == "CronJob" {
		return o.At("spec.jobTemplate.spec"), "spec.jobTemplate.spec"
	}
	return o.At("spec"), "spec"
}

// numberOr gives a whole number, or what stands for its absence.
func numberOr(v object.Value, or int64) int64 {
	if n, ok := v.Int(); ok {
		return n
	}
	return or
}
