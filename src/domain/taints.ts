/** Taints, tolerations, and the names of those that carry meaning between the autoscaler and the cluster. */
export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: TaintEffect;
}

export interface Toleration {
  /** Empty with operator `Exists`: tolerates every key. */
  readonly key: string;
  /** `Lt` and `Gt`: the taint's value is a whole number below, or above, that of the toleration. */
  readonly operator: 'Equal' | 'Exists' | 'Lt' | 'Gt';
  readonly value: string;
  /** undefined: every effect. */
  readonly effect: TaintEffect | undefined;
}

/** Value: unix seconds. NoSchedule. Names that users and tools know from the Cluster Autoscaler. */
export const TO_BE_DELETED_TAINT = 'ToBeDeletedByClusterAutoscaler';
/** Value: unix seconds since when the node is unneeded. PreferNoSchedule. */
export const DELETION_CANDIDATE_TAINT = 'DeletionCandidateOfClusterAutoscaler';

/** As the API server takes it: no plus sign and no leading zeros. */
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

/** The first taint that keeps a pod away (PreferNoSchedule never does), or undefined. */
export function untoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined {
  return taints.find((taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((toleration) => tolerates(toleration, taint)));
}

/** On a node from its registration on, and again whenever it is not ready; the node controller takes it off. */
export const NOT_READY_TAINT = 'node.kubernetes.io/not-ready';

export function hasTaint(taints: readonly Taint[], key: string): boolean {
  return taints.some((taint) => taint.key === key);
}

/** Taints by which nodes of this cluster say that they are being set up, or what state they are in; beside those that are always known. */
export interface TaintRules {
  readonly startup?: readonly string[];
  /** Beginnings of such names. */
  readonly startupPrefixes?: readonly string[];
  readonly status?: readonly string[];
}

/** The Cluster Autoscaler's prefixes (the second is its former one), and what add-ons of AKS clusters write on new nodes. */
const STARTUP_PREFIXES = ['startup-taint.cluster-autoscaler.kubernetes.io/', 'ignore-taint.cluster-autoscaler.kubernetes.io/'];
const STARTUP_TAINTS: ReadonlySet<string> = new Set([
  'node.cloudprovider.kubernetes.io/uninitialized',
  'node.cilium.io/agent-not-ready',
  'disk.csi.azure.com/agent-not-ready',
  'file.csi.azure.com/agent-not-ready',
  'cni.istio.io/not-ready',
]);
const STATUS_PREFIX = 'status-taint.cluster-autoscaler.kubernetes.io/';

/** Goes by itself once the node is set up: until then the node is not ready, and a new node will not keep it. */
export function isStartupTaint(key: string, rules: TaintRules = {}): boolean {
  return (
    STARTUP_TAINTS.has(key) ||
    rules.startup?.includes(key) === true ||
    [...STARTUP_PREFIXES, ...(rules.startupPrefixes ?? [])].some((prefix) => key.startsWith(prefix))
  );
}

/** Tells of this one node, which is ready all the same; a new node will not have it. */
export function isStatusTaint(key: string, rules: TaintRules = {}): boolean {
  return key.startsWith(STATUS_PREFIX) || rules.status?.includes(key) === true;
}
