/** VMs outside Uniform sets: those of Flexible sets and of VMs-type agent pools. */
import { resourceNotFound } from './errors.ts';
import { instanceView, renderVm } from './instance-document.ts';
import { isVisible, wantsView } from './instances.ts';
import { param, type ArmReply, type ArmRequest } from './messages.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { answerPage } from './paging.ts';
import { takeDown } from './lifecycle.ts';
import { acceptRemoval } from './scaling.ts';
import { judgeRemoval } from './write-judge.ts';
import { allVms, type ArmWorld, type ScaleSet } from './world-state.ts';
import type { Vm } from './vm.ts';

/** The filter names its field in quotes of its own: `'virtualMachineScaleSet/id' eq '<id>'`. */
const SET_FILTER = /^'?virtualMachineScaleSet\/id'?\s+eq\s+'([^']+)'$/i;

export function listVms(world: ArmWorld, request: ArmRequest): ArmReply {
  const filter = SET_FILTER.exec(request.query['$filter'] ?? '')?.[1]?.toLowerCase();
  const items = allVms(world)
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
    const body = renderVm(world, vm, { set: setOfVm(world, vm), expand: wantsView(request) });
    return { status: 200, body, headers: { etag: `"${vm.etag}"` } };
  });
}

export function getVmView(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => ({ status: 200, body: instanceView(world, vm) }));
}

export function deleteVm(world: ArmWorld, request: ArmRequest): ArmReply {
  return withVm(world, request, (vm) => {
    const forced = request.query['forcedeletion'] === 'true';
    const set = setOfVm(world, vm);
    const { principal } = request;
    if (set !== undefined) {
      const operation = acceptRemoval(world, set, { vms: [vm], forced, principal, named: true });
      return { status: 202, headers: operationHeaders(world, request, operation, 'action'), trace: { opId: operation.id, charge: 1 } };
    }
    const living = allVms(world).filter((other) => other.pool.name === vm.pool.name && other.provisioningState !== 'Deleting');
    const doomed = living.filter((other) => other === vm);
    judgeRemoval(world, vm.pool, { principal, vms: doomed, capacityAfter: living.length - doomed.length, named: true });
    takeDown(world, vm, { forced, principal: principal.clientId });
    const operation = beginOperation(world, {
      kind: 'delete',
      pool: vm.pool.name,
      principal: principal.clientId,
      pending: [vm],
      retryAfterSeconds: world.knobs.retryAfterSeconds.remove,
    });
    return { status: 202, headers: operationHeaders(world, request, operation, 'action'), trace: { opId: operation.id, charge: 1 } };
  });
}

function withVm(world: ArmWorld, request: ArmRequest, answer: (vm: Vm) => ArmReply): ArmReply {
  const name = param(request, 'name').toLowerCase();
  const vm = allVms(world).find((candidate) => candidate.kind !== 'uniform' && candidate.name.toLowerCase() === name);
  return vm === undefined
    ? resourceNotFound('Microsoft.Compute/virtualMachines', param(request, 'name'), param(request, 'rg'))
    : answer(vm);
}

function setOfVm(world: ArmWorld, vm: Vm): ScaleSet | undefined {
  return [...world.sets.values()].find((set) => set.vms.get(vm.key) === vm);
}
