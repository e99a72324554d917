/** Which volumes pin a pod to its node, which claims it mounts, and which disks it needs exclusively or attaches. */
import type { LocalVolume } from '../../domain/pod.ts';
import type { InlineDisk, PodClaim } from '../../domain/volumes.ts';
import type { DiskJson, VolumeJson } from '../api/core-json.ts';
import { claimWish } from './storage.ts';

/**
 * In-tree block devices that pods of one node may conflict about, with the ids of the disk and whether it is only read;
 * after kube-scheduler's VolumeRestrictions. All other kinds say nothing about placement in the pod's own spec, except
 * that Azure disks take a slot of their driver.
 */
const LONE_KINDS: Readonly<Record<InlineDisk['kind'], (source: DiskJson) => Omit<InlineDisk, 'kind'>>> = {
  iscsi: ({ iqn = '', readOnly }) => ({ ids: [iqn], readOnly: readOnly === true }),
  // The pool that the API server sets.
  rbd: ({ monitors, image = '', pool = 'rbd', readOnly }) => ({
    ids: (monitors ?? []).map((monitor) => JSON.stringify([monitor, pool, image])),
    readOnly: readOnly === true,
  }),
  gcePersistentDisk: ({ pdName = '', readOnly }) => ({ ids: [pdName], readOnly: readOnly === true }),
  // A conflict even if both pods only read it.
  awsElasticBlockStore: ({ volumeID = '' }) => ({ ids: [volumeID], readOnly: false }),
};
const KINDS = Object.keys(LONE_KINDS) as readonly InlineDisk['kind'][];

/** Volumes that are lost with the node. Memory-backed emptyDirs do not count, as in the Cluster Autoscaler. */
export function localVolumes(volumes: readonly VolumeJson[]): readonly LocalVolume[] {
  return volumes.flatMap((volume): readonly LocalVolume[] => {
    const name = volume.name ?? '';
    if (volume['hostPath'] !== undefined) return [{ name, kind: 'hostPath' }];
    if (volume.emptyDir !== undefined && volume.emptyDir.medium !== 'Memory') return [{ name, kind: 'emptyDir' }];
    return [];
  });
}

/** Whether the volume affects placement through the pod's own spec alone. */
export function placesPod(volume: VolumeJson): boolean {
  return volume.azureDisk !== undefined || loneDisksOf([volume]).length > 0;
}

/** In-tree Azure disks, each once, by the CSI driver's name for them. The driver has attached them since Kubernetes 1.24. */
export function disksOf(volumes: readonly VolumeJson[]): readonly string[] {
  const disks = volumes.flatMap(({ name = '', azureDisk }) =>
    azureDisk === undefined ? [] : [azureDisk.diskURI ?? azureDisk.diskName ?? name],
  );
  return [...new Set(disks)];
}

/** Disks that the pod shares with no other pod of its node. A volume written as null does not count. */
export function loneDisksOf(volumes: readonly VolumeJson[]): readonly InlineDisk[] {
  return volumes.flatMap((volume) =>
    KINDS.flatMap((kind) => {
      const source = volume[kind] ?? undefined;
      return source === undefined ? [] : [{ kind, ...LONE_KINDS[kind](source) }];
    }),
  );
}

/**
 * The claims that a pod mounts. The claim of a generic ephemeral volume is named after pod and volume, as Kubernetes
 * documents.
 */
export function claimsOf(volumes: readonly VolumeJson[], pod: string): readonly PodClaim[] {
  return volumes.flatMap(({ name = '', persistentVolumeClaim, ephemeral }): readonly PodClaim[] => {
    if (persistentVolumeClaim !== undefined) return [{ name: persistentVolumeClaim.claimName ?? '', ephemeral: undefined }];
    if (ephemeral === undefined) return [];
    return [{ name: `${pod}-${name}`, ephemeral: claimWish(ephemeral.volumeClaimTemplate?.spec ?? {}) }];
  });
}
