/** Sentences about what a comparison is, and what it is not. Pure. */
import type { Scenario } from '../../lab/loads/load.ts';
import type { LabOptions } from './lab-options.ts';

const DAY_MS = 86_400_000;

export function lengthNotes({ durationMs }: Pick<Scenario, 'durationMs'>): readonly string[] {
  return durationMs >= DAY_MS ? [] : ['Less than a day was played: figures per day are those of a day that consists of this part alone.'];
}

export function realTimeNotes({ name, speed, flags }: NonNullable<LabOptions['rival']>, base: string): readonly string[] {
  return [
    `Everything ran in real time, all programs at once on this computer, since ${name} is a binary that cannot follow virtual time. Results differ a little each time.`,
    ...(speed === 1
      ? []
      : [
          `The world was ${speed} times faster than Azure. Timers of the programs, such as the time before an unneeded node is removed, were not: in the world's time they are ${speed} times longer, so nodes cost more and removals come later than with real Azure.`,
        ]),
    `${name} ran with ${flags.length === 0 ? 'its own defaults' : `its defaults and ${flags.join(' ')}`}, not with the settings of ${base}.`,
  ];
}

/** The numbers of a scenario's prices are the same in every currency. */
export function currencyNotes(
  currencies: readonly { readonly policy: string; readonly currency: string }[],
  { currency: own }: Pick<Scenario, 'currency'>,
): readonly string[] {
  return currencies
    .filter(({ currency }) => currency !== own)
    .map(
      ({ policy, currency }) =>
        `${policy} reads prices in ${currency}; those of the scenario are in ${own}, and their numbers count as they are.`,
    );
}
