/** Whether Azure returned a scale set in the documented form. The SDK passes values on as they came, whatever its types say. Pure. */
import type { VirtualMachineScaleSet } from '@azure/arm-compute';
import { groupSizeOf, MAX_CLUSTER_NODES, MAX_ZONES } from '../../domain/platform-limits.ts';
import { shownText } from '../../lib/shown-text.ts';

/** The longest value of another system that a reason quotes, bytes. */
const MAX_QUOTED_BYTES = 40;

type Form = 'text' | 'text list';

/** The fields that decisions read, in order of importance. */
const FIELDS: readonly (readonly [name: string, form: Form, read: (raw: VirtualMachineScaleSet) => unknown])[] = [
  ['sku.name', 'text', ({ sku }) => sku?.name],
  ['sku.tier', 'text', ({ sku }) => sku?.tier],
  ['location', 'text', ({ location }) => location],
  ['id', 'text', ({ id }) => id],
  ['zones', 'text list', ({ zones }) => zones],
  ['provisioningState', 'text', ({ provisioningState }) => provisioningState],
  ['orchestrationMode', 'text', ({ orchestrationMode }) => orchestrationMode],
  ['extendedLocation.name', 'text', ({ extendedLocation }) => extendedLocation?.name],
  ['extendedLocation.type', 'text', ({ extendedLocation }) => extendedLocation?.type],
  ['virtualMachineProfile.priority', 'text', ({ virtualMachineProfile }) => virtualMachineProfile?.priority],
];

/** The first field of another type than documented, as a sentence. No field of such a document is used. */
export function wrongFieldReason(raw: VirtualMachineScaleSet): string | undefined {
  const wrong = FIELDS.find(([, form, read]) => !hasForm(read(raw), form));
  if (wrong === undefined) return undefined;
  const [name, form, read] = wrong;
  return `Azure returned ${name} of this scale set as ${quoted(read(raw))}, which is not a ${form}`;
}

/** Why the set can neither grow nor shrink: a field that writes need is missing, or a value cannot be true. */
export function unreadableReason({ sku, location, zones = [] }: VirtualMachineScaleSet): string | undefined {
  if (sku?.capacity === undefined) return 'Azure returned no capacity for this scale set';
  if (groupSizeOf(sku.capacity) === undefined)
    return `Azure returned the capacity ${quoted(sku.capacity)} for this scale set, which is not a whole number from 0 to ${MAX_CLUSTER_NODES}`;
  if (sku.name === undefined || sku.name === '') return 'Azure returned no VM size for this scale set';
  if (location === undefined || location === '') return 'Azure returned no location for this scale set';
  return zones.length > MAX_ZONES ? `Azure returned ${zones.length} zones for this scale set, more than ${MAX_ZONES}` : undefined;
}

function hasForm(value: unknown, form: Form): boolean {
  if (value === undefined || value === null) return true;
  return form === 'text' ? typeof value === 'string' : Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

/** The value as JSON, shortened. */
function quoted(value: unknown): string {
  return shownText(typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'nothing'), MAX_QUOTED_BYTES);
}
