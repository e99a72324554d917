/** Guards of gangs: nothing is bought for half a gang, and none that runs is broken. */
import type { GuardTable } from './guard.ts';

export const GANG_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/scale-up/gangs.test.ts',
    quick: true,
    guards: [
      {
        title: 'nothing is bought for a part of a gang that cannot start',
        change: ['withHeld(plan, [...held.values()])', 'first'],
      },
    ],
  },
  {
    test: 'test/planning/scale-down/gangs.test.ts',
    quick: true,
    guards: [
      { title: 'a removal takes no running gang below its minimum', change: 'always' },
      { title: 'the removals of one plan together take no running gang below its minimum' },
    ],
  },
  {
    test: 'test/contract/pod-groups.test.ts',
    guards: [{ title: 'groups of pods are read before the first view that has their pods', row: 'first view' }],
  },
];
