/**
 * Reads of one row, after a write, a conflict or a contradiction.
 * Idea: want.
 */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { AgentDeps } from '../agents/agents.ts';
import { groupSizeOf } from '../../domain/platform-limits.ts';
import { foldName, instanceRefOf, type InstanceRef } from '../arm/resource-ids.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import {
  instanceKeyOf,
  projectInstance,
  projectScaleSet,
  projectVm,
  scaleSetOfVm,
  type InstanceRow,
  type ScaleSetRow,
} from '../rows/scale-set.ts';
import { INSTANCES, instancesAgent, SCALE_SETS_AGENT, VMS_AGENT } from '../rows/tables.ts';

/** What one read of a scale set showed, whether the table believes its capacity or not. */
export interface ScaleSetReading {
  readonly set: ScaleSetRow;
  /** If undefined, Azure returned none. */
  readonly etag: string | undefined;
}

/**
 * Does the read once more if it ends with 404, since one false 404 must not make a group or an instance disappear. The last result counts.
 * @throws AutoscalerError; `not-found` only after two of them.
 */
export async function confirmNotFound<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    // guard: one 404 does not make a group disappear
    if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
    return read();
  }
}

/** Reads one scale set. undefined: after two 404s its row is gone. @throws AutoscalerError */
export async function readScaleSet(deps: AgentDeps, key: string, signal: AbortSignal): Promise<ScaleSetReading | undefined> {
  const name = deps.scaleSets.get(key)?.value.name ?? key;
  const stamp = deps.order.stamp();
  try {
    return await confirmNotFound(() => readScaleSetOnce(deps, { key, name }, signal));
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
    deps.scaleSets.observeGone(key, stamp);
    return undefined;
  }
}

async function readScaleSetOnce(
  deps: AgentDeps,
  { key, name }: { readonly key: string; readonly name: string },
  signal: AbortSignal,
): Promise<ScaleSetReading> {
  const { clients, calls, options } = deps;
  const stamp = deps.order.stamp();
  const raw = await calls.run({ operation: 'getScaleSet', resource: name }, signal, () =>
    clients.compute.virtualMachineScaleSets.get(options.nodeResourceGroup, name),
  );
  const value = projectScaleSet(raw);
  // guard: a read of one scale set that returns another says nothing
  if (value === undefined || foldName(value.name) !== key) throw otherResource(`scale set ${name}`, value?.name);
  const etag = raw.etag ?? undefined;
  deps.scaleSets.observe({ key, value, stamp, via: 'get', etag, agentId: SCALE_SETS_AGENT });
  return { set: value, etag };
}

/**
 * The number of instances that the scale set itself counts: in all provisioning states (leaving ones included), or those that failed.
 * It confirms the list, which may be late. undefined: there is no count, as in orchestration mode Flexible.
 */
export async function countInstances(
  { clients, calls, options }: Pick<AgentDeps, 'clients' | 'calls' | 'options'>,
  { set, state }: { readonly set: string; readonly state: 'any' | 'failed' },
  signal: AbortSignal,
): Promise<number | undefined> {
  const { virtualMachine } = await calls.run({ operation: 'countInstances', resource: set }, signal, () =>
    clients.compute.virtualMachineScaleSets.getInstanceView(options.nodeResourceGroup, set),
  );
  const counted = state === 'any' ? /^ProvisioningState\//i : /^ProvisioningState\/failed\b/i;
  const states = virtualMachine?.statusesSummary?.filter(({ code }) => counted.test(code ?? ''));
  return groupSizeOf(states?.reduce((sum, { count = 0 }) => sum + count, 0));
}

/** A single read returned something else than was asked for. It says nothing about the row. */
function otherResource(asked: string, got = 'a resource without a name'): AutoscalerError {
  return new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `Azure returned ${got} for ${asked}.`);
}

/**
 * Reads one instance, whether it has been listed or not. Its row is gone after two 404s, or after one if we requested its deletion.
 * @throws AutoscalerError
 */
export async function readInstance(deps: AgentDeps, key: string, signal: AbortSignal): Promise<void> {
  const ref = deps.instances.get(key)?.value.ref ?? instanceRefOf(key);
  if (ref === undefined) return;
  const stamp = deps.order.stamp();
  const read = (): Promise<void> => readInstanceOnce(deps, ref, signal);
  try {
    // guard: one 404 does not make an instance disappear
    await (deps.instances.removalOf(key) === 'none' ? confirmNotFound(read) : read());
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
    deps.instances.observeGone(key, stamp);
  }
}

async function readInstanceOnce(deps: AgentDeps, ref: InstanceRef, signal: AbortSignal): Promise<void> {
  const stamp = deps.order.stamp();
  const read = await (ref.kind === 'vm' ? readVm(deps, ref, signal) : readUniformInstance(deps, ref, signal));
  const { key, value, agentId } = read;
  deps.foreign.countRead(INSTANCES.name, ref.key, key !== ref.key);
  if (key !== ref.key) throw otherResource(`instance ${ref.key}`, key);
  // A VM of no pool is in no group.
  if (value !== undefined) deps.instances.observe({ key, value, stamp, via: 'get', etag: undefined, agentId });
}

interface ReadInstance {
  /** What the answer is about. undefined: its id is not the id of an instance. */
  readonly key: InstanceKey | undefined;
  readonly value: InstanceRow | undefined;
  /** The agent whose lists show the instance. */
  readonly agentId: string;
}

async function readUniformInstance(
  { clients, calls, options, scaleSets }: AgentDeps,
  { set: folded, instance }: InstanceRef,
  signal: AbortSignal,
): Promise<ReadInstance> {
  const set = scaleSets.get(foldName(folded))?.value.name ?? folded;
  const raw = await calls.run({ operation: 'getInstance', resource: set }, signal, () =>
    clients.compute.virtualMachineScaleSetVMs.get(options.nodeResourceGroup, set, instance, { expand: 'instanceView' }),
  );
  return { key: instanceKeyOf(raw), value: projectInstance(raw, set), agentId: instancesAgent(foldName(set)) };
}

/** Reads a virtual machine with an id of its own. Its properties show to which scale set or pool it belongs. */
async function readVm({ clients, calls, options }: AgentDeps, { instance }: InstanceRef, signal: AbortSignal): Promise<ReadInstance> {
  const raw = await calls.run({ operation: 'getVm', resource: instance }, signal, () =>
    clients.compute.virtualMachines.get(options.nodeResourceGroup, instance, { expand: 'instanceView' }),
  );
  const set = scaleSetOfVm(raw);
  const key = instanceKeyOf(raw);
  return set === ''
    ? { key, value: projectVm(raw), agentId: VMS_AGENT }
    : { key, value: projectVm(raw, set), agentId: instancesAgent(set) };
}
