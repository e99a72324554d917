/** Worlds in which a plan was applied: Azure accepted the new target sizes, and none, some or all of the new nodes have joined. */
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import { type Node, UNREMARKABLE } from '../../../src/domain/node.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { reduceIncrease, reduceObservation } from '../../../src/planning/state/loop-state.ts';
import { byPrecedence } from '../../../src/planning/scale-up/pods/unschedulable-pods.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { anInstance, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy, observationOf, type World } from './world.ts';
import { aState } from '../../support/state.ts';
import { storedForm, withDefaults } from '../../../src/planning/state/stored-state.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';

export interface Applied {
  /** Whether Azure's list already has the new instances, as `creating`. If not, only the target size tells of them. */
  readonly listed: boolean;
  /** How many of the new nodes of each group have joined and are ready. Joined nodes are always listed. If absent, none. */
  readonly joined?: (added: number) => number;
  /** Whether the loop remembers the pods of its increases. If absent, it does. */
  readonly remembers?: boolean;
  /** Milliseconds after the plan. */
  readonly afterMs?: number;
}

/** The world after the plan, at the next look. */
export function afterPlan(world: World, plan: ScaleUpPlan, applied: Applied): World {
  const { nowMs = START_MS } = world;
  const policy = aPolicy(world.policy);
  const before = reduceObservation(aState(world.state), observationOf(world), policy);
  const state = plan.increases.reduce((next, increase) => {
    const outcome = { kind: 'accepted', group: increase.group, target: increase.to } as const;
    const group = world.groups.find(({ id }) => id === increase.group);
    return reduceIncrease(next, { increase, outcome, group, followed: undefined }, nowMs, policy);
  }, before);
  const later = nowMs + (applied.afterMs ?? 10_000);
  const next: World = { ...world, nowMs: later, loopId: (world.loopId ?? 1) + 1 };
  const grown = plan.increases.reduce((last, { group, to }) => withNodes(last, { id: group, size: to, applied, nowMs: later }), next);
  return look({ ...grown, state: applied.remembers === false ? withoutPods(state) : state });
}

/** The state as after one more observation. */
export function look(world: World): World {
  return { ...world, state: reduceObservation(aState(world.state), observationOf(world), aPolicy(world.policy)) };
}

function withoutPods(state: LoopState): LoopState {
  const { accepted: _forgotten, ...stored } = storedForm(state, START_MS);
  return withDefaults(stored, START_MS);
}

interface Growth {
  readonly id: string;
  readonly size: number;
  readonly applied: Applied;
  readonly nowMs: number;
}

function withNodes(world: World, { id, size, applied, nowMs }: Growth): World {
  const group = world.groups.find((candidate) => candidate.id === nodeGroupId(id));
  if (group === undefined || !group.target.known) return world;
  const { target, instances = [] } = group;
  const added = size - target.value;
  const joined = applied.joined?.(added) ?? 0;
  const name = (index: number): string => `${id}-new-${target.value + index}`;
  const list = Array.from({ length: applied.listed ? added : joined }, (_, index) =>
    anInstance({
      node: name(index),
      state: index < joined ? 'running' : 'creating',
      firstSeenMs: nowMs - 10_000,
      zone: zoneOf(group, target.value + index),
    }),
  );
  const grown = { ...group, target: { ...target, value: size }, instances: [...instances, ...list] };
  const nodes = Array.from({ length: joined }, (_, index) => joinedNode(group, name(index), { index: target.value + index, nowMs }));
  return { ...world, groups: world.groups.map((other) => (other === group ? grown : other)), nodes: [...(world.nodes ?? []), ...nodes] };
}

/** Azure balances the instances of a set over its zones. */
function zoneOf({ template }: NodeGroup, index: number): string | undefined {
  const zones = template?.zones ?? [];
  return zones[index % Math.max(1, zones.length)];
}

function joinedNode(group: NodeGroup, name: string, { index, nowMs }: { readonly index: number; readonly nowMs: number }): Node {
  const { template } = group;
  if (template === undefined) throw new Error(`group ${group.id} has no template`);
  const zone = zoneOf(group, index);
  const labels = { ...template.labels, ...(zone === undefined ? {} : { [ZONE]: zone }), [HOST]: name };
  const { taints, capacity, allocatable } = template;
  return {
    ...UNREMARKABLE,
    name,
    uid: `uid-${name}`,
    providerId: `azure:///${name}`,
    labels,
    taints,
    unschedulable: false,
    createdAtMs: nowMs,
    deletionAtMs: undefined,
    capacity,
    allocatable,
    readiness: { ready: true, sinceMs: nowMs, reason: '' },
    scaleDownDisabled: false,
  };
}

/** Binds up to `most` pods as kube-scheduler does: by priority, then age, each to the node with the least part of it requested. */
export function bindInOrder(world: World, most = Number.POSITIVE_INFINITY): World {
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  const { cluster } = observationOf(world);
  snapshot.sync(cluster);
  const bound = new Map<Pod, string>();
  snapshot.fork();
  for (const pod of cluster.pendingPods.toSorted(byPrecedence)) {
    if (bound.size >= most) break;
    const node = leastRequested(snapshot, pod);
    if (node === undefined) continue;
    snapshot.addPod(pod, node);
    bound.set(pod, node);
  }
  snapshot.revert();
  const pods = (world.pods ?? []).map((pod): Pod => {
    const nodeName = bound.get(pod);
    return nodeName === undefined ? pod : { ...pod, nodeName, phase: 'Running', unschedulable: undefined };
  });
  return { ...world, pods };
}

function leastRequested(snapshot: ClusterSnapshot, pod: Pod): string | undefined {
  const fitting = snapshot.nodeNames().filter((node) => snapshot.check(pod, node).length === 0);
  return fitting.toSorted((left, right) => requestedPart(snapshot, left) - requestedPart(snapshot, right))[0];
}

function requestedPart(snapshot: ClusterSnapshot, name: string): number {
  const found = snapshot.get(name);
  if (found === undefined) return 1;
  const part = (index: number): number =>
    found.pods.reduce((sum, { shape }) => sum + (shape.requests[index] ?? 0), 0) / (found.node.allocatable[index] ?? 1);
  return part(0) + part(1);
}
