package rules

import (
	"fmt"
	"strings"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/rule"
)

// StorageShrunk reports disks that get smaller: those of nodes, of scratch space,
// and of volumes that operators make.
var StorageShrunk = &rule.Rule{
	ID:       "storage-shrunk",
	Title:    "A disk or scratch space gets smaller",
	Subject:  "state",
	Severity: rule.Warning,
	Doc: `
A volume cannot shrink. Where an operator asks for less than there is, the update is refused and the operator stops working on the object, or it makes
new, smaller volumes on which the data may not fit. Scratch space (emptyDir sizeLimit, ephemeral-storage) that is too small gets pods evicted while they run.
Smaller disks of nodes show when the next node joins: images do not fit, pulls fail, and pods are evicted.

Claims and the claim templates of StatefulSets are told of by immutable-field-changed.`,
	Advice:    "Look at what is used now (kubelet_volume_stats_used_bytes, node_filesystem_avail_bytes) at its peak. For a smaller volume make a new one, copy, and switch.",
	Incidents: []string{"moj-eks-disk-2023"},
	Actions:   []diff.Action{diff.Update, diff.Replace},
	Check:     checkStorageShrunk,
}

// sizeKeys are fields that are the size of a disk, by what comes last in their paths.
var sizeKeys = []string{".sizeLimit", ".ephemeral-storage", ".volumeSize", ".requests.storage", ".storage.size", ".diskSizeGB", ".volumeSizeGB", ".diskSizeGiB", ".osDiskSizeGB", ".storageSize"}

func checkStorageShrunk(p *rule.Pass, c diff.Change) {
	switch c.Ref.GroupKind() {
	case "PersistentVolumeClaim", "ResourceQuota", "LimitRange", "ConfigMap", "Secret":
		return
	}
	for _, f := range c.Fields {
		path := string(f.Path)
		if f.Op != diff.Set || f.Hidden != "" || f.Immutable != "" || !isSize(path) {
			continue
		}
		was, err := f.Before.Quantity()
		now, alsoErr := f.After.Quantity()
		if err != nil || alsoErr != nil || now.Cmp(was) >= 0 {
			continue
		}
		x := rule.Finding{Path: f.Path, Before: f.Before, After: f.After, Message: fmt.Sprintf("%s becomes %s", f.Before, f.After)}
		switch _, isWorkload := object.AsWorkload(c.After); {
		case strings.HasSuffix(path, ".sizeLimit"):
			x.Consequence = "a pod that writes more than that is evicted"
		case strings.HasSuffix(path, ".ephemeral-storage") && strings.Contains(path, ".limits."):
			x.Consequence = "a pod that writes more than that to its own disk, logs included, is evicted"
		case strings.HasSuffix(path, ".ephemeral-storage"):
			x.Severity = rule.Note
			x.Consequence = "less of the node's disk is kept for it"
		case isWorkload:
			x.Consequence = "what was made with the old size stays, and new volumes are smaller"
		case strings.Contains(strings.ToLower(path), "ebs") || strings.Contains(strings.ToLower(path), "disk") || strings.Contains(c.Ref.Kind, "Node"):
			x.Consequence = "nodes that join from now on have less room for images, logs and scratch space"
		default:
			x.Consequence = "a volume cannot shrink: the operator is refused, or makes new ones on which the data may not fit"
		}
		p.Report(c, x)
	}
}

func isSize(path string) bool {
	for _, key := range sizeKeys {
		if strings.HasSuffix(path, key) {
			return true
		}
	}
	return false
}
