/**
 * The part of AKS's disk driver that creates and deletes volumes: a claim whose node the scheduler has chosen gets a volume in that
 * node's zone, and the volume goes with its claim. The real volume controller binds the two.
 */
import type { ApiClient, KubeObject } from './api-client.ts';

export const DISK_DRIVER = 'disk.csi.azure.com';
export const DISK_ZONE = 'topology.disk.csi.azure.com/zone';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by';
const VOLUMES = '/api/v1/persistentvolumes';

interface Claim extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
}

interface Volume extends KubeObject {
  readonly spec: { readonly persistentVolumeReclaimPolicy?: string };
  readonly status?: { readonly phase?: string };
}

/** Follows claims and volumes until the returned function is called. `onFailure` gets one sentence for each failure. */
export function startDiskDriver(api: ApiClient, onFailure: (what: string) => void): () => void {
  const failed = (what: string, thrown: unknown): void =>
    onFailure(`${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  const stops = [followClaims(api, failed), followVolumes(api, failed)];
  return () => {
    for (const stop of stops) stop();
  };
}

function followClaims(api: ApiClient, failed: (what: string, thrown: unknown) => void): () => void {
  const created = new Set<string>();
  return api.follow('/api/v1/persistentvolumeclaims', ({ type, object }) => {
    const claim = object as Claim;
    if (type === 'DELETED') created.delete(claim.metadata.uid);
    const node = claim.metadata.annotations?.[SELECTED_NODE];
    if ((type !== 'ADDED' && type !== 'MODIFIED') || node === undefined) return;
    if ((claim.spec.volumeName ?? '') !== '' || created.has(claim.metadata.uid)) return;
    created.add(claim.metadata.uid);
    createVolume(api, claim, node).catch((thrown: unknown) => {
      created.delete(claim.metadata.uid);
      failed(`volume of ${claim.metadata.name}`, thrown);
    });
  });
}

async function createVolume(api: ApiClient, claim: Claim, nodeName: string): Promise<void> {
  const node = await api.get(`/api/v1/nodes/${nodeName}`);
  const zone = node?.metadata.labels?.[DISK_ZONE] ?? '';
  const { name, namespace, uid } = claim.metadata;
  await api.must('POST', VOLUMES, {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pvc-${uid}`, annotations: { [PROVISIONED_BY]: DISK_DRIVER } },
    spec: {
      capacity: { storage: claim.spec.resources.requests.storage },
      accessModes: claim.spec.accessModes,
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: claim.spec.storageClassName,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid },
      csi: { driver: DISK_DRIVER, volumeHandle: `disk-${uid}` },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: DISK_ZONE, operator: 'In', values: [zone] }] }] } },
    },
  });
}

/** The volume controller releases a volume whose claim is gone; its deletion is the driver's part. */
function followVolumes(api: ApiClient, failed: (what: string, thrown: unknown) => void): () => void {
  return api.follow(VOLUMES, ({ type, object }) => {
    const { metadata, spec, status } = object as Volume;
    const isOurs = metadata.annotations?.[PROVISIONED_BY] === DISK_DRIVER && spec.persistentVolumeReclaimPolicy === 'Delete';
    if ((type !== 'ADDED' && type !== 'MODIFIED') || !isOurs || status?.phase !== 'Released') return;
    api.delete(`${VOLUMES}/${metadata.name}`).catch((thrown: unknown) => failed(`deletion of volume ${metadata.name}`, thrown));
  });
}
