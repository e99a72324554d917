import { describe, expect, it } from 'vitest';
import { NO_BLOCKS, type ChangeBlock } from '../../../src/domain/group-blocks.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import { describeHold, lastingHolds, trackHeldGroups } from '../../../src/planning/state/held-groups.ts';
import { aCloud, aCluster, aGroup, anInstance, type GroupOptions } from '../../support/builders.ts';

const G = nodeGroupId('g');
const MINUTE = 60_000;
const growing = (value: number) => ({ known: true, value, version: '"1"', confirmed: false, observedAtMs: 0 }) as const;
const blocked = (change: ChangeBlock): GroupOptions => ({ blocks: { ...NO_BLOCKS, change } });
const PAUSED = { code: 'paused', direction: 'both', untilMs: 9 * MINUTE, by: 'ann', reason: undefined } as const;
const leaving = (...names: readonly string[]) => names.map((node) => anInstance({ node, state: 'deleting' }));

/** One look each minute. Returns the sentence after the last one; undefined: nothing lasts. */
function watch(looks: readonly GroupOptions[]): string | undefined {
  let heldGroups: LoopState['heldGroups'] = new Map();
  const cluster = aCluster({});
  looks.forEach((look, minute) => {
    const cloud = aCloud([aGroup({ ...look, id: 'g' })], cluster);
    heldGroups = trackHeldGroups({ heldGroups }, { loopId: minute, nowMs: minute * MINUTE, cluster, cloud });
  });
  const hold = lastingHolds({ heldGroups }, (looks.length - 1) * MINUTE).get(G);
  return hold === undefined ? undefined : describeHold(hold);
}
const during = (minutes: number, look: (minute: number) => GroupOptions) => Array.from({ length: minutes + 1 }, (_, at) => look(at));

describe('a group that one state keeps from changing', () => {
  it.each<[string, readonly GroupOptions[], string | undefined]>([
    ['for nine minutes is not reported', during(9, () => ({ frozen: 'upgrading' })), undefined],
    ['for ten minutes is reported with its age', during(10, () => ({ frozen: 'upgrading' })), 'frozen for 10 min: upgrading'],
    [
      'counts with a number that passes',
      during(12, (at) => blocked({ code: 'data-too-old', agent: 'instances/g', message: `not read for ${at} s` })),
      'frozen for 12 min: not read for 12 s',
    ],
    ['is not one that a person paused', during(12, () => blocked(PAUSED)), undefined],
    ['is not one whose increases a person paused', during(12, () => ({ blocks: { ...NO_BLOCKS, increase: PAUSED } })), undefined],
    [
      'counts while the end of a pause moves',
      during(12, (at) => ({ blocks: { ...NO_BLOCKS, increase: { code: 'throttled', untilMs: at * MINUTE, message: `${at} calls` } } })),
      'not increased for 12 min: Azure throttles its writes until 1970-01-01T00:12:00.000Z: 12 calls',
    ],
    [
      'counts anew with another state of the same kind',
      during(12, (at) => blocked({ code: 'pool-state', state: at < 6 ? 'Upgrading' : 'Starting' })),
      undefined,
    ],
    ['counts anew with another reason', during(12, (at) => ({ frozen: at < 6 ? 'upgrading' : 'starting' })), undefined],
    ['counts anew after it could change', during(12, (at) => (at === 6 ? {} : { frozen: 'upgrading' })), undefined],
    ['may also only not grow', during(10, () => ({ growthHeld: 'busy' })), 'not increased for 10 min: busy'],
    [
      'waits for the end of its change',
      during(11, () => ({ target: growing(4) })),
      'waiting for the result of its last change for 11 min: Azure has not ended the change to 4 nodes',
    ],
    ['is not one that changes again and again', during(12, (at) => ({ target: growing(at) })), undefined],
    [
      'waits for the end of one deletion, whatever others come and go',
      during(10, (at) => ({ instances: leaving(`a-${at}`, 'stuck') })).map((look, at) =>
        at === 0 ? { instances: leaving('stuck') } : look,
      ),
      'waiting for a deletion to end for 10 min: instance stuck still exists',
    ],
    [
      'waits for an instance to be created',
      during(10, () => ({ instances: [anInstance({ node: 'slow', state: 'creating' })] })),
      'waiting for an instance to be created for 10 min: instance slow is not ready',
    ],
    ['is not one that deletes one instance after the other', during(12, (at) => ({ instances: leaving(`a-${at}`) })), undefined],
    ['is not one that can change', during(20, () => ({})), undefined],
  ])('%s', (_name, looks, sentence) => expect(watch(looks)).toBe(sentence));
});
