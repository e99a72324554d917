import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DECISION_MESSAGES, decisionOf, metricsUrlOf } from '../../../commands/demo/log-lines.ts';

const line = (facts: object): string => JSON.stringify({ level: 'info', nodeGroup: 'aks-general-12345678-vmss', ...facts });

describe('decisions in the log', () => {
  it.each([
    [{ msg: 'Scale-up accepted', from: 1, to: 3, pods: 7 }, 'general 1 -> 3, for 7 pods'],
    [
      { msg: 'Node group changed since the plan was made; planning again', from: 1, observed: 2 },
      'general is at 2, not 1: it changed since the plan was made; planning again',
    ],
    [
      { msg: 'Node removal started', node: 'n1', cause: 'underutilized', utilization: 0.37, pods: 4 },
      'n1 is being removed: underutilized (37 % requested), 4 pods to move',
    ],
    [{ msg: 'Serving metrics and health', url: 'http://127.0.0.1:1' }, undefined],
  ])('%j', (facts, sentence) => expect(decisionOf(line(facts))).toBe(sentence));

  it('ignores lines that are not JSON', () => expect(decisionOf('hello')).toBeUndefined());

  it('finds the address of the metrics', () => expect(metricsUrlOf(line({ url: 'http://127.0.0.1:4711' }))).toBe('http://127.0.0.1:4711'));

  it('knows only messages that the daemon logs', () => {
    const root = join(import.meta.dirname, '../../../../src');
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !file.startsWith('cli'),
    );
    const source = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n');
    expect(DECISION_MESSAGES.filter((message) => !source.includes(`'${message}'`))).toEqual([]);
  });
});
