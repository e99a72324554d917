/** Lists frozen at a past moment, for faults that make Azure's caches visible. */
import type { Json } from '../http/json.ts';
import type { ArmReply, ArmRequest } from '../http/messages.ts';
import { type ArmWorld, allVms, later, type Listed, type ListHistory } from '../state/arm-state.ts';
import { renderVm } from './instance-document.ts';
import { isVisible, wantsView } from './instances.ts';
import { renderSet } from './scale-set-document.ts';
import { compareBy } from '../../../../src/lib/comparison.ts';

interface Snapshot {
  readonly sets: readonly Json[];
  /** By set name in lower case; without and with instance views. */
  readonly instances: ReadonlyMap<string, { readonly plain: readonly Json[]; readonly viewed: readonly Json[] }>;
}

export interface FrozenLists {
  freeze(faultId: string): void;
  forget(faultId: string): void;
  /** The frozen list for the request, on one page. undefined if the list was not frozen. */
  answer(faultId: string, request: ArmRequest): ArmReply | undefined;
}

export function createFrozenLists(world: ArmWorld): FrozenLists {
  const snapshots = new Map<string, Snapshot>();
  return {
    freeze: (faultId) => snapshots.set(faultId, takeSnapshot(world)),
    forget: (faultId) => snapshots.delete(faultId),
    answer: (faultId, request) => {
      const snapshot = snapshots.get(faultId);
      if (snapshot === undefined || request.method !== 'GET') return undefined;
      if (/\/virtualMachineScaleSets$/i.test(request.path)) return { status: 200, body: { value: snapshot.sets } };
      const name = /\/virtualMachineScaleSets\/([^/]+)\/virtualMachines$/i.exec(request.path)?.[1];
      const rows = name === undefined ? undefined : snapshot.instances.get(name.toLowerCase());
      return rows === undefined ? undefined : { status: 200, body: { value: wantsView(request) ? rows.viewed : rows.plain } };
    },
  };
}

function takeSnapshot(world: ArmWorld): Snapshot {
  const sets = [...world.sets.values()];
  return {
    sets: sets.map((set) => renderSet(set)),
    instances: new Map(
      sets.map((set) => {
        const vms = [...set.vms.values()].filter((vm) => vm.kind === 'uniform' && isVisible(world, vm));
        const render = (expand: boolean): readonly Json[] => vms.map((vm) => renderVm(world, vm, { set, expand }));
        return [set.name.toLowerCase(), { plain: render(false), viewed: render(true) }];
      }),
    ),
  };
}

// ARM serves the lists of a resource group from a cache that is seconds behind Compute. With the setting on, the
// world remembers past states of those lists. No list is older than the setting. Single reads are current.

interface Sample {
  readonly atMs: number;
  readonly sets: readonly Listed[];
  readonly vms: readonly Listed[];
}

/** Snapshots per staleness window: the precision of a list's age. */
const SNAPSHOTS_PER_WINDOW = 8;

export function createListHistory(world: ArmWorld): ListHistory {
  const { listStalenessMs } = world.knobs;
  if (listStalenessMs <= 0) return { sets: () => undefined, vms: () => undefined };
  const samples: Sample[] = [];
  const look = (): void => {
    samples.push(takeSample(world));
    if (samples.length > SNAPSHOTS_PER_WINDOW + 1) samples.shift();
    later(world, listStalenessMs / SNAPSHOTS_PER_WINDOW, look);
  };
  look();
  const at = (occasion: string): Sample | undefined => {
    const lagMs = world.draws.unit(`list|${occasion}`) * listStalenessMs * (1 - 1 / SNAPSHOTS_PER_WINDOW);
    const wanted = world.clock.now() - lagMs / world.clock.speed;
    return samples.findLast(({ atMs }) => atMs <= wanted);
  };
  return { sets: (occasion) => at(occasion)?.sets, vms: (occasion) => at(occasion)?.vms };
}

function takeSample(world: ArmWorld): Sample {
  const sets = [...world.sets.values()].map((set) => ({ name: set.name, shown: renderSet(set) }));
  const ofSet = new Map([...world.sets.values()].flatMap((set) => [...set.vms.values()].map((vm) => [vm, set] as const)));
  const vms = allVms(world).filter((vm) => vm.kind !== 'uniform' && isVisible(world, vm));
  return {
    atMs: world.clock.now(),
    sets: sets.sort(compareBy((item) => item.name)),
    vms: vms.map((vm) => ({ name: vm.name, shown: renderVm(world, vm, { set: ofSet.get(vm), expand: false }) })),
  };
}
