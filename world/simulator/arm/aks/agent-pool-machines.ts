/** The machines of an agent pool by node name: lists, single reads and the deletion of named machines. */
import { changeCount, findAgentPool, manualScale, poolSize, vmsOfSize } from '../state/agent-pool-document.ts';
import { isDeallocated, machineStopsOf } from './agent-pool-deallocation.ts';
import { beginPoolOperation } from './agent-pools.ts';
import { aksError } from '../http/errors.ts';
import { pick, type Json } from '../http/json.ts';
import { beginRemoval, deallocateVm } from '../compute/vm-lifecycle.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from '../http/messages.ts';
import { addressOf, clusterId } from '../state/resource-names.ts';
import { aksOperationHeaders } from './aks-operations.ts';
import { answerPage } from '../http/paging.ts';
import { AKS_PRINCIPAL } from '../http/principals.ts';
import { limitsOf } from '../state/agent-pool-limits.ts';
import { poolNotFound, refuseWhileBusy } from './agent-pool-validation.ts';
import { acceptRemoval } from '../compute/set-capacity.ts';
import { recordSetChange } from '../state/world-events-journal.ts';
import { checkRemoval } from '../state/write-safety-rules.ts';
import { capacityOf, goalOf, type AgentPool, type ArmWorld, type Operation } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

/** Deletes machines by name, in any kind of pool. One invalid name refuses the whole request. */
export function deleteMachines(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  const busy = refuseWhileBusy(world, pool);
  if (busy !== undefined) return busy;
  const names = pick(request.body, 'machineNames');
  // A machine that is named twice goes once.
  const wanted = [...new Set(Array.isArray(names) ? names.map((name) => String(name).toLowerCase()) : [])];
  const machines = wanted.map((name) => machinesOf(world, pool).find((vm) => vm.hostName === name || vm.name.toLowerCase() === name));
  const vms = machines.filter((vm) => vm !== undefined);
  if (vms.length === 0 || vms.length < wanted.length)
    return aksError(400, 'InvalidParameter', 'machineNames names a machine that is not in the agent pool.');
  const before = poolSize(pool);
  const operation = removeMachines(world, pool, vms, request.principal);
  return {
    status: 202,
    headers: aksOperationHeaders(world, request, operation, 'action'),
    trace: {
      capacityBefore: before,
      capacityAfter: poolSize(pool),
      opId: operation.id,
      charge: vms.length,
      machines: vms.map(({ name }) => name),
    },
  };
}

function machinesOf(world: ArmWorld, pool: AgentPool): readonly Vm[] {
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  return [...(set ?? pool).vms.values()];
}

function removeMachines(world: ArmWorld, pool: AgentPool, vms: readonly Vm[], principal: Principal): Operation {
  pool.provisioningState = 'Updating';
  pool.etagCounter++;
  const set = pool.setKey === undefined ? undefined : world.sets.get(pool.setKey);
  if (set !== undefined) {
    const before = capacityOf(set);
    const { id } = acceptRemoval(world, set, { vms, forced: false, principal, named: true });
    recordSetChange(world, set, { why: 'deleteMachines', principal: AKS_PRINCIPAL, before, opId: id });
    pool.properties = { ...pool.properties, count: goalOf(set) };
    return beginPoolOperation(world, pool, { principal, pending: vms });
  }
  const stops = machineStopsOf(pool);
  const leaving = vms.filter((vm) => vm.provisioningState !== 'Deleting' && (stops === 'deleted' || !isDeallocated(vm)));
  if (stops !== 'counted') for (const vm of leaving) changeCount(pool, vm, -1);
  checkRemovalBySize(world, pool, leaving, principal);
  for (const vm of leaving) {
    if (stops === 'deleted') beginRemoval(world, vm, { forced: false, principal: principal.clientId });
    else deallocateVm(world, vm);
  }
  return beginPoolOperation(world, pool, { principal, pending: leaving });
}

/** Minimum and maximum apply to each size separately. */
function checkRemovalBySize(world: ArmWorld, pool: AgentPool, vms: readonly Vm[], principal: Principal): void {
  for (const [size, ofSize] of Map.groupBy(vms, (vm) => vm.vmSize)) {
    const counted = manualScale(pool.properties).find((entry) => entry.size.toLowerCase() === size.toLowerCase())?.count ?? 0;
    // The minimum is one of machines that run, whatever the count includes.
    const running = vmsOfSize(pool, size).filter((vm) => !isDeallocated(vm) && !vms.includes(vm)).length;
    const left = machineStopsOf(pool) === 'counted' ? running : counted;
    const owner = { name: `${pool.name}/${size}`, min: limitsOf(pool.spec, pool.properties).min };
    checkRemoval(world, owner, { principal, vms: ofSize, capacityAfter: left, named: true });
  }
}

/** Lists the machines of a pool by node name. */
export function listMachines(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  return answerPage(request, {
    items: machinesOf(world, pool),
    keyOf: (vm) => vm.hostName,
    pageSize: world.knobs.pageSize,
    render: (vm) => renderMachine(world, pool, vm),
  });
}

export function getMachine(world: ArmWorld, request: ArmRequest): ArmReply {
  const pool = findAgentPool(world, param(request, 'pool'));
  if (pool === undefined) return poolNotFound(world, request);
  const name = param(request, 'machine').toLowerCase();
  const vm = machinesOf(world, pool).find(({ hostName }) => hostName === name);
  if (vm !== undefined) return { status: 200, body: renderMachine(world, pool, vm) };
  return aksError(404, 'NotFound', `Could not find the machine: ${param(request, 'machine')} in agentpool ${pool.name}.`);
}

function renderMachine(world: ArmWorld, pool: AgentPool, vm: Vm): Json {
  return {
    id: `${clusterId(world.spec)}/agentPools/${pool.name}/machines/${vm.hostName}`,
    name: vm.hostName,
    type: 'Microsoft.ContainerService/managedClusters/agentPools/machines',
    ...(vm.zone === undefined ? {} : { zones: [vm.zone] }),
    properties: {
      resourceId: vm.resourceId,
      provisioningState: vm.provisioningState,
      network: { ipAddresses: [{ family: 'IPv4', ip: addressOf(vm.resourceId) }] },
    },
  };
}
