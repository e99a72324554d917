/**
 * The scale-set resource: lists, reads, sparse PUT, PATCH, and the deletion of the set itself. The room is the compute provider.
 * Must not know agent pools, except that AKS owns a set.
 */
import { isDeepStrictEqual } from 'node:util';
import { armError, conflict, resourceNotFound } from '../http/errors.ts';
import { isJsonObject, pick, pickText, type Json, type JsonObject } from '../http/json.ts';
import { isLocation } from '../state/resource-names.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { extensionState, statusCodes } from './instance-document.ts';
import { armTime, beginOperation, operationHeaders } from './operations.ts';
import { answerPage } from '../http/paging.ts';
import { refuseModelSize, createScaleSet } from './create-scale-set.ts';
import { refuseByCondition } from '../http/preconditions.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import { isForced, refuseForce } from './instance-protection.ts';
import { applyBody, renderSet } from './scale-set-document.ts';
import { acceptModel, growthTo, setKey } from './set-capacity.ts';
import { beginRemoval, removeVm } from './vm-lifecycle.ts';
import { capacityOf, etagText, findSet, goalOf, type ArmWorld, type Listed, type ScaleSet } from '../state/arm-state.ts';
import { checkRemoval, recordRead } from '../state/write-safety-rules.ts';
import { compareBy } from '../../../../src/lib/comparison.ts';
import { defined } from '../../../../src/lib/defined.ts';

const TYPE = 'Microsoft.Compute/virtualMachineScaleSets';

export function notFound(world: ArmWorld, request: ArmRequest): ArmReply {
  return resourceNotFound(TYPE, param(request, 'name'), world.spec.nodeResourceGroup);
}

/** Sets of the node resource group. The subscription-wide list shows the group in upper case, as recorded. */
export function listScaleSets(world: ArmWorld, request: ArmRequest): ArmReply {
  const inGroup = request.params['rg'] !== undefined;
  const location = request.params['location'] ?? world.spec.location;
  const hidden = (inGroup && !isNodeGroup(world, request)) || !isLocation(world.spec, location);
  const past = inGroup && !hidden ? world.lists.sets(request.occasion) : undefined;
  if (past !== undefined) return listFromCache(world, request, past);
  const sets = hidden ? [] : [...world.sets.values()].sort(compareBy((item) => item.name));
  return answerPage(request, {
    items: sets,
    keyOf: (set) => set.name,
    pageSize: world.knobs.pageSize,
    render: (set) => {
      recordRead(set, request.principal);
      const shown = renderSet(set);
      return inGroup ? shown : { ...shown, id: upperCaseGroup(set.resourceId) };
    },
  });
}

/** A list from the cache. It counts as a read of a set only if the set has not changed since. */
function listFromCache(world: ArmWorld, request: ArmRequest, past: readonly Listed[]): ArmReply {
  return answerPage(request, {
    items: past,
    keyOf: ({ name }) => name,
    pageSize: world.knobs.pageSize,
    render: ({ name, shown }) => {
      const set = findSet(world, name);
      if (set !== undefined && pick(shown, 'etag') === etagText(set.etag)) recordRead(set, request.principal);
      return shown;
    },
  });
}

function isNodeGroup(world: ArmWorld, request: ArmRequest): boolean {
  return param(request, 'rg').toLowerCase() === world.spec.nodeResourceGroup.toLowerCase();
}

function upperCaseGroup(id: string): string {
  return id.replace(/(\/resourceGroups\/)([^/]+)/i, (_all, key: string, group: string) => key + group.toUpperCase());
}

export function setOf(world: ArmWorld, request: ArmRequest): ScaleSet | undefined {
  return isNodeGroup(world, request) ? findSet(world, param(request, 'name')) : undefined;
}

export function getScaleSet(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  recordRead(set, request.principal);
  const etag = etagText(set.etag);
  if (request.headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
  return { status: 200, headers: { etag }, body: renderSet(set), trace: { etagOut: etag } };
}

/** PUT merges into an existing set, or creates a new one. */
export function putScaleSet(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set !== undefined) return writeScaleSet(world, request, set);
  const refusal = refuseByCondition(request, undefined);
  return refusal ?? createScaleSet(world, request);
}

export function patchScaleSet(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  return set === undefined ? notFound(world, request) : writeScaleSet(world, request, set);
}

function writeScaleSet(world: ArmWorld, request: ArmRequest, set: ScaleSet): ArmReply {
  const before = goalOf(set);
  const trace = { ...defined({ etagIn: request.headers['if-match'] }), capacityBefore: before };
  const refused = (reply: ArmReply): ArmReply => ({ ...reply, trace: { ...trace, capacityAfter: before, etagOut: etagText(set.etag) } });
  const stale = refuseByCondition(request, etagText(set.etag));
  if (stale !== undefined) return refused(stale);
  // Equal etags mean equal documents: a client with the current etag has read this state.
  const conditional = request.headers['if-match'] === etagText(set.etag);
  if (conditional) recordRead(set, request.principal);
  if (set.provisioningState === 'Deleting') return refused(conflict());
  const { body } = request;
  if (!isJsonObject(body)) {
    return refused(
      armError(400, 'InvalidRequestContent', 'The request content was invalid and could not be deserialized: an object is expected.'),
    );
  }
  const next = applyBody(set.document, body);
  const refusal = refuseModel(world, set, request.method, body) ?? refuseSize(world, set, next);
  if (refusal !== undefined) return refused(refusal);
  if (isDeepStrictEqual(next, set.document)) {
    recordRead(set, request.principal);
    return acceptNothing(world, request, set);
  }
  const operation = acceptModel(world, set, next, { principal: request.principal, conditional });
  const etag = etagText(set.etag);
  const after = goalOf(set);
  return {
    status: 200,
    headers: {
      etag,
      ...world.throttle.spend('batched', Math.abs(after - before)),
      ...operationHeaders(world, request, operation, 'write'),
    },
    body: renderSet(set),
    trace: { ...trace, capacityAfter: after, etagOut: etag, opId: operation.id, charge: Math.abs(after - before) },
  };
}

/**
 * A write that changes nothing is an operation like any other, with the etag that the set has, and free of charge (recorded by
 * cloud-provider-azure, January 2026).
 */
function acceptNothing(world: ArmWorld, request: ArmRequest, set: ScaleSet): ArmReply {
  set.provisioningState = 'Updating';
  const operation = beginOperation(world, {
    kind: 'model',
    pool: set.pool.name,
    setKey: setKey(set),
    principal: request.principal.clientId,
    pending: [],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
  });
  const etag = etagText(set.etag);
  const goal = goalOf(set);
  return {
    status: 200,
    headers: { etag, ...world.throttle.spend('batched', 0), ...operationHeaders(world, request, operation, 'write') },
    body: renderSet(set),
    trace: {
      ...defined({ etagIn: request.headers['if-match'] }),
      capacityBefore: goal,
      capacityAfter: goal,
      etagOut: etag,
      opId: operation.id,
      charge: 0,
    },
  };
}

function refuseModel(world: ArmWorld, set: ScaleSet, method: string, body: JsonObject): ArmReply | undefined {
  const location = pickText(body, 'location');
  if (method === 'PUT' && location === undefined) {
    return armError(400, 'LocationRequired', `The location property is required for this definition.`);
  }
  if (location !== undefined && !isLocation(world.spec, location)) {
    const message = `The resource '${set.name}' already exists in location '${world.spec.location}'. A resource with the same name cannot be created in location '${location}'.`;
    return armError(409, 'InvalidResourceLocation', message);
  }
  const mode = pickText(body, 'properties', 'orchestrationMode');
  if (mode !== undefined && mode !== pickText(set.document, 'properties', 'orchestrationMode')) {
    return propertyChangeNotAllowed('properties.orchestrationMode');
  }
  const zones = pick(body, 'zones');
  return zones === undefined || isDeepStrictEqual(zones, pick(set.document, 'zones')) ? undefined : propertyChangeNotAllowed('zones');
}

function propertyChangeNotAllowed(target: string): ArmReply {
  return armError(409, 'PropertyChangeNotAllowed', `Changing property '${target}' is not allowed.`, { target });
}

function refuseSize(world: ArmWorld, set: ScaleSet, next: JsonObject): ArmReply | undefined {
  const capacity = pick(next, 'sku', 'capacity');
  const isIncrease = typeof capacity === 'number' && capacity > capacityOf(set);
  const growth = isIncrease ? growthTo(set, capacity) : 0;
  return refuseModelSize(world, next, { name: set.name, zones: set.pool.zones ?? [], isIncrease, growth, pool: set.pool });
}

/** Deletes the set and everything in it. */
export function deleteScaleSet(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return { status: 204 };
  const forced = isForced(request);
  const refusal = forced ? refuseForce(set, [...set.vms.values()]) : undefined;
  if (refusal !== undefined) return refusal;
  set.provisioningState = 'Deleting';
  const living = [...set.vms.values()].filter((vm) => vm.provisioningState !== 'Deleting');
  checkRemoval(
    world,
    { name: set.name, min: limitsOf(set.pool, set.document).min },
    { principal: request.principal, vms: living, capacityAfter: 0, named: false },
  );
  for (const vm of set.vms.values()) beginRemoval(world, vm, { forced, principal: request.principal.clientId });
  const operation = beginOperation(world, {
    kind: 'remove-set',
    pool: set.pool.name,
    principal: request.principal.clientId,
    pending: [...set.vms.values()],
    retryAfterSeconds: world.knobs.retryAfterSeconds.remove,
    onEnd: () => {
      for (const vm of set.vms.values()) removeVm(world, vm);
      world.sets.delete(setKey(set));
    },
  });
  return {
    status: 202,
    headers: { ...world.throttle.spend('batched', living.length), ...operationHeaders(world, request, operation, 'action') },
    trace: { opId: operation.id, charge: living.length },
  };
}

/** Counts by status code, as in the instance view of a set. */
export function getScaleSetView(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const vms = [...set.vms.values()];
  const state = set.provisioningState.toLowerCase();
  const time = armTime(world.clock.now());
  const ofExtension = vms
    .filter(({ power }) => power !== 'none')
    .map((vm) => `ProvisioningState/${extensionState(world, vm).toLowerCase()}`);
  return {
    status: 200,
    body: {
      virtualMachine: {
        statusesSummary: statusSummary(vms.flatMap((vm) => statusCodes(world, vm).map((code) => code.split('/').slice(0, 2).join('/')))),
      },
      extensions: [{ name: 'vmssCSE', statusesSummary: statusSummary(ofExtension) }],
      statuses: [{ code: `ProvisioningState/${state}`, level: 'Info', displayStatus: `Provisioning ${state}`, time }],
      orchestrationServices: [{ serviceName: 'AutomaticRepairs', serviceState: 'NotRunning' }],
    },
  };
}

function statusSummary(codes: readonly string[]): Json {
  return [...Map.groupBy(codes, (code) => code)].map(([code, same]) => ({ code, count: same.length }));
}
