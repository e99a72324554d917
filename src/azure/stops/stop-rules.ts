/** Which groups deallocate removed nodes, and why others do not although they are to. Must not know which instances are stopped. */
import type { AzureOptions } from '../arm/options.ts';
import type { CountOfSize } from '../groups/stopped-counts.ts';
import type { StopRule } from '../groups/stopped-instances.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import type { AgentPoolRow } from '../rows/agent-pool.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import { nodeGroupOptionsOf } from '../rows/tags.ts';

type StopOptions = Pick<AzureOptions, 'deallocate' | 'maxStoppedInstances'>;
type StopInventory = Pick<AzureInventory, 'facts' | 'scaleSets' | 'vmsPools' | 'selection'>;

/**
 * Both must say so: the setting, and the agent pool. AKS counts a deallocated instance of a pool that deletes its nodes like one that runs, and
 * its next operation on the pool would then create or delete other nodes.
 */
export function stopRuleOf(group: RegisteredGroup, inventory: StopInventory, options: StopOptions): StopRule | undefined {
  const { scaleSets, vmsPools, facts, selection } = inventory;
  const set = scaleSets.get(group.key)?.value;
  const tags = (set ?? vmsPools.sizes.get(group.key)?.value)?.tags ?? {};
  const own = nodeGroupOptionsOf(group.key, tags, selection.nodeGroupOptions);
  if (!(own.deallocate ?? options.deallocate)) return undefined;
  if (group.kind !== 'vms-pool' && set === undefined) return undefined;
  const ephemeralDisk = vmsPools.sizes.get(group.key)?.value.ephemeralDisk;
  const why = reasonAgainstStops({ set, pool: facts.poolOf(group), throughAks: facts.isWrittenThroughAks(group), ephemeralDisk });
  return why === undefined ? { kind: 'stops', max: own.maxStopped ?? options.maxStoppedInstances } : { kind: 'deletes', why };
}

interface StopSubject {
  /** undefined: the group is of a pool of type VirtualMachines. */
  readonly set: ScaleSetRow | undefined;
  /** undefined: it has not been read. */
  readonly pool: AgentPoolRow | undefined;
  readonly throughAks: boolean;
  /** Of a pool of type VirtualMachines. If absent, it is managed. */
  readonly ephemeralDisk?: boolean | undefined;
}

/** Why nodes of the group are deleted although they are to be stopped, without a full stop. undefined: they are stopped. */
export function reasonAgainstStops({ set, pool, throughAks, ephemeralDisk = false }: StopSubject): string | undefined {
  if (set === undefined) return reasonAgainstMachines(pool, ephemeralDisk);
  if (set.orchestration !== 'Uniform')
    return `AKS makes Uniform scale sets alone, and Azure stops and starts VMs of ${set.orchestration} ones only one by one`;
  if (throughAks) return 'its size is written through AKS (azure.writePath: agentPool)';
  if (set.priority === 'Spot') return SPOT;
  if (set.osDisk.ephemeral) return EPHEMERAL;
  return reasonAgainstMode(pool);
}

const SPOT = 'Azure may refuse to start a stopped Spot instance at any time';
const EPHEMERAL = 'its OS disk is ephemeral, and Azure deallocates no such instance';

function reasonAgainstMachines(pool: AgentPoolRow | undefined, ephemeralDisk: boolean): string | undefined {
  if (pool?.priority === 'Spot') return SPOT;
  return ephemeralDisk ? EPHEMERAL : reasonAgainstMode(pool);
}

function reasonAgainstMode(pool: AgentPoolRow | undefined): string | undefined {
  if (pool === undefined) return 'its agent pool has not been read';
  // guard: only where AKS deallocates too, nodes are deallocated
  return pool.deallocates === true ? undefined : 'its agent pool has scaleDownMode Delete';
}

/** Of a pool of type VirtualMachines whose nodes are not to be stopped. */
export const AKS_MAY_STOP =
  'its scaleDownMode is Deallocate, so AKS may stop what is deleted: set it to Delete, or let the autoscaler count with that (azure.deallocate)';

/** What AKS says of the count of a size. undefined: there is no such size. */
export function countOfSize({ vmsPools, changes, lists }: CountInventory, key: string): CountOfSize | undefined {
  const view = vmsPools.sizes.view(key);
  if (view?.target === undefined) return undefined;
  const listedAtMs = lists.listedAtMs(key);
  // After an operation that failed, the count may be that of machines that were never made, or never stopped.
  const isDone = view.row.value.provisioningState.toLowerCase() === 'succeeded';
  const isOurs = view.inFlight > 0 || vmsPools.heldReason(key) !== undefined || changes.isInherited(key);
  return { count: view.target, isAtRest: isDone && !isOurs && view.confirmed && listedAtMs !== undefined, listedAtMs: listedAtMs ?? 0 };
}

type CountInventory = Pick<AzureInventory, 'vmsPools' | 'changes' | 'lists'>;
