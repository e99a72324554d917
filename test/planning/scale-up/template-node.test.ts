import { describe, expect, it } from 'vitest';
import { makeTemplate } from '../../../src/planning/scale-up/template-node.ts';
import { aGroup, aPod, aTemplate } from '../../support/builders.ts';
import { growth, planFor, verdictOf } from './world.ts';

const TEMPLATE_LABEL = 'cluster-autoscaler.kubernetes.io/template-node';

describe('the node that a group would add', () => {
  it('TM08: says that it is a template, so that what is published for templates matches it', () => {
    const template = aTemplate({ labels: { pool: 'x' }, zones: ['we-1', 'we-2'] });
    const { variants } = makeTemplate(aGroup({ id: 'a' }), template, [], new Set());
    expect(variants.map(({ labels }) => labels[TEMPLATE_LABEL])).toEqual(['true', 'true']);
    const group = aGroup({ id: 'a', target: 0, template });
    const pod = aPod({ shape: { nodeSelector: { [TEMPLATE_LABEL]: 'true', pool: 'x' } } });
    expect(growth(planFor({ groups: [group], pods: [pod] }))).toEqual(['a 0->1']);
    expect(template.labels).not.toHaveProperty([TEMPLATE_LABEL]);
  });

  it('TM03: what is known only by a cordoned node is cordoned, and no pod is helped by it', () => {
    const pod = aPod();
    const cordoned = { ...aTemplate(), unschedulable: true } as const;
    const plan = planFor({ groups: [aGroup({ id: 'a', target: 1, template: cordoned })], pods: [pod] });
    expect(growth(plan)).toEqual([]);
    expect(verdictOf(plan, pod)).toEqual({ kind: 'helpless', byGroup: [{ group: 'a', fit: [{ kind: 'unschedulable' }] }] });
  });
});
