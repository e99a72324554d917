/**
 * Changes that a person could make so that a pod gets a node, as data and in words. A fix is a set of changes that was simulated:
 * with all of them the planner places the pods. Pure; finding and simulating fixes is the work of `advice/`.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Taint } from '../../domain/taints.ts';
import { taintText } from '../../domain/taints.ts';
import { formatAmount, formatPerHour } from './amounts.ts';
import { describeRemovalChange, isRemovalChange, type RemovalChange, type Workload } from './removal-changes.ts';

export type Change = PlacementChange | RemovalChange;

/** Amounts are in base units: nodes, cores of a limit or quota, millicores, bytes or ones. */
type PlacementChange =
  | { readonly kind: 'raise-maximum'; readonly group: NodeGroupId; readonly from: number; readonly to: number }
  /** A limit of our own configuration: nodes, cores or bytes. */
  | { readonly kind: 'raise-cluster-limit'; readonly limit: 'nodes' | 'cores' | 'memory'; readonly from: number; readonly to: number }
  /** `quota` is its title, such as `family standardDSv5Family`. */
  | { readonly kind: 'raise-azure-quota'; readonly quota: string; readonly from: number; readonly to: number }
  /** A CapacityQuota object by its name. */
  | { readonly kind: 'raise-capacity-quota'; readonly quota: string; readonly resource: string; readonly from: number; readonly to: number }
  | { readonly kind: 'tolerate'; readonly taint: Taint }
  | { readonly kind: 'label-pool'; readonly group: NodeGroupId; readonly key: string; readonly value: string }
  /** The group's nodes may have the label or the resource already, but no node was seen yet. */
  | { readonly kind: 'declare-label'; readonly group: NodeGroupId; readonly key: string; readonly value: string }
  | { readonly kind: 'declare-resource'; readonly group: NodeGroupId; readonly resource: string; readonly amount: number }
  | { readonly kind: 'uncordon-template'; readonly group: NodeGroupId }
  | { readonly kind: 'lower-request'; readonly resource: string; readonly from: number; readonly to: number }
  /** The pod no longer requires anything of this label. */
  | { readonly kind: 'drop-label-rule'; readonly key: string }
  | { readonly kind: 'raise-max-skew'; readonly topologyKey: string; readonly from: number; readonly to: number }
  | { readonly kind: 'drop-pod-affinity'; readonly rule: 'affinity' | 'anti-affinity'; readonly topologyKey: string }
  | { readonly kind: 'drop-host-port'; readonly port: number; readonly protocol: string }
  /** In each request of the pod's device claims that has more. */
  | { readonly kind: 'lower-device-count'; readonly from: number; readonly to: number }
  /** The group's nodes may declare the features already, but no node was seen yet. */
  | { readonly kind: 'declare-features'; readonly group: NodeGroupId; readonly features: readonly string[] }
  /** `scaleUp.maxNodesPerScaleUp`. */
  | { readonly kind: 'raise-nodes-per-scale-up'; readonly from: number; readonly to: number }
  /** What the pod's claims need before any node helps: `message` and `detail` are those of the obstacle. */
  | { readonly kind: 'repair-claims'; readonly message: string; readonly detail: string }
  /** A pool with the same labels and taints, and at least these allocatable resources. Its quota and price are unknown. */
  | {
      readonly kind: 'add-pool';
      readonly like: NodeGroupId;
      readonly offers: Readonly<Record<string, number>>;
      readonly zone?: string;
    };

/** What the simulation of a fix for pods showed. */
interface PlacementProof {
  /** Pods of the class that get a node. */
  readonly pods: number;
  /** Pods of the class. */
  readonly of: number;
  /** Other pods that get a node, too, and did not before. */
  readonly others: number;
  /** Nodes more than without the fix. */
  readonly nodes: number;
  /** The groups that get more nodes; for a new pool, the one that it is like. */
  readonly groups: readonly NodeGroupId[];
  /** What these nodes cost per hour, in the currency of the price table. Absent if a price is unknown. */
  readonly perHour?: number;
}

/** How one change is carried out. */
export interface FixStep {
  /** Where the change is made. */
  readonly where: string;
  /** The command to run. */
  readonly command?: string;
  /** The text to write there, as YAML. */
  readonly patch?: string;
  /** What to know before. */
  readonly warning?: string;
}

/** What the simulation of a fix for nodes showed: what is removed in time, and would not be removed without the fix. */
export interface RemovalProof {
  /** Nodes more than without the fix. */
  readonly nodes: number;
  /** The groups that get smaller. */
  readonly groups: readonly NodeGroupId[];
  readonly cores: number;
  readonly memoryGib: number;
  /** What these nodes cost per hour, in the currency of the price table. Absent if a price is unknown. */
  readonly perHour?: number;
}

export interface RemovalFix extends Fix<RemovalProof> {
  /** Whose pod template the changes are about that do not name it. Absent if there are none. */
  readonly workload?: Workload;
}

export interface Fix<Proof = PlacementProof> {
  readonly changes: readonly Change[];
  readonly steps: readonly FixStep[];
  /** One sentence part without a full stop: `raise the maximum of gpu from 4 to 7`. */
  readonly text: string;
  readonly proof: Proof;
}

/** What helps the pods of one class. */
export interface Advice {
  /** The smallest change that was simulated and works. Absent if none does. */
  readonly fix?: Fix;
  /** A group whose nodes fit and that only needs time. */
  readonly wait?: { readonly group: NodeGroupId; readonly untilMs?: number };
  /** Without a fix: the group with the fewest obstacles. */
  readonly nearest?: NodeGroupId;
  /** How many sets of changes were simulated. */
  readonly tried: number;
}

/** What frees a node. */
export interface RemovalAdvice {
  /** The smallest change that was simulated and works. Absent if none does. */
  readonly fix?: RemovalFix;
  /** No change is needed: what the removal waits for. */
  readonly wait?: string;
  /** Without a fix: what remains in the way. */
  readonly obstacle?: string;
  /** How many sets of changes were simulated. */
  readonly tried: number;
}

/** What frees a node, or that nothing is known to, in one sentence part. */
export function describeRemovalAdvice({ fix, wait, tried }: RemovalAdvice): string {
  if (fix !== undefined) return fix.text;
  if (wait !== undefined) return wait;
  return tried === 0 ? 'no change is known to free the node' : `no single change frees the node (${tried} tried)`;
}

/** `Frees 5 nodes; saves 2.30 per hour.` */
export function describeSavings({ nodes, perHour }: Pick<RemovalProof, 'nodes' | 'perHour'>, currency?: string): string {
  const money = perHour === undefined || perHour <= 0 ? '' : `; saves ${formatPerHour(perHour, currency)}`;
  return `Frees ${nodes} ${nodes === 1 ? 'node' : 'nodes'}${money}.`;
}

/** What helps, or that nothing is known to, in one sentence part. */
export function describeAdvice({ fix, wait, nearest, tried }: Advice): string {
  if (fix !== undefined) return fix.text;
  if (wait !== undefined)
    return wait.untilMs === undefined ? `wait for ${wait.group}` : `wait for ${wait.group} until ${new Date(wait.untilMs).toISOString()}`;
  const pool = nearest === undefined ? '' : `. Nearest pool: ${nearest}`;
  return tried === 0 ? `no change is known to help${pool}` : `no single change helps${pool} (${tried} tried)`;
}

/** A fix in one sentence part. */
export function describeChanges(changes: readonly Change[]): string {
  return changes.map(describeChange).join(', and ');
}

function describeChange(change: Change): string {
  return isRemovalChange(change) ? describeRemovalChange(change) : describePlacementChange(change);
}

function describePlacementChange(change: PlacementChange): string {
  switch (change.kind) {
    case 'raise-maximum':
      return `raise the maximum of ${change.group} from ${change.from} to ${change.to}`;
    case 'raise-cluster-limit':
      return `raise ${LIMIT_SETTINGS[change.limit]} from ${inLimitUnit(change.limit, change.from)} to ${inLimitUnit(change.limit, change.to)}`;
    case 'raise-azure-quota':
      return `request an Azure quota of ${change.to} cores for ${change.quota}, which has ${change.from}`;
    case 'raise-capacity-quota':
      return `raise ${change.resource} of CapacityQuota ${change.quota} from ${quotaAmount(change.resource, change.from)} to ${quotaAmount(change.resource, change.to)}`;
    case 'tolerate':
      return `tolerate the taint ${taintText(change.taint)}`;
    case 'label-pool':
      return `add the label ${change.key}=${change.value} to pool ${change.group}`;
    case 'declare-label':
      return `start one node of ${change.group}, or state ${change.key}=${change.value} in a label tag of it if its nodes have that label`;
    case 'declare-resource':
      return `start one node of ${change.group}, or state ${formatAmount(change.resource, change.amount)} ${change.resource} in a resource tag of it if its nodes have that much`;
    case 'uncordon-template':
      return `uncordon a node of ${change.group}`;
    case 'lower-request':
      return `lower the ${nameOf(change.resource)} request from ${formatAmount(change.resource, change.from)} to ${formatAmount(change.resource, change.to)}`;
    case 'drop-label-rule':
      return NAME_KEYS.has(change.key) ? 'no longer require a node by its name' : `no longer require the label ${change.key}`;
    case 'raise-max-skew':
      return `raise maxSkew for ${change.topologyKey} from ${change.from} to ${change.to}`;
    case 'drop-pod-affinity':
      return `make the pod ${change.rule} rule for ${change.topologyKey} preferred instead of required`;
    case 'drop-host-port':
      return `use another host port than ${change.port}/${change.protocol}`;
    case 'lower-device-count':
      return `claim ${change.to} ${change.to === 1 ? 'device' : 'devices'} instead of ${change.from}`;
    case 'declare-features':
      return `start one node of ${change.group}, if its kubelets declare ${change.features.join(', ')}`;
    case 'raise-nodes-per-scale-up':
      return `raise scaleUp.maxNodesPerScaleUp from ${change.from} to ${change.to}`;
    case 'repair-claims':
      return describeRepair(change.message, change.detail);
    case 'add-pool':
      return describePool(change);
  }
}

function describePool({ like, offers, zone }: Extract<Change, { kind: 'add-pool' }>): string {
  const { pods, ...resources } = offers;
  const amounts = Object.entries(resources).map(([resource, amount]) => describeOffer(resource, amount));
  const places = pods === undefined ? '' : ` with a maxPods of at least ${pods}`;
  const what = amounts.length === 0 ? '' : ` whose nodes have at least ${amounts.join(' and ')} allocatable`;
  return `add a pool like ${like}${zone === undefined ? '' : ` in zone ${zone}`}${places}${what}`;
}

function describeOffer(resource: string, amount: number): string {
  if (resource.startsWith(ATTACHABLE)) return `${amount} data disks`;
  return `${formatAmount(resource, amount)} ${nameOf(resource)}`;
}

const ATTACHABLE = 'attachable-volumes-csi-';

function nameOf(resource: string): string {
  return resource === 'cpu' ? 'CPU' : resource;
}

/** A claim's trouble names what is missing; the change is to supply it. */
function describeRepair(message: string, detail: string): string {
  const [, claim] = /^persistentvolumeclaim "(.+)" not found$/.exec(message) ?? [];
  if (claim !== undefined) return `create the PersistentVolumeClaim ${claim} ${detail}`;
  const [, storageClass] = /^storageclass\.storage\.k8s\.io "(.+)" not found$/.exec(message) ?? [];
  if (storageClass !== undefined) return `create the StorageClass ${storageClass}, or name another one (${detail})`;
  if (message.includes('unbound immediate')) return `bind the volume or use a storage class that waits for the first pod (${detail})`;
  if (message.includes('non-existent pv')) return `restore the volume or recreate the claim (${detail})`;
  if (message.includes('is being deleted')) return `wait for the deletion to end and recreate the claim (${detail})`;
  const [, device] = /^resourceclaim(?:template)? "(.+)" not found$/i.exec(message) ?? [];
  if (device !== undefined)
    return `create ${message.toLowerCase().startsWith('resourceclaimtemplate') ? 'ResourceClaimTemplate' : 'ResourceClaim'} ${device} (${detail})`;
  if (message === 'resourceclaim in use') return `give the pod a claim of its own by a ResourceClaimTemplate (${detail})`;
  if (message.includes('ReadWriteOncePod')) return `stop the other pod (${detail})`;
  return `resolve "${message}" (${detail})`;
}

const NAME_KEYS: ReadonlySet<string> = new Set(['metadata.name', 'kubernetes.io/hostname']);
/** The setting of each limit. */
export const LIMIT_SETTINGS = {
  nodes: 'scaleUp.maxNodesTotal',
  cores: 'scaleUp.maxCoresTotal',
  memory: 'scaleUp.maxMemoryTotalGib',
} as const;

/** In nodes, cores or GiB. */
export function inLimitUnit(limit: 'nodes' | 'cores' | 'memory', value: number): number {
  return limit === 'memory' ? Math.ceil((value / 2 ** 30) * 10) / 10 : value;
}

/** A quota counts whole cores, not millicores. */
function quotaAmount(resource: string, value: number): string {
  return resource === 'cpu' ? String(value) : formatAmount(resource, value);
}
