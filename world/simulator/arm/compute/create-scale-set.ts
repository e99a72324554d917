/** Creates scale sets: from a pool of the world's description, or from a client's PUT. */
import type { PoolSpec } from '../../base/world-spec.ts';
import { armError, invalidParameter, quotaExceeded, skuNotAvailable } from '../http/errors.ts';
import { pick, pickText, type JsonObject, isJsonObject, mergePatch, type Json } from '../http/json.ts';
import { type ArmReply, param, type ArmRequest } from '../http/messages.ts';
import { type ArmWorld, capacityOf, etagText, type ScaleSet } from '../state/arm-state.ts';
import { isLocation, scaleSetId } from '../state/resource-names.ts';
import { quotaShortage } from '../state/stock-and-quota.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { growSet, seedInSet } from './create-vm.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { extraFor } from './overprovisioning.ts';
import { modelOfPool, renderSet } from './scale-set-document.ts';
import { setKey } from './set-capacity.ts';

// What Compute refuses in the size of a scale set's model: not a number, too many, unknown, restricted, over the quota.

const MAX_INSTANCES = 1_000;
const MAX_IN_ONE_PLACEMENT_GROUP = 100;

export interface SizeRequest {
  readonly name: string;
  readonly zones: readonly string[];
  /** The model has a higher capacity than before. */
  readonly isIncrease: boolean;
  /** VMs that it would add. */
  readonly growth: number;
  /** The pool of an existing set. */
  readonly pool?: PoolSpec;
}

export function refuseModelSize(
  world: ArmWorld,
  model: JsonObject,
  { name, zones, isIncrease, growth, pool }: SizeRequest,
): ArmReply | undefined {
  const { location } = world.spec;
  const capacity = pick(model, 'sku', 'capacity');
  const vmSize = pickText(model, 'sku', 'name') ?? '';
  if (typeof capacity !== 'number' || !Number.isInteger(capacity) || capacity < 0) {
    return invalidParameter('sku.capacity', 'The value of parameter sku.capacity is invalid.');
  }
  if (findVmSize(vmSize) === undefined) {
    return invalidParameter('vmSize', `The value ${vmSize} provided for the VM size is not valid in location '${location}'.`);
  }
  const limit = pick(model, 'properties', 'singlePlacementGroup') === true ? MAX_IN_ONE_PLACEMENT_GROUP : MAX_INSTANCES;
  if (capacity > limit) return armError(400, 'BadRequest', `The VM Scale Set ${name} cannot exceed ${limit} VMs.`);
  if (isIncrease && isWithheld(world, vmSize, zones)) return skuNotAvailable(vmSize, location);
  const spot = pickText(model, 'properties', 'virtualMachineProfile', 'priority') === 'Spot';
  const shortage = quotaShortage(world, [{ vmSize, spot, count: growth, pool }]);
  return shortage === undefined ? undefined : quotaExceeded(shortage);
}

/** Whether the subscription cannot use the size in the set's region or in one of its zones. */
function isWithheld({ restricted }: ArmWorld, vmSize: string, zones: readonly string[]): boolean {
  const withheld = restricted.get(vmSize.toLowerCase());
  return withheld !== undefined && (withheld.length === 0 || zones.some((zone) => withheld.includes(zone)));
}

/** Creates the set that AKS keeps for a pool. Its VMs run already. */
export function seedScaleSet(world: ArmWorld, pool: PoolSpec): ScaleSet {
  const set = emptySet(world, pool, modelOfPool(world.spec, pool, world.clock.now()));
  for (let count = 0; count < pool.count; count++) seedInSet(world, set);
  return set;
}

function emptySet(world: ArmWorld, pool: PoolSpec, model: JsonObject): ScaleSet {
  const name = pickText(model, 'name') ?? pool.name;
  const set: ScaleSet = {
    name,
    resourceId: scaleSetId(world.spec, name),
    pool,
    kind: pickText(model, 'properties', 'orchestrationMode') === 'Flexible' ? 'flexible' : 'uniform',
    document: mergePatch(model, { properties: { uniqueId: world.draws.guid(`${name}|uniqueId`) } }),
    etag: 1,
    provisioningState: 'Succeeded',
    nextInstanceId: 0,
    vms: new Map(),
    history: { revision: 0, foreignRevision: 0, foreignLowered: 0, seen: new Map(), seenLowered: new Map() },
    lagging: 0,
    nextLagMs: undefined,
    pendingForeignWrite: undefined,
  };
  world.sets.set(setKey(set), set);
  return set;
}

/** Handles a PUT on a name that does not exist: 201, and the creation of the VMs begins. */
export function createScaleSet(world: ArmWorld, request: ArmRequest): ArmReply {
  const { body } = request;
  const pool = poolOfBody(param(request, 'name'), body);
  if (!isJsonObject(body) || pool === undefined) {
    return armError(
      400,
      'InvalidRequestContent',
      'The request content was invalid: a new scale set needs location and sku with name and capacity.',
    );
  }
  const { location } = world.spec;
  const given = pickText(body, 'location') ?? '';
  if (!isLocation(world.spec, given)) {
    const message = `The provided location '${given}' is not available for resource type 'Microsoft.Compute/virtualMachineScaleSets'. List of available regions for the resource type is '${location}'.`;
    return armError(400, 'LocationNotAvailableForResourceType', message);
  }
  const asking = { name: pool.name, zones: pool.zones ?? [], isIncrease: pool.count > 0, growth: pool.count };
  const refusal = refuseModelSize(world, body, asking);
  if (refusal !== undefined) return refusal;
  const name = param(request, 'name');
  const model = mergePatch({ properties: { orchestrationMode: 'Uniform' } }, body);
  const identity = { name, location, id: scaleSetId(world.spec, name), type: 'Microsoft.Compute/virtualMachineScaleSets' };
  const set = emptySet(world, pool, { ...model, ...identity });
  set.provisioningState = 'Creating';
  const operation = beginOperation(world, {
    kind: 'scale',
    pool: pool.name,
    setKey: setKey(set),
    principal: request.principal.clientId,
    pending: growSet(world, set, pool.count, extraFor(set, pool.count)),
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
  const etag = etagText(set.etag);
  return {
    status: 201,
    headers: { etag, ...world.throttle.spend('batched', pool.count), ...operationHeaders(world, request, operation, 'write') },
    body: renderSet(set),
    trace: { etagOut: etag, capacityBefore: 0, capacityAfter: capacityOf(set), opId: operation.id, charge: pool.count },
  };
}

/** Describes a client's own scale set as a pool. Its limits come from its tags; without tags it has none. */
function poolOfBody(name: string, body: Json | undefined): PoolSpec | undefined {
  const given = pickText(body, 'sku', 'name');
  const vmSize = given === undefined ? undefined : (findVmSize(given)?.name ?? given);
  const count = pick(body, 'sku', 'capacity');
  if (pickText(body, 'location') === undefined || vmSize === undefined || typeof count !== 'number') return undefined;
  const zones = pick(body, 'zones');
  const isAutomatic = pick(body, 'placement', 'zonePlacementPolicy') !== undefined;
  const profile = pick(body, 'properties', 'virtualMachineProfile');
  // Compute deallocates evicted VMs by default. AKS sets the policy to deletion.
  const evictionPolicy = pickText(profile, 'evictionPolicy') === 'Delete' ? 'Delete' : 'Deallocate';
  return {
    name: pickText(body, 'tags', 'aks-managed-poolName') ?? pickText(body, 'tags', 'poolName') ?? name,
    vmSize,
    count,
    min: Number(pickText(body, 'tags', 'min') ?? 0),
    max: Number(pickText(body, 'tags', 'max') ?? 1_000),
    ...(isAutomatic ? { zones: ['auto'] } : Array.isArray(zones) ? { zones: zones.map(String) } : {}),
    ...(pickText(profile, 'priority') === 'Spot' ? { priority: 'Spot' as const, evictionPolicy } : {}),
  };
}
