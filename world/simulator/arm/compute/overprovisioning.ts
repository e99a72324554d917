/**
 * Overprovisioning of Uniform sets: up to a fifth more VMs than requested are begun. Once enough of them succeeded, the others
 * are deleted. The extra VMs count neither in the capacity nor in the quota, and use up ids. AKS turns it off.
 */
import { pick } from '../http/json.ts';
import type { ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

const EXTRA_SHARE = 0.2;

/** How many extra VMs a set begins for an increase of this size. */
export function extraFor(set: ScaleSet, growth: number): number {
  const isOn = set.kind === 'uniform' && pick(set.document, 'properties', 'overprovision') === true;
  return isOn ? Math.ceil(growth * EXTRA_SHARE) : 0;
}

/**
 * The VMs to delete after another member became idle: all beyond the wanted number, failed ones first. It is decided once enough
 * succeeded or no creation is left. undefined: not decided yet. The deleted VMs become the surplus ones.
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
