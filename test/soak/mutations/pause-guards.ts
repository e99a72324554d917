/** Guards of pauses: what a person asked not to be changed is not changed, in the direction that was meant, and until its end. */
import type { GuardTable } from './guard.ts';

export const PAUSE_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/azure/groups/pauses.test.ts',
    quick: true,
    guards: [
      { title: 'a pause ends by itself at its time', change: [' && pause.untilMs > nowMs'] },
      {
        title: "a person's pause keeps what failed, too, although a schedule lasts longer",
        change: ["direction === 'scale-up' || keeps === 'nodes'", 'true || (keeps === direction)'],
      },
      { title: 'an entry whose end cannot be read keeps nodes', change: ['unreadable.find((entry) => isOf(entry, names))', 'undefined'] },
    ],
  },
  {
    test: 'test/kubernetes/projection/pauses.test.ts',
    quick: true,
    guards: [{ title: 'an entry that is understood in part pauses both directions until its end', change: ['doubts.length === 0 && '] }],
  },
  {
    test: 'test/contract/azure-pauses.test.ts',
    guards: [
      { title: 'no increase is written into a pause', change: ["'increase'", "'removal'"] },
      { title: 'no deletion is sent into a pause', change: ["'removal'", "'increase'"] },
      { title: 'an increase that waited for its turn obeys a pause', change: ['busy(group, reason)', 'undefined'] },
      {
        title: 'a deletion that waited for its turn obeys a pause',
        change: ['this.#deps.pausedBecause(this.#group, this.#kindOf(row)) ?? '],
      },
    ],
  },
  {
    test: 'test/contract/pause-command.test.ts',
    guards: [
      { title: 'a command changes the entries that it names, and no others', change: ["'PATCH'", "'PUT'"], row: 'of two people' },
      { title: 'a command pauses for a time that people remember', row: 'is wrong use' },
    ],
  },
  {
    test: 'test/scenarios/pauses.test.ts',
    guards: [{ title: 'a pause ends the removals that are under way', row: 'a removal that is under way' }],
  },
  {
    test: 'test/scenarios/pause-causes.test.ts',
    guards: [{ title: "a pause in either direction keeps AKS's count from being written", row: 'own count' }],
  },
  {
    test: 'test/planning/scale-down/details.test.ts',
    quick: true,
    guards: [{ title: 'nodes of a group whose removals are blocked are kept', change: [' ?? group.blocks.removal'] }],
  },
  {
    test: 'test/planning/scale-down/whole-groups.test.ts',
    quick: true,
    guards: [
      {
        title: 'instances without a node of a group whose removals are blocked are kept',
        change: [' || isKept(instance, group)'],
      },
    ],
  },
  {
    test: 'test/planning/state/held-groups.test.ts',
    quick: true,
    guards: [{ title: 'a pause that a person asked for is not reported as a hold', change: [" && change.code !== 'paused'"] }],
  },
];
