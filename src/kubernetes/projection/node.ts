/** V1 Node JSON to a domain Node. Readiness follows the rules of the Cluster Autoscaler. */
import { DO_NOT_DISRUPT_ANNOTATION, protectionOf, protectionText, type Protection } from '../../domain/annotations.ts';
import { UNREMOVABLE_ANNOTATION } from '../../domain/ports/cluster-writes.ts';
import { type Node, type Preemption, RESOURCE_NOT_READY, type NodeReadiness, UNREMARKABLE } from '../../domain/node.ts';
import { noResources, type ResourceNames, type Resources } from '../../domain/resources.ts';
import {
  DELETION_OWNER_ANNOTATION,
  REIMAGED_ANNOTATION,
  isStartupTaint,
  NOT_READY_TAINT,
  type Taint,
  type TaintEffect,
  NO_TAINT_RULES,
  type TaintRules,
} from '../../domain/taints.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import { timeOf, type ConditionJson, type MetadataJson, type NodeJson, type TaintJson, type Quantities } from '../api/core-json.ts';
import { Interner, StringInterner } from '../watch/interner.ts';

/**
 * Conditions that are true only for preemption, not for other events. The node problem detector of AKS reads scheduled
 * events from the instance metadata service and writes them as node conditions. Their names changed with its versions.
 * The cloud controller reports the same as a taint.
 */
const PREEMPT_CONDITIONS: ReadonlySet<string> = new Set(['PreemptScheduled', 'PreemptionScheduled']);
/** Condition that is true for every kind of event; only its message names the kind. */
const ANY_EVENT = 'VMEventScheduled';
const PREEMPT_MESSAGE = /\bPreempt Scheduled\b/i;
const NOT_BEFORE = /Preempt Scheduled:\s*(\w{3},\s+\d{1,2}\s+\w{3}\s+\d{4}\s+[\d:]{7,8}\s+(?:GMT|UTC))/i;
const DRAINING_TAINT = { key: 'cloudprovider.azure.microsoft.com/draining', value: 'spot-eviction' };
/** The minimum notice that Azure promises. Used if the announcement has no time. */
const LEAST_NOTICE_MS = 30_000;
/** The longest notice that Azure gives for an event of a VM. A time that lies further ahead is no time. */
const LONGEST_NOTICE_MS = 15 * 60_000;

/** Longer memory would only keep nodes that no longer exist. */
const FORGOTTEN_AFTER_MS = 86_400_000;

/**
 * When announcements without a time of their own were first seen. Such taints only keep pods away: Kubernetes writes a
 * time only for those that evict. Only this process knows these times; the next one starts again.
 */
export class NoticesSeen {
  readonly #now: () => number;
  readonly #sinceMs = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns the first sighting for the node's uid. */
  sinceMs(uid: string): number {
    const nowMs = this.#now();
    for (const [other, sinceMs] of this.#sinceMs) if (sinceMs < nowMs - FORGOTTEN_AFTER_MS) this.#sinceMs.delete(other);
    const sinceMs = this.#sinceMs.get(uid) ?? nowMs;
    this.#sinceMs.set(uid, sinceMs);
    return sinceMs;
  }

  /** When something was announced: at that time, or at the first sighting if there is none or if it lies in the future. */
  noticedAtMs(uid: string, time: string | null | undefined): number {
    const atMs = timeOf(time);
    return atMs === undefined || atMs > this.#now() ? this.sinceMs(uid) : atMs;
  }

  /** To be called if nothing is announced for the node any more. */
  forget(uid: string): void {
    this.#sinceMs.delete(uid);
  }
}

/** undefined: nothing was announced. */
export function preemptionOf({ metadata, spec, status }: NodeJson, seen: NoticesSeen): Preemption | undefined {
  const uid = metadata?.uid ?? metadata?.name ?? '';
  const condition = (status?.conditions ?? []).find(announces);
  if (condition !== undefined)
    return announced(condition.type ?? '', seen.noticedAtMs(uid, condition.lastTransitionTime), condition.message);
  const taint = (spec?.taints ?? []).find(isDraining);
  if (taint !== undefined) return announced(`taint ${DRAINING_TAINT.key}`, seen.noticedAtMs(uid, taint.timeAdded), undefined);
  seen.forget(uid);
  return undefined;
}

function announces({ type = '', status, message = '' }: ConditionJson): boolean {
  return status === 'True' && (PREEMPT_CONDITIONS.has(type) || (type === ANY_EVENT && PREEMPT_MESSAGE.test(message)));
}

function isDraining({ key, value }: TaintJson): boolean {
  return key === DRAINING_TAINT.key && value === DRAINING_TAINT.value;
}

function announced(notice: string, noticedAtMs: number, message: string | undefined): Preemption {
  const stated = timeOf(NOT_BEFORE.exec(message ?? '')?.[1]);
  // guard: the deadline of a preemption is not further ahead than any notice of Azure
  const deadlineMs = stated === undefined || stated > noticedAtMs + LONGEST_NOTICE_MS ? noticedAtMs + LEAST_NOTICE_MS : stated;
  return { noticedAtMs, deadlineMs, notice };
}

/** The condition that makes a node unready if it is not True. */
const NEEDED_CONDITION = 'Ready';
/** Conditions that make a node unready if True. Memory and PID pressure are not among them, since they pass. */
const BAD_CONDITIONS: ReadonlySet<string> = new Set(['DiskPressure', 'NetworkUnavailable']);
const BAD_TAINTS: ReadonlySet<string> = new Set([
  NOT_READY_TAINT,
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/network-unavailable',
]);
/** AKS's labels of nodes with GPUs, the current and the former one. */
const GPU_LABELS = ['kubernetes.azure.com/accelerator', 'accelerator'];
/** Prefixes of device resources on such nodes: whole devices, parts and shared ones. */
const GPU_RESOURCES = /^(nvidia\.com|amd\.com|habana\.ai|gpu\.intel\.com|xilinx\.com)\/|^microsoft\.com\/directx$/;
/** An annotation with this prefix asks to wait before the instance is deleted. Its author removes it when done. */
const DELAY_PREFIX = 'delay-deletion.cluster-autoscaler.kubernetes.io/';

/** Everything that the nodes of one reader share. */
export interface NodeProjection {
  readonly names: ResourceNames;
  readonly strings: StringInterner;
  readonly vectors: Interner<Resources>;
  readonly taints: TaintRules;
  readonly notices: NoticesSeen;
  /** Which conditions are kept, as `type=status`. It may change while the process runs: then nodes have it from their next update on. */
  readonly conditions: ReadonlySet<string>;
  /** Called once per node and reason. */
  readonly onUnreadable: (node: string, reason: string) => void;
}

export type NodeProjectionListener = NodeProjection['onUnreadable'];

/** What the configuration says of nodes: taints of nodes that are starting, and the conditions to keep. If these are absent, none is kept. */
export interface NodeRules extends Partial<TaintRules> {
  readonly conditions?: ReadonlySet<string> | undefined;
}

export function createNodeProjection(
  names: ResourceNames,
  onUnreadable: NodeProjectionListener = () => undefined,
  { conditions = new Set(), ...taints }: NodeRules = {},
  /** Milliseconds since the epoch, for announcements without a time. */
  now: () => number = () => 0,
): NodeProjection {
  const reported = new Interner<true>(10_000);
  return {
    names,
    strings: new StringInterner(),
    vectors: new Interner(10_000),
    taints: { ...NO_TAINT_RULES, ...taints },
    notices: new NoticesSeen(now),
    conditions,
    onUnreadable: (node, reason) => {
      reported.of(`${node} ${reason}`, () => {
        onUnreadable(node, reason);
        return true;
      });
    },
  };
}

/**
 * A node whose size cannot be read is unready, has no room and is not removed. One bad node must neither stop the
 * reading of others nor be treated by a guess.
 */
export function projectNode(json: NodeJson, shared: NodeProjection): Node {
  const { metadata = {}, spec = {} } = json;
  const createdAtMs = timeOf(metadata.creationTimestamp) ?? 0;
  const { unreadable, ...sizes } = sizesOf(json, shared);
  const readiness = readinessOf(json, createdAtMs, shared.taints);
  return {
    ...UNREMARKABLE,
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
    suspended: (json.status?.conditions ?? []).some(({ type, status }) => type === 'Suspended' && status === 'True'),
    declaredFeatures: (json.status?.declaredFeatures ?? []).map((feature) => shared.strings.of(feature)),
    ...disabling(metadata, unreadable),
    ...removalNotes(metadata.annotations ?? {}),
    preemption: preemptionOf(json, shared.notices),
    conditions: sickConditionsOf(json, shared, createdAtMs),
  };
}

/** Most nodes are well and keep none. A condition without a time has lasted since the node was created. */
function sickConditionsOf({ status }: NodeJson, { conditions, strings }: NodeProjection, createdAtMs: number): Node['conditions'] {
  const shown = (status?.conditions ?? []).filter((each) => conditions.has(`${each.type ?? ''}=${each.status ?? ''}`));
  return shown.map(({ type = '', status: value = '', reason = '', lastTransitionTime }) => ({
    type: strings.of(type),
    status: strings.of(value),
    reason: strings.of(reason),
    sinceMs: timeOf(lastTransitionTime) ?? createdAtMs,
  }));
}

/** Karpenter's annotation counts too: many runbooks set it. */
function disabling(
  { annotations = {}, creationTimestamp }: MetadataJson,
  unreadable: string | undefined,
): Partial<Protection> & Pick<Node, 'scaleDownDisabled'> & Partial<Pick<Node, 'disabledBecause'>> {
  if (unreadable !== undefined) return { scaleDownDisabled: true, disabledBecause: unreadable };
  if (annotations['cluster-autoscaler.kubernetes.io/scale-down-disabled'] === 'true') return { scaleDownDisabled: true };
  const protection = protectionOf(annotations[DO_NOT_DISRUPT_ANNOTATION], timeOf(creationTimestamp));
  if (protection === undefined) return { scaleDownDisabled: false };
  return { scaleDownDisabled: true, disabledBecause: protectionText(protection), ...protection };
}

/** Who removes the node, and who asks to wait with it. */
function removalNotes(
  annotations: Readonly<Record<string, string>>,
): Pick<Node, 'delayDeletion' | 'deletionOwner' | 'reimagedAtMs' | 'unremovableNote'> {
  const reimaged = annotations[REIMAGED_ANNOTATION] ?? '';
  const asking = Object.keys(annotations).filter((key) => key.startsWith(DELAY_PREFIX));
  return {
    delayDeletion: asking.map((key) => key.slice(DELAY_PREFIX.length)).sort(),
    unremovableNote: annotations[UNREMOVABLE_ANNOTATION],
    deletionOwner: annotations[DELETION_OWNER_ANNOTATION] ?? '',
    reimagedAtMs: /^\d{1,12}$/.test(reimaged) ? Number(reimaged) * 1000 : undefined,
  };
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

/** `sinceMs` is the newest change among the conditions and taints read. If none has a time, it is the node's creation. */
export function readinessOf(json: NodeJson, createdAtMs: number, rules = NO_TAINT_RULES): NodeReadiness {
  const conditions = (json.status?.conditions ?? []).filter(({ type = '' }) => type === NEEDED_CONDITION || BAD_CONDITIONS.has(type));
  // A node with a startup taint is still being set up, whatever its kubelet reports.
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

/** Whether the node is labelled as a GPU node but offers none: its device plugin has not started, or has stopped. */
function lacksDevices({ metadata, status }: NodeJson): boolean {
  if (!GPU_LABELS.some((label) => (metadata?.labels?.[label] ?? '') !== '')) return false;
  return !Object.entries(status?.allocatable ?? {}).some(([name, amount]) => GPU_RESOURCES.test(name) && String(amount) !== '0');
}

/**
 * Volumes that are attached to the node or mounted there. kube-controller-manager writes the first list and takes a volume off it when it begins to
 * detach it; the kubelet writes the second and takes a volume off it once it is unmounted.
 */
export function volumesOf({ status }: NodeJson): readonly string[] {
  const attached = (status?.volumesAttached ?? []).flatMap(({ name }) => (name === undefined ? [] : [name]));
  return [...new Set([...attached, ...(status?.volumesInUse ?? [])])].sort();
}
