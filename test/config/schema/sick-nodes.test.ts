import { describe, expect, it } from 'vitest';
import { sickNodesOfPool } from '../../../src/config/schema/repack.ts';

const MINUTE = 60_000;

describe('the rules about sick nodes of a pool', () => {
  it('take the conditions of presets for ten minutes, and one at a time up to a fifth of the pool', () => {
    const rules = sickNodesOfPool.parse({ presets: ['aks', 'gpu'] });
    expect([rules.maximum, rules.breakerPercent]).toEqual([1, 20]);
    expect(rules.conditions[0]).toEqual({ type: 'kubernetes.azure.com/NodeHealthy', status: 'False', forMs: 10 * MINUTE });
    expect(rules.conditions.filter(({ status }) => status === 'True').map(({ type }) => type)).toContain('GPUMissing');
    expect(new Set(rules.conditions.map(({ forMs }) => forMs))).toEqual(new Set([10 * MINUTE]));
  });

  it('replace nodes unless they say otherwise', () => {
    expect(sickNodesOfPool.parse({ presets: ['gpu'] }).remedy).toBe('replace');
    expect(sickNodesOfPool.parse({ presets: ['gpu'], remedy: 'reimage' }).remedy).toBe('reimage');
  });

  it('prefer a condition that is stated to that of a preset', () => {
    const { conditions } = sickNodesOfPool.parse({ presets: ['gpu'], conditions: [{ type: 'XIDErrors', for: '5m' }] });
    expect(conditions.filter(({ type }) => type === 'XIDErrors')).toEqual([{ type: 'XIDErrors', status: 'True', forMs: 5 * MINUTE }]);
  });

  it.each([
    { given: {}, error: 'a preset or a condition' },
    { given: { presets: ['npd'] }, error: 'a list of presets: aks, gpu' },
    { given: { conditions: [{ type: 'Ready', status: 'False' }] }, error: 'another condition than Ready' },
    { given: { conditions: [{ type: 'XIDErrors', status: true }] }, error: '"True", "False" or "Unknown", in quotes' },
    { given: { conditions: [{ type: 'XIDErrors', for: '1s' }] }, error: 'of at least 60000 ms' },
    { given: { presets: ['gpu'], remedy: 'restart' }, error: 'replace or reimage' },
    { given: { presets: ['gpu'], breakerPercent: 0 }, error: 'a whole number from 1 to 100' },
  ])('refuse $given', ({ given, error }) => {
    expect(JSON.stringify(sickNodesOfPool.safeParse(given).error?.issues.map(({ message }) => message))).toContain(
      JSON.stringify(error).slice(1, -1),
    );
  });
});
