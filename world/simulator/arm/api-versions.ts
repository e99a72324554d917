/**
 * Which api-versions each provider serves, and what a document lacks in an older one. The fields are those of the published models
 * of each version (package azure-mgmt-compute 30.6.0, one module per version). Must not know how documents are made.
 */
import { gatewayError } from './http/errors.ts';
import { isJsonObject, mergePatch, pickText, type Json, type JsonObject } from './http/json.ts';
import type { ArmReply, ArmRequest } from './http/messages.ts';

const FORM = /^(\d{4}-\d{2}-\d{2})(-preview)?$/;
/** Every version since this one is accepted. */
const ACCEPTED_SINCE = '2019-03-01';
/** The providers beside the pools have older versions, and operations are read with any. */
const OLDEST_ELSEWHERE = '2017-08-31';
/** Providers that still have an older version: the activity log has had no newer one, and Azure's CLI reads locks with that of 2016. */
const OLDER: readonly { readonly path: RegExp; readonly version: string }[] = [
  { path: /\/providers\/Microsoft\.Insights\/eventtypes\//i, version: '2015-04-01' },
  { path: /\/providers\/Microsoft\.Authorization\/locks$/i, version: '2016-09-01' },
];
/** Versions of Compute before `ACCEPTED_SINCE`, as its refusals list them (azure-sdk-for-python 32029). Azure Stack has no newer ones. */
const OLDER_OF_COMPUTE = ['2015-06-15', '2016-03-30', '2016-08-30', '2017-03-30', '2017-12-01', '2018-04-01', '2018-06-01', '2018-10-01'];
const NEWER = ['2019-03-01', '2021-07-01', '2024-07-01', '2025-04-01', '2026-03-01', '2026-04-01'];

/** The refusal of a request without a version, or with one that its resource type does not have. */
export function refuseVersion(request: ArmRequest, location: string): ArmReply | undefined {
  const version = request.query['api-version'];
  if (version === undefined) {
    return gatewayError(400, 'MissingApiVersionParameter', 'The api-version query parameter (?api-version=) is required for all requests.');
  }
  const date = FORM.exec(version)?.[1];
  if (date === undefined) return malformed(version);
  const { provider, type } = resourceTypeOf(request.path);
  if (date >= ACCEPTED_SINCE || (provider === 'microsoft.compute' && OLDER_OF_COMPUTE.includes(version))) return undefined;
  if (OLDER.some((older) => older.version === version && older.path.test(request.path))) return undefined;
  if (!isOfPools(provider, request.path) && date >= OLDEST_ELSEWHERE) return undefined;
  return notRegistered({ location, version, type, older: provider === 'microsoft.compute' ? OLDER_OF_COMPUTE : [] });
}

function malformed(version: string): ArmReply {
  const message = `The api-version '${version}' is invalid. The supported versions are '${NEWER.toReversed().join(',')}'.`;
  return gatewayError(400, 'InvalidApiVersionParameter', message);
}

function isOfPools(provider: string, path: string): boolean {
  const isOfPool = provider === 'microsoft.compute' || provider === 'microsoft.containerservice';
  return isOfPool && !/\/(operations|operationresults)\/[^/]+$/i.test(path);
}

function resourceTypeOf(path: string): { readonly provider: string; readonly type: string } {
  const [, provider = '', rest = ''] = /\/providers\/([^/]+)\/(.*)$/i.exec(path) ?? [];
  const segments = rest.split('/');
  return { provider: provider.toLowerCase(), type: segments.filter((_, index) => index % 2 === 0).join('/') };
}

interface UnknownVersion {
  readonly location: string;
  readonly version: string;
  readonly type: string;
  readonly older: readonly string[];
}

function notRegistered({ location, version, type, older }: UnknownVersion): ArmReply {
  const message =
    `No registered resource provider found for location '${location}' and API version '${version}' for type '${type}'. ` +
    `The supported api-versions are '${[...older, ...NEWER].join(', ')}'. The supported locations are '${location}'.`;
  return gatewayError(400, 'NoRegisteredProviderFound', message);
}

/** A field, as keys, and the version that has it first. */
type FieldAge = readonly [since: string, ...path: readonly string[]];

const SET: readonly FieldAge[] = [
  ['2017-12-01', 'properties', 'platformFaultDomainCount'],
  ['2017-12-01', 'properties', 'zoneBalance'],
  ['2017-12-01', 'properties', 'virtualMachineProfile', 'priority'],
  ['2017-12-01', 'properties', 'virtualMachineProfile', 'evictionPolicy'],
  ['2018-10-01', 'properties', 'automaticRepairsPolicy'],
  ['2018-10-01', 'properties', 'doNotRunExtensionsOnOverprovisionedVMs'],
  ['2019-03-01', 'properties', 'scaleInPolicy'],
  ['2019-03-01', 'properties', 'virtualMachineProfile', 'billingProfile'],
  ['2020-12-01', 'properties', 'orchestrationMode'],
  ['2021-03-01', 'properties', 'virtualMachineProfile', 'networkProfile', 'networkApiVersion'],
  ['2021-07-01', 'properties', 'scaleInPolicy', 'forceDeletion'],
  ['2021-11-01', 'properties', 'timeCreated'],
  ['2021-11-01', 'properties', 'virtualMachineProfile', 'osProfile', 'allowExtensionOperations'],
  ['2022-08-01', 'properties', 'virtualMachineProfile', 'storageProfile', 'diskControllerType'],
  ['2022-11-01', 'properties', 'virtualMachineProfile', 'osProfile', 'requireGuestProvisionSignal'],
  ['2022-11-01', 'properties', 'constrainedMaximumCapacity'],
  ['2023-09-01', 'properties', 'virtualMachineProfile', 'timeCreated'],
  ['2023-09-01', 'properties', 'resiliencyPolicy'],
  ['2023-09-01', 'etag'],
  ['2025-04-01', 'properties', 'highSpeedInterconnectPlacement'],
];

const VM: readonly FieldAge[] = [
  ['2022-08-01', 'properties', 'storageProfile', 'diskControllerType'],
  ['2019-03-01', 'properties', 'virtualMachineScaleSet'],
  ['2019-03-01', 'properties', 'priority'],
  ['2019-03-01', 'properties', 'evictionPolicy'],
  ['2019-03-01', 'properties', 'billingProfile'],
  ['2019-03-01', 'properties', 'osProfile', 'requireGuestProvisionSignal'],
  ['2019-03-01', 'properties', 'instanceView', 'hyperVGeneration'],
  ['2019-07-01', 'properties', 'storageProfile', 'imageReference', 'exactVersion'],
  ['2021-11-01', 'properties', 'timeCreated'],
  ['2023-09-01', 'etag'],
];

const INSTANCE: readonly FieldAge[] = [
  ['2018-04-01', 'zones'],
  ['2019-03-01', 'properties', 'modelDefinitionApplied'],
  ['2019-03-01', 'properties', 'protectionPolicy'],
  ['2019-03-01', 'properties', 'networkProfileConfiguration'],
  ['2019-03-01', 'properties', 'osProfile', 'requireGuestProvisionSignal'],
  ['2019-07-01', 'properties', 'storageProfile', 'imageReference', 'exactVersion'],
  ['2022-11-01', 'properties', 'instanceView', 'computerName'],
  ['2022-11-01', 'properties', 'instanceView', 'osName'],
  ['2022-11-01', 'properties', 'instanceView', 'osVersion'],
  ['2022-11-01', 'properties', 'instanceView', 'hyperVGeneration'],
  ['2023-07-01', 'properties', 'timeCreated'],
  ['2023-09-01', 'etag'],
  ['2024-03-01', 'properties', 'resilientVMDeletionStatus'],
];

const FIELDS: Readonly<Record<string, readonly FieldAge[]>> = {
  'Microsoft.Compute/virtualMachineScaleSets': SET,
  'Microsoft.Compute/virtualMachineScaleSets/virtualMachines': INSTANCE,
  'Microsoft.Compute/virtualMachines': VM,
};
const NEWEST_FIELD = '2025-04-01';

/** The response without the fields that its api-version does not have: of a document, or of a page of documents. */
export function asOfVersion(request: ArmRequest, reply: ArmReply): ArmReply {
  const version = request.query['api-version']?.slice(0, 10) ?? '';
  if (reply.body === undefined || version >= NEWEST_FIELD || reply.status >= 300) return reply;
  return { ...reply, body: shownIn(version, reply.body) };
}

function shownIn(version: string, body: Json): Json {
  if (!isJsonObject(body)) return body;
  const page = body['value'];
  if (Array.isArray(page)) return { ...body, value: (page as readonly Json[]).map((item) => shownIn(version, item)) };
  const later = (FIELDS[pickText(body, 'type') ?? ''] ?? []).filter(([since]) => since > version);
  return later.reduce<JsonObject>((shown, [, ...path]) => withoutField(shown, path), body);
}

function withoutField(document: JsonObject, [key = '', ...rest]: readonly string[]): JsonObject {
  const inner = document[key];
  if (inner === undefined) return document;
  if (rest.length === 0) return mergePatch(document, { [key]: null });
  return isJsonObject(inner) ? { ...document, [key]: withoutField(inner, rest) } : document;
}
