/**
 * Four parties count the machines of a pool: AKS by its `count`, the scale set by its capacity, the list of machines, and
 * the cluster by its nodes. When they differ while nothing runs, something is wrong, or will be: any operation of AKS on the
 * pool sets the capacity to its own count. Judges only; reads nothing.
 */
import type { NodeGroup } from '../../domain/node-group.ts';

/** Who counts otherwise than expected: AKS and the list of machines against the capacity, nodes against running machines. */
export type DriftKind = 'agent-pool' | 'instances' | 'nodes';

export interface Drift {
  readonly kind: DriftKind;
  readonly counted: number;
  readonly expected: number;
}

/** What is not part of the group itself. */
export interface DriftFacts {
  /** The count of AKS; undefined: not told, or of a pool whose size it is itself. */
  readonly agentPoolCount: number | undefined;
  /** AKS scales the pool down by deallocating, and does not count what it deallocated. Absent: it deletes. */
  readonly parks?: boolean;
  /** Nodes that belong to the group. */
  readonly nodes: number;
}

/** Every party that can be compared; empty when the size or the machines are not known. */
export function driftsOf({ target, instances }: NodeGroup, { agentPoolCount, parks = false, nodes }: DriftFacts): readonly Drift[] {
  if (!target.known || instances === undefined) return [];
  const staying = instances.filter(({ state }) => state !== 'deleting');
  const running = staying.filter(({ state }) => state === 'running');
  const parked = staying.filter(({ state }) => state === 'deallocated').length;
  const capacity = target.value;
  const counted = parks ? capacity - parked : capacity;
  // The node of a machine that was deallocated stays, unless somebody takes it away.
  const joined = Math.min(Math.max(nodes, running.length), running.length + parked);
  return [
    ...(agentPoolCount === undefined ? [] : [{ kind: 'agent-pool' as const, counted: agentPoolCount, expected: counted }]),
    { kind: 'instances', counted: staying.length, expected: capacity },
    { kind: 'nodes', counted: nodes, expected: joined },
  ];
}

/** Whether nothing is known to be under way in the group. `inFlight`: changes of ours that have not ended. */
export function isAtRest({ target, instances, frozen }: NodeGroup, inFlight: number): boolean {
  if (!target.known || !target.confirmed || inFlight > 0 || frozen !== undefined) return false;
  return instances?.every(({ state }) => state === 'running' || state === 'deallocated') === true;
}

/** A node takes minutes to join, and a list is minutes old: only a difference that lasts is told. */
const LASTING_MS = 10 * 60_000;

const WORDS: Readonly<Record<DriftKind, string>> = { 'agent-pool': 'the count of AKS', instances: 'its machines', nodes: 'its nodes' };

export class DriftWatch {
  readonly #since = new Map<string, number>();
  #told = '';

  /**
   * Takes one look at every group at rest; groups that are left out are in motion, and their differences begin anew.
   * Answers a line per lasting difference when there are other ones than last time; undefined: no news.
   */
  look(groups: readonly { readonly id: string; readonly drifts: readonly Drift[] }[], nowMs: number): readonly string[] | undefined {
    const live = new Map<string, string>();
    for (const { id, drifts } of groups) {
      for (const { kind, counted, expected } of drifts) {
        if (counted !== expected) live.set(`${id}|${kind}`, `${id}: ${WORDS[kind]} ${counted}, expected ${expected}`);
      }
    }
    for (const key of this.#since.keys()) if (!live.has(key)) this.#since.delete(key);
    for (const key of live.keys()) if (!this.#since.has(key)) this.#since.set(key, nowMs);
    const lasting = [...live.keys()].filter((key) => nowMs - (this.#since.get(key) ?? nowMs) >= LASTING_MS).sort();
    const news = lasting.join(' ');
    if (news === this.#told) return undefined;
    this.#told = news;
    return lasting.flatMap((key) => live.get(key) ?? []);
  }
}
