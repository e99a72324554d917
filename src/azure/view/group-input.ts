/** What a node group is made from, and the parts of it that follow from that alone. Must not know where it was read. */
import { isDeepStrictEqual } from 'node:util';
import type { GroupBlocks } from '../../domain/group-blocks.ts';
import type { Instance, NodeGroup } from '../../domain/node-group.ts';
import type { GroupSchedule } from '../../domain/schedule-rules.ts';
import type { ManagedClusterName } from '../../domain/observation.ts';
import type { AzureOptions } from '../arm/options.ts';
import type { RegisteredGroup } from '../groups/registry.ts';
import { isSettled } from '../rows/agent-pool.ts';
import type { Tags } from '../rows/tags.ts';
import type { GroupTemplateInput } from '../templates/group-template.ts';

/** Everything a NodeGroup is made from. A group is rebuilt if any member is another value. */
export interface GroupInput extends GroupTemplateInput {
  readonly target: string;
  readonly observedAtMs: number;
  readonly instances: readonly Instance[] | undefined;
  readonly listedAtMs: number | undefined;
  readonly blocks: GroupBlocks;
  /** What rules say of the group now. */
  readonly schedule: GroupSchedule | undefined;
  readonly placementScore: NodeGroup['placementScore'];
  /** Its stopped instances. undefined: its nodes are deleted, as usual. */
  readonly stopped: NodeGroup['stopped'];
  /** What AKS allows this group to have. */
  readonly allowedSize: number;
}

/** The rows of one group from Azure and AKS. */
export type GroupRows = Pick<GroupInput, 'row' | 'size' | 'pool'>;

export function tagsOf({ row, size }: Pick<GroupInput, 'row' | 'size'>): Tags {
  return (row?.value ?? size)?.tags ?? {};
}

/** A tag wins over the rule that selects the pool. */
export function maximumOrigin({ explicit, managed }: RegisteredGroup, input: GroupInput): NonNullable<NodeGroup['maxFrom']> {
  if (explicit) return 'settings';
  if (managed === true) return 'agent-pool';
  const { max = '' } = { ...input.pool?.tags, ...tagsOf(input) };
  return max.trim() === '' ? 'discovery-rule' : 'tag';
}

export function agentPoolOf({ pool, blocks }: GroupRows & Pick<GroupInput, 'blocks'>): NodeGroup['agentPool'] {
  if (pool === undefined) return undefined;
  // Operations of our own do not freeze the group.
  const operation = blocks.change === undefined || isSettled(pool.provisioningState) ? undefined : pool.provisioningState;
  const { name, labels, tags, count, subnetId, nodeImageVersion: nodeImage } = pool;
  return { name, labels, tags, count, operation, subnetId, nodeImage };
}

/** undefined: the configuration does not name it. */
export function managedClusterOf({
  clusterName: name,
  clusterResourceGroup: resourceGroup,
}: Pick<AzureOptions, 'clusterName' | 'clusterResourceGroup'>): ManagedClusterName | undefined {
  return name === undefined || resourceGroup === undefined ? undefined : { name, resourceGroup };
}

const DEEP: ReadonlySet<keyof GroupInput> = new Set(['blocks', 'schedule', 'stopped']);

export function isSameInput(left: GroupInput, right: GroupInput): boolean {
  return (Object.keys(left) as (keyof GroupInput)[]).every(
    (key) => left[key] === right[key] || (DEEP.has(key) && isDeepStrictEqual(left[key], right[key])),
  );
}
