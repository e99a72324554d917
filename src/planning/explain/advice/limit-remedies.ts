/** Which changes would let a group grow that some limit stops. */
import type { CapacityQuota } from '../../../domain/capacity-objects.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import type { ClusterLimit, SkipReason } from '../../../domain/reasons.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import { speakable } from '../amounts.ts';
import { type CandidateInput, NEW_POOL_EFFORT, type Remedies, type Remedy } from './remedy.ts';

export function remediesForStop(skip: SkipReason, input: CandidateInput): Remedies {
  const { group, observation } = input;
  switch (skip.kind) {
    case 'max-size':
      return remediesForMaximum(group);
    case 'pool-limit':
      return [[[{ kind: 'add-pool', like: group.id, offers: {} }, NEW_POOL_EFFORT]]];
    case 'cluster-limit':
      return [[skip, ...(skip.also ?? [])].map(remedyForLimit)];
    case 'quota': {
      const { quota, limit: from, used, needs } = skip;
      return [[[(nodes) => ({ kind: 'raise-azure-quota', quota, from, to: used + needs * nodes }), 2]]];
    }
    case 'capacity-quota':
      return remediesForQuotas(skip, observation.cluster.capacity.quotas);
    case 'atomic-limit':
      return remediesForAtomicLimit(skip, input);
    default:
      return undefined;
  }
}

/** An atomic group grows to its maximum, whatever that is. */
const ATOMIC_STEPS = [1, 2, 4, 8, 16];

function remediesForMaximum(group: NodeGroup): Remedies {
  const { id, maxSize: from, target, schedule } = group;
  // guard: no fix raises the maximum of a pool where a schedule holds it
  if (schedule?.max !== undefined && from < schedule.pool.max) return undefined;
  const size = target.known ? Math.max(target.value, from) : from;
  if (!isWhole(group)) return [[[(nodes) => ({ kind: 'raise-maximum', group: id, from, to: size + nodes }), 1]]];
  return ATOMIC_STEPS.map((step) => [[{ kind: 'raise-maximum', group: id, from, to: size + step }, 1 + step / 100]]);
}

function remedyForLimit({ limit, value: from, used, needs }: ClusterLimit): Remedy {
  return [(nodes) => ({ kind: 'raise-cluster-limit', limit, from, to: used + needs * nodes }), 1];
}

/**
 * The reason does not say which limit is the nearest one: each is tried alone. The group is short of a number of nodes that is known, so
 * the limit is raised by what they take.
 */
function remediesForAtomicLimit(
  { needs, allowed }: Extract<SkipReason, { kind: 'atomic-limit' }>,
  { group: { template }, observation, policy }: CandidateInput,
): Remedies {
  const short = needs - allowed;
  const per = { nodes: 1, cores: Math.ceil((template?.capacity[CPU] ?? 0) / 1000), memory: template?.capacity[MEMORY] ?? 0 };
  const { maxNodesTotal: nodes, maxCoresTotal: cores, maxMemoryTotalBytes: memory, maxNodesPerScaleUp: perScaleUp } = policy.scaleUp;
  const ofCluster = Object.entries({ nodes, cores, memory } as const).map(([key, from]): Remedy => {
    const limit = key as keyof typeof per;
    return [{ kind: 'raise-cluster-limit', limit, from, to: from + short * per[limit] }, 1];
  });
  const ofCloud = observation.cloud.quotas.flatMap(({ name, title, limit: from }): readonly Remedy[] => {
    const drawn = template?.draws.find(({ quota }) => quota === name)?.cores ?? 0;
    return drawn === 0 ? [] : [[{ kind: 'raise-azure-quota', quota: title, from, to: from + short * drawn }, 2]];
  });
  const atOnce: readonly Remedy[] =
    perScaleUp > 0 && perScaleUp < needs ? [[{ kind: 'raise-nodes-per-scale-up', from: perScaleUp, to: needs }, 1]] : [];
  const known = ofCluster.filter(([change]) => typeof change === 'function' || !('from' in change) || change.from !== 0);
  return [...atOnce, ...known, ...ofCloud].map((remedy) => [remedy]);
}

/** `cluster-wide` stands for limits of the configuration, whose use is not known here. */
function remediesForQuotas({ exceeded }: Extract<SkipReason, { kind: 'capacity-quota' }>, quotas: readonly CapacityQuota[]): Remedies {
  const remedies = exceeded.flatMap(({ quota: id, resources, short }) =>
    resources.map((resource, at): Remedy | undefined => {
      const quota = id.replace(/^CapacityQuota\//, '');
      const from = quotas.find(({ ref }) => ref.name === quota)?.limits[resource];
      const { left = 0, needs = 0 } = short[at] ?? {};
      if (from === undefined) return undefined;
      return [
        (nodes) => ({ kind: 'raise-capacity-quota', quota, resource, from, to: quotaAmount(resource, from - left + needs * nodes) }),
        1.5,
      ];
    }),
  );
  const known = remedies.filter((remedy) => remedy !== undefined);
  return known.length < remedies.length ? undefined : [known];
}

/** A quota counts whole cores, not millicores. */
function quotaAmount(resource: string, value: number): number {
  return resource === 'cpu' ? Math.ceil(value) : speakable(resource, value, 'up');
}
