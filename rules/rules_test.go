package rules_test

import (
	"flag"
	"testing"

	"github.com/prdiff/prdiff/internal/rule/ruletest"
	"github.com/prdiff/prdiff/rules"
)

var update = flag.Bool("update", false, "write want and also sections and README.md anew")

func TestRules(t *testing.T) {
	ruletest.Run(t, rules.All, ".", *update)
}
