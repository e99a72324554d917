/** Which scale sets take a forced delete. Azure refuses it for machines that have a physical host to themselves. */
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { parseVmSize } from '../sizes/size-names.ts';

/** Isolated sizes, by Azure's documentation, whose names lack the letter `i`. Folded. */
const ISOLATED_UNMARKED: ReadonlySet<string> = new Set(['standard_f72s_v2', 'standard_m128ms']);

/** undefined, a set that was not read: Azure is asked, and a refusal leads to a delete without force. */
export function allowsForce(set: ScaleSetRow | undefined): boolean {
  return set === undefined || (!set.dedicatedHost && !isIsolated(set.vmSize));
}

function isIsolated(vmSize: string): boolean {
  return ISOLATED_UNMARKED.has(vmSize.toLowerCase()) || parseVmSize(vmSize).features.includes('i');
}
