/** Disks that pods name without a claim: a node lets the same one in twice only where both pods only read it (kube-scheduler's VolumeRestrictions). */
import type { PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import type { LoneDisk } from '../../domain/volumes.ts';

export function disksQuarrel(left: LoneDisk, right: LoneDisk): boolean {
  if (left.kind !== right.kind || (left.readOnly && right.readOnly)) return false;
  return left.ids.some((id) => right.ids.includes(id));
}

export function takenDisk(wanted: readonly LoneDisk[], used: readonly LoneDisk[]): LoneDisk | undefined {
  return wanted.find((disk) => used.some((other) => disksQuarrel(disk, other)));
}

export function refusedByDisks({ loneDisks = [] }: Pick<PodShape, 'loneDisks'>, used: readonly LoneDisk[]): readonly FitReason[] {
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
