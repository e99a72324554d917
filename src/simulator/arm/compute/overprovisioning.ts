/**
 * Overprovisioning of Uniform sets: up to a fifth more machines than asked for are begun, and once enough of them are well the
 * others go again. The extra ones are never in the capacity nor in the quota; their ids are used up. AKS turns it off.
 */
import { pick } from '../http/json.ts';
import type { ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

const EXTRA_SHARE = 0.2;

/** How many more a set begins when it grows by so many. */
export function extraFor(set: ScaleSet, growth: number): number {
  const isOn = set.kind === 'uniform' && pick(set.document, 'properties', 'overprovision') === true;
  return isOn ? Math.ceil(growth * EXTRA_SHARE) : 0;
}

/**
 * Who goes, now that another member came to rest: everyone beyond the wanted number, the unwell first, once enough are well or
 * none is on its way. undefined: it is not decided yet. Marks of surplus move to those who go.
 */
export function settleOverprovisioned({
  members,
}: NonNullable<Vm['batch']>): { readonly leaving: readonly Vm[]; readonly staying: readonly Vm[] } | undefined {
  const living = [...members].filter((vm) => vm.provisioningState !== 'Deleting');
  const wanted = living.filter((vm) => !vm.surplus).length;
  const well = living.filter((vm) => vm.provisioningState === 'Succeeded');
  if (well.length < wanted && living.some((vm) => vm.provisioningState === 'Creating')) return undefined;
  const ranked = [...well, ...living.filter((vm) => vm.provisioningState !== 'Succeeded')];
  const staying = ranked.slice(0, wanted);
  const leaving = ranked.slice(wanted);
  for (const vm of staying) vm.surplus = false;
  for (const vm of leaving) vm.surplus = true;
  members.clear();
  return { leaving, staying };
}
