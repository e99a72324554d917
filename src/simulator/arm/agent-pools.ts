/**
 * Agent pools of the AKS resource provider. Its count is a store of its own: only the provider's operations copy it to
 * a scale set. VMs-type pools have no scale set; the provider makes and unmakes their machines.
 */
import { isDeepStrictEqual } from 'node:util';
import { findAgentPool, poolSize, renderAgentPool, REPLACED_BY_PUT, isVmsPool, manualScale, poolEtag } from './agent-pool-document.ts';
import { aksError, scaleInProgress } from './errors.ts';
import { isJsonObject, pick, pickObject, pickText, type JsonObject } from './json.ts';
import { takeDown } from './lifecycle.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from './messages.ts';
import { clusterId } from './names.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { answerPage } from './paging.ts';
import { limitsOf } from './pool-limits.ts';
import { AKS_PRINCIPAL, copyCountToSet, copyTagsToSet } from './pool-to-set.ts';
import { acceptRemoval } from './scaling.ts';
import { findVmSize } from './sku-table.ts';
import { quotaShortage } from './stock.ts';
import { growPool } from './vm-birth.ts';
import { judgeManualScale, judgePoolSize, judgeRemoval, noteRead } from './write-judge.ts';
import { capacityOf, later, type AgentPool, type ArmWorld, type Operation } from './world-state.ts';
import type { Vm } from './vm.ts';

export function listAgentPools(world: ArmWorld, request: ArmRequest): ArmReply {
  for (const pool of world.agentPools.values()) noteRead(pool, request.principal);
  return answerPage(request, {
    items: [...world.agentPools.values()],
    keyOf: (pool) => pool.name,
    pageSize: world.knobs.pageSize,
    render: (pool) => renderAgentPool(world, pool),
  });
}

export function getAgentPool(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  noteRead(pool, request.principal);
  return { status: 200, body: renderAgentPool(world, pool), trace: { etagOut: poolEtag(world, pool) } };
}

function poolNotFound(world: ArmWorld, request: ArmRequest): ArmReply {
  return aksError(404, 'NotFound', `Could not find the agentpool: ${param(request, 'pool')} in cluster ${clusterId(world.spec)}.`);
}

/** PUT replaces what the user sets: settings left out fall back to their defaults, the immutable stay. */
export function putAgentPool(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  const ifMatch = request.headers['if-match'];
  if (pool === undefined) return ifMatch === undefined ? poolNotFound(world, request) : stale(ifMatch);
  const before = poolSize(pool);
  const trace = { ...(ifMatch === undefined ? {} : { etagIn: ifMatch }), capacityBefore: before };
  const given = pick(request.body, 'properties');
  const refusal = refuseCondition(world, request, pool) ?? refuseWhileBusy(pool) ?? refuseProperties(world, pool, given);
  if (refusal !== undefined || !isJsonObject(given)) {
    return { ...(refusal ?? aksError(400, 'BadRequest', 'properties is missing.')), trace: { ...trace, capacityAfter: before } };
  }
  const next = nextProperties(pool, given);
  if (isDeepStrictEqual(next, pool.properties))
    return { status: 200, body: renderAgentPool(world, pool), trace: { ...trace, capacityAfter: before } };
  const operation = acceptPool(world, pool, next, request.principal);
  return {
    status: 200,
    headers: operationHeaders(world, request, operation, 'write'),
    body: renderAgentPool(world, pool),
    trace: { ...trace, capacityAfter: poolSize(pool), etagOut: poolEtag(world, pool), opId: operation.id },
  };
}

function nextProperties(pool: AgentPool, given: JsonObject): JsonObject {
  const kept = Object.entries(pool.properties).filter(([key]) => !REPLACED_BY_PUT.includes(key));
  const writable = Object.entries(given).filter(
    ([key]) => key !== 'eTag' && key !== 'provisioningState' && key !== 'virtualMachineNodesStatus',
  );
  return { ...Object.fromEntries(kept), ...Object.fromEntries(writable) };
}

function stale(ifMatch: string): ArmReply {
  return aksError(412, 'PreConditionFailed', `The If-Match header ${ifMatch} does not match the current eTag of the agent pool.`);
}

function refuseCondition(world: ArmWorld, request: ArmRequest, pool: AgentPool): ArmReply | undefined {
  const ifMatch = request.headers['if-match'];
  const ifNoneMatch = request.headers['if-none-match'];
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    return aksError(400, 'BadRequest', 'If-Match and If-None-Match exclude each other.');
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*') return aksError(400, 'BadRequest', 'If-None-Match accepts only *.');
  if (ifNoneMatch === '*') return aksError(412, 'PreConditionFailed', 'The agent pool exists.');
  return ifMatch === undefined || ifMatch === '*' || ifMatch === poolEtag(world, pool) ? undefined : stale(ifMatch);
}

/** The provider takes one operation per pool at a time. */
export function isBusy({ provisioningState }: AgentPool): boolean {
  return provisioningState !== 'Succeeded' && provisioningState !== 'Failed';
}

function refuseWhileBusy(pool: AgentPool): ArmReply | undefined {
  if (!isBusy(pool)) return undefined;
  return { status: 409, body: scaleInProgress(pool.name, pool.provisioningState) };
}

function refuseProperties(world: ArmWorld, pool: AgentPool, given: unknown): ArmReply | undefined {
  const properties = isJsonObject(given as JsonObject) ? (given as JsonObject) : {};
  const count = properties['count'];
  const number = (key: string): number | undefined => (typeof properties[key] === 'number' ? properties[key] : undefined);
  const [min, max] = [number('minCount'), number('maxCount')];
  if (typeof count === 'number' && (!Number.isInteger(count) || count < 0 || count > 1_000)) {
    return aksError(400, 'InvalidParameter', 'The value of parameter agentPoolProfile.count is invalid.');
  }
  if (min !== undefined && max !== undefined && min > max) return aksError(400, 'InvalidParameter', 'minCount must not be above maxCount.');
  if (properties['enableAutoScaling'] === true && typeof count === 'number' && count !== poolSize(pool)) {
    return aksError(400, 'BadRequest', 'Cannot scale cluster autoscaler enabled node pool.');
  }
  const size = pickText(properties, 'vmSize');
  if (size !== undefined && size !== pick(pool.properties, 'vmSize')) {
    return aksError(400, 'PropertyChangeNotAllowed', "Changing property 'properties.vmSize' is not allowed.");
  }
  const unknownSize = manualScale(properties).find((entry) => findVmSize(entry.size) === undefined);
  if (unknownSize !== undefined) return aksError(400, 'InvalidParameter', `The VM size ${unknownSize.size} is not available.`);
  return refuseQuota(world, pool, properties);
}

function refuseQuota(world: ArmWorld, pool: AgentPool, properties: JsonObject): ArmReply | undefined {
  if (!isVmsPool(pool)) return undefined;
  for (const { size, count } of manualScale(properties)) {
    const more = count - vmsOfSize(pool, size).length;
    const shortage = quotaShortage(world, { vmSize: size, spot: pool.spec.priority === 'Spot', count: more });
    if (shortage === undefined) continue;
    const message = `Insufficient regional vcpu quota left for location ${shortage.location}. left regional vcpu quota ${shortage.limit - shortage.usage}, requested quota ${shortage.required}.`;
    return aksError(400, 'ErrCode_InsufficientVCPUQuota', message);
  }
  return undefined;
}

function vmsOfSize(pool: AgentPool, size: string): readonly Vm[] {
  return [...pool.vms.values()].filter((vm) => vm.vmSize.toLowerCase() === size.toLowerCase() && vm.provisioningState !== 'Deleting');
}

/** Takes over a changed pool, from whoever it comes: the tag moves and the machines begin to follow. */
export function acceptPool(world: ArmWorld, pool: AgentPool, next: JsonObject, principal: Principal): Operation {
  const before = poolSize(pool);
  const scaleBefore = manualScale(pool.properties);
  const tagsBefore = pickObject(pool.properties, 'tags');
  pool.properties = next;
  pool.etagCounter++;
  const after = poolSize(pool);
  if (isVmsPool(pool)) judgeManualScale(world, pool, { principal, before: scaleBefore, after: manualScale(next) });
  else judgePoolSize(world, { name: pool.name, max: limitsOf(pool.spec, next).max }, { principal, before, after });
  pool.provisioningState = after === before ? 'Updating' : 'Scaling';
  if (isVmsPool(pool)) return convergeVms(world, pool, principal);
  const operation = beginPoolOperation(world, pool, principal, []);
  copyTagsToSet(world, pool, tagsBefore);
  // Whatever an operation of the provider is about, it ends with the capacity that the provider counts.
  copyCountToSet(world, pool, principal);
  return operation;
}

function convergeVms(world: ArmWorld, pool: AgentPool, principal: Principal): Operation {
  const touched: Vm[] = [];
  const sizes = new Set([...manualScale(pool.properties).map((entry) => entry.size), ...[...pool.vms.values()].map((vm) => vm.vmSize)]);
  for (const size of sizes) {
    const goal = manualScale(pool.properties).find((entry) => entry.size.toLowerCase() === size.toLowerCase())?.count ?? 0;
    const living = vmsOfSize(pool, size);
    for (let count = living.length; count < goal; count++) touched.push(growPool(world, pool, size));
    const victims = living.slice(goal);
    judgeRemoval(
      world,
      { name: `${pool.name}/${size}`, min: limitsOf(pool.spec, pool.properties).min },
      { principal, vms: victims, capacityAfter: goal, named: false },
    );
    for (const vm of victims) takeDown(world, vm, { forced: false, principal: principal.clientId });
    touched.push(...victims);
  }
  return beginPoolOperation(world, pool, principal, touched);
}

function beginPoolOperation(world: ArmWorld, pool: AgentPool, principal: Principal, pending: readonly Vm[]): Operation {
  return beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: pool.name,
    principal: principal.clientId,
    pending,
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    onEnd: (operation) => {
      pool.provisioningState = operation.failures.length > 0 ? 'Failed' : 'Succeeded';
    },
  });
}

/** Removes machines by name, whatever kind of pool they are in. One bad name refuses all. */
export function deleteMachines(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  const busy = refuseWhileBusy(pool);
  if (busy !== undefined) return busy;
  const names = pick(request.body, 'machineNames');
  const wanted = Array.isArray(names) ? names.map((name) => String(name).toLowerCase()) : [];
  const machines = wanted.map((name) => machinesOf(world, pool).find((vm) => vm.hostName === name || vm.name.toLowerCase() === name));
  const vms = machines.filter((vm) => vm !== undefined);
  if (vms.length === 0 || vms.length < wanted.length)
    return aksError(400, 'InvalidParameter', 'machineNames names a machine that is not in the agent pool.');
  const before = poolSize(pool);
  const operation = removeMachines(world, pool, vms, request.principal);
  return {
    status: 202,
    headers: operationHeaders(world, request, operation, 'action'),
    trace: { capacityBefore: before, capacityAfter: poolSize(pool), opId: operation.id, charge: vms.length },
  };
}

export function machinesOf(world: ArmWorld, pool: AgentPool): readonly Vm[] {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  return [...(set ?? pool).vms.values()];
}

function removeMachines(world: ArmWorld, pool: AgentPool, vms: readonly Vm[], principal: Principal): Operation {
  pool.provisioningState = 'Updating';
  pool.etagCounter++;
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  if (set !== undefined) {
    acceptRemoval(world, set, { vms, forced: false, principal, named: true });
    pool.properties = { ...pool.properties, count: capacityOf(set) };
    return beginPoolOperation(world, pool, principal, vms);
  }
  for (const vm of vms.filter((vm) => vm.provisioningState !== 'Deleting')) forgetMachine(pool, vm);
  judgeNamedBySize(world, pool, vms, principal);
  for (const vm of vms) takeDown(world, vm, { forced: false, principal: principal.clientId });
  return beginPoolOperation(world, pool, principal, vms);
}

/** Minimum and maximum hold for each size by itself. */
function judgeNamedBySize(world: ArmWorld, pool: AgentPool, vms: readonly Vm[], principal: Principal): void {
  for (const [size, ofSize] of Map.groupBy(vms, (vm) => vm.vmSize)) {
    const left = manualScale(pool.properties).find((entry) => entry.size.toLowerCase() === size.toLowerCase())?.count ?? 0;
    const owner = { name: `${pool.name}/${size}`, min: limitsOf(pool.spec, pool.properties).min };
    judgeRemoval(world, owner, { principal, vms: ofSize, capacityAfter: left, named: true });
  }
}

/** A machine of a pool of type VirtualMachines goes: its size asks for one less. */
export function forgetMachine(pool: AgentPool, vm: Vm): void {
  const manual = manualScale(pool.properties).map((entry) =>
    entry.size.toLowerCase() === vm.vmSize.toLowerCase() ? { ...entry, count: Math.max(0, entry.count - 1) } : entry,
  );
  pool.properties = {
    ...pool.properties,
    virtualMachinesProfile: { ...pickObject(pool.properties, 'virtualMachinesProfile'), scale: { manual } },
  };
}

/** What the provider does at every operation of its own: sets the scale set back to the pool's count. */
export function reconcilePool(world: ArmWorld, pool: AgentPool): void {
  pool.provisioningState = 'Updating';
  copyCountToSet(world, pool, AKS_PRINCIPAL);
  later(world, world.draws.latency(`reconcile|${pool.name}|${pool.etagCounter}`, world.knobs.modelUpdate), () => {
    pool.provisioningState = 'Succeeded';
  });
}

/** Machines of a pool by the name of their node. */
export function listMachines(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  return answerPage(request, {
    items: machinesOf(world, pool),
    keyOf: (vm) => vm.hostName,
    pageSize: world.knobs.pageSize,
    render: (vm) => ({
      id: `${clusterId(world.spec)}/agentPools/${pool.name}/machines/${vm.hostName}`,
      name: vm.hostName,
      type: 'Microsoft.ContainerService/managedClusters/agentPools/machines',
      ...(vm.zone === undefined ? {} : { zones: [vm.zone] }),
      properties: { resourceId: vm.resourceId, provisioningState: vm.provisioningState },
    }),
  });
}
