/** What a refusal means in words and numbers, and the smallest change that would help. For tables and `plan --json`. */
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

export interface Explanation {
  /** The reason's name, from a closed list. */
  readonly reason: string;
  readonly detail: string;
  /** Empty: nothing that a person could change is known to help. */
  readonly fix: string;
}

/** What is known of the group that a reason speaks of. */
type NamedGroup = Pick<NodeGroup, 'id'> & Partial<Pick<NodeGroup, 'target'>>;

export function explainSkip(reason: SkipReason, group: NamedGroup | undefined): Explanation {
  const described = { reason: reason.kind, detail: describeSkip(reason) };
  switch (reason.kind) {
    case 'max-size': {
      const size = group?.target?.known === true ? group.target.value : reason.max;
      const detail = `at max ${Math.max(size, reason.max)} of ${reason.max}`;
      return { ...described, detail, fix: `raise max of ${group?.id ?? 'the group'} above ${reason.max}` };
    }
    case 'backoff':
    case 'stockout':
    case 'ramp':
      return { ...described, fix: `wait until ${new Date(reason.untilMs).toISOString()}` };
    case 'probing':
      return { ...described, fix: 'wait for the one node that was asked for' };
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
      return { ...described, fix: `ask Azure for more than ${reason.limit} cores: ${reason.quota}` };
    case 'capacity-quota':
      return {
        ...described,
        detail: `${described.detail} (${reason.exceeded.flatMap(describeShortages).join('; ')})`,
        fix: reason.exceeded.map(({ quota, resources }) => `raise ${resources.join(' and ')} of ${quota}`).join(' and '),
      };
    case 'atomic-limit':
      return {
        ...described,
        fix: `raise the limits of nodes, cores, memory or nodes per scale-up by ${reason.needs - reason.allowed} such nodes`,
      };
    case 'unhealthy':
      return { ...described, fix: 'find out why its nodes are not ready, or raise cluster.okTotalUnreadyCount' };
    case 'no-template':
      return { ...described, fix: 'say what a node of this group offers' };
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

/** Nodes, cores, GiB. */
function toLimitUnit(limit: ClusterLimit['limit'], value: number): number {
  return limit === 'memory' ? Math.round((value / 2 ** 30) * 10) / 10 : value;
}

/** Cores of a quota are whole ones. */
function describeShortages({ resources, short }: ExceededQuota): readonly string[] {
  const told = (resource: string, value: number): string => (resource === 'cpu' ? String(value) : formatAmount(resource, value));
  return resources.map((resource, at) => {
    const { left = 0, needs = 0 } = short[at] ?? {};
    return `${told(resource, Math.max(0, left))} ${resource} left, a new node takes ${told(resource, needs)}`;
  });
}

/** What the pod itself lacks is told before what the group lacks: without it no growth would help. */
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
    ? { reason: 'limit-per-scale-up', detail: 'the plan is full', fix: '' }
    : explainSkip(refusal.skip, group ?? { id: refusal.group });
}

function explainFit(reason: FitReason): string {
  switch (reason.kind) {
    case 'insufficient-resource':
      if (isAttachResource(reason.resource))
        return `${describeFit(reason)}: attaches ${reason.requested}, a new node has room for ${Math.max(0, reason.free)}`;
      if (reason.resource === 'pods') return `${describeFit(reason)}: a new node has room for ${Math.max(0, reason.free)} beside its own`;
      if (reason.untold === true) return `how much ${reason.resource} a new node has is not known: no node of the group was seen yet`;
      return `needs ${formatAmount(reason.resource, reason.requested)} ${reason.resource}, a new node has ${formatAmount(reason.resource, Math.max(0, reason.free))} free`;
    case 'topology-spread':
      return `${describeFit(reason)}: ${reason.detail === MISSING_LABEL ? reason.topologyKey : reason.detail}`;
    case 'node-selector-mismatch':
      if (reason.untold !== undefined)
        return `whether a new node has the label ${reason.untold} is not known: no node of the group was seen yet`;
      return `${describeFit(reason)}: ${reason.detail}`;
    case 'pod-affinity':
    case 'volume':
    case 'device':
      return `${describeFit(reason)}: ${reason.detail}`;
    case 'host-port-taken':
      return `host port ${reason.port}/${reason.protocol} is taken on a new node`;
    case 'node-features':
      if (reason.untold === true)
        return `whether a new node declares ${reason.features.join(', ')} is not known: no node of the group was seen yet`;
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
      if (isAttachResource(reason.resource)) return `a node size with at least ${reason.requested} data disks, or fewer volumes`;
      if (reason.resource === 'pods') return 'a larger maxPods of the pool';
      if (reason.untold === true) return `${reason.resource} in a resource tag of the group, or one node of it to learn from`;
      return `a node size with at least ${formatAmount(reason.resource, reason.requested)} ${reason.resource} for pods, or a smaller request`;
    case 'untolerated-taint':
      return `a toleration for ${reason.taint}`;
    case 'node-selector-mismatch':
      if (reason.untold !== undefined) return `${reason.untold} in a label tag of the group, or one node of it to learn from`;
      return 'the labels that the pod asks for on the group, or another selector';
    case 'topology-spread':
      if (reason.detail === MISSING_LABEL) return `the label ${reason.topologyKey} on the group, or another topologyKey`;
      return `a group with nodes in another ${reason.topologyKey}, or a larger maxSkew`;
    case 'pod-affinity':
      return `another rule about ${reason.topologyKey}`;
    case 'node-features':
      return reason.untold === true ? 'one node of the group to learn from' : `nodes whose kubelet declares ${reason.features.join(', ')}`;
    case 'host-port-taken':
      return 'another host port';
    case 'unschedulable':
    case 'volume':
    case 'device':
    case 'unsupported':
      return '';
  }
}

/** Millicores as such, bytes in the largest unit of 1024 that leaves a number above one, other things in ones. */
function formatAmount(resource: string, value: number): string {
  if (resource === 'cpu') return value % 1000 === 0 ? String(value / 1000) : `${value}m`;
  if (resource !== 'memory' && resource !== 'ephemeral-storage' && !resource.startsWith('hugepages-')) return String(value);
  const unit = UNITS.find(([, size]) => value >= size);
  return unit === undefined ? String(value) : `${Math.round((value / unit[1]) * 10) / 10} ${unit[0]}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ['GiB', 2 ** 30],
  ['MiB', 2 ** 20],
  ['KiB', 2 ** 10],
];
