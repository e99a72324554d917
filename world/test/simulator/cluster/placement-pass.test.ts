/** A pass decides as if each pod were placed on its own: what it remembers changes no decision and no message. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { addUsage, type NodeUsage, usageOf } from '../../../simulator/cluster/scheduler/node-filters.ts';
import { type Decision, scheduleOne } from '../../../simulator/cluster/scheduler/placement.ts';
import { PlacementPass } from '../../../simulator/cluster/scheduler/placement-pass.ts';
import type { TopologyView } from '../../../simulator/cluster/scheduler/topology.ts';
import type { NodeObject, NodeTaint, PodObject, PodSpec } from '../../../simulator/cluster/store/objects.ts';
import { casesOf } from '../../../../test/support/property-runs.ts';

const META = { uid: '', resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z' };
const SOFT: NodeTaint = { key: 'busy', value: '', effect: 'PreferNoSchedule' };
const HARD: NodeTaint = { key: 'gpu', value: '', effect: 'NoSchedule' };

interface Seat {
  readonly cpu: number;
  readonly zone: string;
  readonly taint: 'none' | 'soft' | 'hard';
}

function nodeOf({ cpu, zone, taint }: Seat, at: number): NodeObject {
  const name = `n${at}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...META, name, labels: { 'kubernetes.io/hostname': name, zone } },
    spec: { taints: { none: [], soft: [SOFT], hard: [HARD] }[taint] },
    status: { allocatable: { cpu: String(cpu), memory: '16Gi', pods: '5' } },
  };
}

const inZone = { matchLabels: { app: 'x' } };
const SPECS: Readonly<Record<string, Partial<PodSpec>>> = {
  plain: {},
  tolerant: { tolerations: [{ operator: 'Exists' }] },
  port: { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80 }], resources: { requests: { cpu: '1' } } }] },
  pinned: {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
        },
      },
    },
  },
  spread: { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: inZone }] },
  apart: {
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: inZone }],
      },
    },
  },
};

interface Wish {
  readonly kind: string;
  readonly cpu: number;
}

function podOf({ kind, cpu }: Wish, at: number): PodObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...META, name: `p${at}`, namespace: 'default', labels: { app: kind === 'plain' ? 'other' : 'x' } },
    spec: { containers: [{ name: 'c', resources: { requests: { cpu: `${cpu}00m`, memory: '1Gi' } } }], ...SPECS[kind] },
    status: { phase: 'Pending' },
  };
}

function viewOf(seats: readonly Seat[]): TopologyView {
  const nodes: readonly NodeUsage[] = seats.map((seat, at) => usageOf(nodeOf(seat, at), []));
  return { nodes, namespaceLabels: () => ({}), stored: { get: () => undefined, list: () => [] } };
}

/** The outcome of each pod in turn, as a node's name or the scheduler's message. */
function outcomes(pods: readonly PodObject[], decide: (pod: PodObject) => Decision): readonly string[] {
  return pods.map((pod) => {
    const decision = decide(pod);
    if (decision.kind === 'unschedulable') return decision.message;
    addUsage(decision.usage, pod);
    return decision.usage.node.metadata.name;
  });
}

const seats = fc.array(
  fc.record({
    cpu: fc.integer({ min: 1, max: 4 }),
    zone: fc.constantFrom('1', '2'),
    taint: fc.constantFrom('none', 'none', 'soft', 'hard'),
  }),
  { minLength: 1, maxLength: 9 },
);
const wishes = fc.array(
  fc.record({
    kind: fc.constantFrom('plain', 'plain', 'plain', 'tolerant', 'port', 'pinned', 'spread', 'apart'),
    cpu: fc.constantFrom(2, 5, 10),
  }),
  { minLength: 1, maxLength: 40 },
);

it('decides for many pods as it would for each alone', () => {
  fc.assert(
    fc.property(seats as fc.Arbitrary<Seat[]>, wishes, (given, wanted) => {
      const pods = wanted.map(podOf);
      const alone = viewOf(given);
      const together = new PlacementPass(viewOf(given));
      expect(outcomes(pods, (pod) => together.decide(pod))).toEqual(outcomes(pods, (pod) => scheduleOne(pod, alone)));
    }),
    casesOf(18, 250),
  );
});

it('decides the same with what an earlier pass found, unless a node has changed since', () => {
  fc.assert(
    fc.property(seats as fc.Arbitrary<Seat[]>, wishes, wishes, (given, first, second) => {
      const alone = viewOf(given);
      const before = viewOf(given);
      const earlier = new PlacementPass(before);
      outcomes(first.map(podOf), (pod) => earlier.decide(pod));
      outcomes(first.map(podOf), (pod) => scheduleOne(pod, alone));
      // As between two passes: a node that took a pod has a new usage.
      const nodes = before.nodes.map((usage) => (usage.revision > 0 ? usageOf(usage.node, usage.pods) : usage));
      const later = new PlacementPass({ ...before, nodes }, earlier.judged);
      const pods = second.map(podOf);
      expect(outcomes(pods, (pod) => later.decide(pod))).toEqual(outcomes(pods, (pod) => scheduleOne(pod, alone)));
    }),
    casesOf(19, 60),
  );
});

/** Notes the nodes that are looked at, once for each look at one of their fields. */
function watched(view: TopologyView): { readonly view: TopologyView; readonly looks: string[] } {
  const looks: string[] = [];
  const nodes = view.nodes.map(
    (usage): NodeUsage =>
      new Proxy(usage, {
        get: (target, field: keyof NodeUsage) => {
          looks.push(usage.node.metadata.name);
          return target[field];
        },
      }),
  );
  return { view: { ...view, nodes }, looks };
}

const equalSeats = (count: number): TopologyView =>
  viewOf(Array.from({ length: count }, (_, at) => ({ cpu: 4, zone: `${at % 3}`, taint: 'none' as const })));

it('puts a pod that names its node there without a look at the others', () => {
  const { view, looks } = watched(equalSeats(9));
  const pass = new PlacementPass(view);
  looks.length = 0;
  expect(pass.decide(podOf({ kind: 'pinned', cpu: 2 }, 1))).toMatchObject({ kind: 'bind', usage: { node: { metadata: { name: 'n1' } } } });
  expect(new Set(looks)).toEqual(new Set(['n1']));
});

it('counts the nodes that refuse a pod that names its node', () => {
  const pass = new PlacementPass(equalSeats(3));
  expect(outcomes([podOf({ kind: 'pinned', cpu: 90 }, 1)], (pod) => pass.decide(pod))).toEqual([
    expect.stringMatching(/^0\/3 nodes are available: 1 Insufficient cpu, 2 node\(s\) didn't match Pod's node affinity\/selector/),
  ]);
});

/** In a cluster where every second node has a pod that keeps others away. */
it.each([
  { kind: 'pinned', most: 3 },
  { kind: 'plain', most: 20 },
  { kind: 'spread', most: 20 },
  { kind: 'apart', most: 20 },
])('looks at each of a thousand nodes at most $most times for a pod: $kind', ({ kind, most }) => {
  const all = equalSeats(1_000);
  for (const usage of all.nodes.filter((_, at) => at % 2 === 0)) addUsage(usage, podOf({ kind: 'apart', cpu: 1 }, 0));
  const { view, looks } = watched(all);
  const pass = new PlacementPass(view);
  looks.length = 0;
  expect(pass.decide(podOf({ kind, cpu: 1 }, 1)).kind).toBe('bind');
  expect(looks.length / all.nodes.length).toBeLessThanOrEqual(most);
});
