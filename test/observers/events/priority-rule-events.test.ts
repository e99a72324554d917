import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { NOTHING_PLANNED, type ScoredOption } from '../../../src/domain/plan.ts';
import type { PriorityLevel } from '../../../src/domain/policy.ts';
import { describePriorityRuleEvents } from '../../../src/observers/events/priority-rule-events.ts';
import type { PriorityRulesView } from '../../../src/domain/ports/stored-text.ts';
import { aGroup, aPod, aTemplate } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage } from '../../loop/support.ts';

const LEVELS: readonly PriorityLevel[] = [{ priority: 50, patterns: ['spot'] }];
const option = (group: string, priority?: number): ScoredOption => ({
  group: nodeGroupId(group),
  nodes: 1,
  pods: 1,
  waste: 0,
  priority,
  cost: undefined,
  placementScore: undefined,
  preference: undefined,
});
const roundsOf = (options: readonly ScoredOption[]) => [{ plan: { ...NOTHING_PLANNED, options }, increases: [] }];

describe('events on the ConfigMap of priorities', () => {
  it.each<[string, PriorityRulesView, readonly ScoredOption[], readonly string[]]>([
    ['nothing to tell', { levels: LEVELS, problem: undefined }, [option('spot', 50)], []],
    [
      'a group that no rule covers',
      { levels: LEVELS, problem: undefined },
      [option('spot', 50), option('b')],
      ['PriorityConfigMapNotMatchedGroup'],
    ],
    ['none is covered', { levels: LEVELS, problem: undefined }, [option('a'), option('b')], ['PriorityConfigMapNoGroupMatched']],
    ['a bad edit', { levels: LEVELS, problem: 'no' }, [option('spot', 50)], ['PriorityConfigMapInvalid']],
    ['bad from the start', { levels: undefined, problem: 'no' }, [option('a')], ['PriorityConfigMapInvalid']],
    ['no ConfigMap', { levels: undefined, problem: undefined }, [option('a')], []],
    ['nothing could grow', { levels: LEVELS, problem: undefined }, [], []],
  ])('%s', (_, view, options, reasons) => {
    const told = describePriorityRuleEvents({ rounds: roundsOf(options) }, view, 'kube-system');
    expect(told.map(({ reason }) => reason)).toEqual(reasons);
    for (const { subject, type } of told) {
      expect(subject).toEqual({ kind: 'ConfigMap', namespace: 'kube-system', name: 'cluster-autoscaler-priority-expander' });
      expect(type).toBe('Warning');
    }
  });
});

describe('rules that change while the loop runs', () => {
  it('hold from the next loop on, before those of the configuration, and are recorded with the decision', async () => {
    let levels: readonly PriorityLevel[] | undefined;
    const template = aTemplate({ cpu: '4' });
    const groups = ['regular', 'spot'].map((id) => aGroup({ id, target: 0, template }));
    const policy = aPolicy({
      scaleUp: { enforceMinSize: false, expanders: ['priority'], priorities: [{ priority: 5, patterns: ['regular'] }] },
    });
    const stage = aStage({ groups, policy, pods: [aPod({ cpu: '3' })], priorities: { current: () => ({ levels, problem: undefined }) } });
    stage.cloud.onIncrease = ({ group }) => ({ kind: 'refused', group, reason: 'only asking' });
    const asked = async () => (await stage.runOnce()).rounds[0]?.plan.increases.map(({ group }) => group);
    expect(await asked()).toEqual(['regular']);
    levels = LEVELS;
    expect(await asked()).toEqual(['spot']);
    expect(stage.records.at(-2)?.policy?.scaleUp.priorities).toEqual(LEVELS);
    levels = undefined;
    expect(await asked()).toEqual(['regular']);
  });
});
