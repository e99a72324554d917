/** VMs outside Uniform sets: those of Flexible sets and of VMs-type agent pools. */
import { resourceNotFound } from '../http/errors.ts';
import { simulateEvictionRequest } from './spot-eviction.ts';
import { acceptVmWrite, applyAction, moveDisks, type ActionName } from './instance-actions.ts';
import { instanceView, renderVm } from './instance-document.ts';
import { isVisible, wantsView } from './instances.ts';
import { isLocation } from '../state/resource-names.ts';
import { refuseByCondition } from '../http/preconditions.ts';
import { param, type ArmReply, type ArmRequest, type Trace } from '../http/messages.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { answerPage } from '../http/paging.ts';
import { beginRemoval } from './vm-lifecycle.ts';
import { isForced, refuseForce } from './instance-protection.ts';
import { acceptRemoval } from './set-capacity.ts';
import { checkRemoval } from '../state/write-safety-rules.ts';
import { allVms, etagText, goalOf, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

/** The filter quotes its field name: `'virtualMachineScaleSet/id' eq '<id>'`. */
const SET_FILTER = /^'?virtualMachineScaleSet\/id'?\s+eq\s+'([^']+)'$/i;

export function listVms(world: ArmWorld, request: ArmRequest): ArmReply {
  const filter = SET_FILTER.exec(request.query['$filter'] ?? '')?.[1]?.toLowerCase();
  const group = request.params['rg']?.toLowerCase() ?? world.spec.nodeResourceGroup.toLowerCase();
  const past =
    filter === undefined && request.params['rg'] !== undefined && group === world.spec.nodeResourceGroup.toLowerCase()
      ? world.lists.vms(request.occasion)
      : undefined;
  if (past !== undefined)
    return answerPage(request, { items: past, keyOf: ({ name }) => name, pageSize: world.knobs.pageSize, render: ({ shown }) => shown });
  const location = request.params['location'] ?? world.spec.location;
  const isHere = group === world.spec.nodeResourceGroup.toLowerCase() && isLocation(world.spec, location);
  const items = (isHere ? allVms(world) : [])
    .filter((vm) => vm.kind !== 'uniform' && isVisible(world, vm))
    .filter((vm) => filter === undefined || setOfVm(world, vm)?.resourceId.toLowerCase() === filter);
  const expand = filter !== undefined && wantsView(request);
  return answerPage(request, {
    items,
    keyOf: (vm) => vm.name,
    pageSize: world.knobs.pageSize,
    render: (vm) => renderVm(world, vm, { set: setOfVm(world, vm), expand }),
  });
}

export function getVm(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => {
    const expand = wantsView(request);
    const body = renderVm(world, vm, { set: setOfVm(world, vm), expand });
    // With the instance view the tag is in the body alone (recorded by Azure's CLI in 2024).
    return { status: 200, body, headers: expand ? {} : { etag: etagText(vm.etag) } };
  });
}

export function getVmView(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => ({ status: 200, body: instanceView(world, vm) }));
}

/** PUT or PATCH of an existing VM: tags, data disks, and fields that this emulator does not know. Only a set or a pool creates new VMs. */
export function writeVm(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => {
    const stale = refuseByCondition(request, etagText(vm.etag));
    if (stale !== undefined) return stale;
    return acceptVmWrite(world, request, vm, {
      body: () => renderVm(world, vm, { set: setOfVm(world, vm), expand: false }),
    });
  });
}

export function moveVmDisks(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => moveDisks(world, request, vm));
}

/** Acts on one VM of any owner. */
export function actOnVm(name: ActionName) {
  return (world: ArmWorld, request: ArmRequest): ArmReply =>
    withVm(world, request, (vm) => applyAction(world, request, name, { set: setOfVm(world, vm), vms: [vm] }));
}

/** Only Spot VMs can be evicted: 204, and the eviction happens later. */
export function simulateVmEviction(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => simulateEvictionRequest(world, vm));
}

/** The deletion of a VM that does not exist succeeds. */
export function deleteVm(world: ArmWorld, request: ArmRequest): ArmReply {
  const vm = vmOf(world, request);
  if (vm === undefined) return { status: 204 };
  const forced = isForced(request);
  const set = setOfVm(world, vm);
  const refusal = forced ? refuseForce(set, [vm]) : undefined;
  if (refusal !== undefined) return refusal;
  const { principal } = request;
  const accepted = (operation: Operation, trace: Trace): ArmReply => ({
    status: 202,
    headers: operationHeaders(world, request, operation, 'action'),
    trace: { ...trace, pool: vm.pool.name, opId: operation.id, charge: 1 },
  });
  if (set !== undefined) {
    const before = goalOf(set);
    const operation = acceptRemoval(world, set, { vms: [vm], forced, principal, named: true });
    return accepted(operation, { capacityBefore: before, capacityAfter: goalOf(set), etagOut: etagText(set.etag) });
  }
  const living = allVms(world).filter((other) => other.pool.name === vm.pool.name && other.provisioningState !== 'Deleting');
  const removed = living.filter((other) => other === vm);
  checkRemoval(world, vm.pool, { principal, vms: removed, capacityAfter: living.length - removed.length, named: true });
  beginRemoval(world, vm, { forced, principal: principal.clientId });
  const { remove } = world.knobs.retryAfterSeconds;
  const start = { kind: 'delete', pool: vm.pool.name, principal: principal.clientId, pending: [vm], retryAfterSeconds: remove } as const;
  return accepted(beginOperation(world, start), {});
}

function vmOf(world: ArmWorld, request: ArmRequest): Vm | undefined {
  const name = param(request, 'name').toLowerCase();
  const here = param(request, 'rg').toLowerCase() === world.spec.nodeResourceGroup.toLowerCase();
  return here ? allVms(world).find((vm) => vm.kind !== 'uniform' && vm.name.toLowerCase() === name) : undefined;
}

function withVm(world: ArmWorld, request: ArmRequest, answer: (vm: Vm) => ArmReply): ArmReply {
  const vm = vmOf(world, request);
  return vm === undefined
    ? resourceNotFound('Microsoft.Compute/virtualMachines', param(request, 'name'), param(request, 'rg'))
    : answer(vm);
}

function setOfVm(world: ArmWorld, vm: Vm): ScaleSet | undefined {
  return [...world.sets.values()].find((set) => set.vms.get(vm.key) === vm);
}
