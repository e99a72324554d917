/**
 * Where a pod's volumes allow it to run, like kube-scheduler's VolumeBinding, VolumeZone and VolumeRestrictions. The meaning of claims and
 * volumes was derived before (domain/volumes.ts). How many volumes fit on a node is arithmetic of attach slots, checked with the other
 * resources.
 */
import { matchesRequirement, type Requirement } from '../../domain/labels.ts';
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { ZONE_LABELS, type VolumeNodeRule, type VolumeRules, type NodeForVolumes, type InlineDisk } from '../../domain/volumes.ts';
import { matchesTerms } from './node-affinity.ts';

type Wishes = Pick<PodShape, 'volumes'>;

/** In the words of kube-scheduler. */
const MESSAGES = {
  reachable: 'node(s) had volume node affinity conflict',
  makeable: "node(s) didn't find available persistent volumes to bind",
  stocked: 'node(s) did not have enough free storage',
  'zone-labels': 'node(s) had no available volume zone',
} as const;

const PRESENT_NAMES: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
};

export function fitsVolumes({ volumes }: Wishes, node: NodeForVolumes): boolean {
  return volumes.blockers.length === 0 && volumes.places.every((place) => holds(place, node)) && missingOn(volumes, node).length === 0;
}

/** A reason that rules out every node is returned alone, since it is not about this node. */
export function refusedByVolumes({ volumes }: Wishes, node: NodeForVolumes): readonly FitReason[] {
  if (volumes.blockers.length > 0) return volumes.blockers.map(({ message, detail }) => ({ kind: 'volume', message, detail }));
  const unreachable = volumes.places.filter((place) => !holds(place, node));
  return [
    ...unreachable.map((place): FitReason => ({ kind: 'volume', message: MESSAGES[place.kind], detail: explain(place, node) })),
    ...missingOn(volumes, node).map((driver) => notInstalled(driver)),
  ];
}

/** In the words of kube-scheduler 1.37. */
function notInstalled(driver: string): FitReason {
  const detail = 'its CSIDriver sets preventPodSchedulingIfMissing, and the node has not registered it';
  return { kind: 'volume', message: `${driver} CSI driver is not installed on the node`, detail };
}

/** Drivers that the pod needs, none of which may be missing. */
function missingOn({ drivers }: VolumeRules, { missingDrivers }: NodeForVolumes): readonly string[] {
  return drivers.filter((driver) => missingDrivers.includes(driver));
}

function holds(place: VolumeNodeRule, node: NodeForVolumes): boolean {
  if (place.kind !== 'zone-labels') return matchesTerms(place.terms, node);
  const labelled = ZONE_LABELS.some((label) => Object.hasOwn(node.labels, label));
  return !labelled || place.requirements.every((requirement) => matchesRequirement(withNewZoneLabels(node, requirement), node.labels));
}

/** Old volumes may have the former zone labels, while new nodes have only the present ones. The opposite does not occur. */
function withNewZoneLabels({ labels }: NodeForVolumes, requirement: Requirement): Requirement {
  const key = PRESENT_NAMES[requirement.key];
  return key === undefined || Object.hasOwn(labels, requirement.key) ? requirement : { ...requirement, key };
}

function explain(place: VolumeNodeRule, node: NodeForVolumes): string {
  const alternatives =
    place.kind === 'zone-labels' ? [place.requirements] : place.terms.map(({ expressions, fields }) => [...expressions, ...fields]);
  if (alternatives.length === 0)
    return place.kind === 'stocked' ? 'no CSIStorageCapacity has room for such a volume' : 'there is no such volume, and none is made';
  const wanted = alternatives.map((requirements) => requirements.map(inWords).join(' and ')).join(', or ');
  const keys = [...new Set(alternatives.flat().map(({ key }) => key))];
  const found = keys.map((key) => `${key}=${key === 'metadata.name' ? node.name : (node.labels[key] ?? '(none)')}`);
  return `wants ${wanted}; the node has ${found.join(', ')}`;
}

function inWords({ key, operator, values }: Requirement): string {
  return values.length === 0 ? `${key} ${operator}` : `${key} ${operator} [${values.join(', ')}]`;
}

// Disks that pods name without a claim. A node accepts the same disk twice only if both pods mount it read-only (kube-scheduler's
// VolumeRestrictions).

export function disksConflict(left: InlineDisk, right: InlineDisk): boolean {
  if (left.kind !== right.kind || (left.readOnly && right.readOnly)) return false;
  return left.ids.some((id) => right.ids.includes(id));
}

export function takenDisk(wanted: readonly InlineDisk[], used: readonly InlineDisk[]): InlineDisk | undefined {
  return wanted.find((disk) => used.some((other) => disksConflict(disk, other)));
}

export function refusedByDisks({ loneDisks }: Pick<PodShape, 'loneDisks'>, used: readonly InlineDisk[]): readonly FitReason[] {
  const taken = takenDisk(loneDisks, used);
  if (taken === undefined) return [];
  return [
    {
      kind: 'volume',
      message: 'node(s) had no available disk',
      detail: `${taken.kind} ${taken.ids.join(', ')} is mounted by another pod there`,
    },
  ];
}
