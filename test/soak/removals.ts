/**
 * Removals as the world sees them when it accepts them: the daemon may take a machine that it named in a plan and marked, or one
 * that is no node, and is broken or had its time to become one.
 */
import type { JournalEntry } from '../../world/simulator/arm/http/journal.ts';
import type { VmChange } from '../../world/simulator/base/vm-feed.ts';
import type { NodeObject } from '../../world/simulator/cluster/store/objects.ts';
import type { VirtualRun } from '../support/virtual-world.ts';
import { isReady, type Witness } from './judge.ts';

type Removal = Extract<VmChange, { readonly kind: 'delete-accepted' }>;

/** What the flags of a run promise, milliseconds. */
export interface Patience {
  readonly provisionMs: number;
  readonly unneededMs: number;
}

/** Removals of the daemon's that nothing explains, as they are accepted. */
export function watchRemovals(run: VirtualRun, witness: Witness, patience: Patience): readonly string[] {
  const unplanned: string[] = [];
  run.world.arm.machines.subscribe((change) => {
    if (change.kind !== 'delete-accepted' || isForeign(change.principal)) return;
    const tell = (what: string): number => unplanned.push(`${change.machine.providerId} ${what}, at ${run.clock.now()}`);
    if (!witness.wasPlanned(change.machine.providerId)) tell('was in no plan');
    const odd = whyOdd(run, change, patience);
    if (odd !== undefined) tell(odd);
  });
  return unplanned;
}

/** Pools that others took machines from. */
export function poolsTakenFrom(run: VirtualRun): ReadonlySet<string> {
  const pools = new Set<string>();
  run.world.arm.machines.subscribe((change) => {
    if (change.kind === 'delete-accepted' && isForeign(change.principal)) pools.add(change.machine.pool);
  });
  return pools;
}

function isForeign(principal: string): boolean {
  return principal.startsWith('foreign') || principal === 'aks-resource-provider';
}

function whyOdd(run: VirtualRun, removal: Removal, { provisionMs, unneededMs }: Patience): string | undefined {
  const node = run.world.cluster.store.nodes().find(({ metadata }) => metadata.name === removal.machine.hostName);
  const now = run.clock.now();
  if (node === undefined) {
    const ageMs = now - removal.createdMs;
    const isWhole = removal.was === 'Creating' || (removal.was === 'Succeeded' && removal.machine.power === 'running');
    return isWhole && ageMs < provisionMs ? `was ${removal.was} and ${ageMs} ms old` : undefined;
  }
  if (!isReady(node)) return undefined;
  if (!isMarked(node)) return 'was a ready node without a mark';
  const ageMs = now - Date.parse(node.metadata.creationTimestamp);
  return ageMs < unneededMs ? `had been a node for ${ageMs} ms` : undefined;
}

function isMarked({ spec }: NodeObject): boolean {
  return (spec.taints ?? []).some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler');
}

/**
 * Deletes that named a machine which a process had been told was going: Azure counts every machine named, and the capacity falls
 * for each once. A process that starts, and one that was never answered, cannot know.
 */
export function deletedTwice(writes: readonly JournalEntry[], startsMs: readonly number[], takenFrom: ReadonlySet<string>): string[] {
  const deletes = writes.filter(
    ({ route, status, pool }) => /\/delete(Machines)?$/.test(route) && status === 202 && !takenFrom.has(pool ?? ''),
  );
  return [...Map.groupBy(deletes, ({ path }) => path.toLowerCase())].flatMap(([path, ofOwner]) =>
    ofOwner.flatMap((entry, index) => {
      const { charge = 0, capacityBefore = 0, capacityAfter = 0, at } = entry;
      if (capacityBefore - capacityAfter >= charge) return [];
      const last = ofOwner[index - 1];
      const knew = last !== undefined && last.faultId === undefined && !startsMs.some((startMs) => startMs >= last.at && startMs <= at);
      return knew ? [`deleted-twice ${path}: ${charge} named, ${capacityBefore - capacityAfter} new at ${at}`] : [];
    }),
  );
}
