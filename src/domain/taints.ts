/** Taints, tolerations, and the taints that have a meaning between the autoscaler and the cluster. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: TaintEffect;
}

export interface Toleration {
  /** Empty with operator `Exists`: tolerates every key. */
  readonly key: string;
  /** `Lt` and `Gt`: the taint's value is a whole number below or above the toleration's value. */
  readonly operator: 'Equal' | 'Exists' | 'Lt' | 'Gt';
  readonly value: string;
  /** undefined: every effect. */
  readonly effect: TaintEffect | undefined;
}

/** Value: unix seconds. Effect NoSchedule. The Cluster Autoscaler uses the same names. */
export const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler';
/** On nodes that were cordoned before the deletion taint was added. Its effect is PreferNoSchedule. */
export const CORDONED_BEFORE_TAINT = 'aks-autoscaler/cordoned-before';
/** Annotation of a node with a deletion taint: who wrote the taint. Its format is in domain/deletion-owner.ts. */
export const DELETION_OWNER_ANNOTATION = 'aks-autoscaler/deletion-owner';
/**
 * Annotation of a node whose reimage was sent, or was about to be: when, in unix seconds. It equals the value of the deletion taint while that taint is
 * of the reimage, and stays afterwards.
 */
export const REIMAGED_ANNOTATION = 'aks-autoscaler/reimaged';
/** Kubernetes' own, on cordoned nodes. */
export const CORDON_TAINT: Taint = { key: 'node.kubernetes.io/unschedulable', value: '', effect: 'NoSchedule' };
/** Value: unix seconds since when the node is unneeded. Effect PreferNoSchedule. */
export const DELETION_CANDIDATE_TAINT = 'DeletionCandidateOfClusterAutoscaler';

/** Whether the node controller sets it for a condition of one node. */
export function isConditionTaint(key: string): boolean {
  return key.startsWith('node.kubernetes.io/');
}

/** Taints that one writer at a time may have on a node. An annotation names the writer, and is written with the taint. */
export interface TaintOwner {
  readonly annotation: string;
  /** The writer. Empty: a writer that left no name. */
  readonly value: string;
  /** The keys of these taints. */
  readonly covers: readonly string[];
}

/** An annotation that is written with a taint, and stays when the taint goes. */
export interface TaintNote {
  readonly annotation: string;
  readonly value: string;
}

/** As the API server accepts it: without plus sign and leading zeros. */
const WHOLE = /^(?:0|-?[1-9]\d{0,18})$/;

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  if (toleration.key === '') return toleration.operator === 'Exists';
  if (toleration.key !== taint.key) return false;
  switch (toleration.operator) {
    case 'Exists':
      return true;
    case 'Equal':
      return toleration.value === taint.value;
    case 'Lt':
    case 'Gt':
      return compareWholeNumbers(toleration.operator, taint.value, toleration.value);
  }
}

function compareWholeNumbers(operator: 'Lt' | 'Gt', value: string, bound: string): boolean {
  if (!WHOLE.test(value) || !WHOLE.test(bound)) return false;
  return operator === 'Lt' ? BigInt(value) < BigInt(bound) : BigInt(value) > BigInt(bound);
}

/** The first taint that keeps a pod off the node (PreferNoSchedule never does), or undefined. */
export function untoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined {
  return taints.find((taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((toleration) => tolerates(toleration, taint)));
}

/** `key=value:Effect`, or `key:Effect` for an empty value, as `kubectl taint` writes it. */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
}

/** The reverse of {@link taintText}, for a taint that blocks pods; undefined if the text is no such taint. */
export function blockingTaintOf(text: string): Taint | undefined {
  const [, key, value = '', effect] = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|NoExecute)$/.exec(text) ?? [];
  return key === undefined || effect === undefined ? undefined : { key, value, effect: effect as TaintEffect };
}

/** On a node from its registration, and again while it is not ready. The node controller removes it. */
export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';

export function hasTaint(taints: readonly Taint[], key: string): boolean {
  return taints.some((taint) => taint.key === key);
}

/** Taints that mean a startup phase or a status of a node in this cluster, in addition to the built-in ones. */
export interface TaintRules {
  readonly startup: readonly string[];
  /** Prefixes of such keys. */
  readonly startupPrefixes: readonly string[];
  readonly status: readonly string[];
}

export const NO_TAINT_RULES: TaintRules = { startup: [], startupPrefixes: [], status: [] };

/**
 * The Cluster Autoscaler's prefixes (the second is the former one), and that of the Node Readiness Controller, which removes such a taint once a
 * node meets a rule. Below: the taints of AKS add-ons on new nodes.
 */
const STARTUP_PREFIXES = [
  'startup-taint.cluster-autoscaler.kubernetes.io/',
  'ignore-taint.cluster-autoscaler.kubernetes.io/',
  'readiness.k8s.io/',
];
const STARTUP_TAINTS: ReadonlySet<string> = new Set([
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cilium.io/agent-not-ready',
  'disk.csi.azure.com/agent-not-ready',
  'file.csi.azure.com/agent-not-ready',
  'cni.istio.io/not-ready',
]);
const STATUS_PREFIX = 'status-taint.cluster-autoscaler.kubernetes.io/';

/** The taint disappears once the node is set up. Until then the node is not ready, and new nodes lose it. */
export function isStartupTaint(key: string, rules = NO_TAINT_RULES): boolean {
  return (
    STARTUP_TAINTS.has(key) ||
    rules.startup.includes(key) ||
    [...STARTUP_PREFIXES, ...rules.startupPrefixes].some((prefix) => key.startsWith(prefix))
  );
}

/** The taint describes this one node, which is ready nevertheless. A new node does not have it. */
export function isStatusTaint(key: string, rules = NO_TAINT_RULES): boolean {
  return key.startsWith(STATUS_PREFIX) || rules.status.includes(key);
}
