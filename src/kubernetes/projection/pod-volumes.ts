/** Which volumes pin a pod to its node, which claims it mounts, and which disks it wants for itself or takes attach slots with. */
import type { LocalVolume } from '../../domain/pod.ts';
import type { LoneDisk, PodClaim } from '../../domain/volumes.ts';
import type { DiskJson, VolumeJson } from '../api/core-json.ts';
import { claimWish } from './storage.ts';

/**
 * In-tree block devices that the pods of one node may quarrel about, with the names by which each goes and whether it is only read;
 * after kube-scheduler's VolumeRestrictions. All other kinds say nothing of placement in a pod's own spec, except that disks of Azure
 * take a slot of their driver.
 */
const LONE_KINDS: Readonly<Record<LoneDisk['kind'], (source: DiskJson) => Omit<LoneDisk, 'kind'>>> = {
  iscsi: ({ iqn = '', readOnly }) => ({ ids: [iqn], readOnly: readOnly === true }),
  // The pool that the API server fills in.
  rbd: ({ monitors, image = '', pool = 'rbd', readOnly }) => ({
    ids: (monitors ?? []).map((monitor) => JSON.stringify([monitor, pool, image])),
    readOnly: readOnly === true,
  }),
  gcePersistentDisk: ({ pdName = '', readOnly }) => ({ ids: [pdName], readOnly: readOnly === true }),
  // Also where both pods would only read it.
  awsElasticBlockStore: ({ volumeID = '' }) => ({ ids: [volumeID], readOnly: false }),
};
const KINDS = Object.keys(LONE_KINDS) as readonly LoneDisk['kind'][];

/** Volumes that live and die with the node. Memory-backed emptyDirs hold nothing worth keeping, as in the Cluster Autoscaler. */
export function localVolumes(volumes: readonly VolumeJson[]): readonly LocalVolume[] {
  return volumes.flatMap((volume): readonly LocalVolume[] => {
    const name = volume.name ?? '';
    if (volume['hostPath'] !== undefined) return [{ name, kind: 'hostPath' }];
    if (volume.emptyDir !== undefined && volume.emptyDir.medium !== 'Memory') return [{ name, kind: 'emptyDir' }];
    return [];
  });
}

/** Whether the volume says something about placement that its own spec alone decides. */
export function placesPod(volume: VolumeJson): boolean {
  return volume.azureDisk !== undefined || loneDisksOf([volume]).length > 0;
}

/** In-tree disks of Azure, which the CSI driver has attached since Kubernetes 1.24, by its name for them; the same disk once. */
export function disksOf(volumes: readonly VolumeJson[]): readonly string[] {
  const disks = volumes.flatMap(({ name = '', azureDisk }) =>
    azureDisk === undefined ? [] : [azureDisk.diskURI ?? azureDisk.diskName ?? name],
  );
  return [...new Set(disks)];
}

/** Disks that the pod shares with no other pod of its node; a volume that is written as null is none. */
export function loneDisksOf(volumes: readonly VolumeJson[]): readonly LoneDisk[] {
  return volumes.flatMap((volume) =>
    KINDS.flatMap((kind) => {
      const source = volume[kind] ?? undefined;
      return source === undefined ? [] : [{ kind, ...LONE_KINDS[kind](source) }];
    }),
  );
}

/** The claims that a pod mounts. That of a generic ephemeral volume is named after pod and volume, as Kubernetes documents. */
export function claimsOf(volumes: readonly VolumeJson[], pod: string): readonly PodClaim[] {
  return volumes.flatMap(({ name = '', persistentVolumeClaim, ephemeral }): readonly PodClaim[] => {
    if (persistentVolumeClaim !== undefined) return [{ name: persistentVolumeClaim.claimName ?? '' }];
    if (ephemeral === undefined) return [];
    return [{ name: `${pod}-${name}`, ephemeral: claimWish(ephemeral.volumeClaimTemplate?.spec ?? {}) }];
  });
}
