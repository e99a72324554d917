/**
 * A large cluster with every kind of pod at once: 500 workloads in 8 priorities. Half of them spread over zones, and a tenth keeps off its
 * own kind's nodes. Present nodes are full, so that every pending pod needs a new node.
 */
import type { NodeGroup } from '../src/domain/node-group.ts';
import type { Node } from '../src/domain/node.ts';
import type { Observation } from '../src/domain/observation.ts';
import type { Pod, PodShape } from '../src/domain/pod.ts';
import { aCluster, aGroup, aNode, anObservation, aPod, aShape, aTemplate } from '../test/support/builders.ts';

export interface MixedSize {
  readonly pods: number;
  readonly nodes: number;
  readonly pools: number;
}

export const FULL_SIZE: MixedSize = { pods: 20_000, nodes: 5_000, pools: 100 };

const SHAPES = 500;
const PRIORITIES = 8;
const PODS_PER_NODE = 30;
const ZONES = ['we-1', 'we-2', 'we-3'] as const;
const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

/** Half of the workloads have bound pods, too. */
export function mixedObservation(size: MixedSize): Observation {
  const shapes = Array.from({ length: SHAPES }, (_, index) => shapeOf(index));
  return observationOf(
    size,
    Array.from({ length: size.pods }, (_, index) => shapes[(index * 7) % SHAPES] ?? aShape()),
  );
}

/** One pending pod of each of the shapes in the same cluster. */
export function observationOf({ nodes, pools }: Omit<MixedSize, 'pods'>, pendingShapes: readonly PodShape[]): Observation {
  const groups = Array.from({ length: pools }, (_, index) => poolOf(index, Math.ceil(nodes / pools)));
  const shapes = Array.from({ length: SHAPES }, (_, index) => shapeOf(index));
  const pending = pendingShapes.map((shape) => aPod({ shape }));
  const present = Array.from({ length: nodes }, (_, index) => presentNode(index, pools));
  const bound = present.flatMap(({ name }, at) => boundPods(name, at, shapes));
  return anObservation(groups, aCluster({ nodes: present, pods: [...bound, ...pending] }));
}

/** Sizes come in pools per zone, and in pools over all zones. */
function poolOf(index: number, target: number): NodeGroup {
  const cpu = 8 * (1 + (Math.floor(index / 4) % 4));
  const only = ZONES[index % 4];
  const zones = only === undefined ? ZONES : [only];
  const labels = only === undefined ? {} : { [ZONE]: only };
  const template = aTemplate({ cpu: `${cpu}`, memory: `${cpu * 4}Gi`, zones, labels });
  return aGroup({ id: poolName(index), target, maxSize: target + 2_000, vmSize: `Standard_D${cpu}s_v5`, template });
}

function poolName(index: number): string {
  return `pool${String(index).padStart(3, '0')}`;
}

function presentNode(index: number, pools: number): Node {
  const zone = ZONES[index % ZONES.length] ?? '';
  const name = `${poolName(index % pools)}-${Math.floor(index / pools)}`;
  return aNode({ name, cpu: '4', labels: { [ZONE]: zone } });
}

function shapeOf(index: number): PodShape {
  const app = `app-${index}`;
  const selector = { requirements: [{ key: 'app', operator: 'In', values: [app] }] } as const;
  const spread = { maxSkew: 1, minDomains: 1, selector, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' } as const;
  const apart = { topologyKey: HOST, selector, namespaces: [], namespaceSelector: undefined };
  return aShape({
    cpu: `${250 + (index % 40) * 50}m`,
    memory: `${512 + (index % 37) * 128}Mi`,
    labels: { app },
    priority: 100 * (index % PRIORITIES),
    topologySpread: index % 2 === 0 ? [{ topologyKey: ZONE, ...spread }] : [],
    podAntiAffinity: index % 10 === 1 ? [apart] : [],
  });
}

/** They fill the node: three pods of pending workloads, and small ones of others. */
function boundPods(nodeName: string, at: number, shapes: readonly PodShape[]): readonly Pod[] {
  return Array.from({ length: PODS_PER_NODE }, (_, slot) => {
    const shape = slot < 3 ? shapes[((at * 3 + slot) * 2) % SHAPES] : undefined;
    return aPod({ nodeName, shape: shape === undefined ? smallShape(at + slot) : shape });
  });
}

const SMALL = Array.from({ length: 1_000 }, (_, index) => aShape({ cpu: '120m', memory: '100Mi', labels: { app: `bound-${index}` } }));

function smallShape(index: number): PodShape {
  return SMALL[index % SMALL.length] ?? aShape();
}
