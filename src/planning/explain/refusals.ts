/**
 * Why a node group does not take a pod, in words and numbers. For events, tables and `plan --json`. Must not know how a plan was
 * made, or what would help.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import type { ClusterLimit, ExceededQuota, GroupRefusal, SkipReason } from '../../domain/reasons.ts';
import { formatAmount } from './amounts.ts';
import { describeSkip } from './describe-reasons.ts';
import { asOneReason, explainFit } from './obstacles.ts';
import { describeDifference } from './template-differences.ts';
import { describeSource } from '../../domain/schedule-rules.ts';

interface Explanation {
  /** The name of the first reason, one of a closed list. */
  readonly reason: string;
  readonly detail: string;
}

/** The group that a reason is about, as far as it is known. */
type NamedGroup = Pick<NodeGroup, 'id'> & Partial<Pick<NodeGroup, 'target' | 'schedule'>>;

export function explainSkip(reason: SkipReason, group: NamedGroup | undefined): Explanation {
  return { reason: reason.kind, detail: asOneReason(detailOf(reason, group)) };
}

/** Which rule of a schedule sets the maximum, if one does. */
function byRule(group: NamedGroup | undefined): string {
  const said = group?.schedule?.max;
  return said === undefined ? '' : `, by ${describeSource(said.rule)}`;
}

function detailOf(reason: SkipReason, group: NamedGroup | undefined): string {
  const described = describeSkip(reason);
  switch (reason.kind) {
    case 'max-size': {
      const size = group?.target?.known === true ? group.target.value : reason.max;
      return size > reason.max
        ? `above its maximum (${size} nodes, the maximum is ${reason.max})`
        : `at its maximum (${reason.max} of ${reason.max} nodes${byRule(group)})`;
    }
    case 'cluster-limit':
      return `${described}: ${[reason, ...(reason.also ?? [])].map(describeUsage).join(', and ')}`;
    case 'capacity-quota':
      return `${described} (${reason.exceeded.flatMap(describeShortages).join(', and ')})`;
    default:
      return described;
  }
}

function describeUsage({ limit, value, used, needs }: ClusterLimit): string {
  return `${toLimitUnit(limit, used)} of ${toLimitUnit(limit, value)} ${limit === 'memory' ? 'GiB of memory' : limit} in use, a new node takes ${toLimitUnit(limit, needs)}`;
}

/** In nodes, cores or GiB. */
function toLimitUnit(limit: ClusterLimit['limit'], value: number): number {
  return limit === 'memory' ? Math.round((value / 2 ** 30) * 10) / 10 : value;
}

/** A quota counts whole cores, not millicores. */
function describeShortages({ resources, short }: ExceededQuota): readonly string[] {
  const format = (resource: string, value: number): string => (resource === 'cpu' ? String(value) : formatAmount(resource, value));
  return resources.map((resource, at) => {
    const { left = 0, needs = 0 } = short[at] ?? {};
    return `${format(resource, Math.max(0, left))} ${resource} left, a new node takes ${format(resource, needs)}`;
  });
}

/**
 * Every obstacle between a pod and a new node of the group. Those of the pod come before that of the group: while the pod fits no
 * node, a larger group does not help.
 */
export function explainRefusal(
  { fit = [], skip, corrected, group: id }: GroupRefusal,
  group: NodeGroup | undefined,
): Explanation & { readonly obstacles: readonly string[] } {
  const stop = skip === undefined ? undefined : explainSkip(skip, group ?? { id });
  const learned = corrected === undefined ? [] : [describeDifference(corrected)];
  const obstacles = [...new Set([...fit.map(explainFit), ...learned, ...(stop === undefined ? [] : [stop.detail])])];
  const all = obstacles.length === 0 ? [LIMIT_PER_SCALE_UP] : obstacles;
  return { reason: fit[0]?.kind ?? stop?.reason ?? 'limit-per-scale-up', detail: all.join('; '), obstacles: all };
}

const LIMIT_PER_SCALE_UP = 'the limit of nodes per scale-up is reached';
