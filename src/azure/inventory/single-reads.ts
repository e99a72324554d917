/** Reads of one row out of turn: what a write, a conflict or a contradiction asks for. */
import { asAutoscalerError, AutoscalerError } from '../../lib/errors.ts';
import type { AgentDeps } from './agents.ts';
import { projectInstance, projectScaleSet } from '../rows/scale-set.ts';
import { SCALE_SETS_AGENT } from '../rows/tables.ts';

/** One scale set by GET; gone when Azure says so. */
export async function readScaleSet(parts: AgentDeps, key: string, signal: AbortSignal): Promise<void> {
  const { clients, calls, options } = parts;
  const name = parts.scaleSets.get(key)?.value.name ?? key;
  const stamp = parts.order.stamp();
  try {
    const raw = await calls.run({ operation: 'getScaleSet', resource: name }, signal, () =>
      clients.compute.virtualMachineScaleSets.get(options.nodeResourceGroup, name),
    );
    const value = projectScaleSet(raw);
    if (value === undefined) throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The answer about ${name} has no name.`);
    parts.scaleSets.observe({ key, value, stamp, via: 'get', etag: raw.etag ?? undefined, agentId: SCALE_SETS_AGENT });
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
    parts.scaleSets.observeGone(key, stamp);
  }
}

/**
 * How many machines the scale set itself counts, failed and leaving ones included: the sum over its provisioning states. A second
 * witness beside the list, which may lag behind. undefined: it does not count them, as sets of orchestration mode Flexible.
 */
export async function countInstances(
  { clients, calls, options }: Pick<AgentDeps, 'clients' | 'calls' | 'options'>,
  set: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { virtualMachine } = await calls.run({ operation: 'countInstances', resource: set }, signal, () =>
    clients.compute.virtualMachineScaleSets.getInstanceView(options.nodeResourceGroup, set),
  );
  const states = virtualMachine?.statusesSummary?.filter(({ code }) => /^ProvisioningState\//i.test(code ?? ''));
  return states?.reduce((sum, { count = 0 }) => sum + count, 0);
}

export interface InstanceReadInput {
  readonly key: string;
  /** Lists the machines of a group soon. */
  readonly listDue: (groupKey: string) => void;
}

/** One machine of a scale set by GET; gone when Azure says so. */
export async function readInstance(parts: AgentDeps, { key, listDue }: InstanceReadInput, signal: AbortSignal): Promise<void> {
  const row = parts.instances.get(key);
  if (row === undefined) return;
  // A machine with an id of its own is told by its list. Not waited for: this read holds a slot that the list may need.
  if (row.value.ref.kind !== 'vmss') return listDue(row.value.group);
  const { clients, calls, options } = parts;
  const { set, instance } = row.value.ref;
  const stamp = parts.order.stamp();
  try {
    const raw = await calls.run({ operation: 'getInstance', resource: set }, signal, () =>
      clients.compute.virtualMachineScaleSetVMs.get(options.nodeResourceGroup, set, instance, { expand: 'instanceView' }),
    );
    const value = projectInstance(raw, set);
    if (value === undefined) throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, `The answer about ${key} has no id.`);
    parts.instances.observe({ key, value, stamp, via: 'get', agentId: row.agentId });
  } catch (thrown) {
    if (asAutoscalerError(thrown).kind !== 'not-found') throw thrown;
    parts.instances.observeGone(key, stamp);
  }
}
