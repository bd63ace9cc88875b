package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/prdiff/prdiff/internal/config"
	"github.com/prdiff/prdiff/internal/object"
	"github.com/prdiff/prdiff/internal/report"
	"github.com/prdiff/prdiff/render"
	"github.com/prdiff/prdiff/render/jsonnet"
	"github.com/prdiff/prdiff/render/tanka"
)

// tkFlags are the flags of prdiff render that mean what they mean to tk.
type tkFlags struct {
	name, selector                      string
	targets                             []string
	extStr, extCode, tlaStr, tlaCode    []string
	extStrFile, extCodeFile, tlaStrFile []string
	tlaCodeFile                         []string
	vars                                jsonnet.Vars // what the flags above say
}

func (f *tkFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.name, "name", "", "the inline Tanka environment called `NAME`, or the only one whose name contains it")
	fs.StringVarP(&f.selector, "selector", "l", "", "Tanka environments whose labels match `SELECTOR`")
	fs.StringArrayVarP(&f.targets, "target", "t", nil, "only objects whose Kind/name matches `REGEXP`; !REGEXP leaves out; may be repeated")
	fs.StringArrayVarP(&f.extStr, "ext-str", "V", nil, "external variable as text, `NAME[=VALUE]`; without a value, that of the environment variable")
	fs.StringArrayVar(&f.extCode, "ext-code", nil, "external variable as jsonnet, `NAME[=CODE]`")
	fs.StringArrayVar(&f.extStrFile, "ext-str-file", nil, "external variable from a file, `NAME=FILE`")
	fs.StringArrayVar(&f.extCodeFile, "ext-code-file", nil, "external variable as jsonnet from a file, `NAME=FILE`")
	fs.StringArrayVarP(&f.tlaStr, "tla-str", "A", nil, "top-level argument as text, `NAME[=VALUE]`")
	fs.StringArrayVar(&f.tlaCode, "tla-code", nil, "top-level argument as jsonnet, `NAME[=CODE]`")
	fs.StringArrayVar(&f.tlaStrFile, "tla-str-file", nil, "top-level argument from a file, `NAME=FILE`")
	fs.StringArrayVar(&f.tlaCodeFile, "tla-code-file", nil, "top-level argument as jsonnet from a file, `NAME=FILE`")
}

// read takes the NAME=VALUE texts apart.
func (f *tkFlags) read(e env) error {
	for _, v := range []struct {
		flag string
		from []string
		to   *map[string]string
		env  bool
	}{
		{"ext-str", f.extStr, &f.vars.ExtStr, true},
		{"ext-code", f.extCode, &f.vars.ExtCode, true},
		{"ext-str-file", f.extStrFile, &f.vars.ExtStrFile, false},
		{"ext-code-file", f.extCodeFile, &f.vars.ExtCodeFile, false},
		{"tla-str", f.tlaStr, &f.vars.TLAStr, true},
		{"tla-code", f.tlaCode, &f.vars.TLACode, true},
		{"tla-str-file", f.tlaStrFile, &f.vars.TLAStrFile, false},
		{"tla-code-file", f.tlaCodeFile, &f.vars.TLACodeFile, false},
	} {
		for _, text := range v.from {
			name, value, ok := strings.Cut(text, "=")
			switch {
			case name == "":
				return usage("--%s %s: it is NAME=VALUE", v.flag, text)
			case !ok && !v.env:
				return usage("--%s %s: it is NAME=FILE", v.flag, text)
			case !ok:
				if value = e.getenv(name); value == "" {
					return usage("--%s %s: without =VALUE the environment variable %s must be set", v.flag, text, name)
				}
			}
			if *v.to == nil {
				*v.to = map[string]string{}
			}
			(*v.to)[name] = value
		}
	}
	return nil
}

// options gives the options of a unit: those of the configuration, and over them
// those of the command line.
func (f *tkFlags) options(c *config.Config, unit string) tanka.Options {
	v := vars(c.Vars(unit))
	if f == nil {
		return tanka.Options{Vars: v}
	}
	v.ExtStr, v.ExtCode = over(v.ExtStr, f.vars.ExtStr), over(v.ExtCode, f.vars.ExtCode)
	v.TLAStr, v.TLACode = over(v.TLAStr, f.vars.TLAStr), over(v.TLACode, f.vars.TLACode)
	v.ExtStrFile, v.ExtCodeFile, v.TLAStrFile, v.TLACodeFile = f.vars.ExtStrFile, f.vars.ExtCodeFile, f.vars.TLAStrFile, f.vars.TLACodeFile
	return tanka.Options{Vars: v, Name: f.name, Selector: f.selector, Targets: f.targets}
}

func over(below, above map[string]string) map[string]string {
	if len(above) == 0 {
		return below
	}
	out := map[string]string{}
	for _, m := range []map[string]string{below, above} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

func renderCommand(e env) *cobra.Command {
	var rev string
	var work workFlags
	var tk tkFlags
	cmd := &cobra.Command{
		Use:   "render [UNIT ...]",
		Short: "Print the rendered manifests",
		Long: `Print the manifests that units render to, as YAML. UNIT is a path: all units at or
below it, or the one that it lies in; without any, every unit. One Tanka
environment alone is printed as tk show prints it, in its order, and what tk
show refuses is refused.

Objects of a chart or an Application that name no namespace are printed in the one
that they go to. Values of Secrets are masked, as they are everywhere.`,
		Example: `  prdiff render environments/prod
  prdiff render environments/regions --name eu
  prdiff render environments/prod -t 'deployment/.*' --tla-str tag=v2
  prdiff render --rev v1.4 environments/prod`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := work.check(); err != nil {
				return err
			}
			if err := errors.Join(tk.read(e), checkTargets(tk.targets)); err != nil {
				return err
			}
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			shop, err := work.workshop(e)
			if err != nil {
				return err
			}
			defer shop.close()
			s, err := openSide(ctx, e, rev, work, &tk, shop)
			if err != nil {
				return err
			}
			defer s.tree.Close()
			return s.print(ctx, e, args, work, &tk)
		},
	}
	cmd.Flags().StringVar(&rev, "rev", "", "render this `REV` instead of the working tree")
	work.register(cmd.Flags())
	tk.register(cmd.Flags())
	return cmd
}

// print renders units and prints them.
func (s side) print(ctx context.Context, e env, args []string, work workFlags, tk *tkFlags) error {
	units, rep, err := s.find(ctx, args, work)
	if len(args) == 1 && (err != nil || len(units) == 1 && units[0].Renderer == "tanka") {
		if text, showErr := s.show(ctx, args[0], tk); showErr == nil {
			return e.page(ctx, func(w io.Writer) error {
				_, err := w.Write(text)
				return err
			})
		} else if err == nil || s.tree.Exists(path.Clean(args[0])) {
			return showErr
		}
	}
	if err != nil {
		return err
	}
	var failed []report.Unit
	c := comparison{jobs: work.jobs, timeout: work.timeout}
	outputs := make([]*render.Output, len(units))
	errs := make([]error, len(units))
	c.each(len(units), func(i int) { outputs[i], errs[i] = c.renderSide(ctx, s, units[i]) })
	err = e.page(ctx, func(w io.Writer) error {
		var all []*object.Object
		for i, u := range units {
			var skip *render.SkipError
			switch {
			case errors.As(errs[i], &skip):
				rep.Units = append(rep.Units, report.Unit{Name: u.Name(), Status: report.Skipped, Error: skip.Reason})
				continue
			case errs[i] != nil:
				failed = append(failed, report.Unit{Name: u.Name(), Status: report.Failed, Error: errs[i].Error()})
				continue
			}
			for _, p := range outputs[i].Problems {
				status := report.Failed
				if p.Refused != "" {
					status = report.Skipped
				}
				failed = append(failed, report.Unit{Name: u.Name(), Status: status, Error: p.Error()})
			}
			for _, p := range outputs[i].Parts {
				for _, o := range p.Objects {
					if u.Renderer == "tanka" || matchesTargets(tk.targets, o) {
						all = append(all, o)
					}
				}
			}
		}
		return printObjects(w, all)
	})
	if err != nil {
		return err
	}
	rep.Units = append(rep.Units, failed...)
	return tellLeftOut(e.stderr, rep)
}

// show renders one Tanka environment and prints it as tk show does, but for the
// values of secrets.
func (s side) show(ctx context.Context, arg string, tk *tkFlags) ([]byte, error) {
	name, err := s.tree.Name(arg)
	if err != nil {
		return nil, err
	}
	if s.bench != nil {
		return s.bench.show(ctx, name)
	}
	return s.showHere(ctx, name, tk)
}

// showHere is show in this process.
func (s side) showHere(ctx context.Context, name string, tk *tkFlags) ([]byte, error) {
	t, ok := s.renderer("tanka").(*tanka.Renderer)
	if !ok {
		return nil, fmt.Errorf("%s: the renderer tanka is switched off", name)
	}
	manifests, err := t.Show(ctx, s.tree, name, tk.options(s.config, name))
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		o, err := object.New(name, object.Origin{Path: name}, clone(m.Data).(map[string]any))
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", m.Path, err)
		}
		mask(m.Data, o.Root())
	}
	return tanka.Print(manifests)
}

// clone copies decoded data: object.New takes over what it is given.
func clone(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, item := range x {
			m[k] = clone(item)
		}
		return m
	case []any:
		l := make([]any, len(x))
		for i, item := range x {
			l[i] = clone(item)
		}
		return l
	}
	return v
}

// mask replaces in decoded data what the object made of it takes for secret.
func mask(raw any, v object.Value) any {
	if v.Masked() != nil {
		return v.Text()
	}
	switch x := raw.(type) {
	case map[string]any:
		for k, item := range x {
			x[k] = mask(item, v.Field(k))
		}
	case []any:
		for i, item := range x {
			x[i] = mask(item, v.Item(i))
		}
	}
	return raw
}

// printObjects prints objects as YAML documents.
func printObjects(w io.Writer, objects []*object.Object) error {
	for i, o := range objects {
		var b bytes.Buffer
		if i > 0 {
			b.WriteString("---\n")
		}
		data, err := o.Root().MarshalJSON()
		if err != nil {
			return fmt.Errorf("%s: %w", o.Ref, err)
		}
		text, err := yaml.JSONToYAML(data)
		if err != nil {
			return fmt.Errorf("%s: %w", o.Ref, err)
		}
		b.Write(text)
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
