// The write and read path of a log store.
local util = import 'util.libsonnet';
{
  _config:: { distributors: 3, memberlist: false, image: 'registry.example/logstore:2.6.1' },
  local c = self._config,
  local ports = [{ name: 'http', port: 80 }, { name: 'grpc', port: 9095 }],
  // Pods that find each other over memberlist carry this label.
  local ring = if c.memberlist then { gossip_ring_member: 'true' } else {},

  distributor_deployment: util.deployment('distributor', c.distributors, c.image, ports, ring),
  distributor_service: util.serviceFor(self.distributor_deployment),

  querier_deployment: util.deployment('querier', 12, c.image, ports),
  querier_service: util.serviceFor(self.querier_deployment),

  ring_service: if c.memberlist then {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'gossip-ring' },
    spec: { clusterIP: 'None', selector: { gossip_ring_member: 'true' }, ports: [{ name: 'gossip', port: 7946 }] },
  },
}
