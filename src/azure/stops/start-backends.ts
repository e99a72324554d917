/**
 * The two ways in which stopped instances are started by name: all of a Uniform scale set in one request, and each machine of a VMs pool in one of
 * its own. Must not know how many are started, nor what follows a failure.
 */
import type { GroupBlock } from '../../domain/group-blocks.ts';
import type { InstanceKey } from '../../domain/ids.ts';
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import type { Row } from '../../cache/table/row.ts';
import type { ResourceState } from '../arm/operations.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { InstanceRow } from '../rows/scale-set.ts';
import { poolKeyOf } from '../rows/vms-pool.ts';
import { checkRules, poolLockKey } from '../writes/increase-agent-pool.ts';
import { untilScaleSetWritable } from '../writes/pool-turn.ts';
import { scaleSetState } from '../writes/resource-state.ts';
import { NO_ANSWER, readWriteAnswer, type WriteAnswer, type WriteDeps } from '../writes/write-context.ts';

export type StoppedRow = Row<InstanceRow>;

export interface StartBackend {
  /** Writes with the same key follow each other. */
  readonly lockKey: string;
  /** Why an earlier write of ours keeps a start from being sent. */
  heldReason(): GroupBlock | undefined;
  /** Waits for its turn, and reads the size. Returns what is against a start. @throws AutoscalerError */
  prepare(signal: AbortSignal): Promise<AnsweredIncrease | undefined>;
  /** The number that Azure shows, with our unconfirmed changes. undefined: unknown. */
  target(): number | undefined;
  /** The rows by request. */
  requestsOf(rows: readonly StoppedRow[]): readonly (readonly StoppedRow[])[];
  /** What is written, for the rate limit and the log. */
  resourceOf(rows: readonly StoppedRow[]): string;
  /** Sends one request. @throws AutoscalerError */
  post(rows: readonly StoppedRow[], signal: AbortSignal): Promise<WriteAnswer>;
  /** What Azure says of the end of it. @throws AutoscalerError */
  stateNow(rows: readonly StoppedRow[], signal: AbortSignal): Promise<ResourceState>;
}

export function startBackendOf(deps: WriteDeps, group: RegisteredGroup): StartBackend {
  return group.kind === 'vms-pool' ? machineStarts(deps, group) : scaleSetStarts(deps, group);
}

function scaleSetStarts(deps: WriteDeps, group: RegisteredGroup): StartBackend {
  const { inventory, ownWrites, clock } = deps;
  const nameOf = (): string => inventory.scaleSets.get(group.key)?.value.name ?? group.key;
  return {
    lockKey: group.key,
    heldReason: () => ownWrites.increaseHeldReason(group.key, clock.monotonic()),
    prepare: async (signal) => {
      await untilScaleSetWritable(deps, group.key, signal);
      return undefined;
    },
    target: () => inventory.scaleSets.view(group.key)?.target,
    requestsOf: (rows) => (rows.length === 0 ? [] : [rows]),
    resourceOf: nameOf,
    post: (rows, signal) => postToSet(deps, { set: nameOf(), rows }, signal),
    stateNow: (_rows, signal) => scaleSetState(deps, group, signal),
  };
}

/** AKS starts no machine by name, and its count stays: it includes these machines. */
function machineStarts(deps: WriteDeps, group: RegisteredGroup): StartBackend {
  const { vmsPools } = deps.inventory;
  const poolKey = poolKeyOf(group.key);
  return {
    lockKey: poolLockKey(poolKey),
    heldReason: () => vmsPools.heldReason(group.key),
    prepare: async (signal) => {
      const read = await vmsPools.read(poolKey, signal);
      if (read === undefined) return { kind: 'refused', group: group.id, reason: `there is no agent pool for "${group.id}"` };
      return checkRules(group, { size: vmsPools.sizes.get(group.key)?.value });
    },
    target: () => vmsPools.sizes.view(group.key)?.target,
    requestsOf: (rows) => rows.map((row) => [row]),
    resourceOf: nameOfMachine,
    post: (rows, signal) => postToMachine(deps, nameOfMachine(rows), signal),
    stateNow: (rows, signal) => machineState(deps, group, rows, signal),
  };
}

function nameOfMachine([row]: readonly StoppedRow[]): string {
  return row?.value.instanceId ?? '';
}

async function machineState(
  { inventory }: WriteDeps,
  group: RegisteredGroup,
  rows: readonly StoppedRow[],
  signal: AbortSignal,
): Promise<ResourceState> {
  const key = rows[0]?.key as InstanceKey;
  await inventory.reads.want({ what: 'instance', group: group.key, key, toDelete: true }).served(signal);
  const now = inventory.instances.get(key)?.value;
  if (now === undefined) return 'failed';
  return now.state === 'running' ? 'succeeded' : 'running';
}

async function postToSet(
  deps: WriteDeps,
  { set, rows }: { readonly set: string; readonly rows: readonly StoppedRow[] },
  signal: AbortSignal,
): Promise<WriteAnswer> {
  const instanceIds = rows.map(({ value }) => value.instanceId);
  let answer: WriteAnswer | undefined;
  await deps.calls.run({ operation: 'startInstances', resource: set }, signal, async () => {
    const poller = deps.clients.compute.virtualMachineScaleSets.start(deps.options.nodeResourceGroup, set, {
      // guard: a start names its instances; without names, Azure starts the whole set
      vmInstanceIDs: { instanceIds },
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, deps.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}

async function postToMachine(deps: WriteDeps, name: string, signal: AbortSignal): Promise<WriteAnswer> {
  let answer: WriteAnswer | undefined;
  await deps.calls.run({ operation: 'startVm', resource: name }, signal, async () => {
    const poller = deps.clients.compute.virtualMachines.start(deps.options.nodeResourceGroup, name, {
      onResponse: (raw) => {
        answer ??= readWriteAnswer(raw, deps.clock.now());
      },
    });
    await poller.submitted();
  });
  return answer ?? NO_ANSWER;
}
