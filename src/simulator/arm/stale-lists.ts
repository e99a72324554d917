/** Lists frozen at a moment of the past, for faults that make Azure's caches visible. */
import type { Json } from './json.ts';
import type { ArmReply, ArmRequest } from './messages.ts';
import { isVisible, wantsView } from './instances.ts';
import { renderVm } from './instance-document.ts';
import { renderSet } from './scale-set-document.ts';
import type { ArmWorld } from './world-state.ts';

interface Snapshot {
  readonly sets: readonly Json[];
  /** By set name in lower case; plain and with views. */
  readonly instances: ReadonlyMap<string, { readonly plain: readonly Json[]; readonly viewed: readonly Json[] }>;
}

export interface FrozenLists {
  freeze(faultId: string): void;
  forget(faultId: string): void;
  /** The frozen list that the request asks for, on one page; undefined where nothing was frozen. */
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
    sets: sets.map((set) => renderSet(world, set)),
    instances: new Map(
      sets.map((set) => {
        const vms = [...set.vms.values()].filter((vm) => vm.kind === 'uniform' && isVisible(world, vm));
        const render = (expand: boolean): readonly Json[] => vms.map((vm) => renderVm(world, vm, { set, expand }));
        return [set.name.toLowerCase(), { plain: render(false), viewed: render(true) }];
      }),
    ),
  };
}
