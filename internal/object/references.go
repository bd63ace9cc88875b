package object

import "strings"

// A Use says how one object uses another one that it names.
type Use string

// The uses that References tells apart.
const (
	UseEnv            Use = "env"               // one key, as an environment variable
	UseEnvFrom        Use = "envFrom"           // all keys, as environment variables
	UseVolume         Use = "volume"            // files in a volume
	UseProjected      Use = "projected volume"  // files in a volume with several sources
	UseClaim          Use = "claim"             // a PersistentVolumeClaim as a volume
	UseAccount        Use = "service account"   // the pods run as it
	UsePullSecret     Use = "image pull secret" // a missing one is no error
	UsePriority       Use = "priority class"    //
	UseRuntime        Use = "runtime class"     //
	UseStorageClass   Use = "storage class"     //
	UseScaleTarget    Use = "scale target"      // an autoscaler's workload
	UseGoverning      Use = "governing service" // of a StatefulSet: the pods' DNS names hang on it
	UseBackend        Use = "backend"           // a route's Service
	UseParent         Use = "parent"            // a route's Gateway
	UseTLS            Use = "tls"               // a certificate's Secret
	UseIngressClass   Use = "ingress class"     //
	UseWebhook        Use = "webhook"           // the API server calls this Service
	UseRole           Use = "role"              // of a binding
	UseSubject        Use = "subject"           // a binding's ServiceAccount
	UseIssuer         Use = "issuer"            // of a certificate
	UseMadeSecret     Use = "made secret"       // the Secret that an operator writes
	UseVolumeName     Use = "volume name"       // a claim's PersistentVolume
	UseValues         Use = "values"            // a HelmRelease's values
	UsePolicy         Use = "policy"            // an admission policy of a binding
	UseEndpoints      Use = "endpoints"         // hand-kept endpoints of a Service
	UseVolumeTemplate Use = "volume claim"      // the class of claims that a StatefulSet makes
)

// A Reference is a place in one object that names another one. The other one need
// not be in the set.
type Reference struct {
	From      *Object
	Path      Path // of the place, from From's root
	To        Ref  // with From's unit
	Use       Use
	Key       string // of a ConfigMap or Secret; "" for all keys
	Port      string // of a Service, number or name; "" when none is named
	Container string // whose env it is, "" for the pod as a whole
	Optional  bool   // a missing object or key is no error
	SubPath   bool   // of a volume: every mount takes a subPath, which never updates in place
}

// References gives what o names, in the order of its fields.
func (s *Set) References(o *Object) []Reference {
	if s == nil || o == nil {
		return nil
	}
	return s.relations().references().from[o.Ref]
}

// ReferencesTo gives who in the set names an object, in the set's order. The
// object need not be there. Versions do not matter, and extensions counts as apps.
func (s *Set) ReferencesTo(ref Ref) []Reference {
	if s == nil {
		return nil
	}
	return s.relations().references().to[scaleKey(ref)]
}

// RoutesTo gives the places that send outside traffic to a Service: Ingresses,
// Gateway API routes, Traefik's, Contour's and Istio's.
func (s *Set) RoutesTo(service Ref) []Reference {
	var out []Reference
	for _, r := range s.ReferencesTo(service) {
		if r.Use == UseBackend {
			out = append(out, r)
		}
	}
	return out
}

type referenceIndex struct{ from, to map[Ref][]Reference }

func indexReferences(s *Set) *referenceIndex {
	x := &referenceIndex{from: map[Ref][]Reference{}, to: map[Ref][]Reference{}}
	for _, o := range s.objects {
		found := References(o)
		if len(found) == 0 {
			continue
		}
		x.from[o.Ref] = found
		for _, r := range found {
			key := scaleKey(r.To)
			x.to[key] = append(x.to[key], r)
		}
	}
	return x
}

// References gives what an object names, in the order of its fields, without
// regard to any set.
func References(o *Object) []Reference {
	c := collector{from: o}
	if w, ok := AsWorkload(o); ok && w.PodSpec.Exists() {
		c.pod(w)
	}
	if read, ok := referenceReaders[o.Ref.GroupKind()]; ok {
		read(&c)
	}
	return c.found
}

// A collector gathers the references of one object.
type collector struct {
	from  *Object
	found []Reference
}

// add notes a reference to an object of the same namespace, unless the name is empty.
func (c *collector) add(path Path, use Use, groupKind, name string) *Reference {
	return c.addIn(path, use, groupKind, c.from.Ref.Namespace, name)
}

// addCluster notes a reference to an object without namespace.
func (c *collector) addCluster(path Path, use Use, groupKind, name string) *Reference {
	return c.addIn(path, use, groupKind, "", name)
}

func (c *collector) addIn(path Path, use Use, groupKind, namespace, name string) *Reference {
	if name == "" {
		return &Reference{}
	}
	kind, group, _ := strings.Cut(groupKind, ".")
	c.found = append(c.found, Reference{
		From: c.from, Path: path, Use: use,
		To: Ref{Unit: c.from.Ref.Unit, Group: group, Kind: kind, Namespace: namespace, Name: name},
	})
	return &c.found[len(c.found)-1]
}

// pod reads a pod spec.
func (c *collector) pod(w Workload) {
	spec, path := w.PodSpec, w.SpecPath()
	account, key := spec.Field("serviceAccountName"), "serviceAccountName"
	if !account.Exists() {
		account, key = spec.Field("serviceAccount"), "serviceAccount"
	}
	c.add(path.Key(key), UseAccount, "ServiceAccount", account.Text())
	c.addCluster(path.Key("priorityClassName"), UsePriority, "PriorityClass.scheduling.k8s.io", spec.Field("priorityClassName").Text())
	c.addCluster(path.Key("runtimeClassName"), UseRuntime, "RuntimeClass.node.k8s.io", spec.Field("runtimeClassName").Text())
	for i, s := range spec.Field("imagePullSecrets").Items() {
		c.add(path.Key("imagePullSecrets").Index(i), UsePullSecret, "Secret", s.Field("name").Text()).Optional = true
	}
	containers := w.Containers()
	for _, box := range containers {
		c.container(box)
	}
	whole, part := mounts(containers)
	for i, v := range spec.Field("volumes").Items() {
		name := v.Field("name").Text()
		at := path.Key("volumes").Index(i)
		if name != "" {
			at = path.Key("volumes").Select("name", name)
		}
		c.volume(v, at, part[name] && !whole[name])
	}
}

// mounts says which volumes are mounted whole and which by subPath.
func mounts(containers []Container) (whole, part map[string]bool) {
	whole, part = map[string]bool{}, map[string]bool{}
	for _, c := range containers {
		for _, m := range c.Spec.Field("volumeMounts").Items() {
			if m.Field("subPath").Text() != "" || m.Field("subPathExpr").Text() != "" {
				part[m.Field("name").Text()] = true
			} else {
				whole[m.Field("name").Text()] = true
			}
		}
	}
	return whole, part
}

func (c *collector) container(box Container) {
	note := func(r *Reference, key string, optional Value) {
		r.Container, r.Key = box.Name, key
		r.Optional, _ = optional.Bool()
	}
	for _, e := range box.Env() {
		at := e.Path.Key("valueFrom")
		if k := e.From.Field("configMapKeyRef"); k.Exists() {
			note(c.add(at.Key("configMapKeyRef"), UseEnv, "ConfigMap", k.Field("name").Text()), k.Field("key").Text(), k.Field("optional"))
		}
		if k := e.From.Field("secretKeyRef"); k.Exists() {
			note(c.add(at.Key("secretKeyRef"), UseEnv, "Secret", k.Field("name").Text()), k.Field("key").Text(), k.Field("optional"))
		}
	}
	for i, e := range box.Spec.Field("envFrom").Items() {
		at := box.Path.Key("envFrom").Index(i)
		if m := e.Field("configMapRef"); m.Exists() {
			note(c.add(at.Key("configMapRef"), UseEnvFrom, "ConfigMap", m.Field("name").Text()), "", m.Field("optional"))
		}
		if m := e.Field("secretRef"); m.Exists() {
			note(c.add(at.Key("secretRef"), UseEnvFrom, "Secret", m.Field("name").Text()), "", m.Field("optional"))
		}
	}
}

func (c *collector) volume(v Value, at Path, subPath bool) {
	files := func(source Value, at Path, use Use, groupKind, name string) {
		optional, _ := source.Field("optional").Bool()
		items := source.Field("items")
		if items.Len() == 0 {
			r := c.add(at, use, groupKind, name)
			r.Optional, r.SubPath = optional, subPath
			return
		}
		for i, item := range items.Items() {
			r := c.add(at.Key("items").Index(i), use, groupKind, name)
			r.Key, r.Optional, r.SubPath = item.Field("key").Text(), optional, subPath
		}
	}
	if m := v.Field("configMap"); m.Exists() {
		files(m, at.Key("configMap"), UseVolume, "ConfigMap", m.Field("name").Text())
	}
	if m := v.Field("secret"); m.Exists() {
		files(m, at.Key("secret"), UseVolume, "Secret", m.Field("secretName").Text())
	}
	for i, source := range v.At("projected.sources").Items() {
		at := at.Key("projected").Key("sources").Index(i)
		if m := source.Field("configMap"); m.Exists() {
			files(m, at.Key("configMap"), UseProjected, "ConfigMap", m.Field("name").Text())
		}
		if m := source.Field("secret"); m.Exists() {
			files(m, at.Key("secret"), UseProjected, "Secret", m.Field("name").Text())
		}
	}
	c.add(at.Key("persistentVolumeClaim"), UseClaim, "PersistentVolumeClaim", v.At("persistentVolumeClaim.claimName").Text())
	c.addCluster(at.Key("ephemeral"), UseStorageClass, "StorageClass.storage.k8s.io", v.At("ephemeral.volumeClaimTemplate.spec.storageClassName").Text())
	c.add(at.Key("csi"), UseVolume, "SecretProviderClass.secrets-store.csi.x-k8s.io", v.At("csi.volumeAttributes.secretProviderClass").Text())
	c.add(at.Key("csi"), UseVolume, "Secret", v.At("csi.nodePublishSecretRef.name").Text())
}
