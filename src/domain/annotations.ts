/** What annotations of pods and nodes say to the autoscaler. Must not know what follows from it. */
import { parseDurationMs } from '../lib/duration.ts';
import { shownText } from '../lib/shown-text.ts';

// Karpenter's annotation `karpenter.sh/do-not-disrupt` of pods and nodes. `true` protects without end, a duration until that long after the
// start of the pod, or the creation of the node, and `false` not at all. A value that cannot be read protects, since its author asked for
// protection. Source: Karpenter's documentation of disruption, pod-level controls, from v1.12 on.

export const DO_NOT_DISRUPT_ANNOTATION = 'karpenter.sh/do-not-disrupt';

/** What an annotation that protects says. */
export interface Protection {
  /** Its value. */
  readonly protectedBy: string;
  /** Milliseconds since the epoch. undefined: no end is known. */
  readonly protectedUntilMs: number | undefined;
}

/** The annotation `true`. */
export const PROTECTED: Protection = { protectedBy: 'true', protectedUntilMs: undefined };

/** Values that cannot be read are kept for messages only. */
const MOST_VALUE_BYTES = 64;
/** What a Go duration can hold: 2^63 nanoseconds. */
const LONGEST_MS = 2 ** 63 / 1e6;

/**
 * Returns undefined if the annotation protects nothing. `sinceMs`: from when a duration counts, milliseconds since the epoch. While that is
 * unknown, no end is known: a pod that has not started is protected.
 */
export function protectionOf(value: string | undefined, sinceMs: number | undefined): Protection | undefined {
  if (value === undefined || value === 'false') return undefined;
  if (value === 'true') return PROTECTED;
  const ms = durationOf(value);
  // guard: a protection that cannot be read protects
  if (ms === undefined) return { protectedBy: shownText(value, MOST_VALUE_BYTES), protectedUntilMs: undefined };
  if (ms === 0) return undefined;
  return { protectedBy: value, protectedUntilMs: sinceMs === undefined ? undefined : sinceMs + ms };
}

/** As Go reads it. A negative one is undefined, too. */
function durationOf(value: string): number | undefined {
  const ms = parseDurationMs(value);
  return ms !== undefined && ms < LONGEST_MS ? ms : undefined;
}

export function hasProtectionEnded({ protectedUntilMs }: Pick<Protection, 'protectedUntilMs'>, nowMs: number): boolean {
  return protectedUntilMs !== undefined && protectedUntilMs <= nowMs;
}

/** Whether it protects only because its value has no meaning. */
export function isProtectionUnreadable({ protectedBy }: Pick<Protection, 'protectedBy'>): boolean {
  return protectedBy !== PROTECTED.protectedBy && durationOf(protectedBy) === undefined;
}

/** The annotation and what it means, for people. */
export function protectionText(protection: Protection): string {
  const { protectedBy, protectedUntilMs } = protection;
  const written = `${DO_NOT_DISRUPT_ANNOTATION}: "${protectedBy}"`;
  if (protectedUntilMs !== undefined) return `${written}, until ${minuteText(protectedUntilMs)}`;
  if (isProtectionUnreadable(protection))
    return `${written}, which is neither true, false nor a duration such as 4h: it protects without end`;
  return protectedBy === PROTECTED.protectedBy ? written : `${written} from its start, which is not known yet`;
}

const LATEST_MS = 8.64e15;

function minuteText(atMs: number): string {
  return `${new Date(Math.min(atMs, LATEST_MS)).toISOString().slice(0, -8).replace('T', ' ')} UTC`;
}

// All that is read of a pod's annotations.

export type SafeToEvict = 'true' | 'false' | 'on-completion';

/** Equal ones are one object. */
export interface PodAnnotations {
  readonly safeToEvict: SafeToEvict | undefined;
  /** Names from `safe-to-evict-local-volumes`. */
  readonly safeToEvictVolumes: readonly string[];
  /** Karpenter's. undefined: it does not protect the pod. */
  readonly protection: Protection | undefined;
  /** How long the pod waits at least before nodes are added for it. */
  readonly scaleUpDelayMs: number;
  /** The ProvisioningRequest, in the pod's namespace, whose room it uses. */
  readonly consumes: string | undefined;
  /** Whether a DaemonSet pod wants to be evicted with its node. undefined: the policy decides. */
  readonly daemonEviction: boolean | undefined;
  /** `controller.kubernetes.io/pod-deletion-cost`. */
  readonly deletionCost: number;
  /** The least share of its workload's pods on regular nodes. */
  readonly minOnDemand: OnDemandShare | undefined;
}

export const NO_ANNOTATIONS: PodAnnotations = {
  safeToEvict: undefined,
  safeToEvictVolumes: [],
  protection: undefined,
  scaleUpDelayMs: 0,
  consumes: undefined,
  daemonEviction: undefined,
  deletionCost: 0,
  minOnDemand: undefined,
};

/** Of a pod template: it keeps a share of its pods away from Spot nodes. */
export const MIN_ON_DEMAND_ANNOTATION = 'aks-autoscaler/min-on-demand';

/** The least share of a workload's pods on regular nodes. */
export interface OnDemandShare {
  /** From 0 to 100. */
  readonly percent: number;
  /** As people read it. */
  readonly text: string;
}

/** A value that cannot be read means all pods: a regular node too many costs money, a workload that is lost with its Spot nodes costs more. */
export function onDemandShareOf(value: string | undefined): OnDemandShare | undefined {
  if (value === undefined) return undefined;
  const [, digits] = /^(\d{1,3}) ?%?$/.exec(value.trim()) ?? [];
  const percent = Number(digits ?? Number.NaN);
  // guard: a share that cannot be read keeps every pod on regular nodes
  if (!(percent <= 100)) return { percent: 100, text: `"${value}", which cannot be read and means 100%` };
  return { percent, text: `${percent}%` };
}

/** How many of so many pods must be on regular nodes. */
export function onDemandPods({ percent }: OnDemandShare, pods: number): number {
  return Math.ceil((pods * percent) / 100);
}
