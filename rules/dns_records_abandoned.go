package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// DNSRecordsAbandoned reports an external-dns that deletes records, or forgets which are its own.
var DNSRecordsAbandoned = &rule.Rule{
	ID:       "dns-records-abandoned",
	Title:    "external-dns begins to delete records, or looks after others than before",
	Subject:  "capacity and names",
	Severity: rule.Warning,
	Doc: `
external-dns writes public names. With --policy=upsert-only, or create-only, it never deletes; with sync it deletes each record of its own that no object asks for in this minute, one whose
Ingress is in another cluster or not yet deployed included. Which are its own it reads from TXT records with an owner, by --txt-owner-id, --txt-prefix and --registry: with another
owner it touches none of those that are there, so that they go on leading to old addresses; an owner that another cluster has, too, lets both delete each other's. Sources and
domain filters say what it looks after: under sync, what falls out of --source is deleted, and what falls out of a filter is left behind
([external-dns](https://kubernetes-sigs.github.io/external-dns/latest/docs/flags/)).`,
	Advice:  `Start it once with --dry-run and the new flags, and read what it would delete. Change the owner in the TXT records first (--from-txt-owner or --migrate-from-txt-owner, where the version has it).`,
	Kinds:   podKinds,
	Actions: updates,
	Check:   checkDNSRecordsAbandoned,
}

func checkDNSRecordsAbandoned(p *rule.Pass, c diff.Change) {
	if !touched(c, ".args", ".command") {
		return
	}
	before, after, ok := bothWorkloads(p, c)
	if !ok {
		return
	}
	for _, pair := range pairContainers(before, after) {
		if !strings.Contains(pair.after.Image(), "external-dns") {
			continue
		}
		values := func(box object.Container, name string) (all []string, at object.Path) {
			for _, f := range box.Flags() {
				if f.Name == name {
					all, at = append(all, f.Value), f.Path
				}
			}
			slices.Sort(all)
			return all, at
		}
		report := func(name string, def string, follows func(was, now string) string) {
			was, at := values(pair.before, name)
			now, path := values(pair.after, name)
			if path == "" {
				path = at
			}
			b, a := orText(strings.Join(was, ", "), def), orText(strings.Join(now, ", "), def)
			if b == a {
				return
			}
			if text := follows(b, a); text != "" {
				p.Report(c, rule.Finding{Path: path, Before: object.TextOf(b), After: object.TextOf(a), Message: fmt.Sprintf("--%s goes from %s to %s", name, orText(b, "nothing"), orText(a, "nothing")), Consequence: text})
			}
		}
		report("policy", "sync", func(_, now string) string {
			if now != "sync" {
				return ""
			}
			return "it deletes each record of its own that no object asks for, at its next round"
		})
		abandoned := func(string, string) string {
			return "records that are there are not its own any more: it neither changes nor deletes them, and they keep their old addresses"
		}
		report("txt-owner-id", "default", abandoned)
		report("registry", "txt", abandoned)
		report("txt-prefix", "", abandoned)
		report("txt-suffix", "", abandoned)
		fewer := func(all bool, text string) func(was, now string) string {
			return func(was, now string) string {
				if all && was == "" { // no filter means everything
					return text
				}
				if all && now == "" {
					return ""
				}
				for _, x := range strings.Split(was, ", ") {
					if !slices.Contains(strings.Split(now, ", "), x) {
						return text
					}
				}
				return ""
			}
		}
		report("source", "", fewer(false, "records for objects of a kind that it does not read any more are deleted, unless it only adds"))
		report("domain-filter", "", fewer(true, "records of the other domains are left as they are"))
	}
}
