/** A further pool like one that is there. */
import { NO_BLOCKS } from '../../../domain/group-blocks.ts';
import { nodeGroupId, type NodeGroupId } from '../../../domain/ids.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import { type NodeTemplate, zonePart } from '../../../domain/node-template.ts';
import { isAttachResource, largest, type ResourceNames } from '../../../domain/resources.ts';
import { compareBy } from '../../../lib/comparison.ts';
import { formatAmount } from '../amounts.ts';
import { kind, type World } from './change.ts';
import { groupNamed, withCloud } from './edits.ts';
import { isPoolNameKey } from './label-keys.ts';
import { newPoolSteps } from './new-pool-steps.ts';

/** A pool with the same labels and taints, and at least these allocatable resources. Its quota and price are unknown. */
interface NewPool {
  readonly like: NodeGroupId;
  readonly offers: Readonly<Record<string, number>>;
  readonly zone?: string;
}

export const NEW_POOL_CHANGES = {
  'add-pool': kind<NewPool>({
    describe: describePool,
    steps: ({ like, zone, offers: { pods: maxPods } }, input) => {
      const { newNodes: nodes, observation } = input;
      return newPoolSteps({ group: groupNamed(input, like), cluster: observation.cloud.managedCluster, zone, maxPods, nodes });
    },
    apply: (world, change, { names }) => withAddedPool(world, change, names),
  }),
};

/** The id under which a simulated pool is planned. */
export function addedPoolId(like: NodeGroupId): NodeGroupId {
  return nodeGroupId(`new pool like ${like}`);
}

function describePool({ like, offers, zone }: NewPool): string {
  const { pods, ...resources } = offers;
  const amounts = Object.entries(resources).map(([resource, amount]) => describeOffer(resource, amount));
  const places = pods === undefined ? '' : ` with a maxPods of at least ${pods}`;
  const what = amounts.length === 0 ? '' : ` whose nodes have at least ${amounts.join(' and ')} allocatable`;
  return `add a pool like ${like}${zone === undefined ? '' : ` in zone ${zone}`}${places}${what}`;
}

function describeOffer(resource: string, amount: number): string {
  if (isAttachResource(resource)) return `${amount} data disks`;
  return `${formatAmount(resource, amount)} ${resource === 'cpu' ? 'CPU' : resource}`;
}

/** The new pool has no node yet, and nothing is known of its quota. */
function withAddedPool(world: World, change: NewPool, names: ResourceNames): World {
  const { cluster, nowMs } = world.observation;
  const like = groupNamed(world, change.like);
  if (like?.template === undefined) return world;
  const added: NodeGroup = {
    ...like,
    id: addedPoolId(change.like),
    minSize: 0,
    maxSize: cluster.pendingPods.length,
    target: { known: true, value: 0, version: '', confirmed: true, observedAtMs: nowMs },
    instances: [],
    template: templateOf(like.template, change, names),
    vmSize: '',
    sizeFamily: undefined,
    placementScore: undefined,
    zones: change.zone === undefined ? like.zones : [change.zone],
    blocks: { ...NO_BLOCKS, deletion: like.blocks.deletion },
  };
  return withCloud(world, ({ groups }) => ({ groups: [...groups, added].sort(compareBy((group) => group.id)) }));
}

function templateOf(template: NodeTemplate, { offers, zone, like }: NewPool, names: ResourceNames): NodeTemplate {
  const labels = Object.fromEntries(
    Object.entries(template.labels).map(([key, value]) => [key, isPoolNameKey(key) ? addedPoolId(like) : value]),
  );
  const slots = Object.entries(offers).filter(([resource]) => isAttachResource(resource));
  const limits = Object.fromEntries(slots.map(([resource, amount]) => [resource.replace(/^attachable-volumes-csi-/, ''), amount]));
  const offered = names.fromRecord(Object.fromEntries(Object.entries(offers).filter(([resource]) => !isAttachResource(resource))));
  return {
    ...template,
    draws: [],
    labels,
    attachLimits: { ...template.attachLimits, ...limits },
    allocatable: largest(template.allocatable, offered),
    capacity: largest(template.capacity, offered),
    ...(zone === undefined ? {} : { zones: [zoneLike(template, zone)] }),
  };
}

/** In the spelling of the template: with its region, if its zones have one. */
function zoneLike({ zones }: Pick<NodeTemplate, 'zones'>, zone: string): string {
  const [first = ''] = zones;
  const region = first.includes('-') ? first.slice(0, first.lastIndexOf('-')) : '';
  return region === '' || zone.includes('-') ? zone : `${region}-${zonePart(zone)}`;
}
