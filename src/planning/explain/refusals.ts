/**
 * Why a node group does not take a pod, in words and numbers, and the smallest change that would help. For events, tables and
 * `plan --json`. Must not know how a plan was made.
 */
import type { NodeGroup } from '../../domain/node-group.ts';
import {
  type ClusterLimit,
  type ExceededQuota,
  type FitReason,
  type GroupRefusal,
  type SkipReason,
  MISSING_LABEL,
} from '../../domain/reasons.ts';
import { isAttachResource } from '../../domain/resources.ts';
import { formatAmount } from './amounts.ts';
import { describeSkip } from './describe-reasons.ts';
import { asOneReason, explainFit } from './obstacles.ts';

interface Explanation {
  /** The reason's name, one of a closed list. */
  readonly reason: string;
  readonly detail: string;
  /** What a person could change. Empty if nothing is known to help. */
  readonly fix: string;
}

/** The group that a reason is about, as far as it is known. */
type NamedGroup = Pick<NodeGroup, 'id'> & Partial<Pick<NodeGroup, 'target'>>;

export function explainSkip(reason: SkipReason, group: NamedGroup | undefined): Explanation {
  const described = { reason: reason.kind, detail: asOneReason(describeSkip(reason)) };
  switch (reason.kind) {
    case 'max-size': {
      const size = group?.target?.known === true ? group.target.value : reason.max;
      const detail =
        size > reason.max
          ? `above its maximum (${size} nodes, the maximum is ${reason.max})`
          : `at its maximum (${reason.max} of ${reason.max} nodes)`;
      return { ...described, detail, fix: `raise the maximum of ${group?.id ?? 'the group'} above ${reason.max}` };
    }
    case 'backoff':
    case 'stockout':
    case 'ramp':
      return { ...described, fix: `wait until ${new Date(reason.untilMs).toISOString()}` };
    case 'probing':
      return { ...described, fix: 'wait for the one node that was requested' };
    case 'cluster-limit': {
      const limits = [reason, ...(reason.also ?? [])];
      const detail = `${described.detail}: ${limits.map(describeUsage).join(', and ')}`;
      return {
        ...described,
        detail,
        fix: limits.map(({ limit, value }) => `raise ${LIMIT_SETTINGS[limit]} above ${toLimitUnit(limit, value)}`).join(' and '),
      };
    }
    case 'quota':
      return { ...described, fix: `request an Azure quota of more than ${reason.limit} cores for ${reason.quota}` };
    case 'capacity-quota':
      return {
        ...described,
        detail: `${described.detail} (${reason.exceeded.flatMap(describeShortages).join(', and ')})`,
        fix: reason.exceeded.map(({ quota, resources }) => `raise ${resources.join(' and ')} of ${quota}`).join(' and '),
      };
    case 'atomic-limit':
      return {
        ...described,
        fix: `raise the limits for nodes, cores, memory or nodes per scale-up by ${reason.needs - reason.allowed} nodes of this size`,
      };
    case 'unhealthy':
      return { ...described, fix: 'check why its nodes are not ready, or raise cluster.okTotalUnreadyCount' };
    case 'no-template':
      return { ...described, fix: 'describe a node of this group with template tags, or start one node of it' };
    case 'frozen':
    case 'target-unknown':
    case 'no-pod-fits':
    case 'not-judged':
    case 'not-chosen':
      return { ...described, fix: '' };
  }
}

const LIMIT_SETTINGS = { nodes: 'scaleUp.maxNodesTotal', cores: 'scaleUp.maxCoresTotal', memory: 'scaleUp.maxMemoryTotalGib' } as const;

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
export function explainRefusal({ fit = [], skip, group: id }: GroupRefusal, group: NodeGroup | undefined): Explanation {
  const stop = skip === undefined ? undefined : explainSkip(skip, group ?? { id });
  const [first] = fit;
  if (first === undefined) return stop ?? { reason: 'limit-per-scale-up', detail: 'the limit of nodes per scale-up is reached', fix: '' };
  const details = [...fit.map(explainFit), ...(stop === undefined ? [] : [stop.detail])];
  const fixes = [...fit.map(fixForFit), stop?.fix ?? ''];
  return {
    reason: first.kind,
    detail: [...new Set(details)].join('; '),
    fix: [...new Set(fixes)].filter((text) => text !== '').join(' and '),
  };
}

function fixForFit(reason: FitReason): string {
  switch (reason.kind) {
    case 'insufficient-resource':
      if (isAttachResource(reason.resource)) return `use a VM size with at least ${reason.requested} data disks, or fewer volumes`;
      if (reason.resource === 'pods') return 'raise maxPods of the pool';
      if (reason.untold === true) return `state ${reason.resource} in a resource tag of the group, or start one node of it`;
      return `use a VM size with at least ${formatAmount(reason.resource, reason.requested)} ${reason.resource} allocatable, or reduce the request`;
    case 'untolerated-taint':
      return `add a toleration for ${reason.taint} to the pod`;
    case 'node-selector-mismatch':
      if (reason.untold !== undefined) return `state ${reason.untold} in a label tag of the group, or start one node of it`;
      return 'add the labels that the pod selects to the group, or change the selector';
    case 'topology-spread':
      if (reason.detail === MISSING_LABEL) return `add the label ${reason.topologyKey} to the group, or use another topologyKey`;
      return `add a group with nodes in another ${reason.topologyKey}, or raise maxSkew`;
    case 'pod-affinity':
      return `change the pod affinity rule for ${reason.topologyKey}`;
    case 'node-features':
      return reason.untold === true ? 'start one node of the group' : `use nodes whose kubelet declares ${reason.features.join(', ')}`;
    case 'host-port-taken':
      return 'use another host port';
    case 'unschedulable':
    case 'volume':
    case 'device':
    case 'unsupported':
      return '';
  }
}
