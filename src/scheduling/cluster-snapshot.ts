import type { NodeName } from '../domain/ids.ts';
import { AutoscalerError } from '../domain/errors.ts';
import type { Node } from '../domain/node.ts';
import type { ClusterView } from '../domain/observation.ts';
import type { Pod } from '../domain/pod.ts';
import type { FitReason } from '../domain/reasons.ts';
import type { ResourceNames } from '../domain/resources.ts';
import type { Snapshot, SnapshotNode } from './snapshot.ts';

/** Signatures only for now: every method throws until the engine lands. */
export class ClusterSnapshot implements Snapshot {
  readonly #names: ResourceNames;

  constructor(options: { readonly names: ResourceNames }) {
    this.#names = options.names;
  }

  /** Brings the snapshot to the view, touching only what changed. No fork may be open. */
  sync(_cluster: ClusterView): void {
    throw this.#missing();
  }
  nodeNames(): readonly NodeName[] {
    throw this.#missing();
  }
  get(_name: NodeName): SnapshotNode | undefined {
    throw this.#missing();
  }
  addNode(_node: Node, _pods: readonly Pod[]): void {
    throw this.#missing();
  }
  removeNode(_name: NodeName): void {
    throw this.#missing();
  }
  addPod(_pod: Pod, _node: NodeName): void {
    throw this.#missing();
  }
  removePod(_pod: Pod, _node: NodeName): void {
    throw this.#missing();
  }
  check(_pod: Pod, _node: NodeName): readonly FitReason[] {
    throw this.#missing();
  }
  findNode(_pod: Pod, _accepts?: (node: NodeName) => boolean): NodeName | undefined {
    throw this.#missing();
  }
  fork(): void {
    throw this.#missing();
  }
  commit(): void {
    throw this.#missing();
  }
  revert(): void {
    throw this.#missing();
  }
  #missing(): AutoscalerError {
    return new AutoscalerError({ kind: 'bug' }, `The snapshot of ${this.#names.count} resources has no engine yet.`);
  }
}
