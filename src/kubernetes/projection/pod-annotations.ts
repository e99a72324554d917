/** The annotations of a pod that decisions read. Must not know the rest of the pod. */
import {
  DO_NOT_DISRUPT_ANNOTATION,
  MIN_ON_DEMAND_ANNOTATION,
  NO_ANNOTATIONS,
  onDemandShareOf,
  type PodAnnotations,
  type Protection,
  protectionOf,
  type SafeToEvict,
} from '../../domain/annotations.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { timeOf } from '../api/core-json.ts';
import { WeakInterner } from '../watch/interner.ts';

type Annotations = Readonly<Record<string, string>>;

const PREFIX = 'cluster-autoscaler.kubernetes.io/';
const NAMES = {
  safeToEvict: `${PREFIX}safe-to-evict`,
  safeToEvictVolumes: `${PREFIX}safe-to-evict-local-volumes`,
  protection: DO_NOT_DISRUPT_ANNOTATION,
  scaleUpDelayMs: `${PREFIX}pod-scale-up-delay`,
  consumes: 'autoscaling.x-k8s.io/consume-provisioning-request',
  /** From earlier versions. */
  formerConsumes: `${PREFIX}consume-provisioning-request`,
  daemonEviction: `${PREFIX}enable-ds-eviction`,
  deletionCost: 'controller.kubernetes.io/pod-deletion-cost',
  minOnDemand: MIN_ON_DEMAND_ANNOTATION,
} as const;
const READ = Object.values(NAMES);
/** As Kubernetes reads it: a plain integer without leading zeros. Anything else counts as absent. */
const DELETION_COST = /^(?:0|-?[1-9]\d{0,9})$/;

/** Reads annotations. The pods of one workload, which say the same, get the same object. */
export class AnnotationReader {
  readonly #known = new WeakInterner<PodAnnotations>();

  /** `startTime`: of the pod, since when a protection with a duration counts. */
  of(annotations: Annotations, startTime: string | null | undefined): PodAnnotations {
    if (READ.every((name) => annotations[name] === undefined)) return NO_ANNOTATIONS;
    const protection = protectionOf(annotations[NAMES.protection], timeOf(startTime));
    const key = JSON.stringify([...READ.map((name) => annotations[name]), protection?.protectedUntilMs]);
    return this.#known.of(key, () => project(annotations, protection));
  }
}

function project(annotations: Annotations, protection: Protection | undefined): PodAnnotations {
  const { [NAMES.daemonEviction]: eviction, [NAMES.deletionCost]: cost = '', [NAMES.scaleUpDelayMs]: delay = '' } = annotations;
  return {
    safeToEvict: safeToEvict(annotations[NAMES.safeToEvict]),
    safeToEvictVolumes: listOf(annotations[NAMES.safeToEvictVolumes]),
    protection,
    // A text that is not a duration counts as absent, as in the Cluster Autoscaler.
    scaleUpDelayMs: parseDurationMs(delay) ?? NO_ANNOTATIONS.scaleUpDelayMs,
    consumes: (annotations[NAMES.consumes] ?? annotations[NAMES.formerConsumes]) || undefined,
    // Any other value opts out, as in the Cluster Autoscaler.
    daemonEviction: eviction === undefined ? undefined : eviction === 'true',
    deletionCost: DELETION_COST.test(cost) ? Number(cost) : NO_ANNOTATIONS.deletionCost,
    minOnDemand: onDemandShareOf(annotations[NAMES.minOnDemand]),
  };
}

function safeToEvict(text: string | undefined): SafeToEvict | undefined {
  return text === 'true' || text === 'false' || text === 'on-completion' ? text : undefined;
}

/** Spaces are part of the values, as in the Cluster Autoscaler. */
function listOf(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? NO_ANNOTATIONS.safeToEvictVolumes : text.split(',');
}
