import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualSimClock } from '../../../simulator/base/sim-clock.ts';

type Step = { readonly kind: 'after' | 'cancel' | 'advance'; readonly amount: number };

const steps = fc.array(
  fc.record({ kind: fc.constantFrom<Step['kind']>('after', 'after', 'cancel', 'advance'), amount: fc.nat({ max: 12 }) }),
  { maxLength: 80 },
);

describe('VirtualSimClock', () => {
  it('runs what is due in order of time, then of registration, also what was put on it meanwhile', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const clock = new VirtualSimClock(0);
        /** The same clock in the simplest form. */
        const model: { id: number; at: number }[] = [];
        const cancels: (() => void)[] = [];
        const ran: string[] = [];
        const put = (delay: number): void => {
          const id = cancels.length;
          model.push({ id, at: clock.now() + delay });
          cancels.push(
            clock.after(delay, () => {
              ran.push(`${id}@${clock.now()}`);
              if (id % 3 === 0) put(id % 5);
            }),
          );
        };
        for (const { kind, amount } of script) {
          if (kind === 'after') put(amount);
          else if (kind === 'cancel') {
            cancels[amount]?.();
            const at = model.findIndex(({ id }) => id === amount);
            if (at >= 0) model.splice(at, 1);
          } else {
            const end = clock.now() + amount;
            clock.advance(amount);
            expect(clock.now()).toBe(end);
          }
          const due = model.filter(({ at }) => at <= clock.now()).sort((left, right) => left.at - right.at || left.id - right.id);
          if (kind === 'advance') {
            expect(ran.splice(0)).toEqual(due.map(({ id, at }) => `${id}@${at}`));
            for (const entry of due) model.splice(model.indexOf(entry), 1);
          }
          expect(clock.nextDueAt()).toBe(model.length === 0 ? undefined : Math.min(...model.map(({ at }) => at)));
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('forgets canceled actions that are in the majority, and keeps the order of the others', () => {
    const clock = new VirtualSimClock(0);
    const ran: number[] = [];
    const cancels = Array.from({ length: 4_000 }, (_, index) => clock.after((index * 7) % 1_000, () => ran.push((index * 7) % 1_000)));
    for (const [index, cancel] of cancels.entries()) if (index % 4 !== 0) cancel();
    expect(clock.size).toBeLessThan(2_100);
    clock.advance(1_000);
    expect(ran).toHaveLength(1_000);
    expect(ran).toEqual(ran.toSorted((left, right) => left - right));
    for (const cancel of cancels) cancel();
    expect([clock.size, clock.nextDueAt()]).toEqual([0, undefined]);
  });
});
