/** A large cluster with used nodes of three sizes, whose pods would fit on fewer and cheaper ones: what a search for repacks takes longest for. */
import { DEFAULT_REPACK } from '../src/domain/repack.ts';
import type { NodeGroup } from '../src/domain/node-group.ts';
import type { SlicedWork } from '../src/lib/slices.ts';
import { REMOVALS_ALONE, makeScaleDownContext } from '../src/planning/scale-down/plan-context.ts';
import { planRepacks } from '../src/planning/scale-down/repack/repack.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aShape, aTemplate, resourceNames, START_MS } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import { aState } from '../test/support/state.ts';

const SIZES = [
  { id: 'small', cpu: '8', price: 0.2 },
  { id: 'large', cpu: '16', price: 0.4 },
  { id: 'thrifty', cpu: '8', price: 0.15 },
];
const MOST_PODS = 30;
const SHAPES = 200;
const HOUR_MS = 3_600_000;

/** A loop's plan of repacks when a search is due. */
export function repackPlans(count: number): () => SlicedWork<unknown> {
  const groups = SIZES.map(({ id, cpu }): NodeGroup => {
    const target = Math.ceil(count / SIZES.length);
    return aGroup({ id, target, maxSize: 2 * count, vmSize: `Standard_${id}`, template: aTemplate({ cpu, memory: '64Gi' }) });
  });
  const nodes = Array.from({ length: count }, (_, at) => {
    const { id = '', cpu = '' } = SIZES[at % SIZES.length] ?? {};
    return aNode({ name: `${id}-${at}`, cpu, memory: '64Gi' });
  });
  const shapes = Array.from({ length: SHAPES }, (_, at) => aShape({ cpu: `${100 + (at % 7) * 50}m`, memory: `${256 + at}Mi` }));
  const createdAtMs = START_MS - 2 * HOUR_MS;
  const pods = nodes.flatMap(({ name }, at) =>
    Array.from({ length: 8 + ((at * 7919) % (MOST_PODS - 8)) }, (_, pod) => {
      const shape = shapes[(at * 31 + pod * 17) % SHAPES] ?? aShape();
      return aPod({ name: `${name}-${pod}`, nodeName: name, shape, createdAtMs });
    }),
  );
  const observation = anObservation(groups, aCluster({ nodes, pods }));
  const prices = Object.fromEntries(SIZES.map(({ id, price }) => [`standard_${id}`, price]));
  const policy = { ...aPolicy({ scaleUp: { prices } }), repack: { ...DEFAULT_REPACK, enabled: true } };
  return () => {
    const snapshot = new ClusterSnapshot({ names: resourceNames });
    snapshot.sync(observation.cluster);
    const context = makeScaleDownContext({
      ...REMOVALS_ALONE,
      observation,
      state: aState(),
      policy,
      names: resourceNames,
      snapshot,
      inSequence: true,
    });
    return planRepacks({ context, names: resourceNames, plan: { unneeded: new Map(), inhibited: undefined }, podsWait: false });
  };
}
