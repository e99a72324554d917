/** The instances of Uniform sets: lists, single reads, and the actions that name them. */
import { entityNotFound, invalidParameter, notInstanceNumber } from '../http/errors.ts';
import { instanceView, isOfLatestModel, renderMember, renderVm, statusCodes } from './instance-document.ts';
import { pick, type Json } from '../http/json.ts';
import { param, type ArmReply, type ArmRequest } from '../http/messages.ts';
import { operationHeaders } from './operations.ts';
import { answerPage } from '../http/paging.ts';
import { isForced, protectionOf, refuseForce, refuseProtected } from './instance-protection.ts';
import { acceptRemoval } from './set-capacity.ts';
import { notFound, setOf } from './scale-sets.ts';
import { etagText, goalOf, type ArmWorld, type ScaleSet } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

export function wantsView(request: ArmRequest): boolean {
  return (request.query['$expand'] ?? '').toLowerCase().includes('instanceview');
}

export function isVisible(world: ArmWorld, vm: Vm): boolean {
  return vm.visibleAtMs <= world.clock.now();
}

export function listInstances(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const passes = instanceFilter(world, request.query['$filter'], set);
  if (passes === undefined) return invalidParameter('$filter', 'The value of parameter $filter is invalid.');
  const expand = wantsView(request);
  let shown = 0;
  const page = answerPage(request, {
    items: [...set.vms.values()].filter((vm) => isVisible(world, vm) && passes(vm)),
    keyOf: (vm) => vm.key,
    pageSize: world.knobs.pageSize,
    render: (vm) => {
      shown++;
      return set.kind === 'uniform' ? renderVm(world, vm, { set, expand }) : renderMember(world, set, vm);
    },
  });
  return page.status === 200 ? { ...page, headers: world.throttle.spend('views', shown) } : page;
}

/** The two filters that clients are known to use. undefined: another filter. */
function instanceFilter(world: ArmWorld, filter: string | undefined, set: ScaleSet): ((vm: Vm) => boolean) | undefined {
  if (filter === undefined || filter === '') return () => true;
  const code = /^startswith\(\s*instanceView\/statuses\/code\s*,\s*'([^']*)'\s*\)\s+eq\s+(true|false)$/i.exec(filter);
  if (code !== null)
    return (vm) => statusCodes(world, vm).some((status) => status.startsWith(code[1] ?? '')) === (code[2]?.toLowerCase() === 'true');
  const latest = /^properties\/latestModelApplied\s+eq\s+(true|false)$/i.exec(filter);
  if (latest !== null) return (vm) => isOfLatestModel(set, vm) === (latest[1]?.toLowerCase() === 'true');
  return undefined;
}

export function getInstance(world: ArmWorld, request: ArmRequest): ArmReply {
  const shown = (set: ScaleSet, vm: Vm): ArmReply => ({
    status: 200,
    headers: { etag: etagText(vm.etag) },
    body: renderVm(world, vm, { set, expand: wantsView(request) }),
  });
  return viewOne(world, memberOfFlexible(world, request) ?? withInstance(world, request, shown));
}

export function getInstanceView(world: ArmWorld, request: ArmRequest): ArmReply {
  return viewOne(
    world,
    withInstance(world, request, (_set, vm) => ({ status: 200, body: instanceView(world, vm) })),
  );
}

/** A read of one instance costs one view, even if it is refused. One of an instance that is not there is not recorded. */
function viewOne(world: ArmWorld, reply: ArmReply): ArmReply {
  return reply.status === 404 ? reply : { ...reply, headers: { ...world.throttle.spend('views', 1), ...reply.headers } };
}

/** A VM of a Flexible set as its set shows it. undefined: it is in none. */
function memberOfFlexible(world: ArmWorld, request: ArmRequest): ArmReply | undefined {
  const set = setOf(world, request);
  const vm = set?.kind === 'flexible' ? set.vms.get(param(request, 'instance').toLowerCase()) : undefined;
  return set === undefined || vm === undefined ? undefined : { status: 200, body: renderMember(world, set, vm) };
}

/** The deletion of an instance that does not exist succeeds. */
export function deleteInstance(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set !== undefined && !set.vms.has(param(request, 'instance'))) return { status: 204 };
  return withInstance(world, request, (set, vm) => remove(world, request, set, { vms: [vm], named: true }));
}

export function withInstance(world: ArmWorld, request: ArmRequest, answer: (set: ScaleSet, vm: Vm) => ArmReply): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  if (set.kind === 'uniform' && !/^\d+$/.test(param(request, 'instance'))) return notInstanceNumber();
  const vm = set.kind === 'uniform' ? set.vms.get(param(request, 'instance')) : undefined;
  return vm === undefined ? entityNotFound() : answer(set, vm);
}

/** Deletes several instances. One id that is not active, or is protected, refuses the whole batch. */
export function deleteInstances(world: ArmWorld, request: ArmRequest): ArmReply {
  if (!Array.isArray(pick(request.body, 'instanceIds')) && setOf(world, request) !== undefined)
    return invalidParameter('instanceIds', 'Required parameter instanceIds is missing (null).');
  return withNamed(world, request, (set, { vms, all }) => {
    if (vms.length === 0 && !all) return invalidParameter('instanceIds', 'The list of instance ids is empty.');
    return remove(world, request, set, { vms, named: !all });
  });
}

function remove(
  world: ArmWorld,
  request: ArmRequest,
  set: ScaleSet,
  { vms, named }: { readonly vms: readonly Vm[]; readonly named: boolean },
): ArmReply {
  const guarded = vms.find((vm) => protectionOf(vm).fromActions);
  if (guarded !== undefined) return refuseProtected(guarded);
  const before = goalOf(set);
  const forced = isForced(request);
  const refusal = forced ? refuseForce(set, vms) : undefined;
  if (refusal !== undefined) return refusal;
  const operation = acceptRemoval(world, set, { vms, forced, principal: request.principal, named });
  return {
    status: 202,
    headers: { ...world.throttle.spend('batched', vms.length), ...operationHeaders(world, request, operation, 'action') },
    trace: {
      capacityBefore: before,
      capacityAfter: goalOf(set),
      etagOut: etagText(set.etag),
      opId: operation.id,
      charge: vms.length,
      machines: vms.map(({ key }) => key),
      forced,
    },
  };
}

export interface NamedInstances {
  readonly vms: readonly Vm[];
  /** The client sent `*` or no ids. */
  readonly all: boolean;
}

/** Acts on the instances that a body names, or refuses the whole body. */
export function withNamed(world: ArmWorld, request: ArmRequest, act: (set: ScaleSet, named: NamedInstances) => ArmReply): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const named = readIds(set, pick(request.body, 'instanceIds'));
  return 'status' in named ? named : act(set, named);
}

function readIds(set: ScaleSet, ids: Json | undefined): NamedInstances | ArmReply {
  const list = Array.isArray(ids) ? [...new Set(ids.map(String))] : ['*'];
  if (list.includes('*')) return { vms: [...set.vms.values()], all: true };
  const notNumber = list.find((id) => set.kind === 'uniform' && !/^\d+$/.test(id));
  if (notNumber !== undefined) return notInstanceNumber();
  const unknown = list.find((id) => set.vms.get(id.toLowerCase()) === undefined);
  if (unknown !== undefined) {
    return invalidParameter('instanceIds', `The provided instanceId ${unknown} is not an active Virtual Machine Scale Set VM instanceId.`);
  }
  return { vms: list.flatMap((id) => set.vms.get(id.toLowerCase()) ?? []), all: false };
}
