package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// IngressRewriteBroken reports paths that no longer have the group that is put into the rewritten
// path.
var IngressRewriteBroken = &rule.Rule{
	ID:       "ingress-rewrite-broken",
	Title:    "A path lacks the group that its rewrite puts in",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
With rewrite-target: /$2 ingress-nginx asks the pods for what the second pair of brackets of the path has matched ([its example](https://kubernetes.github.io/ingress-nginx/examples/rewrite/)). A path without that pair gives nothing: every
request below it arrives at the pods as /, with 404 or the start page for all, and a probe from outside that only asks for / stays green. The annotation counts for all paths of the Ingress, so that one path that is
added beside the others, or a rewrite that is added for one of them, is enough.

Told are paths to which that happens by this change.`,
	Advice: `Write the path with its groups, /shop(/|$)(.*), and pathType ImplementationSpecific, or put the path that needs no rewrite into an Ingress of its own.`,
	Kinds:  []string{"Ingress.networking.k8s.io"}, Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename},
	Check: checkIngressRewriteBroken,
}

func checkIngressRewriteBroken(p *rule.Pass, c diff.Change) {
	was := brokenRewrites(c.Before)
	for _, b := range brokenRewrites(c.After) {
		if slices.ContainsFunc(was, func(x brokenRewrite) bool { return x.url == b.url && x.group == b.group }) {
			continue
		}
		has := "no group"
		if b.groups > 0 {
			has = plural(b.groups, "group")
		}
		p.Report(c, rule.Finding{Path: b.path, Message: fmt.Sprintf("%s has %s, and the rewrite puts in the one of number %d", b.url, has, b.group),
			Consequence: "every request below it is sent to the pods without the rest of its path, as /"})
	}
}

type brokenRewrite struct {
	path          object.Path
	url           string
	groups, group int
}

// brokenRewrites gives the paths of an Ingress with fewer groups than its rewrite asks for.
func brokenRewrites(o *object.Object) []brokenRewrite {
	if o == nil {
		return nil
	}
	target := o.Annotation("nginx.ingress.kubernetes.io/rewrite-target")
	most := 0
	for i := 0; i+1 < len(target); i++ {
		if target[i] == '$' {
			if n, err := strconv.Atoi(target[i+1 : i+2]); err == nil {
				most = max(most, n)
			}
		}
	}
	if most == 0 {
		return nil
	}
	var out []brokenRewrite
	for _, r := range ingressRoutes(o) {
		path := orText(r.written, r.path)
		groups := strings.Count(path, "(") - strings.Count(path, `\(`) - strings.Count(path, "(?:")
		if groups < most && strings.HasSuffix(string(r.place), "]") && path != "/" {
			out = append(out, brokenRewrite{r.place + ".path", r.url(), groups, most})
		}
	}
	return out
}
