/**
 * A fit reason and a skip reason in words, for events, conditions and tables. Beginnings are those of kube-scheduler and the
 * Cluster Autoscaler, since alerts and searches match on them. Must not know plans or groups.
 */
import { EVICTION_WAVE } from '../state/stockouts.ts';
import { MIN_ON_DEMAND_ANNOTATION } from '../../domain/annotations.ts';
import { MISSING_LABEL, type ClusterLimit, type FitReason, type GangShortfall, type SkipReason } from '../../domain/reasons.ts';
import { isAttachResource } from '../../domain/resources.ts';
import { describeDifference } from './template-differences.ts';

/** The reason in kube-scheduler's own words. */
export function describeFit(reason: FitReason): string {
  switch (reason.kind) {
    case 'insufficient-resource':
      return describeShortage(reason.resource);
    case 'untolerated-taint':
      return 'node(s) had untolerated taint(s)';
    case 'node-selector-mismatch':
      return "node(s) didn't match Pod's node affinity/selector";
    case 'host-port-taken':
      return "node(s) didn't have free ports for the requested pod ports";
    case 'unschedulable':
      return 'node(s) were unschedulable';
    case 'node-features':
      return "node(s) didn't match Pod's required features";
    case 'on-demand-share':
      return `node(s) were Spot, and ${MIN_ON_DEMAND_ANNOTATION} keeps the Pod on regular nodes`;
    case 'topology-spread':
      return `node(s) didn't match pod topology spread constraints${reason.detail === MISSING_LABEL ? ` (${MISSING_LABEL})` : ''}`;
    case 'pod-affinity':
      if (reason.rule === 'repelled') return "node(s) didn't satisfy existing pods anti-affinity rules";
      return `node(s) didn't match pod ${reason.rule} rules`;
    case 'volume':
    case 'device':
      return reason.message;
    case 'unsupported':
      return `unsupported ${reason.feature}: ${reason.detail}`;
  }
}

/** A lack of one resource, in kube-scheduler's words. */
function describeShortage(resource: string): string {
  if (resource === 'pods') return 'Too many pods';
  return isAttachResource(resource) ? 'node(s) exceed max volume count' : `Insufficient ${resource}`;
}

/** A limit of the cluster; the one for nodes in the words of the Cluster Autoscaler's event. */
function describeLimit({ limit, value }: ClusterLimit): string {
  if (limit === 'nodes') return `max total nodes in cluster reached (${value})`;
  return `cluster limit of ${limit === 'memory' ? `${Math.round(value / 2 ** 30)} GiB of memory` : `${value} cores`} reached`;
}

/** A node inside reserved capacity would need no quota. */
function describeReservation(reservation: Extract<SkipReason, { kind: 'quota' }>['reservation']): string {
  if (reservation === undefined) return '';
  const { group, reserved, used, unknown } = reservation;
  return unknown === undefined
    ? `; of capacity reservation group ${group}, ${Math.min(used, reserved)} of ${reserved} reserved VMs are in use`
    : `; what capacity reservation group ${group} reserves is unknown: ${unknown}`;
}

/** Why a group did not grow. */
export function describeSkip(reason: SkipReason): string {
  switch (reason.kind) {
    case 'frozen':
      return `node group is frozen: ${reason.detail}`;
    case 'last-resort':
      return reason.detail;
    case 'unhealthy':
      return `not ready for scale-up: ${reason.detail}`;
    case 'backoff':
      return `in backoff after failed scale-up (${reason.cause})`;
    case 'stockout':
      return reason.code === EVICTION_WAVE ? 'Azure just took back Spot nodes of its size' : `out of capacity in Azure (${reason.code})`;
    case 'target-unknown':
      return `target size is unknown: ${reason.detail}`;
    case 'max-size':
      return 'max node group size reached';
    case 'pool-limit':
      return `AKS allows at most ${reason.limit} nodes in one agent pool`;
    case 'ramp':
      return `at its rate limit: ${reason.perMinute} nodes per minute`;
    case 'probing':
      return `out of capacity in Azure a while ago (${reason.code}): one node is tried first`;
    case 'trial':
      return `its last node was not as promised, one node is tried first: ${describeDifference(reason.difference)}`;
    case 'no-template':
      return 'no node template';
    case 'cluster-limit':
      return [reason, ...(reason.also ?? [])].map(describeLimit).join(' and ');
    case 'quota':
      return `quota reached: ${reason.quota} has ${reason.used} of ${reason.limit} cores in use, a new node needs ${reason.needs}${describeReservation(reason.reservation)}`;
    case 'capacity-quota':
      return reason.exceeded.map(({ quota, resources }) => `exceeded quota: "${quota}", resources: ${resources.join(', ')}`).join('; ');
    case 'atomic-limit':
      return `atomic scale-up exceeds cluster node count limit: needs ${reason.needs} nodes, ${reason.allowed} are allowed`;
    case 'no-pod-fits':
      return 'none of the remaining pods fits';
    case 'not-judged':
      return 'not evaluated: planning time ran out';
    case 'not-chosen':
      return `not chosen by ${reason.expander}`;
  }
}

/** `pod group train starts with 4 pods together, and 3 have a place`. */
export function describeShortfall({ title, needs, placed }: GangShortfall): string {
  return `${title} starts with ${needs} pods together, and ${placed} ${placed === 1 ? 'has' : 'have'} a place`;
}
