/**
 * The part of AKS's disk driver that makes volumes: a claim whose node the scheduler has chosen gets a volume in that
 * node's zone. Binding the two is the real volume controller's business.
 */
import type { ApiClient, KubeObject } from './api-client.ts';

export const DISK_DRIVER = 'disk.csi.azure.com';
export const DISK_ZONE = 'topology.disk.csi.azure.com/zone';
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

interface Claim extends KubeObject {
  readonly spec: {
    readonly storageClassName?: string;
    readonly volumeName?: string;
    readonly accessModes: readonly string[];
    readonly resources: { readonly requests: { readonly storage: string } };
  };
}

/** Follows claims until the answer is called. `onFailure` is told what could not be made. */
export function startDiskDriver(api: ApiClient, onFailure: (what: string) => void): () => void {
  const made = new Set<string>();
  return api.follow('/api/v1/persistentvolumeclaims', ({ type, object }) => {
    const claim = object as Claim;
    const node = claim.metadata.annotations?.[SELECTED_NODE];
    if (type === 'DELETED' || type === 'ERROR' || type === 'BOOKMARK' || node === undefined) return;
    if ((claim.spec.volumeName ?? '') !== '' || made.has(claim.metadata.uid)) return;
    made.add(claim.metadata.uid);
    makeVolume(api, claim, node).catch((thrown: unknown) => {
      made.delete(claim.metadata.uid);
      onFailure(`volume of ${claim.metadata.name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
    });
  });
}

async function makeVolume(api: ApiClient, claim: Claim, nodeName: string): Promise<void> {
  const node = await api.get(`/api/v1/nodes/${nodeName}`);
  const zone = node?.metadata.labels?.[DISK_ZONE] ?? '';
  const { name, namespace, uid } = claim.metadata;
  await api.must('POST', '/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: `pvc-${uid}`, annotations: { 'pv.kubernetes.io/provisioned-by': DISK_DRIVER } },
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
