/**
 * What a request costs beside the call itself: Compute counts the VMs that it shows or touches (recorded by azure-powershell, November
 * 2025, and by cloud-provider-azure, January 2026).
 */
import type { ArmWorld } from '../state/arm-state.ts';

/** Charges a read for the VMs that it shows. @returns the header that says so. */
export function chargeViews({ throttle }: ArmWorld, vms: number): Readonly<Record<string, string>> {
  throttle.spend('views', vms);
  return { 'x-ms-request-charge': String(vms) };
}

/** Charges a write for the VMs that it touches; 0: it changes nothing. @returns the header that says so. */
export function chargeWrite({ throttle }: ArmWorld, vms: number): Readonly<Record<string, string>> {
  throttle.spend('batched', vms);
  return { 'x-ms-request-charge': String(vms) };
}
