/** Which groups deallocate removed nodes, and why others do not although they are to. Must not know which instances are stopped. */
import type { AzureOptions } from '../arm/options.ts';
import type { AzureInventory } from '../inventory/inventory.ts';
import { nodeGroupOptionsOf } from '../rows/tags.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import type { ScaleSetRow } from '../rows/scale-set.ts';
import type { StopRule } from '../groups/stopped-instances.ts';

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
  const why = set === undefined ? 'pools of type VirtualMachines are not supported yet' : reasonAgainst(group, set, facts);
  return why === undefined ? { kind: 'stops', max: own.maxStopped ?? options.maxStoppedInstances } : { kind: 'deletes', why };
}

function reasonAgainst(group: RegisteredGroup, set: ScaleSetRow, facts: StopInventory['facts']): string | undefined {
  if (set.orchestration !== 'Uniform') return `scale sets of mode ${set.orchestration} are not supported`;
  if (facts.isWrittenThroughAks(group)) return 'its size is written through AKS (azure.writePath: agentPool)';
  if (set.priority === 'Spot') return 'Azure may refuse to start a stopped Spot instance at any time';
  if (set.osDisk.ephemeral) return 'its OS disk is ephemeral, and Azure deallocates no such instance';
  const pool = facts.poolOf(group);
  if (pool === undefined) return 'its agent pool has not been read';
  // guard: only where AKS deallocates too, nodes are deallocated
  if (pool.deallocates !== true) return 'its agent pool has scaleDownMode Delete';
  return undefined;
}
