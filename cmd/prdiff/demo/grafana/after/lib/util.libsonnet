// Builders that every component uses.
{
  deployment(name, replicas, image, ports, labels={}):: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: name },
    spec: {
      replicas: replicas,
      minReadySeconds: 10,
      selector: { matchLabels: { name: name } },
      strategy: { rollingUpdate: { maxSurge: 15, maxUnavailable: 1 } },
      template: {
        metadata: { labels: { name: name } + labels },
        spec: {
          containers: [{
            name: name,
            image: image,
            ports: [{ name: p.name, containerPort: p.port } for p in ports],
            readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
            resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } },
          }],
        },
      },
    },
  },

  // A Service in front of a workload. Its selector is every label of the pods,
  // except those in ignored.
  serviceFor(workload, ignored=[]):: {
    local pod = workload.spec.template,
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: workload.metadata.name },
    spec: {
      selector: { [k]: pod.metadata.labels[k] for k in std.objectFields(pod.metadata.labels) if !std.member(ignored, k) },
      ports: [
        { name: c.name + '-' + p.name, port: p.containerPort, targetPort: p.containerPort }
        for c in pod.spec.containers
        for p in c.ports
      ],
    },
  },
}
