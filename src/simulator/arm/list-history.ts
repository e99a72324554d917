/**
 * The lists of a resource group come from a cache of ARM's, which is seconds behind what Compute knows. With the knob on the
 * world remembers how those lists looked a moment ago; what a list shows is never older than the knob says. Single reads are true.
 */
import { renderVm } from './instance-document.ts';
import { isVisible } from './instances.ts';
import { renderSet } from './scale-set-document.ts';
import { allVms, later, type ArmWorld, type Listed, type ListHistory } from './world-state.ts';

interface Sample {
  readonly atMs: number;
  readonly sets: readonly Listed[];
  readonly vms: readonly Listed[];
}

/** Looks per staleness: how exactly an age is met. */
const LOOKS = 8;

export function createListHistory(world: ArmWorld): ListHistory {
  const { listStalenessMs } = world.knobs;
  if (listStalenessMs <= 0) return { sets: () => undefined, vms: () => undefined };
  const samples: Sample[] = [];
  const look = (): void => {
    samples.push(takeSample(world));
    if (samples.length > LOOKS + 1) samples.shift();
    later(world, listStalenessMs / LOOKS, look);
  };
  look();
  const at = (occasion: string): Sample | undefined => {
    const lagMs = world.draws.unit(`list|${occasion}`) * listStalenessMs * (1 - 1 / LOOKS);
    const wanted = world.clock.now() - lagMs / world.clock.speed;
    return samples.findLast(({ atMs }) => atMs <= wanted);
  };
  return { sets: (occasion) => at(occasion)?.sets, vms: (occasion) => at(occasion)?.vms };
}

function takeSample(world: ArmWorld): Sample {
  const sets = [...world.sets.values()].map((set) => ({ name: set.name, shown: renderSet(world, set) }));
  const ofSet = new Map([...world.sets.values()].flatMap((set) => [...set.vms.values()].map((vm) => [vm, set] as const)));
  const vms = allVms(world).filter((vm) => vm.kind !== 'uniform' && isVisible(world, vm));
  return {
    atMs: world.clock.now(),
    sets: sets.sort((left, right) => (left.name < right.name ? -1 : 1)),
    vms: vms.map((vm) => ({ name: vm.name, shown: renderVm(world, vm, { set: ofSet.get(vm), expand: false }) })),
  };
}
