import { describe, expect, it } from 'vitest';
import { instanceKey } from '../../../src/domain/ids.ts';
import { TrackedScaleUp } from '../../../src/observers/history/tracked-scale-up.ts';
import { aPod, START_MS } from '../../support/builders.ts';
import { GROUP } from './support.ts';

const INSTANCE = instanceKey('a/1');
const STAGES = { createdAtMs: START_MS + 1, registeredAtMs: START_MS + 2, readyAtMs: START_MS + 3 };
const pod = aPod({ name: 'web' });

function anIncrease(): TrackedScaleUp {
  const sizes = { group: GROUP, from: 0, to: 1 };
  const times = { followedId: '1/a', isStart: false, decidedMs: START_MS, acceptedMs: START_MS };
  const increase = new TrackedScaleUp({ id: 'd/a', decision: 'd', cause: '1 pod', ...sizes, ...times, pods: [pod] });
  increase.reached(new Map([[INSTANCE, STAGES]]));
  return increase;
}

const ENDS: readonly (readonly [string, (increase: TrackedScaleUp) => void])[] = [
  ['all has come', (increase) => increase.settle(new Set(), START_MS + 5)],
  ['it is too old', (increase) => increase.settle(new Set([pod.uid]), START_MS + 3_600_001)],
  ['it failed', (increase) => increase.fail('AllocationFailed', START_MS + 5)],
];

describe('an increase that ended', () => {
  it.each(ENDS)('since %s retains what is shown of it, not its instances and pods', (_why, end) => {
    const increase = anIncrease();
    const { stages } = increase.progress(undefined);
    end(increase);
    expect(increase.isOpen).toBe(false);
    expect(increase.progress(undefined).stages).toEqual(stages);
    expect(increase.instances.get(INSTANCE)).toBeUndefined();
    expect(increase.waiting.size).toBe(0);
  });

  it('has the time and the reason of its first end', () => {
    const increase = anIncrease();
    increase.fail('AllocationFailed', START_MS + 5);
    increase.fail('Later', START_MS + 6);
    increase.settle(new Set(), START_MS + 7);
    expect(increase.progress(undefined)).toMatchObject({ failure: 'AllocationFailed', endedMs: START_MS + 5 });
  });
});
