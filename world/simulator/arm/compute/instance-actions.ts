/** Actions on VMs other than creation and deletion: power, manual repair and their own settings. */
import { isDeepStrictEqual } from 'node:util';
import { armError } from '../http/errors.ts';
import { renderVm } from './instance-document.ts';
import { withInstance, withNamed } from './instances.ts';
import { beginDiskChange, isRefusal, listAfterMoves, planDataDisks, renderDataDisks, type DiskChange } from '../disks/data-disks.ts';
import { isJsonObject, mergePatch, pick, pickObject, type JsonObject } from '../http/json.ts';
import { deallocateVm, powerOffVm, restartVm, startVm } from './vm-lifecycle.ts';
import { param, type ArmReply, type ArmRequest, type Principal } from '../http/messages.ts';
import { beginOperation, operationHeaders, recordDone } from './operations.ts';
import { refuseByCondition } from '../http/preconditions.ts';
import { protectionOf, refuseProtected } from './instance-protection.ts';
import { setKey } from './set-capacity.ts';
import { setOf } from './scale-sets.ts';
import { checkStop } from '../state/write-safety-rules.ts';
import { etagText, type ArmWorld, type Operation, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

interface Action {
  readonly kind: Operation['kind'];
  readonly concerns: (vm: Vm) => boolean;
  readonly act: (world: ArmWorld, vm: Vm) => void;
}

const isUp = (vm: Vm): boolean => vm.power === 'running' || vm.power === 'starting';

const ACTIONS = {
  deallocate: { kind: 'deallocate', concerns: ({ power }) => power !== 'deallocated' && power !== 'none', act: deallocateVm },
  start: { kind: 'start', concerns: ({ power }) => power === 'deallocated' || power === 'stopped', act: startVm },
  poweroff: { kind: 'start', concerns: isUp, act: powerOffVm },
  restart: { kind: 'start', concerns: isUp, act: restartVm },
  redeploy: { kind: 'start', concerns: isUp, act: restartVm },
  reimage: { kind: 'start', concerns: isUp, act: restartVm },
  reimageall: { kind: 'start', concerns: isUp, act: restartVm },
} as const satisfies Record<string, Action>;

export type ActionName = keyof typeof ACTIONS;

/** Acts on the instances of a set that the body names. Without names, on all of them. */
export function actOnInstances(name: ActionName) {
  return (world: ArmWorld, request: ArmRequest): ArmReply =>
    withNamed(world, request, (set, { vms, all }) => {
      const guarded = vms.find((vm) => name !== 'start' && protectionOf(vm).fromActions);
      if (guarded !== undefined && !all) return refuseProtected(guarded);
      return applyAction(world, request, name, { set, vms: vms.filter((vm) => vm !== guarded) });
    });
}

/** Acts on one instance. `*` means all, as in an older form of the path. */
export function actOnInstance(name: ActionName) {
  return (world: ArmWorld, request: ArmRequest): ArmReply => {
    const set = setOf(world, request);
    if (set !== undefined && param(request, 'instance') === '*')
      return applyAction(world, request, name, { set, vms: [...set.vms.values()] });
    return withInstance(world, request, (owner, vm) => applyAction(world, request, name, { set: owner, vms: [vm] }));
  };
}

/** Applies the action and returns 202, or refuses all of it. If `set` is undefined, the VMs have none. */
export function applyAction(
  world: ArmWorld,
  request: ArmRequest,
  name: ActionName,
  { set, vms }: { readonly set: ScaleSet | undefined; readonly vms: readonly Vm[] },
): ArmReply {
  const { kind, concerns, act: begin }: Action = ACTIONS[name];
  if (request.query['hibernate'] === 'true') return notSupported(request, 'Hibernation');
  const disk = pick(set?.document, 'properties', 'virtualMachineProfile', 'storageProfile', 'osDisk', 'diffDiskSettings');
  if (name === 'deallocate' && disk !== undefined) {
    const message = "Operation 'deallocate' is not supported for VMs or VM Scale Set instances using an ephemeral OS disk.";
    return armError(409, 'OperationNotAllowed', message);
  }
  const moving = vms.filter((vm) => vm.provisioningState !== 'Deleting' && concerns(vm));
  if (name === 'deallocate' && set !== undefined) checkStop(world, set, { principal: request.principal, vms: moving });
  for (const vm of moving) begin(world, vm);
  const { retryAfterSeconds } = world.knobs;
  const operation = beginOperation(world, {
    kind,
    pool: set?.pool.name ?? vms[0]?.pool.name ?? '',
    setKey: set === undefined ? undefined : setKey(set),
    principal: request.principal.clientId,
    pending: moving,
    retryAfterSeconds: kind === 'deallocate' ? retryAfterSeconds.deallocate : retryAfterSeconds.write,
  });
  return {
    status: 202,
    headers: { ...world.throttle.spend('batched', moving.length), ...operationHeaders(world, request, operation, 'action') },
    trace: { opId: operation.id, charge: moving.length },
  };
}

/** The parts of an instance that a client may write. */
const WRITABLE = ['tags', 'properties'];
const READ_ONLY_PROPERTIES = ['provisioningState', 'vmId', 'instanceView', 'latestModelApplied', 'timeCreated', 'hardwareProfile'];

/** PUT of one instance: its protection, tags, data disks, and fields that this emulator does not know. It moves the etag of the set, too. */
export function putInstance(world: ArmWorld, request: ArmRequest): ArmReply {
  return withInstance(world, request, (set, vm) => {
    const stale = refuseByCondition(request, etagText(vm.etag));
    if (stale !== undefined) return stale;
    return acceptVmWrite(world, request, vm, {
      moved: () => set.etag++,
      body: () => renderVm(world, vm, { set, expand: false }),
    });
  });
}

export function moveInstanceDisks(world: ArmWorld, request: ArmRequest): ArmReply {
  return withInstance(world, request, (_set, vm) => moveDisks(world, request, vm));
}

/** Attaches and detaches the disks that the body names; the other data disks stay. */
export function moveDisks(world: ArmWorld, request: ArmRequest, vm: Vm): ArmReply {
  const change = planDataDisks(world, vm, listAfterMoves(vm, request.body));
  if (isRefusal(change)) return change;
  vm.etag++;
  const operation = beginVmUpdate(world, vm, { change, principal: request.principal });
  return { status: 202, headers: operationHeaders(world, request, operation, 'action'), trace: { opId: operation.id, charge: 1 } };
}

export interface VmWrite {
  /** Called when the VM's etag has moved. */
  readonly moved?: () => void;
  readonly body: () => JsonObject;
}

/** Accepts what a body says about an existing VM, or refuses all of it. */
export function acceptVmWrite(world: ArmWorld, request: ArmRequest, vm: Vm, { moved, body }: VmWrite): ArmReply {
  if (!isJsonObject(request.body)) return armError(400, 'InvalidRequestContent', 'The request content was invalid: an object is expected.');
  const listed = pick(request.body, 'properties', 'storageProfile', 'dataDisks');
  const change = Array.isArray(listed) ? planDataDisks(world, vm, listed) : { attach: [], detach: [] };
  if (isRefusal(change)) return change;
  const before = body();
  vm.own = mergePatch(vm.own, writable(request.body));
  const isEffective = change.attach.length + change.detach.length > 0 || !isDeepStrictEqual(body(), before);
  if (isEffective) {
    vm.etag++;
    moved?.();
  }
  const operation = beginVmUpdate(world, vm, { change, principal: request.principal });
  const etag = etagText(vm.etag);
  const charge = isEffective ? 1 : 0;
  return {
    status: 200,
    headers: { etag, ...world.throttle.spend('batched', charge), ...operationHeaders(world, request, operation, 'write') },
    body: mergePatch(body(), { properties: { provisioningState: 'Updating' } }),
    trace: { etagOut: etag, opId: operation.id, charge },
  };
}

interface VmUpdate {
  readonly change: DiskChange;
  readonly principal: Principal;
  readonly done?: () => void;
}

/** Begins an update of a VM, which lasts until its disks are where they shall be. */
export function beginVmUpdate(world: ArmWorld, vm: Vm, { change, principal, done }: VmUpdate): Operation {
  const moves = change.attach.length + change.detach.length > 0;
  const what = `disks of ${vm.resourceId} ${vm.etag}`;
  const operation = beginOperation(world, {
    kind: 'model',
    pool: vm.pool.name,
    setKey: undefined,
    principal: principal.clientId,
    pending: [],
    awaits: moves ? [what] : [],
    retryAfterSeconds: world.knobs.retryAfterSeconds.write,
    output: () => ({ dataDisks: renderDataDisks(vm) }),
    ...(done === undefined ? {} : { onEnd: done }),
  });
  beginDiskChange(world, vm, change, () => recordDone(world, what));
  return operation;
}

/** The part of a body that is stored with an instance or a VM. */
function writable(body: JsonObject): JsonObject {
  const kept = Object.fromEntries(Object.entries(body).filter(([key]) => WRITABLE.includes(key)));
  const properties = kept['properties'];
  if (!isJsonObject(properties)) return kept;
  const own = Object.fromEntries(Object.entries(properties).filter(([key]) => !READ_ONLY_PROPERTIES.includes(key)));
  const { dataDisks: _disks, ...storage } = pickObject(own, 'storageProfile');
  return { ...kept, properties: own['storageProfile'] === undefined ? own : { ...own, storageProfile: storage } };
}

/** Refuses what this emulator does not support, with a `loud` journal entry. */
export function notSupported(request: ArmRequest, what: string): ArmReply {
  const reply = armError(400, 'NotSupported', `${what} is not supported by this endpoint.`);
  return { ...reply, trace: { loud: `${what} is not emulated: ${request.method} ${request.path}` } };
}

export function refuseUnsupported(what: string) {
  return (_world: ArmWorld, request: ArmRequest): ArmReply => notSupported(request, what);
}
