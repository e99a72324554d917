/**
 * A scheduler that asks nobody: it puts pods on nodes that the daemon is removing, between the drain and the delete. Each pod runs for a
 * while, so that its node may go afterwards.
 */
import { stableHash } from '../../../src/lib/random.ts';
import type { NodeObject } from '../../../world/simulator/cluster/store/objects.ts';
import type { VirtualRun } from '../../support/virtual-world.ts';

const LOOK_EVERY_MS = 500;
const RUNS_FOR_MS = 40_000;
const OWNER = { apiVersion: 'apps.kruise.io/v1alpha1', kind: 'CloneSet', name: 'late', uid: 'late-clone-set', controller: true };

/** One of this many removals meets no such pod. */
const SPARED = 3;
/** The pod comes up to this long after the taint. */
const LATEST_MS = 50_000;

/** Until `untilMs`. Which removals meet a pod, and when, depends on the seed and the node. */
export function bindLate(run: VirtualRun, untilMs: number): void {
  const known = new Set<string>();
  const look = (): void => {
    const nowMs = run.clock.now();
    if (nowMs >= untilMs) return;
    for (const node of run.world.cluster.store.nodes()) {
      const since = node.spec.taints?.find(({ key }) => key === 'ToBeDeletedByClusterAutoscaler')?.value;
      const removal = `${node.metadata.name}|${since ?? ''}`;
      if (since === undefined || known.has(removal)) continue;
      known.add(removal);
      const draw = stableHash(`${run.world.spec.seed}|${removal}`);
      if (draw % SPARED !== 0) run.clock.after(draw % LATEST_MS, () => bind(run, node, known.size));
    }
    run.clock.after(LOOK_EVERY_MS, look);
  };
  look();
}

function bind(run: VirtualRun, { metadata }: NodeObject, serial: number): void {
  const { cluster } = run.world;
  const isTainted = cluster.store
    .nodes()
    .some((node) => node.metadata.uid === metadata.uid && node.spec.taints?.some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler'));
  if (!isTainted) return;
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `late-${serial}-${metadata.name}`, namespace: 'default', ownerReferences: [OWNER] },
    spec: {
      nodeName: metadata.name,
      tolerations: [{ operator: 'Exists' as const }],
      terminationGracePeriodSeconds: 5,
      containers: [{ name: 'late', image: 'late:1', resources: { requests: { cpu: '100m', memory: '64Mi' } } }],
    },
  };
  if (cluster.store.get('pods', 'default', pod.metadata.name) !== undefined) return;
  cluster.apply(pod);
  run.clock.after(RUNS_FOR_MS, () => {
    if (cluster.store.get('pods', 'default', pod.metadata.name) !== undefined) cluster.remove(pod);
  });
}
