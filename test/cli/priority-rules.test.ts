import { describe, expect, it } from 'vitest';
import { ConfigMapPriorityRules } from '../../src/cli/connect/config-map-stores.ts';
import { silentLog } from '../support/silent-log.ts';

const SPOT = [{ priority: 50, patterns: ['spot'] }];
const text = (priorities: string) => ({ priorities });

describe('the priority rules in force', () => {
  it('a bad edit keeps the last valid rules and reports the error; a valid edit clears it; no rules mean no rules', () => {
    const rules = new ConfigMapPriorityRules(silentLog());
    expect(rules.current()).toEqual({ levels: undefined, problem: undefined });
    rules.changed(text('50: [spot]'));
    expect(rules.current()).toEqual({ levels: SPOT, problem: undefined });
    rules.changed(text('50: [spot'));
    expect(rules.current()).toMatchObject({ levels: SPOT, problem: expect.stringContaining('valid YAML') });
    rules.changed({});
    expect(rules.current()).toMatchObject({ levels: SPOT, problem: expect.stringContaining('is empty') });
    rules.changed(text('50: [spot]'));
    expect(rules.current()).toEqual({ levels: SPOT, problem: undefined });
    rules.changed(undefined);
    expect(rules.current()).toEqual({ levels: undefined, problem: undefined });
  });

  it('bad from the start: no rules', () => {
    const rules = new ConfigMapPriorityRules(silentLog());
    rules.changed(text('high: [spot]'));
    expect(rules.current()).toMatchObject({ levels: undefined, problem: expect.stringContaining('whole numbers') });
  });
});
