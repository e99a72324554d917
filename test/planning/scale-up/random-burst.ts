/** Random bursts of pending pods before random pools, by everything that the planner knows. */
import * as fc from 'fast-check';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Pod, PodShape } from '../../../src/domain/pod.ts';
import { aGroup, aPod, aTemplate, START_MS } from '../../support/builders.ts';
import type { World } from './world.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';

const RULES = [
  'none',
  'port',
  'host spread',
  'host anti-affinity',
  'host affinity',
  'zone spread',
  'zone anti-affinity',
  'zone affinity',
  'one zone',
] as const;
export type Rules = (typeof RULES)[number];

/** Equal pods. */
interface Part {
  readonly cpu: string;
  readonly memory: string;
  readonly count: number;
  readonly priority: number;
  readonly rules: Rules;
}

function rulesOf(rules: Rules, app: string): Partial<PodShape> {
  const selector = { requirements: [{ key: 'app', operator: 'In', values: [app] }] } as const;
  const spread = { maxSkew: 1, minDomains: 1, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore', selector } as const;
  const term = { namespaces: [], namespaceSelector: undefined, selector };
  switch (rules) {
    case 'none':
      return {};
    case 'port':
      return { hostPorts: [{ port: 80, protocol: 'TCP', hostIp: '0.0.0.0' }] };
    case 'host spread':
      return { topologySpread: [{ topologyKey: HOST, ...spread }] };
    case 'zone spread':
      return { topologySpread: [{ topologyKey: ZONE, ...spread }] };
    case 'host anti-affinity':
      return { podAntiAffinity: [{ topologyKey: HOST, ...term }] };
    case 'zone anti-affinity':
      return { podAntiAffinity: [{ topologyKey: ZONE, ...term }] };
    case 'host affinity':
      return { podAffinity: [{ topologyKey: HOST, ...term }] };
    case 'zone affinity':
      return { podAffinity: [{ topologyKey: ZONE, ...term }] };
    case 'one zone':
      return { nodeSelector: { [ZONE]: 'r-2' } };
  }
}

export function podsOf(parts: readonly Part[]): readonly Pod[] {
  return parts.flatMap(({ cpu, memory, count, priority, rules }, index) => {
    const app = `app-${index}`;
    return Array.from({ length: count }, () => aPod({ shape: { cpu, memory, priority, labels: { app }, ...rulesOf(rules, app) } }));
  });
}

export function bursts(priorities: readonly number[], ...rules: readonly Rules[]): fc.Arbitrary<readonly Part[]> {
  const part = fc.record({
    cpu: fc.constantFrom('100m', '300m', '500m', '700m', '900m', '1', '1200m', '1500m', '1900m', '2', '2500m', '3', '3500m'),
    memory: fc.constantFrom('128Mi', '1Gi', '3Gi', '7Gi'),
    count: fc.integer({ min: 1, max: 9 }),
    priority: fc.constantFrom(...priorities),
    rules: fc.constantFrom(...rules),
  });
  return fc.array(part, { minLength: 1, maxLength: 6 });
}

export const PRIORITIES = [0, 10, 100];

interface PoolShape {
  readonly cpu: string;
  readonly zones: readonly string[];
  readonly max: number;
}

const ANY_ZONES = [[], ['r-1'], ['r-2'], ['r-1', 'r-2', 'r-3']];
const anyPool: fc.Arbitrary<PoolShape> = fc.record({
  cpu: fc.constantFrom('1900m', '3860m', '3860m', '7800m'),
  zones: fc.constantFrom(...ANY_ZONES),
  max: fc.constantFrom(2, 5, 100, 100),
});
const anyPools: fc.Arbitrary<readonly PoolShape[]> = fc.array(anyPool, { minLength: 1, maxLength: 4 });
/** One pool per zone, otherwise equal. */
const siblings: fc.Arbitrary<readonly PoolShape[]> = fc.constant(
  ['r-1', 'r-2', 'r-3'].map((zone) => ({ cpu: '3860m', zones: [zone], max: 100 })),
);

function poolOf({ cpu, zones, max }: PoolShape, index: number): NodeGroup {
  const [only] = zones.length === 1 ? zones : [];
  const labels = only === undefined ? {} : { [ZONE]: only };
  const template = aTemplate({ cpu, memory: '30Gi', pods: '30', zones, labels });
  return aGroup({ id: `pool-${index}`, target: 0, maxSize: max, template, vmSize: `Standard_${cpu}` });
}

export interface Burst {
  readonly world: World;
  readonly listed: boolean;
  /** Which part of the new nodes has joined, in quarters. */
  readonly joined: number;
  /** Which part of the pods that were pending is bound since, at the most, in quarters. */
  readonly bound: number;
}

/** Azure may create the nodes of a pool with several zones in other zones than such pods need. */
function inAnyZone(part: Part): Part {
  return part.rules === 'one zone' ? { ...part, rules: 'none' } : part;
}

/** As if each kind of pods had a controller that wants more of them than it has created. */
export function withMissingPods(world: World, extra: readonly number[]): World {
  const controllerOf = (pod: Pod): string => `rs-${pod.shape.labels['app'] ?? ''}`;
  const pods = (world.pods ?? []).map((pod) => {
    return { ...pod, controller: { kind: 'ReplicaSet', apiVersion: '', name: controllerOf(pod), uid: controllerOf(pod) } };
  });
  const workloads = [...new Set(pods.map(controllerOf))].map((uid, at) => {
    const desired = pods.filter((pod) => controllerOf(pod) === uid).length + (extra[at] ?? 0);
    return { kind: 'ReplicaSet' as const, namespace: 'default', name: uid, uid, desired };
  });
  return { ...world, pods, workloads, policy: { ...world.policy, proactive: true } };
}

/** Controllers create up to `most` of the pods that they lack; kube-scheduler refuses them. */
export function withCreatedPods(world: World, most: number): World {
  const { pods = [], workloads = [], nowMs = START_MS } = world;
  const created = workloads.flatMap(({ uid, desired }) => {
    const own = pods.filter(({ controller }) => controller?.uid === uid);
    const [sample] = own;
    const count = sample === undefined ? 0 : Math.min(most, desired - own.length);
    return Array.from({ length: count }, (_, at): Pod => ({
      ...(sample ?? aPod()),
      uid: `${uid}-created-${own.length + at}`,
      name: `${uid}-created-${own.length + at}`,
      nodeName: undefined,
      phase: 'Pending',
      ready: false,
      createdAtMs: nowMs,
      unschedulable: { sinceMs: nowMs, message: '' },
    }));
  });
  return { ...world, pods: [...pods, ...created] };
}

/** Everything at once. */
export const anyBurst: fc.Arbitrary<Burst> = fc
  .record({
    pools: fc.oneof(anyPools, siblings),
    parts: bursts(PRIORITIES, ...RULES),
    expander: fc.constantFrom('least-waste' as const, 'most-pods' as const, 'random' as const, 'least-nodes' as const),
    balance: fc.boolean(),
    listed: fc.boolean(),
    joined: fc.integer({ min: 0, max: 4 }),
    bound: fc.integer({ min: 0, max: 4 }),
  })
  .map(({ pools, parts, expander, balance, ...rest }) => ({
    ...rest,
    world: {
      groups: pools.map(poolOf),
      pods: podsOf(pools.some(({ zones }) => zones.length > 1) ? parts.map(inAnyZone) : parts),
      policy: { expanders: [expander], balanceSimilarGroups: balance },
    },
  }));
