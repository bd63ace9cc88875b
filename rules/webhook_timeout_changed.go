package rules

import (
	"fmt"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// WebhookTimeoutChanged reports an admission webhook that is waited for less, or
// so long that requests fail behind it.
var WebhookTimeoutChanged = &rule.Rule{
	ID:       "webhook-timeout-changed",
	Title:    "The API server waits another time for an admission webhook",
	Subject:  "cluster",
	Severity: rule.Warning,
	Doc: `
A call that takes longer than timeoutSeconds has failed. With failurePolicy Fail the request is refused, so a shorter timeout refuses
requests whenever the webhook is slow: while its pods start, while its cache is cold, while the network has a bad minute. With Ignore the
check or the default is skipped without a word, which is a note.

A long timeout is no remedy: the API server waits for one webhook after another and holds a request all the while. Above 10 s, controllers
and kubectl give up first, and requests pile up.

v1 fills in 10 s and v1beta1 30 s; a move between them with nothing written is left alone.`,
	Advice: `Measure how long the webhook takes (apiserver_admission_webhook_admission_duration_seconds, its 99th percentile during a rollout) before
the timeout goes below a few times that. Make a slow webhook faster, or its rules narrower, rather than its timeout longer.`,
	Incidents: []string{"dfds-alcide-webhook-2020"},
	Kinds:     webhookKinds,
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkWebhookTimeoutChanged,
}

// longWait is the default of v1, in seconds, above which clients give up first.
const longWait = 10

func checkWebhookTimeoutChanged(p *rule.Pass, c diff.Change) {
	for _, h := range hooks(c.After) {
		was, ok := hookOf(c.Before, h)
		if !ok || was.Field("timeoutSeconds").Equal(h.Field("timeoutSeconds")) {
			continue
		}
		b, a := was.timeout(), h.timeout()
		f := rule.Finding{Path: h.path.Key("timeoutSeconds"), Before: was.Field("timeoutSeconds"), After: h.Field("timeoutSeconds")}
		from := fmt.Sprintf("%d s", b)
		if !was.Field("timeoutSeconds").Exists() {
			from += " (the default)"
		}
		f.Message = fmt.Sprintf("%s is waited for %d s, %s before", h.name, a, from)
		switch {
		case a < b && h.failsClosed():
			f.Consequence = "it fails closed: a request that it answers later is refused"
		case a < b:
			f.Severity = rule.Note
			f.Consequence = "it fails open: a request that it answers later goes through unchecked and unchanged"
		case a > b && a > longWait:
			f.Severity = rule.Note
			f.Consequence = "a webhook that hangs holds every request that long, and those who wait give up first"
		default:
			continue
		}
		p.Report(c, f)
	}
}
