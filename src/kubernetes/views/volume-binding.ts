/**
 * What the claims of one pod mean for its placement, after kube-scheduler's VolumeBinding, VolumeZone,
 * VolumeRestrictions and NodeVolumeLimits. Pure: knows claims, volumes and classes, and nodes only by name.
 */
import type { Pod } from '../../domain/pod.ts';
import { matchesRequirement, type NodeSelectorTerm } from '../../domain/labels.ts';
import {
  AZURE_DISK_DRIVER,
  type ClaimRequirements,
  type PodClaim,
  type ClaimBlocker,
  type ClaimRepair,
  type VolumeNodeRule,
} from '../../domain/volumes.ts';
import type { Claim, StorageClass, Volume } from '../projection/storage.ts';

/** Classes whose volumes are created by hand. */
const NO_PROVISIONER = 'kubernetes.io/no-provisioner';
export const ONE_POD = 'ReadWriteOncePod';

/** Everything that the evaluation of claims reads. */
export interface Storage {
  readonly claims: ReadonlyMap<string, Claim>;
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly classes: ReadonlyMap<string, StorageClass>;
  /** Volumes of a class that are not bound to a claim. */
  readonly freeVolumes: (className: string) => readonly Volume[];
  /** Where the driver can create a volume of that size; undefined if it does not report that. */
  readonly roomFor: (storageClass: StorageClass, bytes: number) => readonly NodeSelectorTerm[] | undefined;
  /** Why the driver's capacity is unknown; undefined if it is known. */
  readonly roomTrouble: (storageClass: StorageClass) => string | undefined;
  readonly hasNode: (name: string) => boolean;
  /** Whether several pods mount the claim, or the disk it is bound to under any name. */
  readonly sharesClaim: (claim: string, handle?: string) => boolean;
  /** The same for a disk that a pod names without a claim. */
  readonly sharesDisk: (handle: string) => boolean;
  /** The name of another pod that uses a claim restricted to one pod. */
  readonly holderOf: (claim: string, pod: Holder) => string | undefined;
  /** Set if some of it could not be read, with the reason. */
  readonly trouble: string | undefined;
}

export type Holder = Pick<Pod, 'uid' | 'namespace' | 'name' | 'nodeName' | 'mounts'>;

/** A volume that takes an attach slot. Several uses of the same name on a node take one slot. */
export interface Slot {
  readonly driver: string;
  readonly volume: string;
  /** Whether another pod mounts it too. */
  readonly isShared: boolean;
}

export interface ClaimRules {
  readonly places: readonly VolumeNodeRule[];
  readonly blockers: readonly ClaimBlocker[];
  readonly slots: readonly Slot[];
  /** The number of slots that are already in the pod's requests: those of disks in its own spec. */
  readonly counted: number;
}

const NOTHING: ClaimRules = { places: [], blockers: [], slots: [], counted: 0 };

export function evaluateClaims(pod: Holder, storage: Storage): ClaimRules {
  const { claims, disks } = pod.mounts;
  if (storage.trouble !== undefined) {
    const names = [...claims.map(({ name }) => name), ...disks].join(', ');
    return blocked('volumes cannot be judged', `${claims.length > 0 ? 'claims' : 'disks'} ${names}: ${storage.trouble}`);
  }
  const all = claims.map((claim) => judge(claim, pod, storage));
  const sharedDisks = disks.filter((disk) => storage.sharesDisk(disk));
  return {
    places: distinct(all.flatMap(({ places }) => places)),
    blockers: all.flatMap(({ blockers }) => blockers),
    // Includes claims that would refuse a new node, since their volumes stay attached.
    slots: [
      ...claims.flatMap((claim) => slotsOf(claim, pod, storage)),
      ...sharedDisks.map((volume): Slot => ({ driver: AZURE_DISK_DRIVER, volume, isShared: true })),
    ],
    counted: sharedDisks.length,
  };
}

function judge(claimed: PodClaim, pod: Holder, storage: Storage): ClaimRules {
  const key = `${pod.namespace}/${claimed.name}`;
  const claim = storage.claims.get(key);
  if (claimed.ephemeral !== undefined) {
    if (claim !== undefined && claim.ownerUid !== pod.uid)
      return blocked(`PVC ${key} was not created for pod ${pod.namespace}/${pod.name} (pod is not owner)`, `claim ${claimed.name}`);
    // A moved pod is a new pod whose claim is created again. A missing claim is about to be created.
    if (claim === undefined || pod.nodeName !== undefined) return evaluateUnboundClaim(key, claimed.ephemeral, storage);
  }
  if (claim === undefined)
    return blocked(`persistentvolumeclaim "${claimed.name}" not found`, `in namespace ${pod.namespace}`, {
      kind: 'create',
      object: 'PersistentVolumeClaim',
      name: claimed.name,
    });
  if (claim.isDeleting)
    return blocked(`persistentvolumeclaim "${claimed.name}" is being deleted`, `in namespace ${pod.namespace}`, { kind: 'await-deletion' });
  const holder = claim.requirements.accessModes.includes(ONE_POD) ? storage.holderOf(key, pod) : undefined;
  if (holder !== undefined)
    return blocked(
      'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode',
      `claim ${claimed.name} is used by pod ${holder}`,
      { kind: 'stop-other-pod' },
    );
  if (claim.volume !== undefined) return judgeBound(claim.volume, claimed.name, storage);
  if (claim.isBinding) return unboundImmediate(claimed.name, 'it names a volume that is not bound to it yet');
  const rules = evaluateUnboundClaim(key, claim.requirements, storage);
  const { selectedNode } = claim;
  // The provisioner releases a selected node that no longer exists.
  if (selectedNode === undefined || !storage.hasNode(selectedNode)) return rules;
  const here: NodeSelectorTerm = { expressions: [], fields: [{ key: 'metadata.name', operator: 'In', values: [selectedNode] }] };
  return { ...rules, places: [...rules.places, { kind: 'makeable', terms: [here] }] };
}

function judgeBound(name: string, claim: string, storage: Storage): ClaimRules {
  const volume = storage.volumes.get(name);
  if (volume === undefined)
    return blocked('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)', `claim ${claim} is bound to ${name}`, {
      kind: 'restore-volume',
    });
  const places: VolumeNodeRule[] = [];
  if (volume.terms !== undefined) places.push({ kind: 'reachable', terms: volume.terms });
  if (volume.zones.length > 0) places.push({ kind: 'zone-labels', requirements: volume.zones });
  return { ...NOTHING, places };
}

/** A claim without a volume takes an existing one, gets one created where the pod goes, or blocks the pod. */
function evaluateUnboundClaim(key: string, requirements: ClaimRequirements, storage: Storage): ClaimRules {
  const name = key.slice(key.indexOf('/') + 1);
  const wanted = requirements.className ?? defaultClass(storage);
  if (wanted === undefined || wanted === '') return unboundImmediate(name, 'it names no storage class');
  const storageClass = storage.classes.get(wanted);
  if (storageClass === undefined)
    return blocked(`storageclass.storage.k8s.io "${wanted}" not found`, `claim ${name}`, {
      kind: 'create',
      object: 'StorageClass',
      name: wanted,
    });
  if (!storageClass.waits) return unboundImmediate(name, `storage class ${wanted} binds at once, and it is not bound`);
  const present = storage.freeVolumes(wanted).filter((volume) => suits(volume, key, requirements));
  const makes = storageClass.provisioner !== NO_PROVISIONER && storageClass.provisioner !== '';
  const trouble = makes ? storage.roomTrouble(storageClass) : undefined;
  if (trouble !== undefined)
    return blocked(
      'volumes cannot be judged',
      `claim ${name}: whether ${storageClass.provisioner} has room for it is not known: ${trouble}`,
    );
  const room = makes ? storage.roomFor(storageClass, requirements.bytes) : undefined;
  const made = makes ? both(storageClass.topologies, room) : [];
  if (present.some(({ terms }) => terms === undefined) || made === undefined) return NOTHING;
  const terms = [...present.flatMap((volume) => volume.terms ?? []), ...made];
  const kind = room !== undefined && present.length === 0 ? 'stocked' : 'makeable';
  return { ...NOTHING, places: [{ kind, terms: distinct(terms) }] };
}

/** Terms that match one of each list; undefined stands for all nodes. */
function both(left: readonly NodeSelectorTerm[] | undefined, right: readonly NodeSelectorTerm[] | undefined) {
  if (left === undefined || right === undefined) return left ?? right;
  return left.flatMap((one) =>
    right.map((other): NodeSelectorTerm => ({
      expressions: [...one.expressions, ...other.expressions],
      fields: [...one.fields, ...other.fields],
    })),
  );
}

/** The attach slot of a claim: that of its volume, or of the one that its class will create. */
function slotsOf({ name, ephemeral }: PodClaim, { namespace }: Holder, storage: Storage): readonly Slot[] {
  const key = `${namespace}/${name}`;
  const claim = storage.claims.get(key);
  const bound = claim?.volume === undefined ? undefined : storage.volumes.get(claim.volume);
  // For a volume that is gone the class decides, as in kube-scheduler.
  if (bound !== undefined) {
    const { driver, handle: volume } = bound;
    return driver === undefined ? [] : [{ driver, volume, isShared: storage.sharesClaim(key, volume) }];
  }
  const requirements = claim?.requirements ?? ephemeral;
  const className = requirements === undefined ? undefined : (requirements.className ?? defaultClass(storage));
  const driver = className === undefined ? undefined : storage.classes.get(className)?.provisioner;
  return driver === undefined || driver === '' || driver === NO_PROVISIONER
    ? []
    : [{ driver, volume: key, isShared: storage.sharesClaim(key) }];
}

function suits(volume: Volume, key: string, requirements: ClaimRequirements): boolean {
  return (
    (volume.claim === undefined || volume.claim === key) &&
    volume.bytes >= requirements.bytes &&
    volume.mode === requirements.mode &&
    requirements.accessModes.every((mode) => volume.accessModes.includes(mode)) &&
    (requirements.selector ?? []).every((requirement) => matchesRequirement(requirement, volume.labels))
  );
}

/** The class that the API server writes into a claim without one. */
function defaultClass({ classes }: Storage): string | undefined {
  return [...classes.values()].find(({ isDefault }) => isDefault)?.name;
}

function unboundImmediate(claim: string, why: string): ClaimRules {
  return blocked('pod has unbound immediate PersistentVolumeClaims', `claim ${claim}: ${why}`, { kind: 'bind-volume' });
}

function blocked(message: string, detail: string, repair?: ClaimRepair): ClaimRules {
  return { ...NOTHING, blockers: [{ message, detail, repair }] };
}

function distinct<Item>(items: readonly Item[]): readonly Item[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()];
}
