/** Which volumes pin a pod to its node, which claims it mounts, and which volumes this version cannot judge. */
import type { LocalVolume, UnsupportedRequirement } from '../../domain/pod.ts';
import type { PodClaim } from '../../domain/volumes.ts';
import type { VolumeJson } from './api-json.ts';
import { claimWish } from './project-storage.ts';

/**
 * In-tree block devices that kube-scheduler keeps apart when two pods of one node want the same one: nothing here judges that.
 * All other kinds say nothing of placement in a pod's own spec, except that disks of Azure take a slot of their driver.
 */
const PLACING_KINDS = ['awsElasticBlockStore', 'gcePersistentDisk', 'rbd', 'iscsi'];

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
  return volume.azureDisk !== undefined || PLACING_KINDS.some((kind) => volume[kind] !== undefined);
}

/** In-tree disks of Azure, which the CSI driver has attached since Kubernetes 1.24, by its name for them; the same disk once. */
export function disksOf(volumes: readonly VolumeJson[]): readonly string[] {
  const disks = volumes.flatMap(({ name = '', azureDisk }) =>
    azureDisk === undefined ? [] : [azureDisk.diskURI ?? azureDisk.diskName ?? name],
  );
  return [...new Set(disks)];
}

export function unsupportedVolumes(volumes: readonly VolumeJson[]): readonly UnsupportedRequirement[] {
  return volumes.flatMap((volume) => {
    const kind = PLACING_KINDS.find((candidate) => volume[candidate] !== undefined);
    return kind === undefined ? [] : [{ feature: 'persistent-volume', detail: `${kind} volume ${volume.name ?? ''}` }];
  });
}

/** The claims that a pod mounts. That of a generic ephemeral volume is named after pod and volume, as Kubernetes documents. */
export function claimsOf(volumes: readonly VolumeJson[], pod: string): readonly PodClaim[] {
  return volumes.flatMap(({ name = '', persistentVolumeClaim, ephemeral }): readonly PodClaim[] => {
    if (persistentVolumeClaim !== undefined) return [{ name: persistentVolumeClaim.claimName ?? '' }];
    if (ephemeral === undefined) return [];
    return [{ name: `${pod}-${name}`, ephemeral: claimWish(ephemeral.volumeClaimTemplate?.spec ?? {}) }];
  });
}
