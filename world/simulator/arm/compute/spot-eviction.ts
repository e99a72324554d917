/**
 * Eviction of Spot VMs. Their metadata service announces it half a minute before as a scheduled event. Then they are deleted and
 * the capacity falls, or they are deallocated and keep their place in it. For pools of type VirtualMachines the simulator assumes
 * that AKS's count falls in the same way.
 */
import { type ArmReply, type ArmRequest, param } from '../http/messages.ts';
import { entityNotFound, armError } from '../http/errors.ts';
import { pick, pickText } from '../http/json.ts';
import { deallocateVm, beginRemoval } from './vm-lifecycle.ts';
import { changeCount, poolSize } from '../state/agent-pool-document.ts';
import { FOREIGN_WRITER } from '../http/principals.ts';
import { acceptRemoval } from './set-capacity.ts';
import { notFound, setOf } from './scale-sets.ts';
import { recordPoolChange, recordSetChange } from '../state/world-events-journal.ts';
import { capacityOf, homeOf, later, setOfPool, type AgentPool, type ArmWorld } from '../state/arm-state.ts';
import type { Vm } from '../state/vm.ts';

export interface Eviction {
  /** How many VMs, the newest first. Default: one. */
  readonly count?: number;
  /** Replaces `count`: the share of the pool, in (0, 1]. */
  readonly fraction?: number;
  readonly instanceIds?: readonly string[];
  /** The announcements are spread over this time in equal steps. Default: all at once. */
  readonly overMs?: number;
  /** Default: the pool's own policy. */
  readonly policy?: 'Delete' | 'Deallocate';
}

/** The owner of the evicted VMs: an agent pool, or a client's own scale set described as one. */
type EvictionOwner = Pick<AgentPool, 'name' | 'spec' | 'vms'>;

export function evict(world: ArmWorld, pool: EvictionOwner, eviction: Eviction): void {
  const { count = 1, fraction, instanceIds, overMs = 0 } = eviction;
  const set = setOfPool(world, pool.name);
  const owner = set ?? pool;
  const running = [...owner.vms.values()].filter((vm) => vm.provisioningState === 'Succeeded' && vm.power === 'running').toReversed();
  const wanted = fraction === undefined ? count : Math.ceil(fraction * running.length);
  const chosen = instanceIds === undefined ? running.slice(0, wanted) : running.filter((vm) => instanceIds.includes(vm.key));
  const policy = eviction.policy ?? policyOf(world, pool);
  for (const [index, vm] of chosen.entries()) {
    const noticeMs = world.draws.latency(`evict|${vm.resourceId}|${vm.generation}`, world.knobs.evictionNotice);
    const startMs = chosen.length < 2 ? 0 : (overMs * index) / (chosen.length - 1);
    if (startMs === 0) announce(world, vm, { noticeMs, policy });
    else later(world, startMs, () => announce(world, vm, { noticeMs, policy }));
  }
}

function policyOf(world: ArmWorld, { name, spec }: Pick<AgentPool, 'name' | 'spec'>): 'Delete' | 'Deallocate' {
  const set = setOfPool(world, name);
  const ownPolicy = set === undefined ? undefined : pickText(set.document, 'properties', 'virtualMachineProfile', 'evictionPolicy');
  return (ownPolicy ?? spec.evictionPolicy) === 'Deallocate' ? 'Deallocate' : 'Delete';
}

interface EvictionNotice {
  readonly noticeMs: number;
  readonly policy: 'Delete' | 'Deallocate';
}

function announce(world: ArmWorld, vm: Vm, { noticeMs, policy }: EvictionNotice): void {
  if (!vmExists(world, vm)) return;
  const isSpot = vm.pool.priority === 'Spot';
  const notBeforeMs = world.clock.now() + noticeMs / world.clock.speed;
  const event = { id: world.draws.guid(`event|${vm.resourceId}|${vm.generation}`), vm, notBeforeMs };
  if (isSpot) {
    world.scheduledEvents.set(event.id, event);
    world.eventIncarnation++;
    world.vmFeed.publishPreemption(vm, notBeforeMs);
  }
  later(world, noticeMs, () => {
    // A guest that acknowledged the event has lost its VM already.
    if (isSpot && !world.scheduledEvents.delete(event.id)) return;
    if (isSpot) world.eventIncarnation++;
    evictVm(world, vm, policy);
  });
}

function vmExists(world: ArmWorld, vm: Vm): boolean {
  return vm.provisioningState !== 'Deleting' && homeOf(world, vm) !== undefined;
}

function evictVm(world: ArmWorld, vm: Vm, policy: 'Delete' | 'Deallocate'): void {
  if (!vmExists(world, vm)) return;
  const isSpot = vm.pool.priority === 'Spot';
  if (isSpot && policy === 'Deallocate') {
    deallocateVm(world, vm);
    const owner = setOfPool(world, vm.pool.name);
    if (owner !== undefined) recordSetChange(world, owner, { why: 'evict', principal: FOREIGN_WRITER, before: capacityOf(owner) });
    return;
  }
  // The hardware is lost at once. The resource is deleted a little later.
  if (isSpot) world.vmFeed.publishPower({ kind: 'stopped', vm });
  const set = setOfPool(world, vm.pool.name);
  if (set !== undefined && set.vms.get(vm.key) === vm) {
    const before = capacityOf(set);
    const { id } = acceptRemoval(world, set, { vms: [vm], forced: true, principal: FOREIGN_WRITER, named: true });
    recordSetChange(world, set, { why: 'evict', principal: FOREIGN_WRITER, before, opId: id });
    return;
  }
  const pool = world.agentPools.get(vm.pool.name.toLowerCase());
  if (pool !== undefined) {
    const before = poolSize(pool);
    changeCount(pool, vm, -1);
    recordPoolChange(world, pool, { why: 'evict', principal: FOREIGN_WRITER, before });
  }
  beginRemoval(world, vm, { forced: true, principal: FOREIGN_WRITER.clientId });
}

/** Evicts one instance for a client: 204, and the eviction happens later. Only Spot VMs can be evicted. */
export function simulateEviction(world: ArmWorld, request: ArmRequest): ArmReply {
  const set = setOf(world, request);
  if (set === undefined) return notFound(world, request);
  const vm = set.vms.get(param(request, 'instance'));
  return vm === undefined ? entityNotFound() : simulateEvictionRequest(world, vm);
}

/** Evicts a VM that is already looked up. */
export function simulateEvictionRequest(world: ArmWorld, vm: Vm): ArmReply {
  const pool = world.agentPools.get(vm.pool.name.toLowerCase()) ?? { name: vm.pool.name, spec: vm.pool, vms: new Map<string, Vm>() };
  if (vm.pool.priority !== 'Spot')
    return armError(409, 'OperationNotAllowed', 'Simulate eviction is supported for Spot virtual machines only.');
  evict(world, pool, { instanceIds: [vm.key] });
  return { status: 204 };
}

/** The scheduled events that a VM's metadata service shows. One request returns those of all VMs of the world. */
export function listScheduledEvents(world: ArmWorld, request: ArmRequest): ArmReply {
  if (request.headers['metadata'] !== 'true')
    return { status: 400, body: { error: 'Bad request. Required metadata header not specified' } };
  const events = [...world.scheduledEvents.values()];
  return {
    status: 200,
    body: {
      DocumentIncarnation: world.eventIncarnation,
      Events: events.map(({ id, vm, notBeforeMs }) => ({
        EventId: id,
        EventType: 'Preempt',
        ResourceType: 'VirtualMachine',
        Resources: [vm.name],
        EventStatus: 'Scheduled',
        NotBefore: new Date(notBeforeMs).toUTCString(),
        Description: '',
        EventSource: 'Platform',
        DurationInSeconds: -1,
      })),
    },
  };
}

/** A guest that acknowledges an event lets it happen at once. */
export function startScheduledEvents(world: ArmWorld, request: ArmRequest): ArmReply {
  if (request.headers['metadata'] !== 'true')
    return { status: 400, body: { error: 'Bad request. Required metadata header not specified' } };
  const wanted = pick(request.body, 'StartRequests');
  for (const item of Array.isArray(wanted) ? wanted : []) {
    const event = world.scheduledEvents.get(pickText(item, 'EventId') ?? '');
    if (event === undefined) continue;
    world.scheduledEvents.delete(event.id);
    world.eventIncarnation++;
    const { pool } = event.vm;
    evictVm(world, event.vm, policyOf(world, { name: pool.name, spec: pool }));
  }
  return { status: 200, body: {} };
}
