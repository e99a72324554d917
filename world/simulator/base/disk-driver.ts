/** What the disk driver of the cluster asks of Azure: the only other way, beside the feed of VMs, in which the two halves of the world meet. */

export interface DiskDraft {
  readonly name: string;
  readonly sizeGiB: number;
  /** The value of the node's zone label, such as `westeurope-1`. Empty: a regional disk. */
  readonly zone: string;
  readonly sku: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** A disk at a node. */
export interface DiskPlace {
  readonly handle: string;
  readonly nodeName: string;
}

/** Gets why it failed, or undefined. */
export type DiskOutcome = (failure: string | undefined) => void;

export interface DiskDriver {
  /** Creates a disk. @returns its handle. */
  create(draft: DiskDraft): string;
  attach(place: DiskPlace, done: DiskOutcome): void;
  /** A disk that the node does not have is detached already. */
  detach(place: DiskPlace, done: DiskOutcome): void;
  /** Deletes a disk. @returns why it was refused, or undefined. */
  remove(handle: string): string | undefined;
}
