package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/source"
)

const configText = `# What prdiff looks at, and how it renders. Every key may be left out.
# A path without a slash matches at any depth, one with a slash from the root on;
# * stops at slashes, ** does not; a folder stands for all below it.
# In a pull request, what leaves something out or silences it counts once it is
# merged. Check it with prdiff config check; editors know its keys by
# yaml-language-server: $schema=https://raw.githubusercontent.com/prdiff/prdiff/main/internal/config/config.schema.json

paths:
  include: []        # look only at these; empty means everything
  exclude: []        # and not at these

renderers: {}        # tanka: false switches one off; also jsonnet and plain

jsonnet: []          # plain jsonnet files that render to objects:
#  - path: dashboards/*.jsonnet
#    libraries: [lib, vendor]

units: {}            # what units need to be evaluated:
#  environments/prod:
#    extStr: {region: eu}
#    tlaCode: {replicas: "3"}

clusters: {}         # what prdiff should know of the clusters:
#  kubernetesVersion: "1.33"
#  production: [environments/prod/**]     # elsewhere, an error is shown as a warning
#  criticalNamespaces: [kube-system]      # there, a warning is shown as an error

rules: {}
#  paths: [policies]                      # rules of your own, in CEL, and admission policies
#  severity: {image-tag-unpinned: off}    # off, note, warning, error
#  parameters:                            # thresholds: prdiff rules ID
#    autoscaler-ceiling-raised: {growthPercent: 100}

suppress: []         # findings that do not count, each with a reason:
#  - rule: service-recreated
#    object: Service prod/web
#    reason: planned for the night of the 3rd
#    expires: 2026-03-03

filters: {}          # differences that are noise here:
#  hide:
#    - {object: ConfigMap */build-info, path: data.built, reason: the time of the build}

incidents: {}
#  paths: [docs/postmortems]              # your own: prdiff incidents new ID
`

func initCommand(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write " + config.File + " and workflows for GitHub Actions",
		Long: `Write ` + config.File + `, which changes nothing until you fill it in,
` + workflowFile + `, which runs prdiff on every pull request, and
` + forkWorkflowFile + `, which comments where that run may not: on
pull requests from forks. Files that are there already are left alone.`,
		Example: "  prdiff init",
		Args:    atMost(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := source.Open(cmd.Context(), e.dir, "", source.Options{Getenv: e.getenv})
			if err != nil {
				return err
			}
			prefix, repository := t.Prefix, t.Rev == source.WorkingTree
			if err := t.Close(); err != nil {
				return err
			}
			if !repository {
				return usage("prdiff init writes to the root of a git repository, and this folder is in none: git init makes one")
			}
			if prefix != "." {
				return usage("prdiff init writes to the root of the repository: this is %s in it", prefix)
			}
			for _, f := range []struct{ name, text string }{{config.File, configText}, {workflowFile, workflowText}, {forkWorkflowFile, forkWorkflowText}} {
				if err := e.writeNew(f.name, f.text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// writeNew writes a file that is not there yet, and says what it did.
func (e env) writeNew(name, text string) error {
	p := e.path(filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		_, err := fmt.Fprintf(e.stdout, "%s is there already: left as it is\n", name)
		return err
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.stdout, "wrote %s\n", name)
	return err
}
