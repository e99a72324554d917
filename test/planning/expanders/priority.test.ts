import { describe, expect, it } from 'vitest';
import type { PriorityLevel } from '../../../src/domain/policy.ts';
import { compilePattern, createPriorityRules } from '../../../src/planning/expanders/priority.ts';
import { aGroup, aTemplate } from '../../support/builders.ts';

const LEVELS: readonly PriorityLevel[] = [
  { priority: 10, patterns: ['.*'] },
  { priority: 50, patterns: ['spot', '^gpu$'] },
  { priority: -5, patterns: ['cheap'] },
];
const group = (id: string, pool?: string) =>
  aGroup({ id, template: aTemplate(pool === undefined ? {} : { labels: { 'kubernetes.azure.com/agentpool': pool } }) });

describe('priority rules', () => {
  it.each([
    ['the highest level that covers it', group('aks-spot1-123-vmss'), 50],
    ['patterns match anywhere in the name', group('aks-general-123-vmss'), 10],
    ['by agent pool', group('aks-x-123-vmss', 'gpu'), 50],
  ])('%s', (_, given, level) => {
    expect(createPriorityRules(LEVELS).levelOf(given)).toBe(level);
  });

  it('a level below zero never wins', () => {
    expect(createPriorityRules(LEVELS.slice(2)).levelOf(group('cheap'))).toBeUndefined();
  });

  it('reports patterns that match nothing and groups that no rule covers', () => {
    const rules = createPriorityRules(LEVELS.slice(1));
    expect(rules.notes([group('aks-spot1-123-vmss'), group('aks-general-123-vmss')]).map(({ text }) => text)).toEqual([
      'The pattern "^gpu$" of priority 50 matches no node group.',
      'The pattern "cheap" of priority -5 matches no node group.',
      'No priority rule covers the node group aks-general-123-vmss: it grows only if no node group with a rule can help.',
    ]);
  });

  it('understands what patterns of the Cluster Autoscaler spell differently', () => {
    expect(compilePattern('(?i)SPOT').test('aks-spot')).toBe(true);
    expect(compilePattern('(?P<kind>spot)').test('aks-spot')).toBe(true);
    expect(() => compilePattern('a[')).toThrow('"a[" is not a regular expression.');
  });
});
