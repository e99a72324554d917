/** Options of single groups: each wins over the value of all groups, and only for its own group. */
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { StatedOptions } from '../../../src/domain/node-group.ts';
import { failIncrease } from '../../../src/planning/state/closures.ts';
import { createScoring } from '../../../src/planning/scale-up/packing/option-score.ts';
import { aCluster, aPod, resourceNames, START_MS, type PodOptions } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { keptReasons, MINUTE, nodes, plan, pool, removed, sinceMinutes, idle } from './world.ts';
import { aState } from '../../support/state.ts';

const withOptions = (id: string, size: number, options: StatedOptions) => pool(id, size, { options });

describe("a group's own cooldown", () => {
  it.each<[string, StatedOptions, object, boolean]>([
    ['after its increase', { delayAfterAddMs: 30 * MINUTE }, { scaleUpMs: START_MS - 20 * MINUTE }, true],
    ['that is over', { delayAfterAddMs: 30 * MINUTE }, { scaleUpMs: START_MS - 31 * MINUTE }, false],
    ['after a removal', { delayAfterDeleteMs: 5 * MINUTE }, { scaleDownMs: START_MS - MINUTE }, true],
    ['after a failed removal', { delayAfterFailureMs: 60 * MINUTE }, { scaleDownFailureMs: START_MS - 59 * MINUTE }, true],
    ['without an event', { delayAfterAddMs: 30 * MINUTE }, {}, false],
  ])('%s', (_what, options, times, rests) => {
    const result = plan(
      idle([withOptions('p', 1, options), pool('q', 1)], 90, {
        groupTimes: new Map(['p', 'q'].map((id) => [nodeGroupId(id), times] as const)),
      }),
    );
    expect(removed(result)).toEqual(rests ? ['q-0'] : ['p-0', 'q-0']);
    expect(keptReasons(result)).toEqual(rests ? { 'p-0': 'GroupCoolingDown' } : {});
  });

  it('after a failure of its own counts without an option of its own, and leaves the others alone', () => {
    const result = plan(
      idle([pool('p', 1), pool('q', 1)], 90, { groupTimes: new Map([[nodeGroupId('p'), { scaleDownFailureMs: START_MS - 2 * MINUTE }]]) }),
    );
    expect([removed(result), keptReasons(result)]).toEqual([['q-0'], { 'p-0': 'GroupCoolingDown' }]);
  });

  it('replaces a delay that applies per group, also by a shorter one', () => {
    const times = { scaleUpMs: START_MS - 5 * MINUTE };
    const result = plan({
      ...idle([withOptions('p', 1, { delayAfterAddMs: MINUTE }), pool('q', 1)], 90, {
        groupTimes: new Map([
          [nodeGroupId('p'), times],
          [nodeGroupId('q'), times],
        ]),
      }),
      policy: aPolicy({ scaleDown: { delaysPerGroup: true } }),
    });
    expect(removed(result)).toEqual(['p-0']);
  });
});

describe("a group's own limit of removals at once", () => {
  it.each([
    [1, 1],
    [3, 3],
    [undefined, 4],
  ])('%s', (maxParallelRemovals, expected) => {
    const options = maxParallelRemovals === undefined ? {} : { maxParallelRemovals };
    const result = plan(idle([withOptions('p', 4, options), pool('q', 1)], 90));
    expect(removed(result).filter((name) => name.startsWith('p-'))).toHaveLength(expected);
    expect(removed(result)).toContain('q-0');
    if (expected < 4)
      expect(result.kept[0]).toMatchObject({
        reason: 'RemovalBudgetSpent',
        detail: `its node group removes at most ${expected} at once; in progress or planned: ${expected}`,
      });
  });

  it('counts removals in progress', () => {
    const deleting = new Map([
      ['p-0', { group: nodeGroupId('p'), instance: 'i' as never, sinceMs: START_MS - MINUTE, sentAtMs: undefined }],
    ]);
    const result = plan(idle([{ ...withOptions('p', 3, { maxParallelRemovals: 1 }), instances: undefined }], 90, { deleting }));
    expect(removed(result)).toEqual([]);
  });
});

describe("a group's own rules about pods that block", () => {
  const cache: PodOptions = { localVolumes: [{ name: 'cache', kind: 'emptyDir' }] };
  const system: PodOptions = { namespace: 'kube-system' };
  const custom: PodOptions = { controller: { kind: 'Game', name: 'g', uid: 'g' } };

  it.each<[string, PodOptions, StatedOptions, readonly string[]]>([
    ['local storage blocks in its group', cache, { skipNodesWithLocalStorage: true }, ['q-0']],
    ['system pods do not block in its group', system, { skipNodesWithSystemPods: false }, ['p-0']],
    ['pods of custom controllers do not block in its group', custom, { skipNodesWithCustomControllerPods: false }, ['p-0']],
    ['without own rules the groups do not differ', cache, {}, ['p-0', 'q-0']],
  ])('%s', (_what, pod, options, expected) => {
    const on = (nodeName: string) => aPod({ name: `on-${nodeName}`, cpu: '100m', nodeName, ...pod });
    const result = plan({
      groups: [withOptions('p', 1, options), pool('q', 1), pool('room', 1, { minSize: 1 })],
      nodes: nodes('p-0', 'q-0', 'room-0'),
      pods: [on('p-0'), on('q-0')],
      state: { unneededSince: sinceMinutes(90, ['p-0', 'q-0']) },
      policy: aPolicy({ scaleDown: { maxParallelDrains: 10, skipNodesWithCustomControllerPods: true, skipNodesWithSystemPods: true } }),
    });
    expect(removed(result)).toEqual(expected);
  });

  it('the removal carries the drain settings of its group, and no others', () => {
    const options = { evictionRetryMs: 30_000, maxParallelRemovals: 5 };
    const result = plan(idle([withOptions('p', 1, options), pool('q', 1)], 90));
    expect(result.removals.map(({ drain }) => drain)).toEqual([{ evictionRetryMs: 30_000 }, undefined]);
  });
});

describe("a group's own backoff", () => {
  const policy = aPolicy();
  const failed = (options: StatedOptions, times: number): readonly number[] => {
    let state = aState();
    let atMs = START_MS;
    return Array.from({ length: times }, () => {
      const group = withOptions('p', 1, options);
      state = failIncrease(
        state,
        {
          groupId: group.id,
          group,
          detail: { kind: 'unavailable', effect: 'unknown' },
          cause: 'x',
          message: '',
          atMs,
          correlationId: undefined,
          waitMs: 0,
        },
        policy,
      );
      const { durationMs = 0, untilMs = 0 } = state.backoffs.get(group.id) ?? {};
      atMs = untilMs + 1;
      return durationMs / MINUTE;
    });
  };

  it.each<[string, StatedOptions, readonly number[]]>([
    ['of all groups', {}, [5, 10, 20, 30]],
    ['begins and ends with its own times', { backoffInitialMs: MINUTE, backoffMaxMs: 3 * MINUTE }, [1, 2, 3, 3]],
    ['is never shorter than its first', { backoffInitialMs: 60 * MINUTE }, [60, 60, 60, 60]],
  ])('%s', (_what, options, expected) => {
    expect(failed(options, 4)).toEqual(expected);
  });
});

describe("a group's own level for the expander priority", () => {
  it('wins over the rules, and needs none', () => {
    const { scaleUp } = aPolicy();
    const own = withOptions('p', 1, { expanderPriority: 7 });
    expect(createScoring(scaleUp, resourceNames, aCluster()).priorityOf(own)).toBe(7);
    const ruled = createScoring({ ...scaleUp, priorities: [{ priority: 50, patterns: ['.*'] }] }, resourceNames, aCluster());
    expect([ruled.priorityOf(own), ruled.priorityOf(pool('q', 1))]).toEqual([7, 50]);
  });
});
