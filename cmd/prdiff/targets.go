package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/object"
)

// matchesTargets says whether -t wants an object, with the meaning that it has for
// Tanka: an expression matches all of Kind/name whatever the case, and one that
// leaves out takes in everything else. Expressions were checked before.
func matchesTargets(targets []string, o *object.Object) bool {
	name := o.Ref.Kind + "/" + o.Ref.Name
	included, leaves := false, false
	includes := 0
	for expr := range strings.SplitSeq(strings.Join(targets, ","), ",") {
		body, negative := strings.CutPrefix(expr, "!")
		if body == "" {
			continue
		}
		re, err := regexp.Compile("(?i)^" + body + "$")
		matches := err == nil && re.MatchString(name)
		switch {
		case negative && matches:
			return false
		case negative:
			leaves = true
		default:
			includes++
			included = included || matches
		}
	}
	return included || leaves || includes == 0
}

// checkTargets says which expression of -t is none.
func checkTargets(targets []string) error {
	for _, expr := range slices.Concat(targets) {
		for part := range strings.SplitSeq(expr, ",") {
			if _, err := regexp.Compile("(?i)^" + strings.TrimPrefix(part, "!") + "$"); err != nil {
				return usage("-t %s: %v", expr, err)
			}
		}
	}
	return nil
}
