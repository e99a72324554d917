/** The instances of Uniform sets: lists, single reads, and the actions that name them. */
import { armError, entityNotFound, invalidParameter } from './errors.ts';
import { instanceView, renderVm } from './instance-document.ts';
import { pick, type Json } from './json.ts';
import { deallocate, start } from './lifecycle.ts';
import { param, type ArmReply, type ArmRequest } from './messages.ts';
import { beginOperation, operationHeaders } from './operations.ts';
import { answerPage } from './paging.ts';
import { acceptRemoval, setKey } from './scaling.ts';
import { notFound, setOf } from './scale-sets.ts';
import { capacityOf, etagText, type ArmWorld, type ScaleSet } from './world-state.ts';
import type { Vm } from './vm.ts';

export function wantsView(request: ArmRequest): boolean {
  return (request.query['$expand'] ?? '').toLowerCase().includes('instanceview');
}

export function isVisible(world: ArmWorld, vm: Vm): boolean {
  return vm.visibleAtMs <= world.clock.now();
}

export function listInstances(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const items = set.kind === 'uniform' ? [...set.vms.values()].filter((vm) => isVisible(world, vm)) : [];
  const expand = wantsView(request);
  return answerPage(request, {
    items,
    keyOf: (vm) => vm.key,
    pageSize: world.knobs.pageSize,
    render: (vm) => renderVm(world, vm, { set, expand }),
  });
}

export function getInstance(world: ArmWorld, request: ArmRequest): ArmReply {
  return withInstance(world, request, (set, vm) => ({ status: 200, body: renderVm(world, vm, { set, expand: wantsView(request) }) }));
}

export function getInstanceView(world: ArmWorld, request: ArmRequest): ArmReply {
  return withInstance(world, request, (_set, vm) => ({ status: 200, body: instanceView(world, vm) }));
}

export function deleteInstance(world: ArmWorld, request: ArmRequest): ArmReply {
  return withInstance(world, request, (set, vm) => remove(world, request, set, { vms: [vm], named: true }));
}

function withInstance(world: ArmWorld, request: ArmRequest, answer: (set: ScaleSet, vm: Vm) => ArmReply): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const vm = set.kind === 'uniform' ? set.vms.get(param(request, 'instance')) : undefined;
  return vm === undefined ? entityNotFound() : answer(set, vm);
}

/** The batch delete. One id that is not active refuses the whole batch. */
export function deleteInstances(world: ArmWorld, request: ArmRequest): ArmReply {
  return withNamed(world, request, (set, { vms, all }) => {
    if (vms.length === 0) return invalidParameter('instanceIds', 'The list of instance ids is empty.');
    return remove(world, request, set, { vms, named: !all });
  });
}

function remove(
  world: ArmWorld,
  request: ArmRequest,
  set: ScaleSet,
  { vms, named }: { readonly vms: readonly Vm[]; readonly named: boolean },
): ArmReply {
  const before = capacityOf(set);
  const forced = request.query['forcedeletion'] === 'true';
  const operation = acceptRemoval(world, set, { vms, forced, principal: request.principal, named });
  return {
    status: 202,
    headers: { 'x-ms-request-charge': String(vms.length), ...operationHeaders(world, request, operation, 'action') },
    trace: { capacityBefore: before, capacityAfter: capacityOf(set), etagOut: etagText(set.etag), opId: operation.id, charge: vms.length },
  };
}

/** Stops machines; they keep their ids and their place in the capacity. */
export function deallocateInstances(world: ArmWorld, request: ArmRequest): ArmReply {
  return withNamed(world, request, (set, { vms }) => {
    const local = pick(set.document, 'properties', 'virtualMachineProfile', 'storageProfile', 'osDisk', 'diffDiskSettings');
    if (local !== undefined) {
      const message = "Operation 'deallocate' is not supported for VMs or VM Scale Set instances using an ephemeral OS disk.";
      return armError(409, 'OperationNotAllowed', message);
    }
    const moving = vms.filter((vm) => vm.provisioningState !== 'Deleting' && vm.power !== 'deallocated' && vm.power !== 'none');
    for (const vm of moving) deallocate(world, vm);
    return accepted(world, request, set, { kind: 'deallocate', moving });
  });
}

export function startInstances(world: ArmWorld, request: ArmRequest): ArmReply {
  return withNamed(world, request, (set, { vms }) => {
    const moving = vms.filter((vm) => vm.provisioningState !== 'Deleting' && vm.power === 'deallocated');
    for (const vm of moving) start(world, vm);
    return accepted(world, request, set, { kind: 'start', moving });
  });
}

function accepted(
  world: ArmWorld,
  request: ArmRequest,
  set: ScaleSet,
  { kind, moving }: { readonly kind: 'deallocate' | 'start'; readonly moving: readonly Vm[] },
): ArmReply {
  const { deallocate: deallocateSeconds, write } = world.knobs.retryAfterSeconds;
  const operation = beginOperation(world, {
    kind,
    pool: set.pool.name,
    setKey: setKey(set),
    principal: request.principal.clientId,
    pending: moving,
    retryAfterSeconds: kind === 'deallocate' ? deallocateSeconds : write,
  });
  return {
    status: 202,
    headers: operationHeaders(world, request, operation, 'action'),
    trace: { opId: operation.id, charge: moving.length },
  };
}

interface Named {
  readonly vms: readonly Vm[];
  /** The client said `*` or nothing. */
  readonly all: boolean;
}

function withNamed(world: ArmWorld, request: ArmRequest, act: (set: ScaleSet, named: Named) => ArmReply): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const named = readIds(set, pick(request.body, 'instanceIds'));
  return 'status' in named ? named : act(set, named);
}

function readIds(set: ScaleSet, ids: Json | undefined): Named | ArmReply {
  const list = Array.isArray(ids) ? [...new Set(ids.map(String))] : ['*'];
  if (list.includes('*')) return { vms: [...set.vms.values()], all: true };
  const notNumber = list.find((id) => set.kind === 'uniform' && !/^\d+$/.test(id));
  if (notNumber !== undefined) return invalidParameter('instanceId', 'Virtual Machine Scale Set VM instanceId must be a number.');
  const unknown = list.find((id) => set.vms.get(id.toLowerCase()) === undefined);
  if (unknown !== undefined) {
    return invalidParameter('instanceIds', `The provided instanceId ${unknown} is not an active Virtual Machine Scale Set VM instanceId.`);
  }
  return { vms: list.flatMap((id) => set.vms.get(id.toLowerCase()) ?? []), all: false };
}
