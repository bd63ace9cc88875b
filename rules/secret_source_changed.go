package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// SecretSourceChanged reports Secrets that are filled from another place.
var SecretSourceChanged = &rule.Rule{
	ID:       "secret-source-changed",
	Title:    "A Secret is filled from another place of the secret store, or loses a key",
	Subject:  "config",
	Severity: rule.Warning,
	Doc: `
An ExternalSecret says from where a Secret is filled; what it holds nobody sees in a pull request. With another path, property or store the operator writes other credentials
at its next refresh, and pods take them at their next start or file reload: those of another environment, if the path was copied. A path that does not exist leaves the old
Secret as it is, with an error in a status, until somebody makes the Secret anew. A key that is no longer listed goes from the Secret, and pods that read it do not start again.

It also tells of a Secret that goes with its source (deletionPolicy), and of a source that is asked far more often than before.`,
	Advice:  `Read the new place with the operator's own identity before the merge, and compare the keys. Change the source in one merge and restart the pods on purpose right after it, so that the change and what comes of it are seen together.`,
	Kinds:   []string{"ExternalSecret.external-secrets.io", "ClusterExternalSecret.external-secrets.io"},
	Actions: updates,
	Check:   checkSecretSourceChanged,
}

func checkSecretSourceChanged(p *rule.Pass, c diff.Change) {
	target := c.After.Ref
	target.Kind, target.Group = "Secret", ""
	target.Name = orText(c.After.Text("spec.target.name"), c.After.Ref.Name)
	var readers []object.Ref
	for _, r := range p.After.ReferencesTo(target) {
		if r.Use != object.UseMadeSecret && !slices.Contains(readers, r.From.Ref) {
			readers = append(readers, r.From.Ref)
		}
	}
	follows := "it is written at the next refresh, and pods take it at their next start"
	if len(readers) > 0 {
		follows = fmt.Sprintf("it is written at the next refresh, and %s takes it at the next start", refNames(readers))
	}
	const deletion = "spec.target.deletionPolicy"
	if b, a := orText(c.Before.Text(deletion), "Retain"), c.After.Text(deletion); b != a && a == "Delete" {
		// https://external-secrets.io/latest/guides/ownership-deletion-policy/
		p.Report(c, rule.Finding{Path: deletion, Related: readers, Message: fmt.Sprintf("deletionPolicy %s becomes Delete", b),
			Consequence: "when the place in the store is gone or empty, the Secret is deleted, and pods that read it do not start again"})
	}
	const refresh = "spec.refreshInterval"
	b, _ := time.ParseDuration(orText(c.Before.Text(refresh), "1h")) // 1h by default
	if a, err := time.ParseDuration(c.After.Text(refresh)); err == nil && a > 0 && a < time.Minute && 10*a <= b {
		p.Report(c, rule.Finding{Path: refresh, Message: fmt.Sprintf("it is read every %s, every %s before", c.After.Text(refresh), orText(c.Before.Text(refresh), "1h (the default)")),
			Consequence: "the store limits how often it is asked, and all that read from it are refused together when that is reached; clouds charge for each"})
	}
	const store = "spec.secretStoreRef"
	if b, a := c.Before.At(store), c.After.At(store); !b.Equal(a) && b.Exists() && b.Field("name").Text() != a.Field("name").Text() {
		p.Report(c, rule.Finding{Path: store, Related: readers, Message: fmt.Sprintf("it is filled from store %s, from %s before", a.Field("name").Text(), b.Field("name").Text()), Consequence: follows})
	}
	now := map[string]object.Value{}
	place := map[string]object.Path{}
	for i, d := range c.After.At("spec.data").Items() {
		key := d.Field("secretKey").Text()
		now[key], place[key] = d.Field("remoteRef"), object.Path("spec.data").Index(i)
	}
	for i, d := range c.Before.At("spec.data").Items() {
		key, was := d.Field("secretKey").Text(), d.Field("remoteRef")
		is, stays := now[key]
		switch {
		case !stays && c.After.At("spec.dataFrom").Len() == 0:
			p.Report(c, rule.Finding{Path: object.Path("spec.data").Index(i), Related: readers, Message: fmt.Sprintf("key %s of Secret %s is no longer filled", key, target.Name),
				Consequence: "it goes from the Secret at the next refresh: a container that reads it does not start again"})
		case stays && (was.Field("key").Text() != is.Field("key").Text() || was.Field("property").Text() != is.Field("property").Text()):
			p.Report(c, rule.Finding{Path: place[key].Key("remoteRef"), Related: readers,
				Message: fmt.Sprintf("key %s is filled from %s, from %s before", key, remoteText(is), remoteText(was)), Consequence: follows})
		}
	}
}

func remoteText(v object.Value) string {
	if property := v.Field("property").Text(); property != "" {
		return v.Field("key").Text() + "#" + property
	}
	return v.Field("key").Text()
}
