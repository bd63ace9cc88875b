package object

import (
	"path"
	"strings"
)

// mask replaces what is secret in o by Masked values, in place. It is the only
// way by which text gets into an object.
func (o *Object) mask() {
	dropSOPS(o.root)
	m := masker{rules: anyText}
	switch o.Ref.GroupKind() {
	case "Secret":
		maskAll(o.root, "data")
		maskAll(o.root, "stringData")
	case "SealedSecret.bitnami.com":
		spec := o.root.below("spec")
		maskAll(spec, "encryptedData")
		maskAll(spec.below("template"), "data")
	case "CustomResourceDefinition.apiextensions.k8s.io":
		// Schemas describe fields called password; their texts are prose.
		m.rules = shapesOnly
	}
	switch o.Ref.Group {
	case "external-secrets.io", "secrets-store.csi.x-k8s.io":
		// secretKey is the name of a key there.
		m.keyNames = true
	}
	m.mapping(o.root, inManifest)
}

// dropSOPS takes out the map that SOPS adds to an encrypted file: it never
// reaches the cluster, and each edit changes all of it
// (https://getsops.io/docs/#important-information-on-types).
func dropSOPS(root *mapping) {
	if sops := root.below("sops"); sops.has("mac") || sops.has("lastmodified") {
		root.delete("sops")
	}
}

// maskAll masks every value of a map whole, and whatever else stands in its place.
func maskAll(m *mapping, field string) {
	switch x := m.get(field).(type) {
	case *mapping:
		for i, p := range x.pairs {
			if _, done := p.value.(*Masked); !done {
				x.pairs[i].value = maskSettled(Value{p.value}.String())
			}
		}
	case string:
		m.set(field, maskSettled(x))
	case []any:
		for i, item := range x {
			if _, done := item.(*Masked); !done {
				x[i] = maskSettled(Value{item}.String())
			}
		}
	case int64, float64, bool:
		m.set(field, maskSettled(Value{x}.String()))
	}
}

// A place is what kind of map a value is in.
type place int

const (
	inManifest place = iota
	inData           // data and binaryData of a ConfigMap: keys are file names or variables
	inNames          // labels and selectors: never secret by name
)

type masker struct {
	rules    textRules
	keyNames bool // secretKey names a key
}

func (m masker) mapping(fields *mapping, where place) {
	m.pair(fields)
	for i := range fields.pairs {
		k := fields.pairs[i].key
		switch x := fields.pairs[i].value.(type) {
		case string:
			if masked := m.field(k, x, where); masked != nil {
				fields.pairs[i].value = masked
			}
		case int64:
			// A password of digits is a number to YAML.
			if where != inNames && m.rules != shapesOnly && isPasswordName(k) {
				fields.pairs[i].value = maskWhole(Value{x}.String())
			}
		case *mapping:
			m.mapping(x, placeOf(k, where))
		case []any:
			if m.rules != shapesOnly && (k == "command" || k == "args") {
				m.arguments(x, programOf(k, fields))
			}
			m.list(x, placeOf(k, where))
		}
	}
}

// programOf gives the tool that the list under key gives arguments to, where
// another list names it.
func programOf(key string, fields *mapping) string {
	if command, ok := fields.get("command").([]any); ok && key == "args" && len(command) > 0 {
		if len(command) > 1 {
			return "-" // what args go on with is in the middle of a command line
		}
		name, _ := command[0].(string)
		return name
	}
	return ""
}

func placeOf(key string, where place) place {
	switch key {
	case "labels", "matchLabels", "selector", "nodeSelector", "commonLabels":
		return inNames
	case "data", "binaryData":
		return inData
	}
	if where == inNames {
		return inNames
	}
	return inManifest
}

// pair masks the value of a name and value beside each other, as environment
// variables and parameters have them.
func (m masker) pair(fields *mapping) {
	value, ok := fields.get("value").(string)
	if !ok || m.rules == shapesOnly {
		return
	}
	for _, key := range []string{"name", "key"} {
		if name, ok := fields.get(key).(string); ok && isSecretName(name) && !isPlaceholder(value) {
			fields.set("value", maskWhole(value))
			return
		}
	}
}

func (m masker) list(items []any, where place) {
	flag := "" // the flag in the item before, when its value stands in this one
	for i, item := range items {
		switch x := item.(type) {
		case string:
			if flag != "" && !strings.HasPrefix(x, "-") && !isPlaceholder(x) {
				items[i] = maskWhole(x)
			} else if masked := maskSpans(x, secretSpans(x, m.rules)); masked != nil {
				items[i] = masked
			}
			flag = ""
			if name := strings.TrimLeft(x, "-"); m.rules != shapesOnly && name != x && !strings.Contains(name, "=") && isSecretName(name) {
				flag = name
			}
			continue
		case *mapping:
			m.mapping(x, where)
		case []any:
			m.list(x, where)
		}
		flag = ""
	}
}

// field masks the text of one field, nil when nothing in it is secret.
func (m masker) field(key, text string, where place) *Masked {
	if where != inNames && m.rules != shapesOnly && m.secretField(key, text, where) {
		return maskWhole(text)
	}
	return maskSpans(text, secretSpans(text, m.rules))
}

// secretField says whether a field's name makes all of its text a secret.
func (m masker) secretField(key, text string, where place) bool {
	if holdsManifest(key) {
		return true
	}
	if where == inData && isKeyFile(key) {
		return true
	}
	if !isSecretName(key) || isPlaceholder(text) {
		return false
	}
	if m.keyNames && key == "secretKey" {
		return false
	}
	return where == inData || !namesSecret(key, text)
}

// holdsManifest says whether an annotation holds a whole manifest as some tool
// left it, secrets included.
func holdsManifest(key string) bool {
	switch key {
	case "kubectl.kubernetes.io/last-applied-configuration", "banzaicloud.com/last-applied", "objectset.rio.cattle.io/applied",
		"kapp.k14s.io/original", "openshift.io/last-applied-configuration":
		return true
	}
	return false
}

// isKeyFile says whether a file is a private key or a store of them by its name.
func isKeyFile(name string) bool {
	switch path.Ext(name) {
	case ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx":
		return true
	}
	switch name {
	case "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".htpasswd", "htpasswd", ".pgpass", ".netrc", ".dockercfg", ".dockerconfigjson":
		return true
	}
	return false
}
