/**
 * Attaches disks to the nodes of their pods and detaches them, as the attach-detach controller with the disk driver of AKS: a disk is on one node
 * at a time, a pod starts when its disks are attached, and a disk leaves a silent node only after six minutes
 * (`maxWaitForUnmountDuration` of kube-controller-manager). The number of disks per node is the scheduler's business.
 */
import { createHash } from 'node:crypto';
import { placeOf } from '../store/api.ts';
import { conditionOf, type KubeObject, type NodeObject, type PodObject } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import type { VolumeObject } from '../store/storage-objects.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { claimOf, mountsOf } from '../scheduler/volumes.ts';
import { onChange, recordEvent, type ControllerContext } from '../base/controller-context.ts';

const ATTACHMENTS = storedType('volumeattachments');
const DISKS = 'disk.csi.azure.com';
const COMPONENT = 'attachdetach-controller';

interface AttachmentObject extends KubeObject {
  readonly spec: { readonly nodeName: string; readonly source: { readonly persistentVolumeName: string } };
}

/** Names of the volumes of a pod that are disks. */
function disksOf({ api }: ControllerContext, pod: PodObject): readonly string[] {
  return mountsOf(pod).flatMap(({ name }) => {
    const volumeName = claimOf(pod, name, api.store)?.spec.volumeName ?? '';
    const volume = api.store.get('persistentvolumes', `/${volumeName}`) as VolumeObject | undefined;
    return volume?.spec.csi?.driver === DISKS ? [volumeName] : [];
  });
}

function attachmentName(volume: string, node: string): string {
  return `csi-${createHash('sha256').update(`${volume}${DISKS}${node}`).digest('hex')}`;
}

/** Whether the node of a bound pod has all of its disks. */
export function hasItsDisks(context: ControllerContext, pod: PodObject): boolean {
  return disksOf(context, pod).every((volume) => {
    const found = context.api.store.get('volumeattachments', `/${attachmentName(volume, pod.spec.nodeName ?? '')}`);
    return isRecord(found?.status) && found.status['attached'] === true;
  });
}

/** Which pods use which disks, on which nodes. */
class DiskUsers {
  /** By volume, the pods (`namespace/name`) with their nodes. */
  readonly #users = new Map<string, Map<string, string>>();
  readonly #volumes = new Map<string, readonly string[]>();

  /** @returns the volumes that the pod uses now or used before. */
  note(pod: PodObject, volumes: readonly string[]): readonly string[] {
    const key = keyOf(pod);
    const before = this.#volumes.get(key) ?? [];
    for (const volume of before) this.#users.get(volume)?.delete(key);
    for (const volume of volumes)
      this.#users.set(volume, (this.#users.get(volume) ?? new Map<string, string>()).set(key, pod.spec.nodeName ?? ''));
    if (volumes.length === 0) this.#volumes.delete(key);
    else this.#volumes.set(key, volumes);
    return [...new Set([...before, ...volumes])];
  }

  of(volume: string): ReadonlyMap<string, string> {
    return this.#users.get(volume) ?? new Map<string, string>();
  }
}

/** Starts the controller. Returns a function that stops it. */
export function startVolumeAttachments(context: ControllerContext): () => void {
  const { api, knobs } = context;
  const users = new DiskUsers();
  /** Attachments that end soon. */
  const leaving = new Set<string>();
  const queue = createQueue(api.timers, (volume) => {
    const attachments = attachmentsOf(context, volume);
    const wanted = users.of(volume);
    for (const attachment of attachments) if (![...wanted.values()].includes(attachment.spec.nodeName)) detachLater(attachment);
    for (const [podKey, nodeName] of wanted) attach(volume, podKey, nodeName);
  });

  function attach(volume: string, podKey: string, nodeName: string): void {
    const attachments = attachmentsOf(context, volume);
    if (attachments.some(({ spec }) => spec.nodeName === nodeName)) return;
    const pod = api.store.get('pods', podKey) as PodObject | undefined;
    if (pod !== undefined && attachments.length > 0) {
      const message = `Multi-Attach error for volume "${volume}" Volume is already exclusively attached to one node and can't be attached to another`;
      recordEvent(api, pod, { type: 'Warning', reason: 'FailedAttachVolume', message, component: COMPONENT });
    }
    if (attachments.length > 0 || pod === undefined) return;
    const name = attachmentName(volume, nodeName);
    const spec = { attacher: DISKS, nodeName, source: { persistentVolumeName: volume } };
    const created = api.create(
      ATTACHMENTS,
      { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata: { name }, spec },
      undefined,
    );
    if (created.ok) api.timers.after(knobs.diskAttachMs, () => finish(created.value, podKey));
  }

  function finish(attachment: KubeObject, podKey: string): void {
    const done = api.modify(ATTACHMENTS, placeOf(attachment), 'status', (current) => ({ ...current, status: { attached: true } }));
    const pod = api.store.get('pods', podKey) as PodObject | undefined;
    if (!done.ok || pod === undefined) return;
    const message = `AttachVolume.Attach succeeded for volume "${(done.value as AttachmentObject).spec.source.persistentVolumeName}"`;
    recordEvent(api, pod, { type: 'Normal', reason: 'SuccessfulAttachVolume', message, component: COMPONENT });
  }

  function detachLater(attachment: AttachmentObject): void {
    const { nodeName, source } = attachment.spec;
    const volume = source.persistentVolumeName;
    if (leaving.has(attachment.metadata.uid)) return;
    leaving.add(attachment.metadata.uid);
    api.timers.after(isUnmounted(context, nodeName) ? knobs.diskDetachMs : knobs.forceDetachMs, () => {
      leaving.delete(attachment.metadata.uid);
      const isUsed = [...users.of(volume).values()].includes(nodeName);
      const present = api.store.get('volumeattachments', `/${attachment.metadata.name}`);
      if (isUsed || present?.metadata.uid !== attachment.metadata.uid) return;
      api.remove(ATTACHMENTS, placeOf(attachment), {});
      queue.add(volume);
    });
  }

  return onChange(api, ['pods'], ({ type, object }) => {
    const pod = object as PodObject;
    if (mountsOf(pod).length === 0) return;
    const uses = type !== 'DELETED' && pod.spec.nodeName !== undefined && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed';
    for (const volume of users.note(pod, uses ? disksOf(context, pod) : [])) queue.add(volume);
  });
}

function attachmentsOf({ api }: ControllerContext, volume: string): readonly AttachmentObject[] {
  const all = api.store.list('volumeattachments') as readonly AttachmentObject[];
  // A client may write one without a source.
  return all.filter(
    ({ spec }) => (spec.source as Partial<AttachmentObject['spec']['source']> | undefined)?.persistentVolumeName === volume,
  );
}

/** A kubelet that works has unmounted the disk of a pod that is gone. */
function isUnmounted({ api }: ControllerContext, nodeName: string): boolean {
  const node = api.store.get('nodes', `/${nodeName}`) as NodeObject | undefined;
  return node !== undefined && conditionOf(node, 'Ready')?.status === 'True';
}
