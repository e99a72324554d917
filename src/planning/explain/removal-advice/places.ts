/** Why a pod of a node fits on no other node, and the changes of its rules that would give it a place there. */
import type { NodeName } from '../../../domain/ids.ts';
import type { ClusterView } from '../../../domain/observation.ts';
import type { Pod } from '../../../domain/pod.ts';
import type { FitReason } from '../../../domain/reasons.ts';
import { blockingTaintOf } from '../../../domain/taints.ts';
import type { Change } from '../changes/change-kinds.ts';
import { keyOf } from '../changes/change.ts';
import { speakable } from '../amounts.ts';
import { workloadOf } from '../changes/workload.ts';
import type { KeptNode, RemovalRemedy } from './kept-node.ts';
import { repellingWorkloads } from '../advice/repelling-pods.ts';

/** Nodes that are looked at: of many, the others are alike. */
const MOST_PLACES = 200;

/** The remedies of every other node, the least first; of equal ones, one. */
export function placesFor(pod: Pod, { input, node, simulator }: KeptNode): readonly RemovalRemedy[] {
  const { cluster } = input.observation;
  const model = simulator.modelOf(input);
  const found = new Map<string, RemovalRemedy>();
  const others = [...cluster.nodes.values()].filter(({ name, readiness }) => name !== node.name && readiness.ready);
  for (const { name } of others.slice(0, MOST_PLACES)) {
    const remedy = remedyFor(model.check(pod, name), { pod, name, cluster });
    if (remedy === undefined) continue;
    const key = keyOf(remedy.changes);
    if (!found.has(key)) found.set(key, { ...remedy, workload: workloadOf(pod) });
  }
  return [...found.values()].sort((left, right) => left.effort - right.effort).slice(0, MOST_REMEDIES);
}

const MOST_REMEDIES = 6;

interface Place {
  readonly pod: Pod;
  readonly name: NodeName;
  readonly cluster: ClusterView;
}

/** undefined: some reason has no remedy, or the node takes the pod and others need its room. */
function remedyFor(reasons: readonly FitReason[], place: Place): RemovalRemedy | undefined {
  const changes: Change[] = [];
  let effort = 0;
  for (const reason of reasons) {
    const remedy = changesFor(reason, place);
    if (remedy === undefined) return undefined;
    changes.push(...remedy[0]);
    effort += remedy[1];
  }
  return changes.length === 0 ? undefined : { changes, effort };
}

const REDUCIBLE: ReadonlySet<string> = new Set(['cpu', 'memory']);
/** A pod that asks for less than this share of today's request is another pod. */
const LEAST_SHARE = 0.75;

/** undefined: nothing that a person could change is known to help. */
type PlaceChanges = readonly [changes: readonly Change[], effort: number] | undefined;

function changesFor(reason: FitReason, place: Place): PlaceChanges {
  const { pod, name } = place;
  switch (reason.kind) {
    case 'insufficient-resource': {
      const { resource, requested, free } = reason;
      const to = speakable(resource, free, 'down');
      if (!REDUCIBLE.has(resource) || to < requested * LEAST_SHARE) return undefined;
      return [[{ kind: 'lower-request', resource, from: requested, to }], 4 + 8 * (1 - to / requested)];
    }
    case 'untolerated-taint': {
      const taint = blockingTaintOf(reason.taint);
      return taint === undefined ? undefined : [[{ kind: 'tolerate', taint }], 3];
    }
    case 'node-selector-mismatch':
      return reason.gaps === undefined || reason.gaps.length === 0
        ? undefined
        : [reason.gaps.map(({ key }) => ({ kind: 'drop-label-rule' as const, key })), 6 * reason.gaps.length];
    case 'pod-affinity':
      return changesForAffinity(reason, place);
    case 'topology-spread': {
      const from = pod.shape.topologySpread.find(({ topologyKey }) => topologyKey === reason.topologyKey)?.maxSkew ?? 1;
      return [[{ kind: 'raise-max-skew', topologyKey: reason.topologyKey, from, to: from + 1 }], 4];
    }
    case 'host-port-taken':
      return [[{ kind: 'drop-host-port', port: reason.port, protocol: reason.protocol }], 6];
    case 'unschedulable':
      return [[{ kind: 'uncordon-node', node: name }], 2];
    case 'volume':
    case 'device':
    case 'node-features':
    case 'on-demand-share':
    case 'unsupported':
      return undefined;
  }
}

/** Pods of one workload repel each other by the rule of each. */
function changesForAffinity(
  { rule, topologyKey }: Extract<FitReason, { kind: 'pod-affinity' }>,
  { pod, name, cluster }: Place,
): PlaceChanges {
  if (rule !== 'repelled') return [[{ kind: 'drop-pod-affinity', rule, topologyKey }], 6];
  if (pod.shape.podAntiAffinity.some((term) => term.topologyKey === topologyKey))
    return [[{ kind: 'drop-pod-affinity', rule: 'anti-affinity', topologyKey }], 6];
  const others = repellingWorkloads(cluster, { shape: pod.shape, topologyKey, near: name });
  return others.length === 0
    ? undefined
    : [others.map((workload) => ({ kind: 'drop-repulsion' as const, workload, topologyKey })), 7 * others.length];
}
