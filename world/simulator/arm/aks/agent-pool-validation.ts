/** What the AKS resource provider refuses in a write to an agent pool before it acts. */
import { isVmsPool, manualScale, poolEtag, poolSize, vmsOfSize } from '../state/agent-pool-document.ts';
import { aksError, clusterInProgress, scaleInProgress } from '../http/errors.ts';
import { pick, pickText, type Json, type JsonObject } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { clusterId } from '../state/resource-names.ts';
import { growthTo } from '../compute/set-capacity.ts';
import { findVmSize } from '../state/vm-sizes.ts';
import { quotaShortage, type StockRequest } from '../state/stock-and-quota.ts';
import type { AgentPool, ArmWorld } from '../state/arm-state.ts';
import { runningOnCluster } from './aks-operations.ts';

export function poolNotFound(world: ArmWorld, request: ArmRequest): ArmReply {
  const message = `Could not find the agentpool: ${param(request, 'pool')} in cluster ${clusterId(world.spec)}.`;
  // Recorded by azure-service-operator, August 2026.
  const details = [{ code: 'Unspecified', message: 'rpc error: code = NotFound desc = Agent Pool not found' }];
  return { status: 404, body: { code: 'NotFound', details, message, subcode: 'GetAgentPool_NotFound_HCPServerError' } };
}

/** The refusal of a condition that does not hold. */
function staleEtag(ifMatch: string, what = 'agent pool'): ArmReply {
  return aksError(412, 'PreConditionFailed', `The If-Match header ${ifMatch} does not match the current eTag of the ${what}.`);
}

/** The refusal of a condition on a pool that does not exist (Azure/azure-cli 30309, November 2024). */
export function etagOfNothing(): ArmReply {
  return aksError(412, 'PreconditionFailed', 'Resource not found but ETag header is provided.');
}

/** Checks `If-Match` and `If-None-Match` on an existing pool. */
export function refuseCondition(world: ArmWorld, request: ArmRequest, pool: AgentPool): ArmReply | undefined {
  return refuseEtagCondition(request, { current: poolEtag(world, pool), what: 'agent pool' });
}

/** Checks the same conditions on any existing resource of the provider. */
export function refuseEtagCondition(
  request: ArmRequest,
  { current, what }: { readonly current: string; readonly what: string },
): ArmReply | undefined {
  const ifMatch = request.headers['if-match'];
  const ifNoneMatch = request.headers['if-none-match'];
  if (ifMatch !== undefined && ifNoneMatch !== undefined)
    return aksError(400, 'BadRequest', 'If-Match and If-None-Match exclude each other.');
  if (ifNoneMatch !== undefined && ifNoneMatch !== '*') return aksError(400, 'BadRequest', 'If-None-Match accepts only *.');
  if (ifNoneMatch === '*') return aksError(412, 'PreConditionFailed', `The ${what} exists.`);
  return ifMatch === undefined || ifMatch === '*' || ifMatch === current ? undefined : staleEtag(ifMatch, what);
}

export function isIdle({ provisioningState }: AgentPool): boolean {
  return provisioningState === 'Succeeded' || provisioningState === 'Failed' || provisioningState === 'Canceled';
}

/** AKS accepts one operation on a pool at a time, and none while it works on the whole cluster. */
export function refuseWhileBusy(world: ArmWorld, pool: AgentPool): ArmReply | undefined {
  return isIdle(pool) ? refuseDuringClusterWork(world) : { status: 409, body: scaleInProgress(pool.name, pool.provisioningState) };
}

/** Also if the pools are idle meanwhile, as they are while the control plane alone is upgraded (Azure/telescope 1213, June 2026). */
export function refuseDuringClusterWork(world: ArmWorld): ArmReply | undefined {
  return runningOnCluster(world).length === 0 ? undefined : { status: 409, body: clusterInProgress(world.clusterWork) };
}

/** Refuses invalid settings of an existing pool. If `pool` is undefined, of a new one. */
export function refuseProperties(world: ArmWorld, pool: AgentPool | undefined, properties: JsonObject): ArmReply | undefined {
  const held = (key: string): Json | undefined => (properties[key] === undefined ? pick(pool?.properties, key) : properties[key]);
  const vms = held('type') === 'VirtualMachines';
  return (
    (vms ? undefined : refuseCount(properties['count'], held('mode') === 'System' ? 1 : 0)) ??
    refuseLimits(pool, properties) ??
    refuseDeallocation(held('scaleDownMode'), held('osDiskType')) ??
    refuseSizes(pool, properties) ??
    refuseQuota(world, pool, properties)
  );
}

const MAX_COUNT = 1_000;

function refuseCount(count: Json | undefined, least: number): ArmReply | undefined {
  if (count === undefined || count === null) return undefined;
  if (typeof count === 'number' && Number.isInteger(count) && count >= least && count <= MAX_COUNT) return undefined;
  const message = `The value of parameter agentPoolProfile.count is invalid. Please use a number from ${least} to ${MAX_COUNT}.`;
  return aksError(400, 'InvalidParameter', message);
}

/** Checks the limits of AKS's own autoscaler and the count against them. */
function refuseLimits(pool: AgentPool | undefined, properties: JsonObject): ArmReply | undefined {
  const number = (key: string): number | undefined => (typeof properties[key] === 'number' ? properties[key] : undefined);
  const [count, min, max] = [number('count'), number('minCount'), number('maxCount')];
  const invalid = (message: string): ArmReply => aksError(400, 'InvalidParameter', message);
  if (min !== undefined && max !== undefined && min > max) return invalid('minCount must not be above maxCount.');
  if (properties['enableAutoScaling'] !== true || count === undefined) return undefined;
  if (count < (min ?? 0) || count > (max ?? MAX_COUNT)) return invalid('count must be between minCount and maxCount.');
  const wasOn = pool !== undefined && pool.properties['enableAutoScaling'] === true;
  return wasOn && count !== poolSize(pool) ? aksError(400, 'BadRequest', 'Cannot scale cluster autoscaler enabled node pool.') : undefined;
}

/** VMs with an ephemeral OS disk cannot be deallocated. */
function refuseDeallocation(mode: Json | undefined, disk: Json | undefined): ArmReply | undefined {
  if (mode === undefined || mode === null || mode === 'Delete') return undefined;
  if (mode !== 'Deallocate') return aksError(400, 'InvalidParameter', 'The value of parameter agentPoolProfile.scaleDownMode is invalid.');
  if (disk !== 'Ephemeral') return undefined;
  return aksError(400, 'BadRequest', 'Scale-down mode Deallocate is not supported with ephemeral OS disks.');
}

function refuseSizes(pool: AgentPool | undefined, properties: JsonObject): ArmReply | undefined {
  // A pool of VMs has no size of its own: AKS shows an empty one, and takes it back.
  const size = pickText(properties, 'vmSize') || undefined;
  if (pool !== undefined && size !== undefined && size !== pick(pool.properties, 'vmSize')) {
    return aksError(400, 'PropertyChangeNotAllowed', "Changing property 'properties.vmSize' is not allowed.");
  }
  const manual = pick(properties, 'virtualMachinesProfile', 'scale', 'manual');
  const isWhole = (count: Json | undefined): boolean =>
    typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= MAX_COUNT;
  if (Array.isArray(manual) && manual.some((entry) => pickText(entry, 'size') === undefined || !isWhole(pick(entry, 'count'))))
    return aksError(400, 'InvalidParameter', 'The value of parameter agentPoolProfile.virtualMachinesProfile.scale.manual is invalid.');
  const sizes = [...(size === undefined ? [] : [size]), ...manualScale(properties).map((entry) => entry.size)];
  const unknown = sizes.find((name) => findVmSize(name) === undefined);
  return unknown === undefined ? undefined : aksError(400, 'InvalidParameter', `The VM size ${unknown} is not available.`);
}

function refuseQuota(world: ArmWorld, pool: AgentPool | undefined, properties: JsonObject): ArmReply | undefined {
  const shortage = quotaShortage(world, wantsOf(world, pool, properties));
  if (shortage === undefined) return undefined;
  const message = `Insufficient regional vcpu quota left for location ${shortage.location}. left regional vcpu quota ${shortage.limit - shortage.usage}, requested quota ${shortage.required}.`;
  return aksError(400, 'ErrCode_InsufficientVCPUQuota', message);
}

function wantsOf(world: ArmWorld, pool: AgentPool | undefined, properties: JsonObject): readonly StockRequest[] {
  const spot = (pool?.spec.priority ?? properties['scaleSetPriority']) === 'Spot';
  const of = (vmSize: string, count: number): StockRequest => ({ vmSize, spot, count, pool: pool?.spec });
  if (pool === undefined || isVmsPool(pool)) {
    const manual = manualScale(properties).map(({ size, count }) =>
      of(size, count - (pool === undefined ? 0 : vmsOfSize(pool, size).length)),
    );
    const { count } = properties;
    return pool === undefined && typeof count === 'number' ? [...manual, of(pickText(properties, 'vmSize') ?? '', count)] : manual;
  }
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  const { count = poolSize(pool) } = properties;
  return set === undefined || typeof count !== 'number' ? [] : [of(pool.spec.vmSize, growthTo(set, count))];
}
