import { describe, expect, it } from 'vitest';
import {
  blockAgainstChange,
  blockAgainstIncrease,
  inputOfRows,
  type ChangeRuleInput,
  type IncreaseRuleInput,
} from '../../../src/azure/groups/group-rules.ts';
import type { AgentPoolRow } from '../../../src/azure/rows/agent-pool.ts';
import type { ScaleSetRow } from '../../../src/azure/rows/scale-set.ts';
import type { PoolSizeRow } from '../../../src/azure/rows/vms-pool.ts';
import { describeBlock } from '../../../src/domain/group-blocks.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';

const USES = ['view', 'gate', 'lock', 'doctor'] as const;
const ofKind = (kind: 'scale-set' | 'vms-pool') => ({ id: nodeGroupId('p'), key: 'p', kind, min: 0, max: 1, explicit: true });

/** Everything is against the group. Each fix takes away the reason that comes first. */
const WORST: ChangeRuleInput = {
  ...inputOfRows(ofKind('scale-set'), {
    pool: { type: '', provisioningState: 'Upgrading', managedAutoscaler: true, stopped: true, mode: 'HostedSystem' } as AgentPoolRow,
  }),
  paused: { code: 'paused', direction: 'both', untilMs: 0, by: undefined, reason: undefined },
  refusedWrite: { code: 'write-refused', untilMs: 0, message: 'no role' },
  foreignLock: { code: 'locked', message: 'locked' },
  oldData: { code: 'data-too-old', agent: 'instances/p', message: 'old' },
};
const ROW = { unreadable: 'odd', orchestration: 'Quantum', provisioningState: 'Deleting' } as ScaleSetRow;
const withPool = ({ pool, ...facts }: ChangeRuleInput, change: Partial<AgentPoolRow>): ChangeRuleInput => ({
  ...facts,
  pool: { ...(pool as AgentPoolRow), ...change },
});
const withRow = ({ row, ...facts }: ChangeRuleInput, change: Partial<ScaleSetRow>): ChangeRuleInput => ({
  ...facts,
  row: { ...(row ?? ROW), ...change },
});

const FIXES: readonly (readonly [string, (facts: ChangeRuleInput) => ChangeRuleInput])[] = [
  ['no-scale-set', (facts) => withRow(facts, {})],
  ['unreadable', (facts) => withRow(facts, { unreadable: undefined })],
  ['orchestration', (facts) => withRow(facts, { orchestration: 'Uniform' })],
  ['set-deleting', (facts) => withRow(facts, { provisioningState: 'Succeeded' })],
  ['hosted', (facts) => withPool(facts, { mode: 'User' })],
  ['managed-autoscaler', (facts) => ({ ...facts, adopted: true })],
  ['pool-power', (facts) => withPool(facts, { stopped: false })],
  ['paused', (facts) => ({ ...facts, paused: undefined })],
  ['pool-state', (facts) => ({ ...facts, ours: true })],
  ['write-refused', (facts) => ({ ...facts, refusedWrite: undefined })],
  ['locked', (facts) => ({ ...facts, foreignLock: undefined })],
  ['data-too-old', (facts) => ({ ...facts, oldData: undefined })],
];

describe('the rules against a change', () => {
  it('of a scale set come in one order, from the lasting to the passing, for every use', () => {
    const seen = new Map(USES.map((use) => [use, [] as (string | undefined)[]]));
    let facts = WORST;
    for (const [, fix] of FIXES) {
      for (const use of USES) seen.get(use)?.push(blockAgainstChange(use, facts)?.code);
      facts = fix(facts);
    }
    const order = FIXES.map(([code]) => code);
    expect(seen.get('view')).toEqual(order);
    expect(USES.map((use) => blockAgainstChange(use, facts))).toEqual([undefined, undefined, undefined, undefined]);
    const asked = (use: (typeof USES)[number]) => [...new Set(seen.get(use))].filter((code) => code !== undefined);
    expect(asked('gate')).toEqual(order.filter((code) => code !== 'data-too-old'));
    expect(asked('doctor')).toEqual(order.slice(0, 9).filter((code) => code !== 'paused'));
    expect(asked('lock')).toEqual(['hosted', 'managed-autoscaler', 'pool-power', 'pool-state']);
  });

  it.each([
    ['view', 'no-such-size'],
    ['gate', 'paused'],
    ['lock', 'no-such-size'],
    ['doctor', undefined],
  ] as const)('of a size of a pool are not asked over old rows before a write: %s', (use, code) => {
    expect(blockAgainstChange(use, { ...WORST, group: ofKind('vms-pool'), refusedWrite: undefined })?.code).toBe(code);
  });

  it('of a size whose pools were never listed say so', () => {
    const facts = { ...WORST, group: ofKind('vms-pool'), poolsUnknown: { code: 'pools-not-read' } as const };
    expect(blockAgainstChange('view', facts)?.code).toBe('pools-not-read');
    expect(blockAgainstChange('view', { ...facts, size: { unreadable: 'odd' } as PoolSizeRow })?.code).toBe('unreadable');
  });
});

describe('the rules against an increase', () => {
  it('come from the lasting to the passing', () => {
    const facts: IncreaseRuleInput = {
      sizeNotOffered: { code: 'size-not-offered', message: 'm' },
      poolNotListed: { code: 'pool-not-listed' },
      noEntityTag: { code: 'no-entity-tag' },
      paused: { code: 'paused', direction: 'scale-up', untilMs: 0, by: 'ann', reason: 'an upgrade' },
      throttled: { code: 'throttled', untilMs: 0, message: 'm' },
      ownOperation: { code: 'own-operation' },
      writesUsedUp: { code: 'writes-used-up' },
    };
    const codes = ['size-not-offered', 'pool-not-listed', 'no-entity-tag', 'paused', 'throttled', 'own-operation', 'writes-used-up'];
    const names = ['sizeNotOffered', 'poolNotListed', 'noEntityTag', 'paused', 'throttled', 'ownOperation', 'writesUsedUp'] as const;
    const left = names.map((_, at) =>
      names.slice(0, at).reduce<IncreaseRuleInput>((some, name) => ({ ...some, [name]: undefined }), facts),
    );
    expect(left.map((each) => blockAgainstIncrease('scale-set', each)?.code)).toEqual(codes);
    expect(describeBlock(facts.throttled)).toBe('Azure throttles its writes until 1970-01-01T00:00:00.000Z: m');
    expect(describeBlock(facts.paused)).toBe('increases are paused until 1970-01-01T00:00:00Z by ann: an upgrade');
  });
});
