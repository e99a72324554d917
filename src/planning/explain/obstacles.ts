/**
 * One reason against a pod on a new node in words and numbers, with both sides of each comparison. No such text contains a
 * semicolon: it separates the reasons of one pool.
 */
import { MIN_ON_DEMAND_ANNOTATION } from '../../domain/annotations.ts';
import type { FitReason, LabelGap } from '../../domain/reasons.ts';
import { MISSING_LABEL } from '../../domain/reasons.ts';
import { isAttachResource } from '../../domain/resources.ts';
import { describeNeed } from './amounts.ts';
import { describeFit } from './describe-reasons.ts';

/** A semicolon in a text of another system would look like the next reason. */
export function asOneReason(text: string): string {
  return text.replaceAll(/;\s*/g, ', ').replace(/,\s*$/, '');
}

export function explainFit(reason: FitReason): string {
  return asOneReason(sentenceOf(reason));
}

/** The same without what differs from pool to pool: the value of a label that the pod does not want. */
export function explainFitOfMany(reason: FitReason): string {
  if (reason.kind !== 'node-selector-mismatch' || reason.gaps === undefined) return explainFit(reason);
  const gaps = reason.gaps.map((gap) => (gap.found === undefined ? gap : { ...gap, found: ANY }));
  return explainFit({ ...reason, gaps });
}

/** No label has this value. */
const ANY = '*';

function sentenceOf(reason: FitReason): string {
  switch (reason.kind) {
    case 'insufficient-resource':
      return describeShortResource(reason);
    case 'untolerated-taint':
      return `taint ${reason.taint} is not tolerated`;
    case 'node-selector-mismatch':
      return describeMismatch(reason);
    case 'topology-spread':
      return `${describeFit(reason)}: ${reason.detail === MISSING_LABEL ? reason.topologyKey : reason.detail}`;
    case 'pod-affinity':
    case 'volume':
    case 'device':
      return `${describeFit(reason)}: ${reason.detail}`;
    case 'host-port-taken':
      return `host port ${reason.port}/${reason.protocol} is already in use on the node`;
    case 'node-features':
      if (reason.unknown === true) return `unknown whether the node declares ${reason.features.join(', ')}: ${UNSEEN}`;
      return `${describeFit(reason)}: ${reason.features.join(', ')}`;
    case 'on-demand-share':
      return `the node is Spot, and the pod is of the share of its workload that stays on regular nodes (${MIN_ON_DEMAND_ANNOTATION}: ${reason.share})`;
    case 'unschedulable':
    case 'unsupported':
      return describeFit(reason);
  }
}

const UNSEEN = 'no node of the group was seen yet';

function describeShortResource({ resource, requested, free, unknown }: Extract<FitReason, { kind: 'insufficient-resource' }>): string {
  if (isAttachResource(resource)) return `needs ${requested} volumes attached, the node has room for ${Math.max(0, free)}`;
  if (resource === 'pods') return `the node has room for ${Math.max(0, free)} pods besides its DaemonSet and static pods`;
  if (unknown === true) return `unknown how much ${resource} the node has: ${UNSEEN}`;
  return describeNeed(resource, requested, free);
}

function describeMismatch({ unknown, gaps = [], detail }: Extract<FitReason, { kind: 'node-selector-mismatch' }>): string {
  if (unknown !== undefined) return `unknown whether the node has the label ${unknown}: ${UNSEEN}`;
  return gaps.length === 0 ? detail : gaps.map(describeGap).join(' and ');
}

/** Names of nodes that do not exist yet: a new node never has the one that the pod names. */
const NAME_KEYS: ReadonlySet<string> = new Set(['metadata.name', 'kubernetes.io/hostname']);

/** AKS labels the nodes of each pool with its name. */
const POOL_KEYS: ReadonlySet<string> = new Set(['agentpool', 'kubernetes.azure.com/agentpool']);

function describeGap({ key, operator, values, found }: LabelGap): string {
  if (NAME_KEYS.has(key)) return `needs a node that ${operator === 'NotIn' ? 'is not' : 'is'} ${values.join(' or ')}`;
  if (POOL_KEYS.has(key) && operator === 'In') return `the pod selects pool ${values.join(' or ')}`;
  const has =
    found === undefined ? 'the node does not have it' : found === ANY ? 'the nodes have other values' : `the node has ${key}=${found}`;
  const listed = values.join(' or ');
  switch (operator) {
    case 'In':
      return `needs the label ${key}=${listed}, ${has}`;
    case 'NotIn':
      return `needs another value of ${key} than ${listed}, ${has}`;
    case 'Exists':
      return `needs a label ${key}, ${has}`;
    case 'DoesNotExist':
      return `needs a node without the label ${key}, ${has}`;
    case 'Gt':
    case 'Lt':
      return `needs ${key} ${operator === 'Gt' ? 'above' : 'below'} ${listed}, ${has}`;
  }
}
