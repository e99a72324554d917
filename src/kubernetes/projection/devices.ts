/** ResourceSlices, device classes and claims (`resource.k8s.io/v1`): API JSON to domain values. */
import { withoutNulls } from '../../lib/json.ts';
import {
  byDomain,
  deviceId,
  dividedCapacity,
  type DeviceConstraint,
  type AttributeValue,
  type CounterConsumption,
  type Device,
  type DeviceSubRequest,
  type DeviceRequest,
  type DividedCapacity,
  type HeldDevice,
} from '../../domain/devices.ts';
import { compareBy } from '../../lib/comparison.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { NodeSelectorTerm } from '../../domain/labels.ts';
import { parseQuantity } from '../../domain/quantity.ts';
import type { Taint, Toleration } from '../../domain/taints.ts';
import {
  type DeviceRequestJson,
  type ClaimSpecJson,
  type CountersJson,
  type DeviceClassJson,
  type DeviceJson,
  type DeviceTaintRuleJson,
  type NodeChoiceJson,
  type ResourceClaimJson,
  type ResourceClaimTemplateJson,
  type SliceJson,
} from '../api/resource-json.ts';
import type { Quantities } from '../api/core-json.ts';
import { nodeSelectorTerm, toleration } from './selectors.ts';
import { defined } from '../../lib/defined.ts';

/** One slice of a pool. */
export interface Slice {
  readonly name: string;
  readonly driver: string;
  readonly pool: string;
  readonly generation: number;
  /** The number of slices that the pool has in this generation. */
  readonly slices: number;
  /** The node that has these devices. undefined: several nodes may reach them, as each of them says. */
  readonly node: string | undefined;
  readonly devices: readonly Device[];
  readonly counters: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface DeviceClass {
  readonly name: string;
  readonly selectors: readonly string[];
  /** The resource by whose name pods may ask for its devices, beside the name that each class has. The API server drops it unless the feature is on. */
  readonly resource?: string;
  readonly createdAtMs: number;
  /** Set if it uses something that is not supported here, with a description. */
  readonly strange?: string;
}

/** Each class has this name, with the prefix before its own. */
export const BY_CLASS = 'deviceclass.resource.kubernetes.io/';

/**
 * The classes by the names of resources that stand for their devices. Of several with one name the newest counts, then the first by name
 * (dynamic-resource-allocation, deviceclass/extendedresourcecache, 1.36.3). The feature is on from 1.36 on: a class with a name shows that it is, and
 * without one the names of classes are not known to stand for devices.
 */
export function classesByResource(classes: Iterable<DeviceClass>): ReadonlyMap<string, string> {
  const all = [...classes].sort(compareBy(({ name }) => name)).sort((left, right) => right.createdAtMs - left.createdAtMs);
  const found = new Map<string, string>();
  for (const { name, resource } of all) if (resource !== undefined && !found.has(resource)) found.set(resource, name);
  if (found.size > 0) for (const { name } of all) found.set(`${BY_CLASS}${name}`, name);
  return found;
}

/** What a claim or its template requests: the requests, with the device classes that they name. */
export interface ClaimRequests {
  readonly requests: readonly (Omit<DeviceRequest, 'asks'> & {
    readonly asks: readonly (DeviceSubRequest & { readonly className: string })[];
  })[];
  readonly rules: readonly DeviceConstraint[];
  /** Set if it uses something that is not supported here, with a description. */
  readonly strange?: string;
}

export interface Allocation {
  /** With the pool of each, as `driver/pool`. The values stay the same objects. */
  readonly devices: readonly { readonly pool: string; readonly device: HeldDevice; readonly admin: boolean }[];
  /** Where the devices can be reached; undefined means everywhere. */
  readonly terms: readonly NodeSelectorTerm[] | undefined;
}

export interface ResourceClaim {
  /** `namespace/name` */
  readonly key: string;
  readonly ask: ClaimRequests;
  readonly allocation: Allocation | undefined;
  /** Uids of the pods that may use it. */
  readonly users: readonly string[];
  readonly isDeleting: boolean;
  /** The pod that it was created for. */
  readonly ownerUid: string | undefined;
}

export interface ClaimTemplate {
  /** `namespace/name` */
  readonly key: string;
  readonly ask: ClaimRequests;
}

export function projectSlice(json: SliceJson): Slice {
  const { driver = '', pool = {}, devices = [], sharedCounters = [], ...where } = withoutNulls(json.spec ?? {});
  const node = where.nodeName === undefined || where.nodeName === '' ? undefined : where.nodeName;
  const place = { driver, pool: pool.name ?? '' };
  return {
    name: json.metadata?.name ?? '',
    driver,
    pool: place.pool,
    generation: pool.generation ?? 0,
    slices: pool.resourceSliceCount ?? 1,
    node,
    devices: devices.map((device) => ({
      ...projectDevice(device, place),
      ...(node === undefined ? reachOf(where.perDeviceNodeSelection === true ? device : where) : {}),
    })),
    counters: Object.fromEntries(sharedCounters.map(({ name = '', counters = {} }) => [name, amounts(counters)])),
  };
}

function projectDevice(json: DeviceJson, { driver, pool }: { readonly driver: string; readonly pool: string }): Device {
  return {
    driver,
    pool,
    name: json.name ?? '',
    attributes: byDomain(
      driver,
      Object.entries(json.attributes ?? {}).map(([name, value]) => [name, attribute(value)] as const),
    ),
    capacity: byDomain(
      driver,
      Object.entries(json.capacity ?? {}).map(([name, { value }]) => [name, quantityOf(value)] as const),
    ),
    taints: (json.taints ?? []).map(deviceTaint),
    consumes: (json.consumesCounters ?? []).map(({ counterSet = '', counters = {} }): CounterConsumption => ({
      set: counterSet,
      counters: amounts(counters),
    })),
    ...dividedBy(json),
    ...((json.bindingConditions?.length ?? 0) > 0 ? { binding: true as const } : {}),
    ...(json.bindsToNode === true ? { isBound: true as const } : {}),
  };
}

/** Which nodes reach a device. A slice that says nothing known reaches none (`NodeMatches`, pools_incubating.go, 1.37.2). */
function reachOf({ nodeName, nodeSelector, allNodes }: NodeChoiceJson): Pick<Device, 'reach'> {
  if (nodeName !== undefined && nodeName !== '') return { reach: [nodeOnly(nodeName)] };
  if (allNodes === true) return {};
  return { reach: (nodeSelector?.nodeSelectorTerms ?? []).map(nodeSelectorTerm) };
}

export function nodeOnly(name: string): NodeSelectorTerm {
  return { expressions: [], fields: [{ key: 'metadata.name', operator: 'In', values: [name] }] };
}

/** Unreadable amounts are left out. */
function dividedBy({ allowMultipleAllocations, capacity = {} }: DeviceJson): Pick<Device, 'isDivided' | 'divided'> {
  const isDivided = allowMultipleAllocations === true;
  if (!isDivided && !Object.keys(capacity).some((name) => name.includes('/'))) return {};
  const divided = Object.entries(capacity).flatMap(([name, { value, requestPolicy }]): readonly (readonly [string, DividedCapacity])[] => {
    const whole = quantityOf(value);
    return whole === undefined ? [] : [[name, dividedCapacity(whole, withoutNulls(requestPolicy ?? {}))]];
  });
  return { ...(isDivided ? { isDivided: true } : {}), divided: Object.fromEntries(divided) };
}

function deviceTaint({ key = '', value = '', effect = '' }: NonNullable<DeviceJson['taints']>[number]): Taint {
  return { key, value, effect: effect === 'NoExecute' ? effect : effect === 'NoSchedule' ? effect : 'PreferNoSchedule' };
}

/** A taint that an administrator gives to devices. A part without a value selects every device. */
export interface DeviceTaintRule {
  readonly name: string;
  readonly driver: string | undefined;
  readonly pool: string | undefined;
  readonly device: string | undefined;
  readonly taint: Taint;
}

/** undefined: it selects no device. */
export function projectTaintRule({ metadata, spec }: DeviceTaintRuleJson): DeviceTaintRule | undefined {
  const selector = spec?.deviceSelector ?? undefined;
  if (selector === undefined) return undefined;
  const { driver, pool, device } = withoutNulls(selector);
  return { name: metadata?.name ?? '', driver, pool, device, taint: deviceTaint(spec?.taint ?? {}) };
}

/**
 * The slice with the taints of the rules that select its devices, in the order of their names: the allocation reads them like those of the driver
 * (dynamic-resource-allocation, resourceslice/tracker/tracker.go, `applyPatches`, 1.37.2). The slice itself if none does.
 */
export function withTaintRules(slice: Slice, rules: readonly DeviceTaintRule[]): Slice {
  const own = rules.filter(({ driver = slice.driver, pool = slice.pool }) => driver === slice.driver && pool === slice.pool);
  if (own.length === 0) return slice;
  const devices = slice.devices.map((device) => {
    const mine = own.filter(({ device: name = device.name }) => name === device.name);
    if (mine.length === 0) return device;
    const usual = mine.filter(({ pool, device: name }) => pool === undefined && name === undefined);
    const withThose = (added: readonly DeviceTaintRule[]): readonly Taint[] => [...device.taints, ...added.map(({ taint }) => taint)];
    // guard: a rule about the devices of one node says nothing of the next node
    return { ...device, taints: withThose(mine), ...(usual.length === mine.length ? {} : { usualTaints: withThose(usual) }) };
  });
  return { ...slice, devices };
}

function attribute(json: NonNullable<DeviceJson['attributes']>[string]): AttributeValue | undefined {
  if (json.version !== undefined) return { version: json.version };
  return json.string ?? json.int ?? json.bool;
}

function quantityOf(value: string | number | undefined): number | undefined {
  try {
    return value === undefined ? undefined : parseQuantity(value);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError && thrown.kind === 'config') return undefined;
    throw thrown;
  }
}

function amounts(counters: CountersJson): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(counters).map(([name, { value }]) => [name, quantityOf(value) ?? 0]));
}

export function projectDeviceClass(written: DeviceClassJson): DeviceClass {
  const json = withoutNulls(written);
  const strange = (json.spec?.selectors ?? []).some(({ cel }) => cel === undefined)
    ? { strange: 'a selector that is not a CEL expression' }
    : {};
  const { name = '', creationTimestamp } = json.metadata ?? {};
  const resource = json.spec?.extendedResourceName;
  const createdAtMs = Date.parse(creationTimestamp ?? '') || 0;
  return { name, selectors: expressions(json.spec?.selectors), createdAtMs, ...defined({ resource }), ...strange };
}

function expressions(selectors: DeviceRequestJson['selectors'] = []): readonly string[] {
  return selectors.flatMap(({ cel }) => (cel === undefined ? [] : [cel.expression ?? '']));
}

export function projectResourceClaim(written: ResourceClaimJson): ResourceClaim {
  const json = withoutNulls(written);
  const { metadata = {}, status = {} } = json;
  const { allocation } = status;
  const selector = allocation?.nodeSelector;
  return {
    key: `${metadata.namespace ?? 'default'}/${metadata.name ?? ''}`,
    ask: claimAsk(json.spec),
    allocation:
      allocation === undefined
        ? undefined
        : {
            devices: (allocation.devices?.results ?? []).map(allocatedDevice),
            terms: selector === undefined ? undefined : (selector.nodeSelectorTerms ?? []).map(nodeSelectorTerm),
          },
    users: (status.reservedFor ?? []).map(({ uid = '' }) => uid),
    isDeleting: metadata.deletionTimestamp !== undefined,
    ownerUid: metadata.ownerReferences?.find(({ kind, controller }) => kind === 'Pod' && controller === true)?.uid,
  };
}

type ResultJson = NonNullable<
  NonNullable<NonNullable<NonNullable<ResourceClaimJson['status']>['allocation']>['devices']>['results']
>[number];

/** A result with a share id is a part of a device (dynamicresources/allocateddevices.go, 1.37.2). */
function allocatedDevice(result: ResultJson): Allocation['devices'][number] {
  const { driver = '', pool = '', device = '', adminAccess, shareID, consumedCapacity = {} } = result;
  const id = deviceId({ driver, pool, name: device });
  const held = shareID === undefined ? id : { device: id, parts: quantities(consumedCapacity) };
  return { pool: `${driver}/${pool}`, device: held, admin: adminAccess === true };
}

export function projectClaimTemplate(written: ResourceClaimTemplateJson): ClaimTemplate {
  const json = withoutNulls(written);
  const { namespace = 'default', name = '' } = json.metadata ?? {};
  return { key: `${namespace}/${name}`, ask: claimAsk(json.spec?.spec) };
}

function claimAsk(spec: ClaimSpecJson = {}): ClaimRequests {
  const { requests = [], constraints = [] } = spec.devices ?? {};
  const strange = unsupportedClaim(spec);
  return {
    requests: requests.map(({ name = '', exactly, firstAvailable = [] }) => ({
      name,
      asks: (exactly === undefined ? firstAvailable : [{ ...exactly, name }]).map(deviceAsk),
    })),
    rules: constraints.flatMap(({ matchAttribute, distinctAttribute, requests: of = [] }): readonly DeviceConstraint[] => {
      if (matchAttribute !== undefined) return [{ kind: 'same', attribute: matchAttribute, requests: of }];
      return distinctAttribute === undefined ? [] : [{ kind: 'distinct', attribute: distinctAttribute, requests: of }];
    }),
    ...defined({ strange }),
  };
}

function quantities(written: Quantities): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(written).map(([name, value]) => [name, quantityOf(value) ?? 0]));
}

function deviceAsk(json: DeviceRequestJson): DeviceSubRequest & { readonly className: string } {
  const parts = Object.keys(json.capacity?.requests ?? {});
  return {
    name: json.name ?? '',
    className: json.deviceClassName ?? '',
    selectors: expressions(json.selectors),
    count: json.allocationMode === 'All' ? 'all' : (json.count ?? 1),
    admin: json.adminAccess === true,
    tolerations: (json.tolerations ?? []).map((one): Toleration => toleration(one)),
    ...(parts.length === 0 ? {} : { parts: quantities(json.capacity?.requests ?? {}) }),
  };
}

/** The unsupported part of a claim; undefined if everything is supported. */
function unsupportedClaim({ devices = {} }: ClaimSpecJson): string | undefined {
  const { requests = [], constraints = [] } = devices;
  if (constraints.some(({ matchAttribute, distinctAttribute }) => matchAttribute === undefined && distinctAttribute === undefined))
    return 'a constraint other than matchAttribute and distinctAttribute';
  for (const { name = '', exactly, firstAvailable = [] } of requests) {
    const asks = exactly === undefined ? firstAvailable : [exactly];
    const strange =
      asks.length === 0 ? 'that is neither exactly nor firstAvailable' : asks.map(unsupportedRequest).find((text) => text !== undefined);
    if (strange !== undefined) return `request ${name} ${strange}`;
  }
  return undefined;
}

function unsupportedRequest({ allocationMode = 'ExactCount', selectors = [] }: DeviceRequestJson): string | undefined {
  if (allocationMode !== 'All' && allocationMode !== 'ExactCount') return `with the allocation mode ${allocationMode}`;
  return selectors.some(({ cel }) => cel === undefined) ? 'with a selector that is not a CEL expression' : undefined;
}
