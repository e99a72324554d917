/** How fast scale-up thinks: whole plans, the estimate alone, and what keeping the snapshot costs. */
import type { ClusterView, Observation } from '../src/domain/observation.ts';
import { finishAtOnce } from '../src/lib/slices.ts';
import { planScaleUp } from '../src/planning/scale-up/plan.ts';
import { groupPods } from '../src/planning/scale-up/pods/equivalence-groups.ts';
import { estimate } from '../src/planning/scale-up/packing/estimate.ts';
import { makeTemplate } from '../src/planning/scale-up/groups/template-node.ts';
import { ClusterSnapshot } from '../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aShape, aTemplate, resourceNames } from '../test/support/builders.ts';
import { aPolicy } from '../test/support/policy.ts';
import type { BenchRow } from './row.ts';
import { secondLookRows } from './second-look.bench.ts';
import { FIRST_PLAN } from '../src/planning/scale-up/plan-input.ts';
import { aState } from '../test/support/state.ts';

const RUNS = 7;
/** A daemon runs for weeks: what is measured is compiled. */
const WARM_UP = 8;
export async function estimateBench(): Promise<BenchRow[]> {
  return [
    await plainPlan(),
    await tiedPlan(),
    await zonalPlan(),
    await planRow('the same, one shape in 20 keeps off its own kind, host by host', affinityShapes('podAntiAffinity', HOSTNAME)),
    await planRow('the same, it keeps to its own kind, zone by zone', affinityShapes('podAffinity', ZONE), true),
    await shortPlan(
      'plan: 10,000 pods of 200 shapes and 8 priorities, room for half of them, 50 groups, 2,000 nodes',
      shapesFor(undefined),
    ),
    await shortPlan('the same, every shape spreads over hosts', shapesFor(HOSTNAME, 1)),
    await shortPlan('the same, every shape spreads over the zones of sibling groups', shapesFor(ZONE, 1), true),
    await growingTied(1),
    await growingTied(2),
    equalPods(),
    ...secondLookRows(measure),
    ...snapshotRows(),
  ];
}

function measure(name: string, run: () => string): BenchRow {
  let note = '';
  for (let count = 0; count < WARM_UP; count++) note = run();
  const samples = Array.from({ length: RUNS }, () => {
    const started = process.hrtime.bigint();
    note = run();
    return Number(process.hrtime.bigint() - started) / 1e6;
  });
  return { name, samples, unit: 'ms', note };
}

const HOSTNAME = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

/** `zonal`: sizes come in three pools each, one per zone. */
function groups(zonal: boolean, maxSize = 1000) {
  return Array.from({ length: 50 }, (_, index) => {
    const cpu = 4 * (1 + (index % 8));
    return aGroup({
      id: `pool-${String(index).padStart(2, '0')}`,
      target: 0,
      maxSize,
      template: aTemplate({
        cpu: `${cpu}`,
        memory: `${cpu * 4}Gi`,
        zones: zonal ? [`we-${1 + (Math.floor(index / 8) % 3)}`] : [],
      }),
    });
  });
}

/** Full nodes, so that every pending pod needs a new one. */
function fullCluster(nodes: number, podsEach: number, pending: ClusterView['pendingPods']): ClusterView {
  const bound = Array.from({ length: 50 }, (_, index) => aShape({ cpu: '120m', memory: '400Mi', labels: { app: `bound-${index}` } }));
  const cluster = aCluster({ nodes: Array.from({ length: nodes }, (_, index) => aNode({ name: `node-${index}` })), pods: pending });
  const podsByNode = new Map(
    [...cluster.nodes.keys()].map((nodeName, at) => [
      nodeName,
      Array.from({ length: podsEach }, (_, index) => aPod({ nodeName, shape: bound[(at + index) % bound.length] ?? aShape() })),
    ]),
  );
  return { ...cluster, podsByNode };
}

/** 200 shapes with labels of their own and sizes of 40 kinds. */
function shapesFor(spreadOver: string | undefined, oneIn = 20) {
  return Array.from({ length: 200 }, (_, index) => {
    const app = `app-${index}`;
    const selector = { requirements: [{ key: 'app', operator: 'In', values: [app] }] } as const;
    const constraint = {
      topologyKey: spreadOver ?? HOSTNAME,
      maxSkew: spreadOver === ZONE ? 1 : 5,
      minDomains: 1,
      selector,
      nodeAffinityPolicy: 'Honor',
      nodeTaintsPolicy: 'Ignore',
    } as const;
    return aShape({
      cpu: `${500 + (index % 40) * 75}m`,
      memory: `${512 + (index % 37) * 200}Mi`,
      labels: { app },
      topologySpread: spreadOver !== undefined && index % oneIn === 0 ? [constraint] : [],
    });
  });
}

/** The same, tied by affinity or anti-affinity to pods of the same app. */
function affinityShapes(kind: 'podAffinity' | 'podAntiAffinity', topologyKey: string) {
  return shapesFor(undefined).map((shape, index) => {
    const selector = { requirements: [{ key: 'app', operator: 'In', values: [`app-${index}`] }] } as const;
    const term = { topologyKey, selector, namespaces: [], namespaceSelector: undefined };
    return index % 20 === 0 ? aShape({ cpu: '500m', memory: '512Mi', labels: shape.labels, [kind]: [term] }) : shape;
  });
}

/** Twice the tied pods in the second row: a quadratic step would take four times as long. */
async function growingTied(factor: number): Promise<BenchRow> {
  const selector = { requirements: [{ key: 'app', operator: 'In', values: ['web'] }] } as const;
  const constraint = {
    topologyKey: HOSTNAME,
    maxSkew: 5,
    minDomains: 1,
    selector,
    nodeAffinityPolicy: 'Honor',
    nodeTaintsPolicy: 'Ignore',
  } as const;
  const shape = aShape({ cpu: '500m', memory: '512Mi', labels: { app: 'web' }, topologySpread: [constraint] });
  const count = 2000 * factor;
  const pending = Array.from({ length: count }, () => aPod({ shape }));
  return measurePlan(`plan: ${count} pods of one shape that spreads over hosts, 50 groups`, fullCluster(2000, 30, pending), {
    zonal: false,
  });
}

function planRow(name: string, shapes: readonly ReturnType<typeof aShape>[], zonal = false): Promise<BenchRow> {
  const pending = Array.from({ length: 10_000 }, (_, index) => aPod({ shape: shapes[index % shapes.length] ?? aShape() }));
  return measurePlan(name, fullCluster(2000, 30, pending), { zonal });
}

/** Every group may have so few nodes that capacity is short, and pods are served by priority. */
function shortPlan(name: string, shapes: readonly ReturnType<typeof aShape>[], zonal = false): Promise<BenchRow> {
  const ranked = shapes.flatMap((shape) =>
    Array.from({ length: 8 }, (_, priority) => ({ ...shape, key: `${shape.key}|${priority}`, priority: 100 * priority })),
  );
  const pending = Array.from({ length: 10_000 }, (_, index) => aPod({ shape: ranked[(index * 7) % ranked.length] ?? aShape() }));
  return measurePlan(name, fullCluster(2000, 30, pending), { zonal, maxSize: 15 });
}

async function measurePlan(
  name: string,
  cluster: ClusterView,
  { zonal, maxSize }: { readonly zonal: boolean; readonly maxSize?: number },
): Promise<BenchRow> {
  const observation: Observation = anObservation(groups(zonal, maxSize), cluster);
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync(cluster);
  return measure(name, () => {
    const plan = planScaleUp({
      ...FIRST_PLAN,
      observation,
      state: aState(),
      policy: aPolicy({ scaleUp: { maxNodesPerScaleUp: 5000 } }),
      names: resourceNames,
      snapshot,
    });
    return plan.summary.slice(0, 60);
  });
}

function plainPlan(): Promise<BenchRow> {
  return planRow('plan: 10,000 pods of 200 shapes, 50 groups, 2,000 nodes', shapesFor(undefined));
}

function tiedPlan(): Promise<BenchRow> {
  return planRow('the same, one shape in 20 spreads over hosts', shapesFor(HOSTNAME));
}

function zonalPlan(): Promise<BenchRow> {
  return planRow('the same, it spreads over the zones of sibling groups', shapesFor(ZONE), true);
}

function equalPods(): BenchRow {
  const group = aGroup({ id: 'a', maxSize: 2000, template: aTemplate({ cpu: '5', memory: '64Gi' }) });
  const shape = aShape({ cpu: '100m', memory: '1Mi' });
  const pods = Array.from({ length: 50_000 }, (_, index) => aPod({ name: `p${index}`, shape }));
  return measure('estimate: 50,000 equal pods', () => {
    const template = makeTemplate(group, group.template ?? aTemplate(), { daemonSets: [] }, new Set());
    return `${finishAtOnce(estimate(groupPods(pods, new Map()), template, 2000)).nodes} nodes`;
  });
}

function snapshotRows(): readonly BenchRow[] {
  const cluster = fullCluster(5000, 30, []);
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  const first = measure('snapshot: first sync of 5,000 nodes, 150,000 pods', () => {
    new ClusterSnapshot({ names: resourceNames }).sync(cluster);
    return '';
  });
  snapshot.sync(cluster);
  const same = measure('snapshot: sync of the same view', () => {
    snapshot.sync(cluster);
    return '';
  });
  const equal = measure('snapshot: sync of new maps, nothing changed', () => {
    snapshot.sync({ ...cluster, nodes: new Map(cluster.nodes), podsByNode: new Map(cluster.podsByNode) });
    return '';
  });
  const moves = measure('snapshot: try to empty 500 nodes (fork, remove, 30 searches, revert)', () => tryToEmpty(snapshot, 500));
  return [first, same, equal, moves];
}

function tryToEmpty(snapshot: ClusterSnapshot, count: number): string {
  let moved = 0;
  for (const name of snapshot.nodeNames().slice(0, count)) {
    snapshot.fork();
    const pods = snapshot.get(name)?.pods ?? [];
    snapshot.removeNode(name);
    for (const pod of pods) {
      const node = snapshot.findNode(pod);
      if (node === undefined) break;
      snapshot.addPod(pod, node);
      moved += 1;
    }
    snapshot.revert();
  }
  return `${moved} pods moved`;
}
