/** Guards against wrong answers that only the whole daemon shows to be lost: elsewhere other guards hold. */
import type { GuardTable } from './guard.ts';

export const ANSWER_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/lying-world/whole-daemon.test.ts',
    guards: [
      {
        title: 'a fraction below zero is no size',
        row: 'every capacity reads as -0.5',
        change: ['Number.isInteger(value) && value >= 0 &&'],
      },
      { title: 'a list that would remove most rows is doubted once', row: 'an empty list of instances is returned once for a full set' },
      {
        title: 'the group of a node is known although no list shows its instance',
        row: "the pool's instances are none",
        change: ['foldName(ref.set)', 'undefined'],
      },
      { title: 'a page of known items only ends a list as broken', row: "the pool's instances lead in a circle" },
      {
        title: 'empty pages that lead in a circle end a list as broken',
        row: "the pool's instances are empty pages that lead in a circle",
        change: ['this.#pageOf.get(url) ??'],
      },
      {
        title: 'an instance without an id does not keep the others unread',
        row: "the pool's instances lack ids and views",
        change: ['if (!parsed.ok', "if (!parsed.ok) throw new Error('no id'); if (false"],
      },
      {
        title: 'an answer that lists no agent pools does not mean a cluster without pools',
        row: 'agent pools are HTML',
        change: ['throw', 'return; throw'],
      },
      {
        title: 'one agent pool in an undocumented form does not keep the others unread',
        row: 'agent pools are null, numbers and nested wrongly',
        change: 'always',
      },
      { title: 'a negative usage is no usage', row: 'usages are negative', change: ['&& value >= 0'] },
      { title: 'no read is held for longer than an hour', row: 'every read says Retry-After of a year', change: ['3_600_000', '1e12'] },
      {
        title: 'Retry-After as a date counts from the Date of the answer',
        row: 'every Date is ten years old, and Retry-After by it',
        change: ["header('date') ??"],
      },
    ],
  },
];
