package object

import (
	"strconv"
	"strings"
)

// referenceReaders read what the objects of a kind name, beside their pods. The
// relations are those of the kinds' own API references.
var referenceReaders = map[string]func(*collector){
	"Ingress.networking.k8s.io":                                     ingress,
	"Ingress.extensions":                                            ingress,
	"HTTPRoute.gateway.networking.k8s.io":                           gatewayRoute,
	"GRPCRoute.gateway.networking.k8s.io":                           gatewayRoute,
	"TLSRoute.gateway.networking.k8s.io":                            gatewayRoute,
	"TCPRoute.gateway.networking.k8s.io":                            gatewayRoute,
	"UDPRoute.gateway.networking.k8s.io":                            gatewayRoute,
	"Gateway.gateway.networking.k8s.io":                             gateway,
	"IngressRoute.traefik.io":                                       traefikRoute,
	"IngressRouteTCP.traefik.io":                                    traefikRoute,
	"IngressRouteUDP.traefik.io":                                    traefikRoute,
	"IngressRoute.traefik.containo.us":                              traefikRoute,
	"IngressRouteTCP.traefik.containo.us":                           traefikRoute,
	"IngressRouteUDP.traefik.containo.us":                           traefikRoute,
	"HTTPProxy.projectcontour.io":                                   contourProxy,
	"VirtualService.networking.istio.io":                            virtualService,
	"DestinationRule.networking.istio.io":                           destinationRule,
	"TargetGroupBinding.elbv2.k8s.aws":                              targetGroupBinding,
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io":   webhooks,
	"MutatingWebhookConfiguration.admissionregistration.k8s.io":     webhooks,
	"CustomResourceDefinition.apiextensions.k8s.io":                 conversion,
	"APIService.apiregistration.k8s.io":                             apiService,
	"StatefulSet.apps":                                              statefulSet,
	"HorizontalPodAutoscaler.autoscaling":                           scaler,
	"ScaledObject.keda.sh":                                          scaler,
	"VerticalPodAutoscaler.autoscaling.k8s.io":                      verticalScaler,
	"PersistentVolumeClaim":                                         claim,
	"RoleBinding.rbac.authorization.k8s.io":                         binding,
	"ClusterRoleBinding.rbac.authorization.k8s.io":                  binding,
	"ServiceAccount":                                                serviceAccount,
	"Endpoints":                                                     endpoints,
	"EndpointSlice.discovery.k8s.io":                                endpoints,
	"Certificate.cert-manager.io":                                   certificate,
	"ExternalSecret.external-secrets.io":                            externalSecret,
	"SealedSecret.bitnami.com":                                      sealedSecret,
	"HelmRelease.helm.toolkit.fluxcd.io":                            helmRelease,
	"Rollout.argoproj.io":                                           rollout,
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io": policyBinding,
	"MutatingAdmissionPolicyBinding.admissionregistration.k8s.io":   policyBinding,
}

func portText(v Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	return v.Text()
}

func ingress(c *collector) {
	o := c.from
	backend := func(b Value, at Path) {
		if s := b.Field("service"); s.Exists() {
			port := s.At("port.name")
			if !port.Exists() {
				port = s.At("port.number")
			}
			c.add(at.Key("service"), UseBackend, "Service", s.Field("name").Text()).Port = portText(port)
			return
		}
		// As extensions/v1beta1 and networking.k8s.io/v1beta1 write it.
		c.add(at, UseBackend, "Service", b.Field("serviceName").Text()).Port = portText(b.Field("servicePort"))
	}
	backend(o.At("spec.defaultBackend"), "spec.defaultBackend")
	backend(o.At("spec.backend"), "spec.backend")
	for i, rule := range o.At("spec.rules").Items() {
		at := Path("spec.rules").Index(i).Key("http").Key("paths")
		for j, p := range rule.At("http.paths").Items() {
			backend(p.Field("backend"), at.Index(j).Key("backend"))
		}
	}
	for i, t := range o.At("spec.tls").Items() {
		c.add(Path("spec.tls").Index(i).Key("secretName"), UseTLS, "Secret", t.Field("secretName").Text())
	}
	annotations := Path("metadata.annotations")
	class, at := o.Text("spec.ingressClassName"), Path("spec.ingressClassName")
	if class == "" {
		class, at = o.Annotation("kubernetes.io/ingress.class"), annotations.Key("kubernetes.io/ingress.class")
	}
	c.addCluster(at, UseIngressClass, "IngressClass.networking.k8s.io", class)
	for _, a := range []struct {
		key, kind string
		use       Use
	}{
		{"nginx.ingress.kubernetes.io/auth-secret", "Secret", UseValues},
		{"nginx.ingress.kubernetes.io/auth-tls-secret", "Secret", UseTLS},
		{"nginx.ingress.kubernetes.io/default-backend", "Service", UseBackend},
	} {
		namespace, name := o.Ref.Namespace, o.Annotation(a.key)
		if before, after, ok := strings.Cut(name, "/"); ok {
			namespace, name = before, after
		}
		c.addIn(annotations.Key(a.key), a.use, a.kind, namespace, name)
	}
	c.issuerAnnotations()
}

// issuerAnnotations reads the annotations that ask cert-manager for a certificate
// (https://cert-manager.io/docs/usage/ingress/).
func (c *collector) issuerAnnotations() {
	annotations := Path("metadata.annotations")
	c.add(annotations.Key("cert-manager.io/issuer"), UseIssuer, "Issuer.cert-manager.io", c.from.Annotation("cert-manager.io/issuer"))
	c.addCluster(annotations.Key("cert-manager.io/cluster-issuer"), UseIssuer, "ClusterIssuer.cert-manager.io", c.from.Annotation("cert-manager.io/cluster-issuer"))
}

// namespaced notes a reference whose namespace may be written beside its name.
func (c *collector) namespaced(path Path, use Use, groupKind string, v Value) *Reference {
	namespace := v.Field("namespace").Text()
	if namespace == "" {
		namespace = c.from.Ref.Namespace
	}
	return c.addIn(path, use, groupKind, namespace, v.Field("name").Text())
}

func gatewayRoute(c *collector) {
	for i, p := range c.from.At("spec.parentRefs").Items() {
		kind := p.Field("kind").Text()
		switch kind {
		case "", "Gateway":
			kind = "Gateway.gateway.networking.k8s.io"
		case "Service":
		default:
			kind += "." + p.Field("group").Text()
		}
		c.namespaced(Path("spec.parentRefs").Index(i), UseParent, kind, p)
	}
	backend := func(b Value, at Path) {
		if kind := b.Field("kind").Text(); kind == "" || kind == "Service" {
			c.namespaced(at, UseBackend, "Service", b).Port = portText(b.Field("port"))
		}
	}
	for i, rule := range c.from.At("spec.rules").Items() {
		at := Path("spec.rules").Index(i)
		for j, b := range rule.Field("backendRefs").Items() {
			backend(b, at.Key("backendRefs").Index(j))
		}
		for j, f := range rule.Field("filters").Items() {
			if m := f.At("requestMirror.backendRef"); m.Exists() {
				backend(m, at.Key("filters").Index(j).Key("requestMirror").Key("backendRef"))
			}
		}
	}
}

func gateway(c *collector) {
	c.issuerAnnotations()
	for i, l := range c.from.At("spec.listeners").Items() {
		at := Path("spec.listeners").Index(i)
		if name := l.Field("name").Text(); name != "" {
			at = Path("spec.listeners").Select("name", name)
		}
		for j, r := range l.At("tls.certificateRefs").Items() {
			c.namespaced(at.Key("tls").Key("certificateRefs").Index(j), UseTLS, "Secret", r)
		}
	}
}

func traefikRoute(c *collector) {
	for i, r := range c.from.At("spec.routes").Items() {
		at := Path("spec.routes").Index(i).Key("services")
		for j, s := range r.Field("services").Items() {
			if kind := s.Field("kind").Text(); kind == "" || kind == "Service" {
				c.namespaced(at.Index(j), UseBackend, "Service", s).Port = portText(s.Field("port"))
			}
		}
	}
	c.add("spec.tls.secretName", UseTLS, "Secret", c.from.Text("spec.tls.secretName"))
}

func contourProxy(c *collector) {
	services := func(list Value, at Path) {
		for j, s := range list.Items() {
			c.add(at.Index(j), UseBackend, "Service", s.Field("name").Text()).Port = portText(s.Field("port"))
		}
	}
	for i, r := range c.from.At("spec.routes").Items() {
		services(r.Field("services"), Path("spec.routes").Index(i).Key("services"))
	}
	services(c.from.At("spec.tcpproxy.services"), "spec.tcpproxy.services")
	c.add("spec.virtualhost.tls.secretName", UseTLS, "Secret", c.from.Text("spec.virtualhost.tls.secretName"))
}

// host notes a Service that is named by a DNS name, as Istio does: a short one
// means the object's own namespace.
func (c *collector) host(path Path, host, port string) {
	name, namespace, ok := ServiceHost(host, c.from.Ref.Namespace)
	if ok {
		c.addIn(path, UseBackend, "Service", namespace, name).Port = port
	}
}

func virtualService(c *collector) {
	for _, protocol := range []string{"http", "tls", "tcp"} {
		for i, r := range c.from.At("spec." + protocol).Items() {
			at := Path("spec").Key(protocol).Index(i)
			for j, d := range r.Field("route").Items() {
				c.host(at.Key("route").Index(j).Key("destination"), d.At("destination.host").Text(), portText(d.At("destination.port.number")))
			}
			c.host(at.Key("mirror"), r.At("mirror.host").Text(), portText(r.At("mirror.port.number")))
			for j, d := range r.Field("mirrors").Items() {
				c.host(at.Key("mirrors").Index(j).Key("destination"), d.At("destination.host").Text(), portText(d.At("destination.port.number")))
			}
		}
	}
}

func destinationRule(c *collector) {
	if name, namespace, ok := ServiceHost(c.from.Text("spec.host"), c.from.Ref.Namespace); ok {
		c.addIn("spec.host", UsePolicy, "Service", namespace, name)
	}
}

func targetGroupBinding(c *collector) {
	c.add("spec.serviceRef", UseBackend, "Service", c.from.Text("spec.serviceRef.name")).Port = portText(c.from.At("spec.serviceRef.port"))
}

func webhooks(c *collector) {
	for i, w := range c.from.At("webhooks").Items() {
		at := Path("webhooks").Index(i)
		if name := w.Field("name").Text(); name != "" {
			at = Path("webhooks").Select("name", name)
		}
		c.webhookService(w.At("clientConfig.service"), at.Key("clientConfig").Key("service"))
	}
}

// webhookService reads a Service that the API server calls: on port 443 where
// none is written.
func (c *collector) webhookService(s Value, at Path) {
	port := portText(s.Field("port"))
	if port == "" {
		port = "443"
	}
	c.addIn(at, UseWebhook, "Service", s.Field("namespace").Text(), s.Field("name").Text()).Port = port
}

func conversion(c *collector) {
	c.webhookService(c.from.At("spec.conversion.webhook.clientConfig.service"), "spec.conversion.webhook.clientConfig.service")
}

func apiService(c *collector) { c.webhookService(c.from.At("spec.service"), "spec.service") }

func statefulSet(c *collector) {
	c.add("spec.serviceName", UseGoverning, "Service", c.from.Text("spec.serviceName"))
	for i, t := range c.from.At("spec.volumeClaimTemplates").Items() {
		at := Path("spec.volumeClaimTemplates").Index(i)
		if name := t.At("metadata.name").Text(); name != "" {
			at = Path("spec.volumeClaimTemplates").Select("metadata.name", name)
		}
		c.addCluster(at.Key("spec").Key("storageClassName"), UseVolumeTemplate, "StorageClass.storage.k8s.io", t.At("spec.storageClassName").Text())
	}
}

func scaler(c *collector) {
	if a, ok := AsAutoscaler(c.from); ok && a.Target.Kind != "" {
		c.add("spec.scaleTargetRef", UseScaleTarget, a.Target.GroupKind(), a.Target.Name)
	}
}

func verticalScaler(c *collector) {
	t := c.from.At("spec.targetRef")
	to := Ref{Group: group(t.Field("apiVersion").Text()), Kind: t.Field("kind").Text()}
	c.add("spec.targetRef", UseScaleTarget, to.GroupKind(), t.Field("name").Text())
}

func claim(c *collector) {
	c.addCluster("spec.storageClassName", UseStorageClass, "StorageClass.storage.k8s.io", c.from.Text("spec.storageClassName"))
	c.addCluster("spec.volumeName", UseVolumeName, "PersistentVolume", c.from.Text("spec.volumeName"))
}

func binding(c *collector) {
	role := c.from.At("roleRef")
	if role.Field("kind").Text() == "Role" {
		c.add("roleRef", UseRole, "Role.rbac.authorization.k8s.io", role.Field("name").Text())
	} else {
		c.addCluster("roleRef", UseRole, "ClusterRole.rbac.authorization.k8s.io", role.Field("name").Text())
	}
	for i, s := range c.from.At("subjects").Items() {
		if s.Field("kind").Text() == "ServiceAccount" {
			c.namespaced(Path("subjects").Index(i), UseSubject, "ServiceAccount", s)
		}
	}
}

func serviceAccount(c *collector) {
	for i, s := range c.from.At("imagePullSecrets").Items() {
		c.add(Path("imagePullSecrets").Index(i), UsePullSecret, "Secret", s.Field("name").Text()).Optional = true
	}
	for i, s := range c.from.At("secrets").Items() {
		c.add(Path("secrets").Index(i), UseValues, "Secret", s.Field("name").Text()).Optional = true
	}
}

func endpoints(c *collector) {
	name := c.from.Ref.Name
	if c.from.Ref.Kind == "EndpointSlice" {
		name = c.from.Labels()["kubernetes.io/service-name"]
	}
	c.add("metadata", UseEndpoints, "Service", name)
}

func certificate(c *collector) {
	c.add("spec.secretName", UseMadeSecret, "Secret", c.from.Text("spec.secretName"))
	if c.from.Text("spec.issuerRef.kind") == "ClusterIssuer" {
		c.addCluster("spec.issuerRef", UseIssuer, "ClusterIssuer.cert-manager.io", c.from.Text("spec.issuerRef.name"))
	} else {
		c.add("spec.issuerRef", UseIssuer, "Issuer.cert-manager.io", c.from.Text("spec.issuerRef.name"))
	}
}

func externalSecret(c *collector) {
	name := c.from.Text("spec.target.name")
	if name == "" {
		name = c.from.Ref.Name
	}
	c.add("spec.target.name", UseMadeSecret, "Secret", name)
	if c.from.Text("spec.secretStoreRef.kind") == "ClusterSecretStore" {
		c.addCluster("spec.secretStoreRef", UseValues, "ClusterSecretStore.external-secrets.io", c.from.Text("spec.secretStoreRef.name"))
	} else {
		c.add("spec.secretStoreRef", UseValues, "SecretStore.external-secrets.io", c.from.Text("spec.secretStoreRef.name"))
	}
}

func sealedSecret(c *collector) {
	c.add("metadata.name", UseMadeSecret, "Secret", c.from.Ref.Name)
}

func helmRelease(c *collector) {
	for i, v := range c.from.At("spec.valuesFrom").Items() {
		r := c.add(Path("spec.valuesFrom").Index(i), UseValues, v.Field("kind").Text(), v.Field("name").Text())
		r.Key = v.Field("valuesKey").Text()
		r.Optional, _ = v.Field("optional").Bool()
	}
}

func rollout(c *collector) {
	for _, field := range []string{"canaryService", "stableService"} {
		c.add(Path("spec.strategy.canary").Key(field), UseBackend, "Service", c.from.Text("spec.strategy.canary."+field))
	}
	for _, field := range []string{"activeService", "previewService"} {
		c.add(Path("spec.strategy.blueGreen").Key(field), UseBackend, "Service", c.from.Text("spec.strategy.blueGreen."+field))
	}
}

func policyBinding(c *collector) {
	kind := strings.TrimSuffix(c.from.Ref.Kind, "Binding") + ".admissionregistration.k8s.io"
	c.addCluster("spec.policyName", UsePolicy, kind, c.from.Text("spec.policyName"))
}
