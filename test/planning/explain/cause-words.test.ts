import { expect, it } from 'vitest';
import type { Increase, RemovalCause } from '../../../src/domain/plan.ts';
import { describePurpose } from '../../../src/planning/explain/pod-owners.ts';
import { describeRemovalCause } from '../../../src/planning/explain/unremovable-nodes.ts';
import { aPod } from '../../support/builders.ts';

it.each<[Increase['cause'], string]>([
  ['pods', '1 pod of default/web'],
  ['min-size', 'its minimum size'],
  ['repack', 'a repack'],
  ['sick-nodes', 'the replacement of sick nodes'],
  ['make-room', 'pods that make room'],
])('an increase because of %s is for %s', (cause, words) => {
  const pods = cause === 'pods' ? [aPod({ name: 'web', controller: undefined })] : [];
  expect(describePurpose({ cause, pods })).toBe(words);
});

it.each<[RemovalCause, { readonly condition?: string; readonly reimages?: true }, string]>([
  ['empty', {}, 'empty'],
  ['underutilized', {}, 'requested 21 %'],
  ['unready', {}, 'not ready'],
  ['repacked', {}, 'part of a repack'],
  ['sick', { condition: 'XIDErrors=True' }, 'sick, XIDErrors=True'],
  ['sick', { condition: 'XIDErrors=True', reimages: true }, 'sick, XIDErrors=True, reimaged'],
  ['sick', {}, 'sick'],
])('a removal because of %s (%j) reads %s', (cause, { condition, reimages }, words) => {
  expect(describeRemovalCause({ cause, utilization: 0.21, condition, reimages })).toBe(words);
});
