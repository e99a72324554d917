/**
 * Attaches disks to the nodes of their pods and detaches them, as the attach-detach controller with the disk driver of AKS: a disk is on one node
 * at a time, a pod starts when its disks are attached, and a disk leaves a silent node only after six minutes
 * (`maxWaitForUnmountDuration` of kube-controller-manager). The number of disks per node is the scheduler's business.
 */
import { createHash } from 'node:crypto';
import { placeOf } from '../store/api.ts';
import { conditionOf, timestamp, type KubeObject, type NodeObject, type PodObject } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';
import { storedType } from '../store/resource-types.ts';
import type { VolumeObject } from '../store/storage-objects.ts';
import { keyOf } from '../store/store.ts';
import { createQueue } from '../store/timers.ts';
import { claimOf, mountsOf } from '../scheduler/volumes.ts';
import { onChange, recordEvent, type ControllerContext } from '../base/controller-context.ts';

const ATTACHMENTS = storedType('volumeattachments');
const NODES = storedType('nodes');
const DISKS = 'disk.csi.azure.com';
const COMPONENT = 'attachdetach-controller';
/** Set by the external attacher of the driver. */
const FINALIZER = 'external-attacher/disk-csi-azure-com';
/** Simulated time between attempts to attach, which doubles up to the last (external-attacher: 1 s to 5 minutes). */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 300_000;

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
    return found?.metadata.deletionTimestamp === undefined && isRecord(found?.status) && found.status['attached'] === true;
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
  const { api, knobs, disks } = context;
  const users = new DiskUsers();
  /** Attachments that end soon. */
  const leaving = new Set<string>();
  /** The handle of each attachment's disk, which outlives its volume. */
  const handles = new Map<string, string>();
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
    const metadata = { name: attachmentName(volume, nodeName), finalizers: [FINALIZER] };
    const spec = { attacher: DISKS, nodeName, source: { persistentVolumeName: volume } };
    const created = api.create(ATTACHMENTS, { apiVersion: 'storage.k8s.io/v1', kind: 'VolumeAttachment', metadata, spec }, undefined);
    if (created.ok) tryAttach(created.value as AttachmentObject, podKey, FIRST_RETRY_MS);
  }

  function tryAttach(attachment: AttachmentObject, podKey: string, retryMs: number): void {
    const { nodeName } = attachment.spec;
    const handle = handleOf(context, attachment);
    handles.set(attachment.metadata.uid, handle);
    disks.attach({ handle, nodeName }, (failure) => {
      const present = presentOf(context, attachment);
      if (present === undefined || present.metadata.deletionTimestamp !== undefined) return;
      if (failure === undefined) return finish(present, podKey);
      refuse(present, podKey, failure);
      api.timers.after(retryMs, () => {
        const waiting = presentOf(context, attachment);
        const isWanted = waiting !== undefined && waiting.metadata.deletionTimestamp === undefined;
        if (isWanted) tryAttach(waiting, podKey, Math.min(LAST_RETRY_MS, 2 * retryMs));
      });
    });
  }

  function finish(attachment: AttachmentObject, podKey: string): void {
    const done = api.modify(ATTACHMENTS, placeOf(attachment), 'status', (current) => ({ ...current, status: { attached: true } }));
    reportOnNode(attachment, true);
    const pod = api.store.get('pods', podKey) as PodObject | undefined;
    if (!done.ok || pod === undefined) return;
    const message = `AttachVolume.Attach succeeded for volume "${attachment.spec.source.persistentVolumeName}"`;
    recordEvent(api, pod, { type: 'Normal', reason: 'SuccessfulAttachVolume', message, component: COMPONENT });
  }

  /**
   * `status.volumesAttached` of the node: a volume is on it from its attachment until just before it is detached (reconciler of the
   * attach-detach controller).
   */
  function reportOnNode(attachment: AttachmentObject, isAttached: boolean): void {
    const handle = handles.get(attachment.metadata.uid) ?? handleOf(context, attachment);
    const name = `kubernetes.io/csi/${DISKS}^${handle}`;
    api.modify(NODES, { namespace: undefined, name: attachment.spec.nodeName }, 'status', (current) => {
      const status: Readonly<Record<string, unknown>> = isRecord(current.status) ? current.status : {};
      const reported: readonly unknown[] = Array.isArray(status['volumesAttached']) ? status['volumesAttached'] : [];
      const others = reported.filter((volume) => !isRecord(volume) || volume['name'] !== name);
      return { ...current, status: { ...status, volumesAttached: isAttached ? [...others, { name, devicePath: '' }] : others } };
    });
  }

  function refuse(attachment: AttachmentObject, podKey: string, failure: string): void {
    const attachError = { message: failure, time: timestamp(api.timers.now()) };
    api.modify(ATTACHMENTS, placeOf(attachment), 'status', (current) => ({ ...current, status: { attached: false, attachError } }));
    const pod = api.store.get('pods', podKey) as PodObject | undefined;
    if (pod === undefined) return;
    const message = `AttachVolume.Attach failed for volume "${attachment.spec.source.persistentVolumeName}" : ${failure}`;
    recordEvent(api, pod, { type: 'Warning', reason: 'FailedAttachVolume', message, component: COMPONENT });
  }

  function detachLater(attachment: AttachmentObject): void {
    const { nodeName, source } = attachment.spec;
    if (leaving.has(attachment.metadata.uid)) return;
    leaving.add(attachment.metadata.uid);
    api.timers.after(isUnmounted(context, nodeName) ? 0 : knobs.forceDetachMs, () => {
      const isUsed = [...users.of(source.persistentVolumeName).values()].includes(nodeName);
      const present = presentOf(context, attachment);
      if (!isUsed && present !== undefined) detach(present);
      else leaving.delete(attachment.metadata.uid);
    });
  }

  /** The attachment is deleted, and is there until its disk is detached. */
  function detach(attachment: AttachmentObject): void {
    const { nodeName, source } = attachment.spec;
    reportOnNode(attachment, false);
    api.remove(ATTACHMENTS, placeOf(attachment), {});
    const { uid } = attachment.metadata;
    disks.detach({ handle: handles.get(uid) ?? handleOf(context, attachment), nodeName }, () => {
      leaving.delete(uid);
      handles.delete(uid);
      if (presentOf(context, attachment) === undefined) return;
      api.modify(ATTACHMENTS, placeOf(attachment), 'main', (current) => ({
        ...current,
        metadata: { ...current.metadata, finalizers: [] },
      }));
      queue.add(source.persistentVolumeName);
    });
  }

  return onChange(api, ['pods'], ({ type, object }) => {
    const pod = object as PodObject;
    if (mountsOf(pod).length === 0) return;
    const uses = type !== 'DELETED' && pod.spec.nodeName !== undefined && pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed';
    for (const volume of users.note(pod, uses ? disksOf(context, pod) : [])) queue.add(volume);
  });
}

function presentOf({ api }: ControllerContext, { metadata }: AttachmentObject): AttachmentObject | undefined {
  const present = api.store.get('volumeattachments', `/${metadata.name}`);
  return present?.metadata.uid === metadata.uid ? (present as AttachmentObject) : undefined;
}

function handleOf({ api }: ControllerContext, { spec }: AttachmentObject): string {
  const name = spec.source.persistentVolumeName;
  const volume = api.store.get('persistentvolumes', `/${name}`) as VolumeObject | undefined;
  return volume?.spec.csi?.volumeHandle ?? name;
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
