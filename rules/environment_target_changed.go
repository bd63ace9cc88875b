package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// EnvironmentTargetChanged reports a Tanka environment that goes to another cluster.
var EnvironmentTargetChanged = &rule.Rule{
	ID:       "environment-target-changed",
	Title:    "A Tanka environment is applied to another cluster",
	Subject:  "cluster",
	Severity: rule.Error,
	Doc: `
spec.apiServer and spec.contextNames choose the kubeconfig context that ` + "`tk apply`" + ` and ` + "`tk prune`" + ` talk to
([Tanka's configuration](https://tanka.dev/config/#file-format)). Nothing is moved: all of the environment is made anew in the other cluster, with empty volumes and
over whatever has the same names there, and what runs in the first one stays, and nobody updates it. The manifests are the same, so that a diff of
them shows nothing.`,
	Advice: `If the move is meant, make a second environment for the new cluster, compare with ` + "`tk diff`" + `, move data and traffic, and remove the first one
when nothing reaches it. If only the address or the name of the context is new, ask ` + "`kubectl config view`" + ` whether both lead to one cluster.`,
	Incidents: []string{},
	Kinds:     []string{"Environment.tanka.dev"},
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkEnvironmentTargetChanged,
}

func checkEnvironmentTargetChanged(p *rule.Pass, c diff.Change) {
	const stays = "all of it is made anew there; what it deployed before stays, and nobody updates it"
	const server, contexts = "spec.apiServer", "spec.contextNames"
	if was, now := c.Before.Text(server), c.After.Text(server); was != now && was != "" {
		p.Report(c, rule.Finding{Path: server, Message: change("apiServer", was, now), Consequence: stays})
		return
	}
	was, now := c.Before.At(contexts).Texts(), c.After.At(contexts).Texts()
	gone := slices.DeleteFunc(slices.Clone(was), func(name string) bool { return slices.Contains(now, name) })
	switch server := c.After.Text(server); {
	case len(gone) == 0:
	case server != "" && server == c.Before.Text("spec.apiServer"):
		// Tanka goes by the server where there is one.
	case len(now) == 0 && server != "":
		p.Report(c, rule.Finding{Path: contexts, Consequence: stays,
			Message: fmt.Sprintf("applied to the context %s before, now to apiServer %s", strings.Join(was, " or "), server)})
	case len(now) == 0:
		p.Report(c, rule.Finding{Path: contexts, Message: fmt.Sprintf("contextNames %s is removed", strings.Join(was, ", ")),
			Consequence: "there is no cluster that it says to be for"})
	case len(gone) == len(was):
		p.Report(c, rule.Finding{Path: contexts, Consequence: stays,
			Message: change("contextNames", strings.Join(was, ", "), strings.Join(now, ", "))})
	default:
		p.Report(c, rule.Finding{Path: contexts, Severity: rule.Warning,
			Message:     fmt.Sprintf("contextNames loses %s", strings.Join(gone, ", ")),
			Consequence: "it is no longer applied there; what it deployed there stays, and nobody updates it"})
	}
}
