/** How many nodes were bought and removed, and how long they lived. */
import type { NodeObject } from '../../simulator/cluster/store/objects.ts';
import type { StoreChange } from '../../simulator/cluster/store/store.ts';
import { percentile, round } from './pod-waits.ts';

const MINUTE = 60_000;
/** A node that the autoscaler removes within this time was not worth its start. */
const SHORT_LIFE_MS = 20 * MINUTE;

export interface NodeFigures {
  readonly created: number;
  readonly removedByDaemon: number;
  readonly shortLived: number;
  readonly medianLifeMinutes: number;
}

export class NodeLives {
  readonly #born = new Map<string, number>();
  readonly #removing = new Set<string>();
  readonly #livedMs: number[] = [];
  #created = 0;
  #removedByDaemon = 0;
  #shortLived = 0;

  /** Azure accepted the deletion of the node's VM by the autoscaler. */
  noteRemoval(hostName: string): void {
    this.#removing.add(hostName);
  }

  /** Changes of nodes, in order of time. */
  record({ type, object }: Pick<StoreChange, 'type' | 'object'>, nowMs: number): void {
    const { name } = (object as NodeObject).metadata;
    if (type === 'ADDED') {
      this.#created++;
      this.#born.set(name, nowMs);
    }
    const bornMs = this.#born.get(name);
    if (type !== 'DELETED' || bornMs === undefined) return;
    this.#born.delete(name);
    this.#livedMs.push(nowMs - bornMs);
    if (!this.#removing.delete(name)) return;
    this.#removedByDaemon++;
    if (nowMs - bornMs < SHORT_LIFE_MS) this.#shortLived++;
  }

  /** Of nodes that joined since the start. The median is of those that are gone. */
  figures(): NodeFigures {
    const lives = this.#livedMs.toSorted((left, right) => left - right);
    return {
      created: this.#created,
      removedByDaemon: this.#removedByDaemon,
      shortLived: this.#shortLived,
      medianLifeMinutes: round(percentile(lives, 0.5) / MINUTE),
    };
  }
}
