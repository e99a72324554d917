/**
 * Gangs that have not started: which of their pods ask for a node, and how many of them must get a place together. The rules are those of
 * kube-scheduler's plugin GangScheduling (v1.36.3): a pod is not tried before its group exists and has `minCount` pods (`PreEnqueue`), and
 * starts once `minCount` pods have a place (`Permit`). Pods beyond `minCount` are ordinary pods. Must not know node groups.
 */
import type { ClusterView } from '../../../domain/observation.ts';
import type { ScaleUpPlan } from '../../../domain/plan.ts';
import type { Pod } from '../../../domain/pod.ts';
import { type Gang, membershipOf } from '../../../domain/workloads.ts';
import type { IgnoredPodReason, PodVerdict } from '../../../domain/reasons.ts';
import { RunningGangs } from '../../../scheduling/drainability/running-gangs.ts';

/** A gang that runs with fewer pods than it needs, or does not run. */
export interface StartingGang {
  readonly gang: Gang;
  /**
   * Its pods that need a place: those that kube-scheduler refused, and those on which it has not reported. Up to 1.35 it reports nothing on
   * pods that fit and wait for the others (`Permit` returns `Wait`, for five minutes).
   */
  readonly pods: readonly Pod[];
  /** Its pods that have a place without this plan: bound, or with a node that kube-scheduler named for them. */
  readonly running: number;
}

interface AskingPods {
  /** Pods that may cause an increase. */
  readonly asking: readonly Pod[];
  /** Verdicts on pending pods that may not. */
  readonly ignored: ReadonlyMap<Pod, PodVerdict>;
}

/** The pods that may cause an increase, with gangs considered. */
export interface SortedGangs extends AskingPods {
  readonly gangs: readonly StartingGang[];
}

/** Pods whose group is incomplete or unknown are not tried by kube-scheduler, so they ask for nothing. */
export function sortGangs(cluster: ClusterView, { asking, ignored }: AskingPods): SortedGangs {
  const { podGroups } = cluster;
  if (podGroups === undefined) return { asking, ignored, gangs: [] };
  const incomplete = new Map<Pod, PodVerdict>();
  const byGang = new Map<string, { readonly gang: Gang; readonly pods: Pod[] }>();
  for (const pod of asking) {
    const membership = membershipOf(pod, podGroups);
    if (membership.kind === 'unknown') incomplete.set(pod, incompleteBecause(`kube-scheduler does not try it: ${membership.why}`));
    if (membership.kind !== 'gang') continue;
    const known = byGang.get(membership.gang.id);
    if (known === undefined) byGang.set(membership.gang.id, { gang: membership.gang, pods: [pod] });
    else known.pods.push(pod);
  }
  const bound = new RunningGangs(cluster);
  // Once for all gangs: there may be thousands, and as many pods in each of these lists.
  const ignoredOf = Map.groupBy(ignored, ([pod]) => gangIdOf(pod));
  const pendingOf = Map.groupBy(cluster.pendingPods, gangIdOf);
  const gangs: StartingGang[] = [];
  const joined = new Set<Pod>();
  for (const { gang, pods } of byGang.values()) {
    const others = ignoredOf.get(gang.id) ?? [];
    const running = bound.running(gang) + others.filter(([, verdict]) => isIgnoredAs(verdict, 'nominated')).length;
    if (running >= gang.minCount) continue;
    const unseen = others.filter(([pod, verdict]) => pod.status.unseen && isIgnoredAs(verdict, 'not-unschedulable')).map(([pod]) => pod);
    if (running + pods.length + unseen.length >= gang.minCount) {
      for (const pod of unseen) joined.add(pod);
      gangs.push({ gang, pods: [...pods, ...unseen], running });
      continue;
    }
    const pending = pendingOf.get(gang.id)?.length ?? 0;
    const verdict = incompleteBecause(describeIncomplete(gang, { exist: bound.running(gang) + pending, asking: pods.length, running }));
    for (const pod of pods) incomplete.set(pod, verdict);
  }
  if (incomplete.size + joined.size === 0) return { asking, ignored, gangs };
  return {
    asking: [...asking.filter((pod) => !incomplete.has(pod)), ...joined],
    ignored: new Map([...[...ignored].filter(([pod]) => !joined.has(pod)), ...incomplete]),
    gangs,
  };
}

function incompleteBecause(detail: string): PodVerdict {
  return { kind: 'ignored', reason: 'gang-incomplete', detail };
}

interface Counts {
  readonly exist: number;
  readonly asking: number;
  readonly running: number;
}

function describeIncomplete({ title, minCount }: Gang, { exist, asking, running }: Counts): string {
  const needs = `its ${title} starts with ${minCount} pods together`;
  if (exist < minCount) return `${needs}, and ${exist} exist`;
  return `${needs}; ${running} have a place, and ${asking} ask for a node so far`;
}

function isIgnoredAs(verdict: PodVerdict, reason: IgnoredPodReason): boolean {
  return verdict.kind === 'ignored' && verdict.reason === reason;
}

/** As {@link Gang.id}. undefined: it names no group. */
function gangIdOf({ namespace, shape }: Pod): string | undefined {
  return shape.gang === undefined ? undefined : `${namespace}/${shape.gang}`;
}

/** How many pods of the gang have a place with this plan. */
export function placedIn({ verdicts }: Pick<ScaleUpPlan, 'verdicts'>, { pods, running }: StartingGang): number {
  return running + pods.filter((pod) => hasPlace(verdicts.get(pod))).length;
}

function hasPlace(verdict: PodVerdict | undefined): boolean {
  return verdict?.kind === 'triggered' || verdict?.kind === 'fits-present-node' || verdict?.kind === 'fits-upcoming-node';
}
