package report

import (
	"fmt"
	"slices"

	"github.com/prdiff/prdiff/internal/diff"
	"github.com/prdiff/prdiff/internal/rule"
)

// The types below spell out the parts of the JSON format that tell of figures.
type (
	jsonRule struct {
		ID       string `json:"id"`
		Title    string `json:"title"`
		Severity string `json:"severity" enum:"note warning error"`
		Doc      string `json:"doc"`
	}
	jsonNumbers struct {
		Images   []jsonImage    `json:"images"`
		Restarts []jsonRestart  `json:"restarts"`
		Loads    []jsonUnitLoad `json:"loads"`
		Kinds    []jsonKind     `json:"kinds"`
	}
	jsonImage struct {
		Before  string           `json:"before"`
		After   string           `json:"after"`
		Jump    string           `json:"jump" doc:"backwards, major version, or empty"`
		Objects []jsonUnitObject `json:"objects"`
	}
	jsonUnitObject struct {
		Unit      string `json:"unit"`
		Group     string `json:"group"`
		Kind      string `json:"kind"`
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	}
	jsonRestart struct {
		Unit   string     `json:"unit"`
		Object jsonObject `json:"object"`
		Pods   *int       `json:"pods" doc:"null when it depends on the cluster"`
		How    How        `json:"how"`
	}
	jsonUnitLoad struct {
		Unit   string `json:"unit"`
		Before Load   `json:"before" doc:"millicores and bytes"`
		After  Load   `json:"after" doc:"millicores and bytes"`
	}
	jsonKind struct {
		Group   string `json:"group"`
		Kind    string `json:"kind"`
		Created int    `json:"created"`
		Changed int    `json:"changed"`
		Deleted int    `json:"deleted"`
	}
	jsonRollout struct {
		Workload   jsonObject `json:"workload"`
		Before     int        `json:"before"`
		FirstWave  int        `json:"firstWave"`
		ReachesOld bool       `json:"reachesOld"`
		ReachesNew bool       `json:"reachesNew"`
		Steps      []jsonStep `json:"steps"`
	}
	jsonStep struct {
		Old       int `json:"old"`
		New       int `json:"new"`
		Answering int `json:"answering"`
	}
)

func rulesJSON(rules []Rule) []jsonRule {
	out := []jsonRule{}
	for _, x := range rules {
		out = append(out, jsonRule{x.ID, x.Title, x.Severity.String(), x.Doc})
	}
	return out
}

func numbersJSON(r *Report) jsonNumbers {
	out := jsonNumbers{Images: []jsonImage{}, Restarts: []jsonRestart{}, Loads: []jsonUnitLoad{}, Kinds: []jsonKind{}}
	visible := r.Visible()
	for _, i := range images(visible) {
		image := jsonImage{Before: i.before, After: i.after, Jump: i.jump, Objects: []jsonUnitObject{}}
		for _, o := range i.where {
			image.Objects = append(image.Objects, jsonUnitObject{o.Unit, o.Group, o.Kind, o.Namespace, o.Name})
		}
		out.Images = append(out.Images, image)
	}
	for _, x := range r.Numbers.Restarts {
		restart := jsonRestart{Unit: x.Ref.Unit, Object: objectJSON(x.Ref, ""), How: x.How}
		if x.Known {
			restart.Pods = &x.Pods
		}
		out.Restarts = append(out.Restarts, restart)
	}
	for _, u := range r.Numbers.Loads {
		out.Loads = append(out.Loads, jsonUnitLoad(u))
	}
	for _, k := range kindsOf(visible) {
		out.Kinds = append(out.Kinds, jsonKind(k))
	}
	return out
}

func parseRules(list []jsonRule) ([]Rule, error) {
	var out []Rule
	for i, x := range list {
		severity, err := rule.ParseSeverity(x.Severity)
		if err != nil {
			return nil, fmt.Errorf("rules[%d]: %w", i, err)
		}
		out = append(out, Rule{x.ID, x.Title, severity, x.Doc})
	}
	return out, nil
}

// parseNumbers reads the figures that do not follow from the changes.
func parseNumbers(in jsonNumbers) (Numbers, error) {
	var out Numbers
	for i, x := range in.Restarts {
		if !slices.Contains(hows, x.How) {
			return out, fmt.Errorf("numbers.restarts[%d]: unknown way %q", i, x.How)
		}
		restart := Restart{Ref: parseRef(x.Unit, x.Object), How: x.How}
		if x.Pods != nil {
			restart.Pods, restart.Known = max(0, *x.Pods), true
		}
		out.Restarts = append(out.Restarts, restart)
	}
	for _, u := range in.Loads {
		out.Loads = append(out.Loads, UnitLoad(u))
	}
	return out, nil
}

func rolloutJSON(x *rule.Rollout) *jsonRollout {
	if x == nil {
		return nil
	}
	out := &jsonRollout{objectJSON(x.Workload, ""), x.Before, x.FirstWave, x.ReachesOld, x.ReachesNew, []jsonStep{}}
	for _, s := range x.Steps {
		out.Steps = append(out.Steps, jsonStep{s.Old, s.New, x.Answering(s)})
	}
	return out
}

func parseRollout(unit string, x *jsonRollout) *rule.Rollout {
	if x == nil {
		return nil
	}
	const most = 200 // steps: rules give fewer
	x.Steps = x.Steps[:min(len(x.Steps), most)]
	out := &rule.Rollout{Workload: parseRef(unit, x.Workload), Before: max(0, x.Before), FirstWave: max(0, x.FirstWave), ReachesOld: x.ReachesOld, ReachesNew: x.ReachesNew}
	for _, s := range x.Steps {
		out.Steps = append(out.Steps, rule.Step{Old: max(0, s.Old), New: max(0, s.New)})
	}
	return out
}

// A kindCount says how many objects of one kind change.
type kindCount struct {
	Group, Kind               string
	Created, Changed, Deleted int
}

// kindsOf counts changes by kind, in the order of their first.
func kindsOf(changes []Change) []kindCount {
	var out []kindCount
	at := map[string]int{}
	for _, c := range changes {
		k := c.Ref.GroupKind()
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, kindCount{Group: c.Ref.Group, Kind: c.Ref.Kind})
		}
		switch c.Action {
		case diff.Create:
			out[i].Created++
		case diff.Delete:
			out[i].Deleted++
		default:
			out[i].Changed++
		}
	}
	return out
}
