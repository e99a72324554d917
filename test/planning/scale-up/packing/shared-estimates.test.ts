import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeGroup } from '../../../../src/domain/node-group.ts';
import type { ScaleUpPlan } from '../../../../src/domain/plan.ts';
import { resourceNames } from '../../../support/builders.ts';
import { anyBurst } from '../random-burst.ts';
import { planFor } from '../world.ts';

/** A byte of a resource that no pod needs: no estimate is shared any more, and no pod finds another place. */
function unlike(group: NodeGroup, index: number): NodeGroup {
  const { template } = group;
  if (template === undefined) return group;
  const allocatable = template.allocatable.slice();
  const unneeded = resourceNames.indexOf('ephemeral-storage');
  allocatable[unneeded] = (allocatable[unneeded] ?? 0) - 1 - index;
  return { ...group, template: { ...template, allocatable } };
}

function comparable({ increases, options, skipped, verdicts, summary }: ScaleUpPlan) {
  return { increases, options, skipped, summary, verdicts: [...verdicts].map(([pod, verdict]) => [pod.name, verdict]) };
}

describe('pools whose nodes are alike', () => {
  it('get the nodes that they would get if each were estimated by itself', () => {
    fc.assert(
      fc.property(anyBurst, ({ world }) => {
        const doubled = world.groups.flatMap((group) => [group, { ...group, id: `${group.id}-too` as NodeGroup['id'] }]);
        const alike = planFor({ ...world, groups: doubled });
        const each = planFor({ ...world, groups: doubled.map(unlike) });
        expect(comparable(alike)).toEqual(comparable(each));
      }),
      { seed: 17, numRuns: 250 },
    );
  });
});
