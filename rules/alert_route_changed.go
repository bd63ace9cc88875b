package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// AlertRouteChanged reports that alerts go to another receiver, or to one that tells nobody.
var AlertRouteChanged = &rule.Rule{
	ID:       "alert-route-changed",
	Title:    "Alerts go to another receiver, or to one that tells nobody",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
Alertmanager gives an alert to the receiver of the route that matches it ([its configuration](https://prometheus.io/docs/alerting/latest/configuration/#route)). One without any integration, often called null or blackhole, takes the alert and tells nobody; a
receiver that loses its integration becomes such a one. Rules still fire and dashboards still show them, so that the next outage is the first that anybody hears of it.

Read are AlertmanagerConfig objects. What a Secret holds is masked, and not looked at.`,
	Advice: `Send a test alert with the labels of the route (amtool alert add), and see that it arrives. Silence for a time with a silence that expires, in place of a route.`,
	Kinds:  []string{"AlertmanagerConfig.monitoring.coreos.com"}, Actions: updates,
	Check: checkAlertRouteChanged,
}

func checkAlertRouteChanged(p *rule.Pass, c diff.Change) {
	const path = "spec.route.receiver"
	was, now := c.Before.Text(path), c.After.Text(path)
	f := rule.Finding{Path: path, Consequence: "alerts that no route below matches go there from now on"}
	switch mute := tellsNobody(c.After, now); {
	case was != now && was != "" && now != "":
		f.Message = fmt.Sprintf("alerts go to receiver %s, to %s before", now, was)
		if mute && !tellsNobody(c.Before, was) {
			f.Severity = rule.Error
			f.Consequence = "that receiver has no integration: alerts that no route below matches are told to nobody"
		}
	case was == now && mute && !tellsNobody(c.Before, was):
		f.Severity = rule.Error
		f.Path = "spec.receivers"
		f.Message = fmt.Sprintf("receiver %s has no integration any more", now)
		f.Consequence = "alerts that it gets are told to nobody"
	default:
		return
	}
	p.Report(c, f)
}

// tellsNobody says whether a receiver of an AlertmanagerConfig is there and has no integration.
func tellsNobody(o *object.Object, receiver string) bool {
	i := slices.IndexFunc(itemsOf(o.At("spec.receivers")), func(v object.Value) bool { return v.Field("name").Text() == receiver })
	if i < 0 {
		return false
	}
	for key, v := range o.At("spec.receivers").Item(i).Fields() {
		if strings.HasSuffix(key, "Configs") && v.Len() > 0 {
			return false
		}
	}
	return true
}
