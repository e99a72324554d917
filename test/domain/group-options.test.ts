/** What holds for a group: what it states, else what the policy says of all groups. */
import { expect, it } from 'vitest';
import type { GroupOptions, StatedOptions } from '../../src/domain/node-group.ts';
import { optionsOf, type Policy } from '../../src/domain/policy.ts';
import { aPolicy } from '../support/policy.ts';

const MINUTE = 60_000;
const OF_ALL: GroupOptions = {
  utilizationThreshold: 0.5,
  gpuUtilizationThreshold: 0.5,
  ignoreDaemonSetsUtilization: false,
  unneededForMs: 10 * MINUTE,
  unreadyForMs: 20 * MINUTE,
  maxProvisionMs: 15 * MINUTE,
  maxStartupMs: 15 * MINUTE,
  delayAfterAddMs: undefined,
  delayAfterDeleteMs: undefined,
  delayAfterFailureMs: 3 * MINUTE,
  backoffInitialMs: 5 * MINUTE,
  backoffMaxMs: 30 * MINUTE,
  repack: false,
  makeRoom: false,
  maxGracefulTerminationMs: 10 * MINUTE,
  evictionTimeoutMs: 2 * MINUTE,
  evictionRetryMs: 10_000,
  skipNodesWithSystemPods: true,
  skipNodesWithLocalStorage: false,
  skipNodesWithCustomControllerPods: false,
};
const policy = aPolicy();
const perGroup = aPolicy({ scaleDown: { delaysPerGroup: true } });

it.each<[string, StatedOptions | undefined, Policy, Partial<GroupOptions>]>([
  ['that states nothing', {}, policy, {}],
  ['that is gone', undefined, policy, {}],
  ['that states one option', { unneededForMs: MINUTE }, policy, { unneededForMs: MINUTE }],
  ['that states an option as it is for all', { repack: false }, policy, {}],
  ['that turns an option off', { skipNodesWithSystemPods: false }, policy, { skipNodesWithSystemPods: false }],
  ['while delays apply to each group', {}, perGroup, { delayAfterAddMs: 10 * MINUTE, delayAfterDeleteMs: 0 }],
  ['with a delay of its own', { delayAfterAddMs: MINUTE }, perGroup, { delayAfterAddMs: MINUTE, delayAfterDeleteMs: 0 }],
  ['with a delay of its own alone', { delayAfterAddMs: MINUTE }, policy, { delayAfterAddMs: MINUTE }],
])('every option holds for a group %s', (_what, stated, under, expected) => {
  expect(optionsOf(stated && { options: stated }, under)).toMatchObject({ ...OF_ALL, ...expected });
});

it('follows a policy that is changed, and is found once for each policy', () => {
  const group = { options: { repack: true } };
  const later = aPolicy({ scaleDown: { unneededForMs: MINUTE } });
  expect([policy, later, policy].map((each) => optionsOf(group, each).unneededForMs)).toEqual([10 * MINUTE, MINUTE, 10 * MINUTE]);
  expect(optionsOf(group, policy)).toBe(optionsOf({ options: group.options }, policy));
});
