/** A controller beside the simulated ones: it puts a daemon pod on every node of some pools as soon as the node is there. */
import type { VirtualRun } from '../../support/virtual-world.ts';

const LOOK_EVERY_MS = 3_000;
const OWNER = { apiVersion: 'apps.kruise.io/v1alpha1', kind: 'DaemonSet', name: 'agent', uid: 'kruise-agent', controller: true };

/** `millis`: CPU by pool. */
export function coverNodes(run: VirtualRun, millis: Readonly<Record<string, number>>): void {
  const { cluster } = run.world;
  for (const { metadata } of cluster.store.nodes()) {
    const cpu = millis[metadata.labels?.['agentpool'] ?? ''];
    const name = `agent-${metadata.name}`;
    if (cpu === undefined || cluster.store.get('pods', 'kube-system', name) !== undefined) continue;
    cluster.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'kube-system', ownerReferences: [OWNER] },
      spec: {
        nodeName: metadata.name,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'agent', image: 'agent:1', resources: { requests: { cpu: `${cpu}m`, memory: '64Mi' } } }],
      },
    });
  }
  run.clock.after(LOOK_EVERY_MS, () => coverNodes(run, millis));
}
