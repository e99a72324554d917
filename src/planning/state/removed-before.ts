import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPolicy } from '../../domain/policy.ts';
import { TO_BE_DELETED_TAINT, hasTaint } from '../../domain/taint.ts';
import { writtenAtMs } from './marks.ts';

type Rules = Pick<ScaleDownPolicy, 'maxRemovalsPerWindow' | 'removalWindowMs'>;

/**
 * When the process before this one began removals within the window, as far as it can be known, milliseconds since the epoch,
 * oldest first. Marks tell of nodes that are still there, and machines that are going of others. Of what has gone nothing is
 * left: up to half of what a window allows is taken as spent just now, so that restarts, however many, do not each begin
 * with a whole window, and one restart does not stop removals.
 */
export function removedBefore(observation: Observation, rules: Rules): readonly number[] {
  const { nowMs, cluster } = observation;
  const seen = [...marked(observation, rules), ...Array.from({ length: going(observation) }, () => nowMs)];
  const half = Math.min(Math.floor(rules.maxRemovalsPerWindow / 2), cluster.nodes.size);
  const assumed = Array.from({ length: Math.max(0, half - seen.length) }, () => nowMs);
  return [...seen, ...assumed].sort((left, right) => left - right);
}

/** Begun when the mark says so; one that says nothing that can be read, now. */
function marked({ cluster, nowMs }: Observation, { removalWindowMs }: Rules): readonly number[] {
  const begun: number[] = [];
  for (const { taints } of cluster.nodes.values()) {
    if (!hasTaint(taints, TO_BE_DELETED_TAINT)) continue;
    const atMs = Math.min(nowMs, writtenAtMs(taints) ?? nowMs);
    if (atMs > nowMs - removalWindowMs) begun.push(atMs);
  }
  return begun;
}

/** Machines that are being deleted and are no node, or no marked one. */
function going({ cloud, cluster }: Observation): number {
  const counted = new Set<string>();
  for (const [name, key] of cloud.instanceOfNode) {
    const isMarked = cluster.nodes.get(name)?.taints.some((taint) => taint.key === TO_BE_DELETED_TAINT) === true;
    if (isMarked) counted.add(key);
  }
  const instances = cloud.groups.flatMap((group) => group.instances ?? []);
  return instances.filter(({ key, state }) => state === 'deleting' && !counted.has(key)).length;
}
