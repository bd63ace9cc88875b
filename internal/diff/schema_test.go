package diff

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// at walks to the schema of a list: path as in testdata/lists.txt, with [] for
// list items and * for the values of a map.
func (s *schema) at(kind, path string) *node {
	n := s.kinds[kind]
	for key := range strings.SplitSeq(path, ".") {
		key, item := strings.CutSuffix(key, "[]")
		n = n.child(key)
		if item {
			n = n.item()
		}
	}
	return n
}

func TestSchemaKeysOfListsThatMatter(t *testing.T) {
	for _, tt := range []struct {
		name, kind, path string
		shape            shape
		keys             string
		order            order
	}{
		{"the ports of a Service need port and protocol", "v1 Service", "spec.ports", keyedBy, "port,protocol", free},
		{"the ports of a container need port and protocol", "apps/v1 Deployment", "spec.template.spec.containers[].ports", keyedBy, "containerPort,protocol", free},
		{"spread constraints need key and answer", "apps/v1 Deployment", "spec.template.spec.topologySpreadConstraints", keyedBy, "topologyKey,whenUnsatisfiable", free},
		{"Ingress rules are one value, in no order", "networking.k8s.io/v1 Ingress", "spec.rules", list, "", free},
		{"Ingress paths are one value", "networking.k8s.io/v1 Ingress", "spec.rules[].http.paths", list, "", byPathType},
		{"conditions of a CRD go by type", "apiextensions.k8s.io/v1 CustomResourceDefinition", "status.conditions", keyedBy, "type", free},
		{"metrics of an autoscaler are one value, in no order", "autoscaling/v2 HorizontalPodAutoscaler", "spec.metrics", list, "", free},
		{"env goes by name, its order by references", "apps/v1 StatefulSet", "spec.template.spec.containers[].env", keyedBy, "name", byReference},
		{"init containers run in order", "batch/v1 CronJob", "spec.jobTemplate.spec.template.spec.initContainers", keyedBy, "name", meaningful},
		{"args have an order", "v1 Pod", "spec.containers[].args", list, "", meaningful},
		{"finalizers are a set", "v1 Namespace", "metadata.finalizers", setOf, "", free},
		{"removed versions are known", "extensions/v1beta1 Deployment", "spec.template.spec.containers", keyedBy, "name", free},
		{"mutating webhooks are called in order", "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", "webhooks", keyedBy, "name", meaningful},
		{"validating ones all at once", "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", "webhooks", keyedBy, "name", free},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := builtin().at(tt.kind, tt.path)
			if n == nil {
				t.Fatal("no schema")
			}
			if keys := strings.Join(n.keys, ","); n.shape != tt.shape || keys != tt.keys || n.order != tt.order {
				t.Errorf("shape, keys, order = %v %q %v, want %v %q %v", n.shape, keys, n.order, tt.shape, tt.keys, tt.order)
			}
		})
	}
}

func TestSchemaKnowsScalarsWithAMeaning(t *testing.T) {
	for _, tt := range []struct {
		kind, path string
		want       scalar
	}{
		{"apps/v1 Deployment", "spec.template.spec.containers[].resources.limits.*", quantity},
		{"v1 PersistentVolumeClaim", "spec.resources.requests.*", quantity},
		{"v1 ResourceQuota", "spec.hard.*", quantity},
		{"apps/v1 Deployment", "spec.template.spec.volumes[].emptyDir.sizeLimit", quantity},
		{"autoscaling/v2 HorizontalPodAutoscaler", "spec.metrics[].resource.target.averageValue", quantity},
		{"v1 Service", "spec.ports[].targetPort", intOrString},
		{"policy/v1 PodDisruptionBudget", "spec.minAvailable", intOrString},
		{"apps/v1 Deployment", "spec.replicas", plain},
	} {
		if got := builtin().at(tt.kind, tt.path).scalarKind(); got != tt.want {
			t.Errorf("%s %s is scalar %v, want %v", tt.kind, tt.path, got, tt.want)
		}
	}
}

// TestSchemaCoversEveryList holds schema.txt against a list of every list field
// of the built-in kinds, in both directions, so that none is keyed by guess.
func TestSchemaCoversEveryList(t *testing.T) {
	want := everyList(t)
	if len(want) < 4000 {
		t.Fatalf("only %d lists to compare", len(want))
	}
	kinds := map[string]bool{}
	for place := range want {
		kind, _, _ := strings.Cut(place, ": ")
		kinds[kind] = true
	}
	for kind := range readSchema(schemaTable).kinds {
		// What is said along with a deletion is no object.
		if !kinds[kind] && !strings.HasSuffix(kind, " DeleteOptions") {
			t.Errorf("%s is not in testdata/lists.txt", kind)
		}
	}
	got := map[string]string{}
	for kind := range kinds {
		if builtin().kinds[kind] == nil {
			t.Errorf("%s is not in the table", kind)
		}
		listsBelow(builtin().kinds[kind], kind+": ", map[*node]bool{}, got)
	}
	for place, w := range want {
		if got[place] != w {
			t.Errorf("%s is %q, want %q", place, got[place], w)
		}
	}
	for place, g := range got {
		// A JSON schema contains itself, which the list follows one level deep, and
		// managedFields it leaves out.
		if _, ok := want[place]; !ok && !strings.Contains(place, "openAPIV3Schema") && !strings.HasSuffix(place, "metadata.managedFields") {
			t.Errorf("%s is %q and not in testdata/lists.txt", place, g)
		}
	}
}

func everyList(t *testing.T) map[string]string {
	data, err := os.ReadFile("testdata/lists.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var pod []string
	kind := ""
	add := func(prefix, line string) {
		path, what, _ := strings.Cut(line, " ")
		out[kind+": "+prefix+path] = what
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		row, indented := strings.CutPrefix(line, "  ")
		prefix, isPod := strings.CutPrefix(row, "@pod")
		switch {
		case strings.HasPrefix(line, "#"):
		case !indented:
			kind = line
		case kind == "@pod":
			pod = append(pod, row)
		case isPod:
			if prefix = strings.TrimSpace(prefix); prefix != "" {
				prefix += "."
			}
			for _, row := range pod {
				add(prefix, row)
			}
		default:
			add("", row)
		}
	}
	return out
}

func listsBelow(n *node, path string, above map[*node]bool, out map[string]string) {
	if n == nil || above[n] {
		return
	}
	above[n] = true
	defer delete(above, n)
	join := func(key string) string {
		if strings.HasSuffix(path, ": ") {
			return path + key
		}
		return path + "." + key
	}
	for key, child := range n.fields {
		p := join(key)
		switch child.shape {
		case mapOf:
			if child.elem != nil && child.elem.shape == list {
				out[p+".*"] = "atomic"
			}
			listsBelow(child.elem, p+".*", above, out)
			continue
		case list:
			out[p] = "atomic"
		case setOf:
			out[p] = "set"
		case keyedBy:
			out[p] = "map " + strings.Join(child.keys, ",")
		default:
			listsBelow(child, p, above, out)
			continue
		}
		listsBelow(child.elem, p+"[]", above, out)
	}
}

func TestDefaultsTableIsReadWhole(t *testing.T) {
	s := builtin()
	for line := range strings.Lines(defaultsTable) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, " zero"), " ")
		if !json.Valid([]byte(value)) {
			t.Errorf("%s: %q is not JSON", field, value)
		}
		i := strings.LastIndexByte(field, '.')
		if _, ok := s.types[field[:i]].defaultRule(field[i+1:]); !ok {
			t.Errorf("%s has no rule", field)
		}
		if !strings.Contains(schemaTable+customTable, field[:i]) {
			t.Errorf("%s: the schema has no such type", field)
		}
	}
	for field := range conditionalDefaults() {
		if i := strings.LastIndexByte(field, '.'); !strings.Contains(schemaTable+customTable, field[:i]) {
			t.Errorf("%s: the schema has no such type", field)
		}
	}
}

func TestOrderTablesNameFieldsThatExist(t *testing.T) {
	known := map[string]bool{}
	for name, typ := range builtin().types {
		short := name[strings.LastIndexByte(name, '.')+1:]
		for field, n := range typ.fields {
			if n.shape != one && n.shape != mapOf {
				known[short+"."+field] = true
			}
		}
	}
	for _, table := range []string{freeAtomic, orderedKeyed} {
		for field := range strings.FieldsSeq(table) {
			if !known[field] {
				t.Errorf("%s is no list of the schema", field)
			}
		}
	}
}
