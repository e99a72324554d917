/**
 * Groups of pods that start together, as kube-scheduler 1.36 treats them (v1.36.3, `pkg/scheduler/framework/plugins/gangscheduling/
 * gangscheduling.go`, and `podGroupSchedulingDefaultAlgorithm` of `pkg/scheduler/schedule_one_podgroup.go`): no pod is tried before the group
 * exists and has `minCount` pods; then all of them are tried in one cycle, and none is bound unless `minCount` of them have a place. Pure.
 */
import type { PodObject } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import type { ObjectStore } from '../store/store.ts';
import { POD_GROUPS, podGroupKeyOf } from '../schemas/pod-groups.ts';
import { addUsage, copyOfUsage } from './node-filters.ts';
import { scheduleOne, type Decision } from './placement.ts';
import type { TopologyView } from './topology.ts';

/** What the plugin says of a pod that fits and waits for others. */
const WAITING = 'waiting for minCount pods from a gang to be scheduled';

type Stored = Pick<ObjectStore, 'get' | 'values'>;

/** The decisions of one cycle, by pod. A pod without one is not tried: it keeps its condition. */
export type GangDecisions = ReadonlyMap<PodObject, Decision>;

/** The minimum of the group; 0: its pods start one by one. undefined: it does not exist. */
function minimumOf(key: string, store: Stored): number | undefined {
  const group = store.get(POD_GROUPS, key) as { readonly spec?: unknown } | undefined;
  if (group === undefined) return undefined;
  const policy = isRecord(group.spec) ? group.spec['schedulingPolicy'] : undefined;
  const gang = isRecord(policy) ? policy['gang'] : undefined;
  const count = isRecord(gang) ? gang['minCount'] : undefined;
  return typeof count === 'number' ? count : 0;
}

/** Decides for the waiting pods of one group, in their order in the queue. undefined: they are ordinary pods. */
export function scheduleGang(key: string, waiting: readonly PodObject[], view: TopologyView, store: Stored): GangDecisions | undefined {
  const minCount = minimumOf(key, store);
  if (minCount === 0) return undefined;
  const all = [...store.values('pods')].map((pod) => pod as PodObject).filter((pod) => podGroupKeyOf(pod) === key && !isOver(pod));
  if (minCount === undefined || all.length < minCount) return new Map();
  const scheduled = all.filter(({ spec }) => spec.nodeName !== undefined).length;
  // What a cycle assumes is forgotten with it.
  const nodes = view.nodes.map(copyOfUsage);
  const originals = new Map(nodes.map((copy, at) => [copy, view.nodes[at]]));
  const found = waiting.map((pod): readonly [PodObject, Decision] => {
    const decision = scheduleOne(pod, { ...view, nodes });
    if (decision.kind === 'unschedulable') return [pod, decision];
    addUsage(decision.usage, pod);
    return [pod, { kind: 'bind', usage: originals.get(decision.usage) ?? decision.usage }];
  });
  const placed = found.filter(([, { kind }]) => kind === 'bind').length;
  const starts = scheduled + placed >= minCount;
  return new Map(
    found.map(([pod, decision]) => [pod, starts || decision.kind !== 'bind' ? decision : { kind: 'unschedulable', message: WAITING }]),
  );
}

function isOver({ status }: PodObject): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed';
}
