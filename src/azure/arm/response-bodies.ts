/**
 * What is passed on of a response: so many bytes at most, and of documents that the SDK maps only the fields that this program reads, in
 * a form that can be mapped. The SDK throws if a field that should be a list is not, and would lose a whole page of resources for one of them.
 */
import type { PipelineRequest } from '@azure/core-rest-pipeline';
import { AutoscalerError } from '../../lib/errors.ts';
import type { ArmOperation } from './call-list.ts';
import { jsonOf } from './error-bodies.ts';
import { isRecord } from '../../lib/json.ts';

/** Larger responses are not read on, compressed or not. A page of instances has about 2 MiB, the sizes of a region 5 MiB. */
const MAX_RESPONSE_BYTES = 32 * 2 ** 20;

/** Ends the request with an error as soon as its response is larger than it may be, counted after decompression. */
export function limitResponse(request: PipelineRequest, what: string, maxBytes = MAX_RESPONSE_BYTES): void {
  request.onDownloadProgress = ({ loadedBytes }) => {
    // guard: no response of Azure is read on without end
    if (loadedBytes <= maxBytes) return;
    throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `${what} returned more than ${maxBytes / 2 ** 20} MiB.`, {
      code: 'ResponseTooLarge',
    });
  };
}

/** `value`: a text, number or boolean. `map`: names and such values. */
type Kept = 'value' | 'map' | { readonly each: Kept; readonly always?: true } | KeptFields;
interface KeptFields {
  readonly fields: { readonly [name: string]: Kept };
  readonly always?: true;
}

function fields(names: string, more: Readonly<Record<string, Kept>> = {}): KeptFields {
  return { fields: { ...Object.fromEntries(namesOf(names).map((name) => [name, 'value'] as const)), ...more } };
}

function namesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(' ');
}

const VALUES: Kept = { each: 'value' };
const STATUSES: Kept = { each: fields('code level displayStatus message') };
const VIEW = fields('', { statuses: STATUSES, extensions: { each: fields('name', { statuses: STATUSES }) } });

const DISK = fields('osType diskSizeGB', {
  diffDiskSettings: fields('option placement'),
  managedDisk: fields('storageAccountType', { diskEncryptionSet: fields('id') }),
});
const ADDRESS: Kept = fields('name', { properties: fields('primary', { subnet: fields('id') }) });
const NETWORK_CARD: Kept = fields('name', { properties: fields('primary', { ipConfigurations: { each: ADDRESS, always: true } }) });

const SCALE_SET = fields('name id location etag', {
  zones: VALUES,
  tags: 'map',
  sku: fields('name tier capacity'),
  extendedLocation: fields('name type'),
  identity: fields('type', { userAssignedIdentities: 'map' }),
  placement: fields('zonePlacementPolicy', { includeZones: VALUES, excludeZones: VALUES }),
  properties: fields('provisioningState orchestrationMode', {
    hostGroup: fields('id'),
    proximityPlacementGroup: fields('id'),
    virtualMachineProfile: fields('priority', {
      capacityReservation: fields('', { capacityReservationGroup: fields('id') }),
      osProfile: fields('', { windowsConfiguration: fields('') }),
      storageProfile: fields('', { osDisk: DISK }),
      securityProfile: fields('securityType'),
      networkProfile: fields('', { networkInterfaceConfigurations: { each: NETWORK_CARD } }),
    }),
  }),
});

const vmFields = (more: Readonly<Record<string, Kept>>): KeptFields =>
  fields('name id instanceId location', {
    zones: VALUES,
    tags: 'map',
    properties: fields('provisioningState vmId timeCreated', {
      instanceView: VIEW,
      osProfile: fields('computerName'),
      hardwareProfile: fields('vmSize'),
      virtualMachineScaleSet: fields('id'),
      protectionPolicy: fields('protectFromScaleIn protectFromScaleSetActions'),
      ...more,
    }),
  });
const INSTANCE = vmFields({});
/** The disks of instances are those that their scale set states. */
const VM = vmFields({ storageProfile: fields('', { osDisk: fields('diskSizeGB', { managedDisk: fields('storageAccountType') }) }) });

const CAPABILITIES: Kept = { each: fields('name value') };
const SIZE = fields('resourceType name tier size family', {
  capabilities: CAPABILITIES,
  locationInfo: {
    each: fields('location', { zones: VALUES }),
  },
  restrictions: {
    each: fields('type reasonCode', { values: VALUES, restrictionInfo: fields('', { locations: VALUES, zones: VALUES }) }),
  },
});

const USAGE = fields('unit currentValue limit', { name: { ...fields('value localizedValue'), always: true } });
const COUNTS = fields('', { virtualMachine: fields('', { statusesSummary: { each: fields('code count') } }) });

const DOCUMENTS: Partial<Readonly<Record<ArmOperation, KeptFields>>> = {
  listScaleSets: SCALE_SET,
  getScaleSet: SCALE_SET,
  listInstances: INSTANCE,
  getInstance: INSTANCE,
  listVms: VM,
  getVm: VM,
  listSkus: SIZE,
  listUsages: USAGE,
  countInstances: COUNTS,
};

/** The body as the SDK can map it. A body that is not JSON stays as it is: the SDK then reports it. */
export function mappableBody(operation: ArmOperation, bodyText: string | null | undefined): string | null | undefined {
  const document = DOCUMENTS[operation];
  const body = document === undefined ? undefined : jsonOf(bodyText);
  if (document === undefined || !isRecord(body)) return bodyText;
  const { value, nextLink } = body;
  return JSON.stringify(Array.isArray(value) ? { value: keepEach(value, document), nextLink } : keepFields(body, document));
}

/** undefined: left out. */
function keep(value: unknown, kept: Kept): unknown {
  if (kept === 'value') return isPlain(value) ? value : undefined;
  if (kept === 'map') return isRecord(value) ? keepMap(value) : undefined;
  if ('fields' in kept) return isRecord(value) ? keepFields(value, kept) : kept.always === true ? {} : undefined;
  // A single value where a list is documented is passed on as a list, so that the row can say what is wrong with it.
  const list = Array.isArray(value) ? value : isPlain(value) && value !== null ? [value] : undefined;
  return list === undefined ? (kept.always === true ? [] : undefined) : keepEach(list, kept.each);
}

function keepEach(list: readonly unknown[], kept: Kept): readonly unknown[] {
  return list.flatMap((entry) => {
    const part = keep(entry, kept);
    return part === undefined || part === null ? [] : [part];
  });
}

function keepFields(value: Readonly<Record<string, unknown>>, { fields: named }: KeptFields): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(named).map(([name, kept]) => [name, keep(value[name], kept)]));
}

/** Without nulls, which mean nothing. */
function keepMap(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, isPlain(part) ? part : {}] as const]));
  return Object.fromEntries(entries);
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}
