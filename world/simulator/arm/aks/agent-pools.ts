/**
 * Agent pools of the AKS resource provider. The pool's count is a store of its own: only the provider's operations copy it to a scale
 * set. VMs-type pools have no scale set; the provider creates and deletes their VMs. Must not know how a client reads pools.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  autoscale,
  findAgentPool,
  goalOfSize,
  isVmsPool,
  keptProperties,
  manualScale,
  poolEtag,
  poolSize,
  renderAgentPool,
  REPLACED_BY_PUT,
} from '../state/agent-pool-document.ts';
import { aksError } from '../http/errors.ts';
import { isJsonObject, pick, pickObject, type JsonObject } from '../http/json.ts';
import { beginRemoval } from '../compute/vm-lifecycle.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from '../http/messages.ts';
import { beginOperation, endOperation } from '../compute/operations.ts';
import { aksOperationHeaders } from './aks-operations.ts';
import { clusterId } from '../state/resource-names.ts';
import { answerPage } from '../http/paging.ts';
import {
  isIdle,
  poolNotFound,
  refuseCondition,
  refuseDuringClusterWork,
  refuseProperties,
  refuseWhileBusy,
  etagOfNothing,
} from './agent-pool-validation.ts';
import { createPool, removePool } from './create-agent-pool.ts';
import { specOfNew } from './agent-pool-spec.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import {
  activeCapacity,
  convergeMachines,
  deallocatesMachines,
  machineStopsOf,
  removeDeallocated,
  removeStoppedMachines,
} from './agent-pool-deallocation.ts';
import { powerChange, refusePower, targetSize, withoutShownZero } from './agent-pool-power.ts';
import { upgradePoolVersion } from './pool-version.ts';
import { upgradesOf, versionChangeOf } from './version-rules.ts';
import { copyCountToSet, copyManagedLimits, copyTagsToSet, relabelNodes } from './reconcile-scale-set.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { kubernetesVersionOf, latestNodeImage } from '../state/node-versions.ts';
import { checkManualScale, checkPoolSize, checkRemoval, recordRead } from '../state/write-safety-rules.ts';
import { later, type AgentPool, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';
import { defined } from '../../../../src/lib/defined.ts';

/** The list always ends with an empty page, also with one pool (recorded by Azure's CLI, September 2024 to July 2026). */
export function listAgentPools(world: ArmWorld, request: ArmRequest): ArmReply {
  for (const pool of world.agentPools.values()) recordRead(pool, request.principal);
  return answerPage(request, {
    items: [...world.agentPools.values()],
    keyOf: (pool) => pool.name,
    pageSize: world.knobs.pageSize,
    render: (pool) => renderAgentPool(world, pool),
    endsWithEmptyPage: true,
  });
}

export function getAgentPool(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  recordRead(pool, request.principal);
  return { status: 200, body: renderAgentPool(world, pool), trace: { etagOut: poolEtag(world, pool) } };
}

/** The versions to which a pool could be upgraded: at most that of the control plane. */
export function getUpgradeProfile(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  const { currentOrchestratorVersion, osType } = pool.properties;
  return {
    status: 200,
    body: {
      id: `${clusterId(world.spec)}/agentPools/${pool.name}/upgradeProfiles/default`,
      name: 'default',
      type: 'Microsoft.ContainerService/managedClusters/agentPools/upgradeProfiles',
      properties: {
        kubernetesVersion: currentOrchestratorVersion,
        osType,
        latestNodeImageVersion: latestNodeImage(world.clock.now()),
        upgrades: upgradesOf(kubernetesVersionOf(world, pool.name), world.kubernetesVersion).map((version) => ({
          kubernetesVersion: version,
        })),
      },
    },
  };
}

/**
 * PUT replaces what the user sets: omitted settings get their defaults, immutable ones stay. A PUT without a change still
 * corrects a drifted scale set. A PUT on a name that does not exist creates a pool.
 */
export function putAgentPool(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  const ifMatch = request.headers['if-match'];
  if (pool === undefined) return ifMatch === undefined ? createAgentPool(world, request) : etagOfNothing();
  const body = pick(request.body, 'properties');
  const given = isJsonObject(body) ? withoutShownZero(pool, body) : undefined;
  const before = poolSize(pool);
  const trace = { ...defined({ etagIn: ifMatch }), capacityBefore: before };
  const properties = given ?? {};
  const refusal =
    refuseCondition(world, request, pool) ??
    refuseWhileBusy(world, pool) ??
    refusePower(world, pool, { ...pool.properties, ...properties }) ??
    refuseProperties(world, pool, properties);
  if (refusal !== undefined || given === undefined) {
    return { ...(refusal ?? aksError(400, 'BadRequest', 'properties is missing.')), trace: { ...trace, capacityAfter: before } };
  }
  const next = nextProperties(pool, given);
  const change = versionChangeOf(world, pool, given);
  if (change !== undefined) return upgradePoolVersion(world, request, { pool, next, change });
  if (isDeepStrictEqual(next, pool.properties) && !hasDrifted(world, pool))
    return { status: 200, body: renderAgentPool(world, pool), trace: { ...trace, capacityAfter: before } };
  const operation = acceptPool(world, pool, next, request.principal);
  return {
    status: 200,
    headers: aksOperationHeaders(world, request, operation, 'write'),
    body: renderAgentPool(world, pool),
    trace: { ...trace, capacityAfter: poolSize(pool), etagOut: poolEtag(world, pool), opId: operation.id },
  };
}

function hasDrifted(world: ArmWorld, pool: AgentPool): boolean {
  const set = setOf(world, pool);
  return set !== undefined && activeCapacity(pool, set) !== targetSize(world, pool);
}

/** Creates a pool: responds with 201 and begins the creation of its VMs. */
function createAgentPool(world: ArmWorld, request: ArmRequest): ArmReply {
  const given = pick(request.body, 'properties');
  const properties = isJsonObject(given) ? given : {};
  const spec = specOfNew(param(request, 'pool'), properties);
  if (typeof spec === 'string') return aksError(400, 'InvalidParameter', spec);
  const refusal = refuseDuringClusterWork(world) ?? refuseProperties(world, undefined, { ...properties, count: spec.count });
  if (refusal !== undefined) return refusal;
  const { pool, pending } = createPool(world, spec, properties);
  const operation = beginPoolOperation(world, pool, { principal: request.principal, pending });
  return {
    status: 201,
    headers: aksOperationHeaders(world, request, operation, 'write'),
    body: renderAgentPool(world, pool),
    trace: { capacityBefore: 0, capacityAfter: poolSize(pool), etagOut: poolEtag(world, pool), opId: operation.id },
  };
}

/** Deletes the pool with everything in it. The deletion of a pool that does not exist succeeds. */
export function deleteAgentPool(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return { status: 204 };
  const refusal = refuseCondition(world, request, pool) ?? refuseWhileBusy(world, pool);
  if (refusal !== undefined) return refusal;
  const { principal } = request;
  const vms = [...(setOf(world, pool) ?? pool).vms.values()];
  const living = vms.filter((vm) => vm.provisioningState !== 'Deleting');
  checkRemoval(
    world,
    { name: pool.name, min: limitsOf(pool.spec, pool.properties).min },
    { principal, vms: living, capacityAfter: 0, named: false },
  );
  pool.provisioningState = 'Deleting';
  pool.etagCounter++;
  for (const vm of living) beginRemoval(world, vm, { forced: false, principal: principal.clientId });
  const operation = beginPoolOperation(world, pool, { principal, pending: vms, atEnd: () => removePool(world, pool) });
  return {
    status: 202,
    headers: aksOperationHeaders(world, request, operation, 'action'),
    trace: { opId: operation.id, charge: living.length },
  };
}

function setOf(world: ArmWorld, pool: AgentPool): ScaleSet | undefined {
  return pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
}

const READ_ONLY = new Set(['eTag', 'provisioningState', 'virtualMachineNodesStatus', 'currentOrchestratorVersion', 'nodeImageVersion']);

export function nextProperties(pool: AgentPool, given: JsonObject): JsonObject {
  const kept = Object.entries(pool.properties).filter(([key]) => !REPLACED_BY_PUT.includes(key));
  const writable = Object.entries(given).filter(([key]) => !READ_ONLY.has(key));
  return keptProperties({ ...Object.fromEntries(kept), ...Object.fromEntries(writable) });
}

/** Stores a changed pool of any writer: the etag changes and the VMs begin to follow. */
export function acceptPool(world: ArmWorld, pool: AgentPool, next: JsonObject, principal: Principal): Operation {
  const before = poolSize(pool);
  const scaleBefore = manualScale(pool.properties);
  const propertiesBefore = pool.properties;
  const hadDeallocation = deallocatesMachines(pool.properties);
  const stopsBefore = machineStopsOf(pool);
  const power = powerChange(pool.properties, next);
  pool.properties = keptProperties(next);
  const atEnd = relabelNodes(world, pool, propertiesBefore);
  copyManagedLimits(world, pool);
  pool.etagCounter++;
  const after = poolSize(pool);
  if (isVmsPool(pool)) checkManualScale(world, pool, { principal, before: scaleBefore, after: manualScale(next) });
  else {
    const set = setOf(world, pool);
    const capacity = set === undefined ? undefined : activeCapacity(pool, set);
    checkPoolSize(world, { name: pool.name, max: limitsOf(pool.spec, next).max, capacity }, { principal, before, after });
  }
  // A pool of VMs shows `Updating` for another count, too (recorded by Azure's CLI, July 2026).
  pool.provisioningState = power ?? (after === before || isVmsPool(pool) ? 'Updating' : 'Scaling');
  if (isVmsPool(pool)) {
    const pending = hadDeallocation && !deallocatesMachines(next) ? removeStoppedMachines(world, pool, stopsBefore) : [];
    return convergeVms(world, pool, { principal, pending, ...defined({ atEnd }) });
  }
  copyTagsToSet(world, pool, pickObject(propertiesBefore, 'tags'));
  const set = setOf(world, pool);
  if (set !== undefined && hadDeallocation && !deallocatesMachines(next)) removeDeallocated(world, set);
  // Every operation of the provider ends with the capacity that the provider counts.
  copyCountToSet(world, pool, principal);
  return beginPoolOperation(world, pool, { principal, pending: vmsInTransition(world, pool), ...defined({ atEnd }) });
}

/** VMs that are being created or deleted. The provider's operations on a pool wait for them. */
export function vmsInTransition(world: ArmWorld, pool: AgentPool): readonly Vm[] {
  return [...(setOf(world, pool)?.vms.values() ?? [])].filter(({ provisioningState }) =>
    /^(Creating|Updating|Deleting)$/.test(provisioningState),
  );
}

function convergeVms(world: ArmWorld, pool: AgentPool, { principal, atEnd, pending = [] }: PoolOperation): Operation {
  const { properties } = pool;
  const sizes = [...manualScale(properties), ...autoscale(properties)].map(({ size }) => size);
  const touched = [...new Set([...sizes, ...[...pool.vms.values()].map((vm) => vm.vmSize)])].flatMap((size) =>
    convergeMachines(world, pool, { size, goal: goalOfSize(pool, size), principal }),
  );
  return beginPoolOperation(world, pool, { principal, pending: [...pending, ...touched], ...defined({ atEnd }) });
}

/** What an operation on a pool waits for, and what runs once the pool is idle. */
export interface PoolOperation {
  readonly principal: Principal;
  readonly pending?: readonly Vm[];
  readonly atEnd?: () => void;
}

/** Begins an operation. The pool shows its state while it runs. */
export function beginPoolOperation(world: ArmWorld, pool: AgentPool, { principal, pending = [], atEnd }: PoolOperation): Operation {
  const begun = beginOperation(world, {
    kind: 'agent-pool',
    provider: 'aks',
    pool: pool.name,
    principal: principal.clientId,
    pending,
    alone: world.knobs.aksModelUpdate,
    settles: pending.some(({ provisioningState }) => provisioningState !== 'Deleting') ? world.knobs.aksGrowthEnd : undefined,
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    onEnd: (operation) => {
      pool.provisioningState = operation.failures.length > 0 ? 'Failed' : 'Succeeded';
      // AKS works towards its count until it is done (azure-wire 16.6), also if another writer changed the set meanwhile.
      if (world.knobs.aksRestoresAtEnd && operation.failures.length === 0) copyCountToSet(world, pool, AKS_PRINCIPAL);
      // The tag of the answer is not the final one (recorded by Azure's CLI, July 2026).
      pool.etagCounter++;
      atEnd?.();
    },
  });
  later(world, world.knobs.aksPatienceMs, () => timeOutOperation(world, begun));
  return begun;
}

/** The provider limits the wait for VMs: the operation fails, and the pool accepts writes again. */
function timeOutOperation(world: ArmWorld, operation: Operation): void {
  if (operation.endMs !== undefined) return;
  operation.failures.push({ code: 'OperationTimedOut', message: 'The machines of the agent pool were not ready in the allotted time.' });
  endOperation(world, operation);
}

/**
 * Reconciles a pool as every operation of the provider does: the pool shows `Updating`, its etag changes, and its scale set gets
 * the pool's count. @returns why it was not done, or undefined.
 */
export function reconcilePool(world: ArmWorld, pool: AgentPool, as: 'Updating' | 'Starting' | 'Stopping' = 'Updating'): string | undefined {
  if (!isIdle(pool)) return `pool "${pool.name}" is ${pool.provisioningState}`;
  pool.provisioningState = as;
  pool.etagCounter++;
  copyCountToSet(world, pool, AKS_PRINCIPAL);
  beginPoolOperation(world, pool, { principal: AKS_PRINCIPAL, pending: vmsInTransition(world, pool) });
  return undefined;
}
