/** Which groups deallocate removed nodes, and why others do not although they are to. Must not know which instances are stopped. */
import type { AzureOptions } from '../arm/options.ts';
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
  const why = reasonAgainstStops({ set, pool: facts.poolOf(group), throughAks: facts.isWrittenThroughAks(group) });
  return why === undefined ? { kind: 'stops', max: own.maxStopped ?? options.maxStoppedInstances } : { kind: 'deletes', why };
}

interface StopSubject {
  /** undefined: the group is of a pool of type VirtualMachines. */
  readonly set: ScaleSetRow | undefined;
  /** undefined: it has not been read. */
  readonly pool: AgentPoolRow | undefined;
  readonly throughAks: boolean;
}

/** Why nodes of the group are deleted although they are to be stopped, without a full stop. undefined: they are stopped. */
export function reasonAgainstStops({ set, pool, throughAks }: StopSubject): string | undefined {
  if (set === undefined) return describeVmsPool(pool?.deallocates === true);
  if (set.orchestration !== 'Uniform')
    return `AKS makes Uniform scale sets alone, and Azure stops and starts VMs of ${set.orchestration} ones only one by one`;
  if (throughAks) return 'its size is written through AKS (azure.writePath: agentPool)';
  if (set.priority === 'Spot') return 'Azure may refuse to start a stopped Spot instance at any time';
  if (set.osDisk.ephemeral) return 'its OS disk is ephemeral, and Azure deallocates no such instance';
  if (pool === undefined) return 'its agent pool has not been read';
  // guard: only where AKS deallocates too, nodes are deallocated
  if (pool.deallocates !== true) return 'its agent pool has scaleDownMode Delete';
  return undefined;
}

/**
 * AKS carries its mode out when machines are deleted through it, and when a count rises; how it counts a stopped machine is not documented.
 * What AKS documents of VMs that others stopped is about scale sets alone.
 */
function describeVmsPool(deallocates: boolean): string {
  const what = 'in pools of type VirtualMachines AKS alone stops and starts nodes, and how it counts stopped ones is not documented';
  return deallocates ? `${what}; ${AKS_MAY_STOP}` : what;
}

/** Of a pool of type VirtualMachines, whatever the settings are. */
export const AKS_MAY_STOP = 'its scaleDownMode is Deallocate, so AKS may stop what is deleted: set it to Delete';
