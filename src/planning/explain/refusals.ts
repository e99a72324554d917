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
import { describeFit, describeSkip } from './describe-reasons.ts';

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
  const described = { reason: reason.kind, detail: describeSkip(reason) };
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
      const detail = `${described.detail}: ${limits.map(describeUsage).join('; ')}`;
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
        detail: `${described.detail} (${reason.exceeded.flatMap(describeShortages).join('; ')})`,
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

/** A reason of the pod comes before a reason of the group: while the pod fits no node, a larger group does not help. */
export function explainRefusal(refusal: GroupRefusal, group: NodeGroup | undefined): Explanation {
  const [fit] = refusal.fit ?? [];
  if (fit !== undefined) {
    const details = (refusal.fit ?? []).map(explainFit);
    return {
      reason: fit.kind,
      detail: details.join('; '),
      fix: [...new Set((refusal.fit ?? []).map(fixForFit))].filter((text) => text !== '').join('; '),
    };
  }
  return refusal.skip === undefined
    ? { reason: 'limit-per-scale-up', detail: 'the limit of nodes per scale-up is reached', fix: '' }
    : explainSkip(refusal.skip, group ?? { id: refusal.group });
}

function explainFit(reason: FitReason): string {
  switch (reason.kind) {
    case 'insufficient-resource':
      if (isAttachResource(reason.resource))
        return `${describeFit(reason)}: needs ${reason.requested} volumes attached, a new node has room for ${Math.max(0, reason.free)}`;
      if (reason.resource === 'pods')
        return `${describeFit(reason)}: a new node has room for ${Math.max(0, reason.free)} besides its DaemonSet and static pods`;
      if (reason.untold === true) return `unknown how much ${reason.resource} a new node has: no node of the group was seen yet`;
      return `needs ${formatAmount(reason.resource, reason.requested)} ${reason.resource}, a new node has ${formatAmount(reason.resource, Math.max(0, reason.free))} free`;
    case 'topology-spread':
      return `${describeFit(reason)}: ${reason.detail === MISSING_LABEL ? reason.topologyKey : reason.detail}`;
    case 'node-selector-mismatch':
      if (reason.untold !== undefined)
        return `unknown whether a new node has the label ${reason.untold}: no node of the group was seen yet`;
      return `${describeFit(reason)}: ${reason.detail}`;
    case 'pod-affinity':
    case 'volume':
    case 'device':
      return `${describeFit(reason)}: ${reason.detail}`;
    case 'host-port-taken':
      return `host port ${reason.port}/${reason.protocol} is already in use on a new node`;
    case 'node-features':
      if (reason.untold === true)
        return `unknown whether a new node declares ${reason.features.join(', ')}: no node of the group was seen yet`;
      return `${describeFit(reason)}: ${reason.features.join(', ')}`;
    case 'untolerated-taint':
      return `${describeFit(reason)}: ${reason.taint}`;
    case 'unschedulable':
    case 'unsupported':
      return describeFit(reason);
  }
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

/** Formats CPU in cores, bytes in the largest binary unit with a value of at least one, the rest in ones. */
function formatAmount(resource: string, value: number): string {
  if (resource === 'cpu') return String(value / 1000);
  if (resource !== 'memory' && resource !== 'ephemeral-storage' && !resource.startsWith('hugepages-')) return String(value);
  const unit = UNITS.find(([, size]) => value >= size);
  return unit === undefined ? String(value) : `${Math.round((value / unit[1]) * 10) / 10} ${unit[0]}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];
