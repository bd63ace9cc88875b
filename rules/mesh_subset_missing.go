package rules

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// MeshSubsetMissing reports routes of a mesh to a subset that is not there, or has no pod.
var MeshSubsetMissing = &rule.Rule{
	ID:       "mesh-subset-missing",
	Title:    "A route of the mesh leads to a subset that is not defined, or matches no pod",
	Subject:  "traffic",
	Severity: rule.Error,
	Doc: `
In Istio a VirtualService names subsets, a DestinationRule defines them, and the labels of pods fill them. Nothing checks that the three agree. A proxy that is led to a subset it does not know, or to one
without pods, answers 503 by itself, with the response flag NC or UH, while every pod is healthy and gets nothing. Both objects reach the proxies one after
the other, so that a change of both in one merge has a moment of 503 even where it is right in the end
([Istio](https://istio.io/latest/docs/ops/best-practices/traffic-management/#split-virtual-services)).

It looks from both sides: a subset that goes or is renamed while a route names it, one whose labels match no pod any more, and a route that begins to
name one that no DestinationRule of the unit has for its host.`,
	Advice:  `Add the new subset first and let it reach all proxies, then move the route, then remove the old subset: three merges. Never rename one in place.`,
	Kinds:   []string{virtualServiceKind, destinationRuleKind},
	Actions: []diff.Action{diff.Create, diff.Update, diff.Replace, diff.Rename, diff.Delete},
	Check:   checkMeshSubsetMissing,
}

func checkMeshSubsetMissing(p *rule.Pass, c diff.Change) {
	if c.Ref.Kind == "DestinationRule" {
		if c.Before != nil {
			checkSubsetsLost(p, c)
		}
		return
	}
	if c.After == nil {
		return
	}
	before := subsetUses(c.Before)
	for _, use := range subsetUses(c.After) {
		names, known := subsetsOf(p.After, use.host)
		if !known || slices.Contains(names, use.subset) ||
			slices.ContainsFunc(before, func(b subsetUse) bool { return b.host == use.host && b.subset == use.subset }) {
			continue
		}
		p.Report(c, rule.Finding{Path: use.path, Message: fmt.Sprintf("requests are led to subset %s of %s, which has only %s", use.subset, use.host, orText(listed(names), "none")),
			Consequence: "they are answered with 503 by the proxy"})
	}
}

func checkSubsetsLost(p *rule.Pass, c diff.Change) {
	host := meshHost(c.Before.Text("spec.host"), c.Before.Ref.Namespace)
	left, _ := subsetsOf(p.After, host)
	for i, s := range c.Before.At("spec.subsets").Items() {
		name := s.Field("name").Text()
		var users []object.Ref
		for _, o := range p.After.Kind(virtualServiceKind) {
			if slices.ContainsFunc(subsetUses(o), func(u subsetUse) bool { return u.host == host && u.subset == name }) {
				users = append(users, o.Ref)
			}
		}
		f := rule.Finding{Path: object.Path("spec.subsets").Index(i), Before: s, Related: users}
		if c.After == nil {
			f.Path, f.Before = "", object.Value{}
		}
		switch {
		case !slices.Contains(left, name) && len(users) > 0:
			f.Message = fmt.Sprintf("subset %s of %s goes, and %s still leads requests to it", name, host, refNames(users))
			f.Consequence = "they are answered with 503 by the proxy"
			p.Report(c, f)
		case c.After != nil && len(users) > 0:
			checkSubsetPods(p, c, f, s, host)
		}
	}
}

// checkSubsetPods looks for the pods of a subset whose labels changed.
func checkSubsetPods(p *rule.Pass, c diff.Change, f rule.Finding, was object.Value, host string) {
	name := was.Field("name").Text()
	for i, now := range c.After.At("spec.subsets").Items() {
		if now.Field("name").Text() != name || now.Field("labels").Equal(was.Field("labels")) {
			continue
		}
		service, namespace, ok := object.ServiceHost(host, c.After.Ref.Namespace)
		if !ok {
			return
		}
		o := p.After.Get(object.Ref{Unit: c.Ref.Unit, Kind: "Service", Namespace: namespace, Name: service})
		if o == nil {
			return
		}
		selector := o.Strings("spec.selector")
		with := func(labels object.Value) map[string]string {
			all := map[string]string{}
			for k, v := range selector {
				all[k] = v
			}
			for k, v := range labels.Fields() {
				all[k] = v.Text()
			}
			return all
		}
		before, _ := reached(p.Before, namespace, with(was.Field("labels")))
		running, unknown := reached(p.Before, namespace, with(now.Field("labels")))
		if len(before) == 0 || len(running) > 0 || len(unknown) > 0 {
			return
		}
		f.Path, f.Before, f.After = object.Path("spec.subsets").Index(i), was, now
		f.Message = fmt.Sprintf("subset %s asks for %s, which no running pod has", name, labelText(now.Field("labels").Strings()))
		f.Consequence = "requests that are led to it are answered with 503 by the proxy"
		p.Report(c, f)
	}
}
