package report

import "testing"

func TestReasonsTellsAFaultOfALibraryOnce(t *testing.T) {
	unit := func(name, text string) Unit { return Unit{Name: name, Status: Failed, Error: text} }
	r := &Report{Units: []Unit{
		unit("dev", "lib/app.libsonnet:1: Unknown variable: x (called from dev/main.jsonnet:1)"),
		unit("prod", "lib/app.libsonnet:1: Unknown variable: x (called from prod/main.jsonnet:1)"),
		unit("test", "lib/app.libsonnet:2: Unknown variable: y (called from test/main.jsonnet:1)"),
	}}
	got := reasons(r, Failed)
	if len(got) != 2 || len(got[0].units) != 2 || got[0].text != "lib/app.libsonnet:1: Unknown variable: x" {
		t.Errorf("reasons() = %+v", got)
	}
	if got[1].text != "lib/app.libsonnet:2: Unknown variable: y (called from test/main.jsonnet:1)" {
		t.Errorf("reasons() tells of one unit %q", got[1].text)
	}
}
