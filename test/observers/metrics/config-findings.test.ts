import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { PriorityRulesView } from '../../../src/domain/ports/stored-text.ts';
import { aGroup } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aStage, valueOf } from '../../loop/support.ts';

describe('the health of the configuration', () => {
  it('is counted by kind, and what is put right goes', async () => {
    let view: PriorityRulesView = { levels: undefined, problem: undefined };
    const policy = aPolicy({
      scaleUp: {
        enforceMinSize: false,
        expanders: ['priority', 'price'],
        priorities: [{ priority: 1, patterns: ['^a$', 'nobody'] }],
        prices: {},
      },
    });
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0 }), aGroup({ id: 'b', target: 0 })],
      policy,
      priorities: { current: () => view },
    });
    const found = async () => {
      const { values } = await stage.metrics.config.findings.get();
      return Object.fromEntries(values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.kind, value]));
    };
    await stage.runOnce();
    expect(await found()).toEqual({ 'rule-without-group': 1, 'group-without-rule': 1, 'size-without-price': 1 });
    view = { levels: [{ priority: 1, patterns: ['.*'] }], problem: 'priorities: not a number' };
    await stage.runOnce();
    expect(await found()).toEqual({ 'bad-priority-rules': 1, 'size-without-price': 1 });
    stage.cloud.optionsWithoutGroup = ['genral'];
    await stage.runOnce();
    await stage.runOnce();
    expect(await found()).toEqual({ 'bad-priority-rules': 1, 'size-without-price': 1, 'options-without-group': 1 });
    const said = stage.lines.filter(({ note }) => String(note).includes('genral')).map(({ note }) => note);
    expect(said).toEqual(['nodeGroupOptions: no node group is named genral.']);
    stage.cloud.optionsWithoutGroup = undefined;
    stage.cloud.rulesWithoutGroup = ['discovery[1] (team=web)'];
    await stage.runOnce();
    await stage.runOnce();
    expect(await found()).toEqual({ 'bad-priority-rules': 1, 'size-without-price': 1, 'discovery-without-group': 1 });
    const told = stage.cluster.events.filter(({ reason }) => reason === 'ConfigMatchesNothing');
    expect(told.map(({ message }) => message)).toEqual([
      'nodeGroupOptions: no node group is named genral.',
      'discovery[1] (team=web) matches no pool.',
    ]);
    stage.cloud.rulesWithoutGroup = undefined;
    await stage.runOnce();
    expect(await found()).toEqual({ 'bad-priority-rules': 1, 'size-without-price': 1 });
    stage.cloud.groups.clear();
    view = { levels: undefined, problem: undefined };
    await stage.runOnce();
    expect(await found()).toMatchObject({ 'no-node-group': 1 });
    expect(await valueOf(stage.metrics.config.findings, { kind: 'bad-priority-rules' })).toBe(0);
  });

  it('names a maximum above what AKS allows a pool: at the start, and once more if it changes', async () => {
    const limited = (max: number) => ({ ...aGroup({ id: 'a', target: 0, maxSize: 1_000 }), poolLimit: 1_000, configuredMax: max });
    const shared = { ...aGroup({ id: 'b', target: 0, maxSize: 900 }), poolLimit: 1_000 };
    const stage = aStage({ groups: [limited(2_000), shared] });
    await stage.runOnce();
    await stage.runOnce();
    stage.cloud.groups.set(nodeGroupId('a'), limited(1_500));
    await stage.runOnce();
    const told = [2_000, 1_500].map(
      (max) => `Node group a: the maximum of ${max} nodes is above the 1000 that AKS allows in one pool; 1000 applies.`,
    );
    const events = stage.cluster.events.filter(({ reason }) => reason === 'MaximumAbovePoolLimit');
    expect(events.map(({ message, type }) => [type, message])).toEqual(told.map((message) => ['Warning', message]));
    expect(stage.lines.filter(({ note }) => String(note).includes('Node group a')).map(({ note }) => note)).toEqual(told);
  });
});
