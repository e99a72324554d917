import { describe, expect, it } from 'vitest';
import { decisionOf, metricsUrlOf } from '../../../src/cli/demo/log-lines.ts';

const line = (facts: object): string => JSON.stringify({ level: 'info', nodeGroup: 'aks-general-12345678-vmss', ...facts });

describe('decisions in the log', () => {
  it.each([
    [{ msg: 'Scale-up accepted', from: 1, to: 3, pods: 7 }, 'general 1 -> 3, for 7 pods that fit nowhere'],
    [
      { msg: 'Node group changed by another writer; planning again', from: 1, observed: 2 },
      'general is at 2 and not at 1 any more (412): planning again',
    ],
    [
      { msg: 'Node removal started', node: 'n1', cause: 'underutilized', utilization: 0.37, pods: 4 },
      'n1 goes: underutilized (37 % used), 4 pods to move',
    ],
    [{ msg: 'Serving metrics and health', url: 'http://127.0.0.1:1' }, undefined],
  ])('%j', (facts, sentence) => expect(decisionOf(line(facts))).toBe(sentence));

  it('passes over what is not JSON', () => expect(decisionOf('hello')).toBeUndefined());

  it('finds where the metrics are', () => expect(metricsUrlOf(line({ url: 'http://127.0.0.1:4711' }))).toBe('http://127.0.0.1:4711'));
});
