/** New scale sets: from a pool of the world's description, or from a client's PUT. */
import type { PoolSpec } from '../world-spec.ts';
import { armError } from './errors.ts';
import { isJsonObject, mergePatch, pick, pickText, type Json, type JsonObject } from './json.ts';
import { param, type ArmReply, type ArmRequest } from './messages.ts';
import { isLocation, scaleSetId } from './names.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { modelOfPool, renderSet } from './scale-set-document.ts';
import { setKey } from './scaling.ts';
import { findVmSize } from './sku-table.ts';
import { refuseModelSize } from './model-size.ts';
import { extraFor } from './overprovision.ts';
import { growSet, plantInSet } from './vm-birth.ts';
import { capacityOf, etagText, type ArmWorld, type ScaleSet } from './world-state.ts';

/** The set that AKS keeps for a pool, with its machines running as if they had always been there. */
export function plantScaleSet(world: ArmWorld, pool: PoolSpec): ScaleSet {
  const set = emptySet(world, pool, modelOfPool(world.spec, pool, world.clock.now()));
  for (let count = 0; count < pool.count; count++) plantInSet(world, set);
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
    laggingCapacity: undefined,
    ambush: undefined,
  };
  world.sets.set(setKey(set), set);
  return set;
}

/** A PUT on a name that does not exist: 201, and the machines begin to come. */
export function foundScaleSet(world: ArmWorld, request: ArmRequest): ArmReply {
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
  const asking = { name: pool.name, zones: pool.zones ?? [], isRaise: pool.count > 0, growth: pool.count };
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
    headers: { etag, ...operationHeaders(world, request, operation, 'write') },
    body: renderSet(world, set),
    trace: { etagOut: etag, capacityBefore: 0, capacityAfter: capacityOf(set), opId: operation.id, charge: pool.count },
  };
}

/** What a client's own scale set would be as a pool. Limits come from its tags; without them it has none. */
function poolOfBody(name: string, body: Json | undefined): PoolSpec | undefined {
  const given = pickText(body, 'sku', 'name');
  const vmSize = given === undefined ? undefined : (findVmSize(given)?.name ?? given);
  const count = pick(body, 'sku', 'capacity');
  if (pickText(body, 'location') === undefined || vmSize === undefined || typeof count !== 'number') return undefined;
  const zones = pick(body, 'zones');
  const profile = pick(body, 'properties', 'virtualMachineProfile');
  // Compute deallocates what is evicted unless told otherwise; it is AKS that asks for deletion.
  const evictionPolicy = pickText(profile, 'evictionPolicy') === 'Delete' ? 'Delete' : 'Deallocate';
  return {
    name: pickText(body, 'tags', 'aks-managed-poolName') ?? pickText(body, 'tags', 'poolName') ?? name,
    vmSize,
    count,
    min: Number(pickText(body, 'tags', 'min') ?? 0),
    max: Number(pickText(body, 'tags', 'max') ?? 1_000),
    ...(Array.isArray(zones) ? { zones: zones.map(String) } : {}),
    ...(pickText(profile, 'priority') === 'Spot' ? { priority: 'Spot' as const, evictionPolicy } : {}),
  };
}
