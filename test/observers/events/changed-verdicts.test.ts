import { describe, expect, it } from 'vitest';
import type { AutoscalerEvent } from '../../../src/domain/ports/records.ts';
import { changedVerdictsOnly } from '../../../src/observers/events/changed-verdicts.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { START_MS } from '../../support/builders.ts';

const MINUTE = 60_000;
const event = (change: Partial<AutoscalerEvent> = {}): AutoscalerEvent => ({
  subject: { kind: 'Pod', namespace: 'a', name: 'b', uid: 'u' },
  type: 'Normal',
  reason: 'NotTriggerScaleUp',
  message: 'm',
  verdict: { reasons: 'full', fix: 'raise' },
  ...change,
});

function recorded(...steps: readonly (AutoscalerEvent | number)[]): Promise<number> {
  const clock = new FakeClock(START_MS);
  let count = 0;
  const events = changedVerdictsOnly({ record: () => (count += 1), flush: () => Promise.resolve() }, clock);
  return steps
    .reduce(async (before, step) => {
      await before;
      if (typeof step === 'number') await clock.advance(step);
      else events.record(step);
    }, Promise.resolve())
    .then(() => count);
}

describe('events about pods that no pool can take', () => {
  it.each<[string, readonly (AutoscalerEvent | number)[], number]>([
    ['the same verdict is recorded once', [event(), MINUTE, event(), MINUTE, event({ message: 'other numbers' })], 1],
    ['a verdict that changed is recorded', [event(), event({ verdict: { reasons: 'taint', fix: 'raise' } })], 2],
    ['a fix that changed is recorded', [event(), event({ verdict: { reasons: 'full', fix: 'tolerate' } })], 2],
    ['a fix that is found later is recorded', [event({ verdict: { reasons: 'full' } }), event()], 2],
    ['a fix that was not simulated again is no change', [event(), event({ verdict: { reasons: 'full' } }), event()], 1],
    ['each pod has its own', [event(), event({ subject: { kind: 'Pod', namespace: 'a', name: 'c', uid: 'v' } })], 2],
    ['the same verdict is recorded again before the API server forgets it', [event(), 44 * MINUTE, event(), MINUTE, event()], 2],
    [
      'another event is always recorded',
      [
        { ...event(), verdict: undefined },
        { ...event(), verdict: undefined },
      ].map(withoutVerdict),
      2,
    ],
  ])('%s', async (_, steps, count) => expect(await recorded(...steps)).toBe(count));
});

function withoutVerdict({
  verdict: _verdict,
  ...rest
}: Omit<AutoscalerEvent, 'verdict'> & { readonly verdict?: unknown }): AutoscalerEvent {
  return rest;
}
