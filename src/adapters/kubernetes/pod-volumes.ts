/** Which volumes pin a pod to its node, and which say where a pod may run in ways this version cannot judge. */
import type { LocalVolume, UnsupportedRequirement } from '../../domain/pod.ts';
import type { VolumeJson } from './api-json.ts';

/**
 * In-tree block devices: bound to a zone or to one node at a time, so placement depends on them. File shares, secrets,
 * projected and inline CSI volumes do not decide placement and are fine.
 */
const PLACING_KINDS = [
  'azureDisk',
  'awsElasticBlockStore',
  'gcePersistentDisk',
  'cinder',
  'vsphereVolume',
  'rbd',
  'iscsi',
  'fc',
  'portworxVolume',
  'scaleIO',
  'storageos',
];

/** Volumes that live and die with the node. Memory-backed emptyDirs hold nothing worth keeping, as in the Cluster Autoscaler. */
export function localVolumes(volumes: readonly VolumeJson[]): readonly LocalVolume[] {
  return volumes.flatMap((volume): readonly LocalVolume[] => {
    const name = volume.name ?? '';
    if (volume['hostPath'] !== undefined) return [{ name, kind: 'hostPath' }];
    if (volume.emptyDir !== undefined && volume.emptyDir.medium !== 'Memory') return [{ name, kind: 'emptyDir' }];
    return [];
  });
}

/** Whether the volume says something about placement. */
export function placesPod(volume: VolumeJson): boolean {
  return (
    volume.persistentVolumeClaim !== undefined ||
    volume['ephemeral'] !== undefined ||
    PLACING_KINDS.some((kind) => volume[kind] !== undefined)
  );
}

export function unsupportedVolumes(volumes: readonly VolumeJson[]): readonly UnsupportedRequirement[] {
  return volumes.filter(placesPod).map((volume) => {
    if (volume.persistentVolumeClaim !== undefined) {
      return { feature: 'persistent-volume', detail: `claim ${volume.persistentVolumeClaim.claimName ?? ''}` };
    }
    const name = volume.name ?? '';
    if (volume['ephemeral'] !== undefined) return { feature: 'persistent-volume', detail: `generic ephemeral volume ${name}` };
    const kind = PLACING_KINDS.find((candidate) => volume[candidate] !== undefined) ?? '';
    return { feature: 'persistent-volume', detail: `${kind} volume ${name}` };
  });
}
