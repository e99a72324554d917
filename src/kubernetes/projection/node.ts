/** V1 Node JSON to a domain Node, with readiness judged as the Cluster Autoscaler judges it. */
import { type Node, RESOURCE_NOT_READY, type NodeReadiness } from '../../domain/node.ts';
import { noResources, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { isStartupTaint, NOT_READY_TAINT, type Taint, type TaintEffect, type TaintRules } from '../../domain/taints.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { timeOf, type ConditionJson, type NodeJson, type TaintJson, type Quantities } from '../api/core-json.ts';
import { Interner, StringInterner } from '../watch/interner.ts';

// Whether the platform has announced that it takes a node's machine back. On AKS the node problem detector asks the
// machine's metadata service for scheduled events and writes what it hears as a node condition, whose name has changed
// with its versions; the cloud controller keeps the same news as a taint.

/** True of a machine that is taken back, and of no other event. */
const PREEMPT_CONDITIONS: ReadonlySet<string> = new Set(['PreemptScheduled', 'PreemptionScheduled']);
/** True for every kind of event; only the message tells which. */
const ANY_EVENT = 'VMEventScheduled';
const PREEMPT_MESSAGE = /\bPreempt Scheduled\b/i;
const NOT_BEFORE = /Preempt Scheduled:\s*(\w{3},\s+\d{1,2}\s+\w{3}\s+\d{4}\s+[\d:]{7,8}\s+(?:GMT|UTC))/i;
const DRAINING_TAINT = { key: 'cloudprovider.azure.microsoft.com/draining', value: 'spot-eviction' };
/** What Azure promises at least. Used where the notice does not say when. */
const LEAST_NOTICE_MS = 30_000;

/** Who remembers longer than this remembers nodes that went. */
const FORGOTTEN_AFTER_MS = 86_400_000;

/**
 * When announcements without a time of their own were first seen: taints that only keep pods away have none, as Kubernetes
 * writes one only where it evicts. Known to one process; the next one counts anew.
 */
export class NoticesSeen {
  readonly #now: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** By the node's uid. */
  sinceMs(uid: string): number {
    const nowMs = this.#now();
    for (const [other, sinceMs] of this.#sinceMs) if (sinceMs < nowMs - FORGOTTEN_AFTER_MS) this.#sinceMs.delete(other);
    const sinceMs = this.#sinceMs.get(uid) ?? nowMs;
    this.#sinceMs.set(uid, sinceMs);
    return sinceMs;
  }

  /** Nothing is announced of the node (any more). */
  forget(uid: string): void {
    this.#sinceMs.delete(uid);
  }
}

/** Empty when nothing was announced. */
export function preemptionOf({ metadata, spec, status }: NodeJson, seen: NoticesSeen): Pick<Node, 'preemption'> {
  const uid = metadata?.uid ?? metadata?.name ?? '';
  const condition = (status?.conditions ?? []).find(announces);
  const noticedAtMs = (time: string | null | undefined): number => timeOf(time) ?? seen.sinceMs(uid);
  if (condition !== undefined) return announced(condition.type ?? '', noticedAtMs(condition.lastTransitionTime), condition.message);
  const taint = (spec?.taints ?? []).find(isDraining);
  if (taint !== undefined) return announced(`taint ${DRAINING_TAINT.key}`, noticedAtMs(taint.timeAdded), undefined);
  seen.forget(uid);
  return {};
}

function announces({ type = '', status, message = '' }: ConditionJson): boolean {
  return status === 'True' && (PREEMPT_CONDITIONS.has(type) || (type === ANY_EVENT && PREEMPT_MESSAGE.test(message)));
}

function isDraining({ key, value }: TaintJson): boolean {
  return key === DRAINING_TAINT.key && value === DRAINING_TAINT.value;
}

function announced(notice: string, noticedAtMs: number, message: string | undefined): Pick<Node, 'preemption'> {
  const stated = timeOf(NOT_BEFORE.exec(message ?? '')?.[1]);
  return { preemption: { noticedAtMs, deadlineMs: stated ?? noticedAtMs + LEAST_NOTICE_MS, notice } };
}

/** Bad when not True. */
const NEEDED_CONDITION = 'Ready';
/** Bad when True. Memory and PID pressure are not among them: they pass. */
const BAD_CONDITIONS: ReadonlySet<string> = new Set(['DiskPressure', 'NetworkUnavailable']);
const BAD_TAINTS: ReadonlySet<string> = new Set([
  NOT_READY_TAINT,
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/network-unavailable',
]);
/** AKS's labels of nodes with GPUs, the present one and the former. */
const GPU_LABELS = ['kubernetes.azure.com/accelerator', 'accelerator'];
/** Who names the devices of such nodes: whole ones, parts and shared ones. */
const GPU_RESOURCES = /^(nvidia\.com|amd\.com|habana\.ai|gpu\.intel\.com|xilinx\.com)\/|^microsoft\.com\/directx$/;
/** Any annotation that begins so asks to wait before the machine is deleted; whoever set it takes it off when done. */
const DELAY_PREFIX = 'delay-deletion.cluster-autoscaler.kubernetes.io/';

/** Everything that is shared between the nodes of one reader. */
export interface NodeProjection {
  readonly names: ResourceNames;
  readonly strings: StringInterner;
  readonly vectors: Interner<Resources>;
  readonly taints: TaintRules;
  readonly notices: NoticesSeen;
  /** Told once of each node and reason. */
  readonly onUnreadable: (node: string, reason: string) => void;
}

export type NodeProjectionListener = NodeProjection['onUnreadable'];

export function createNodeProjection(
  names: ResourceNames,
  onUnreadable: NodeProjectionListener = () => undefined,
  taints: TaintRules = {},
  /** Milliseconds since the epoch, for what is announced without a time. */
  now: () => number = () => 0,
): NodeProjection {
  const told = new Interner<true>(10_000);
  return {
    names,
    strings: new StringInterner(),
    vectors: new Interner(10_000),
    taints,
    notices: new NoticesSeen(now),
    onUnreadable: (node, reason) => {
      told.of(`${node} ${reason}`, () => {
        onUnreadable(node, reason);
        return true;
      });
    },
  };
}

/**
 * A node whose size cannot be read is not ready, has room for nothing and is not removed: one bad node must neither stop
 * the reading of the others nor be judged by a guess.
 */
export function projectNode(json: NodeJson, shared: NodeProjection): Node {
  const { metadata = {}, spec = {} } = json;
  const createdAtMs = timeOf(metadata.creationTimestamp) ?? 0;
  const { unreadable, ...sizes } = sizesOf(json, shared);
  const readiness = readinessOf(json, createdAtMs, shared.taints);
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    providerId: spec.providerID ?? '',
    labels: internLabels(metadata.labels ?? {}, shared.strings),
    taints: (spec.taints ?? []).map((taint) => projectTaint(taint, shared.strings)),
    unschedulable: spec.unschedulable === true,
    createdAtMs,
    deletionAtMs: timeOf(metadata.deletionTimestamp),
    ...sizes,
    readiness: unreadable === undefined ? readiness : { ...readiness, ready: false, reason: joined(unreadable, readiness.reason) },
    ...((json.status?.conditions ?? []).some(({ type, status }) => type === 'Suspended' && status === 'True') ? { suspended: true } : {}),
    ...declared(json, shared.strings),
    ...disabling(metadata.annotations ?? {}, unreadable),
    ...delays(metadata.annotations ?? {}),
    ...preemptionOf(json, shared.notices),
  };
}

function declared({ status }: NodeJson, strings: StringInterner): Pick<Node, 'declaredFeatures'> {
  const features = status?.declaredFeatures ?? [];
  return features.length === 0 ? {} : { declaredFeatures: features.map((feature) => strings.of(feature)) };
}

/** Karpenter's word for nodes is heeded, too: many a runbook sets that one. */
function disabling(
  annotations: Readonly<Record<string, string>>,
  unreadable: string | undefined,
): Pick<Node, 'scaleDownDisabled' | 'disabledBecause'> {
  if (unreadable !== undefined) return { scaleDownDisabled: true, disabledBecause: unreadable };
  if (annotations['cluster-autoscaler.kubernetes.io/scale-down-disabled'] === 'true') return { scaleDownDisabled: true };
  if (annotations['karpenter.sh/do-not-disrupt'] !== 'true') return { scaleDownDisabled: false };
  return { scaleDownDisabled: true, disabledBecause: 'karpenter.sh/do-not-disrupt: "true"' };
}

function delays(annotations: Readonly<Record<string, string>>): Pick<Node, 'delayDeletion'> {
  const asking = Object.keys(annotations).filter((key) => key.startsWith(DELAY_PREFIX));
  return asking.length === 0 ? {} : { delayDeletion: asking.map((key) => key.slice(DELAY_PREFIX.length)).sort() };
}

interface Sizes {
  readonly capacity: Resources;
  readonly allocatable: Resources;
  readonly unreadable: string | undefined;
}

function sizesOf({ metadata, status }: NodeJson, shared: NodeProjection): Sizes {
  try {
    const capacity = vector(status?.capacity ?? {}, shared);
    return { capacity, allocatable: vector(status?.allocatable ?? status?.capacity ?? {}, shared), unreadable: undefined };
  } catch (thrown) {
    if (!(thrown instanceof AutoscalerError) || thrown.kind !== 'config') throw thrown;
    const unreadable = `its size cannot be read: ${thrown.message}`;
    shared.onUnreadable(metadata?.name ?? '', unreadable);
    return { capacity: noResources(), allocatable: noResources(), unreadable };
  }
}

function joined(first: string, rest: string): string {
  return rest === '' ? first : `${first}; ${rest}`;
}

function vector(quantities: Quantities, shared: NodeProjection): Resources {
  return shared.vectors.of(JSON.stringify(quantities), () => shared.names.parse(quantities));
}

function internLabels(labels: Readonly<Record<string, string>>, strings: StringInterner): Readonly<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(labels)) result[strings.of(key)] = strings.of(value);
  return result;
}

function projectTaint(json: TaintJson, strings: StringInterner): Taint {
  return { key: strings.of(json.key ?? ''), value: strings.of(json.value ?? ''), effect: (json.effect ?? 'NoSchedule') as TaintEffect };
}

/** `sinceMs` is the newest change among what was looked at; the node's creation when nothing says a time. */
export function readinessOf(json: NodeJson, createdAtMs: number, rules: TaintRules = {}): NodeReadiness {
  const conditions = (json.status?.conditions ?? []).filter(({ type = '' }) => type === NEEDED_CONDITION || BAD_CONDITIONS.has(type));
  // A node that still carries a startup taint is being set up, whatever its kubelet says.
  const taints = (json.spec?.taints ?? []).filter(({ key = '' }) => BAD_TAINTS.has(key) || isStartupTaint(key, rules));
  const ready = conditions.find(({ type }) => type === NEEDED_CONDITION);
  const reasons = [
    ...(ready === undefined ? ['has no Ready condition'] : []),
    ...(ready !== undefined && ready.status !== 'True' ? [`Ready=${ready.status ?? ''}: ${ready.reason ?? ''}`] : []),
    ...conditions
      .filter(({ type, status }) => type !== NEEDED_CONDITION && status === 'True')
      .map(({ type = '', reason = '' }) => `${type}: ${reason}`),
    ...taints.map(({ key = '' }) => `taint ${key}`),
    ...(lacksDevices(json) ? [RESOURCE_NOT_READY] : []),
  ];
  const times = [
    ...conditions.map(({ lastTransitionTime }) => timeOf(lastTransitionTime)),
    ...taints.map(({ timeAdded }) => timeOf(timeAdded)),
  ];
  const newest = times.reduce<number>((latest, time) => Math.max(latest, time ?? 0), 0);
  return { ready: reasons.length === 0, sinceMs: newest === 0 ? createdAtMs : newest, reason: reasons.join('; ') };
}

/** Labelled as a node with GPUs, and none can be had: its device plugin has not come up, or has gone. */
function lacksDevices({ metadata, status }: NodeJson): boolean {
  if (!GPU_LABELS.some((label) => (metadata?.labels?.[label] ?? '') !== '')) return false;
  return !Object.entries(status?.allocatable ?? {}).some(([name, amount]) => GPU_RESOURCES.test(name) && String(amount) !== '0');
}
