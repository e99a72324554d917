/** A world in which a plan was applied: Azure accepted the new target sizes, and no new node has joined yet. */
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { ScaleUpPlan } from '../../../src/domain/plan.ts';
import { anInstance, START_MS } from '../../support/builders.ts';
import type { World } from './world.ts';

const EXPECTED_BY_MS = START_MS + 600_000;

/** `listed`: whether Azure's list already has the new instances, as `creating`. If not, only the target size tells of them. */
export function afterPlan(world: World, plan: ScaleUpPlan, { listed }: { readonly listed: boolean }): World {
  const sizes = new Map(plan.increases.map(({ group, to }) => [group, to]));
  const groups = world.groups.map((group) => grownTo(group, sizes.get(group.id), listed));
  const increases = new Map(world.state?.increases);
  for (const { group, from, to } of plan.increases)
    increases.set(group, { group, nodes: to - from, requestedAtMs: START_MS - 10_000, expectedByMs: EXPECTED_BY_MS });
  return { ...world, groups, state: { ...world.state, increases }, loopId: (world.loopId ?? 1) + 1 };
}

function grownTo(group: NodeGroup, size: number | undefined, listed: boolean): NodeGroup {
  if (size === undefined || !group.target.known) return group;
  const { instances = [], target } = group;
  const added = Array.from({ length: listed ? size - target.value : 0 }, (_, index) =>
    anInstance({ node: `${group.id}-new-${target.value + index}`, state: 'creating', firstSeenMs: START_MS - 10_000 }),
  );
  return { ...group, target: { ...target, value: size }, instances: [...instances, ...added] };
}
