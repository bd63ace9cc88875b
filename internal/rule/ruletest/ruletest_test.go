package ruletest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prdiff/prdiff/internal/rule"
)

func TestStrangersFindsFoldersThatNoRuleRuns(t *testing.T) {
	fsys := fstest.MapFS{"testdata/loud/x.txtar": {}, "testdata/lout/x.txtar": {}}
	if err := strangers(fsys, []*rule.Rule{{ID: "loud"}}); err == nil || !strings.Contains(err.Error(), "testdata/lout") {
		t.Errorf("strangers() = %v, want testdata/lout", err)
	}
	delete(fsys, "testdata/lout/x.txtar")
	if err := strangers(fsys, []*rule.Rule{{ID: "loud"}}); err != nil {
		t.Errorf("strangers() = %v, want nothing", err)
	}
}
