/** Guards of sick nodes that are reimaged. */
import type { GuardTable } from './guard.ts';

export const REIMAGE_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/scale-down/repack/reimages.test.ts',
    quick: true,
    guards: [
      { title: 'a sick node is reimaged only where that is asked for', change: ["!== 'reimage'", "=== 'never'"] },
      { title: 'only instances of Uniform scale sets are reimaged', change: ["group.kind !== 'vmss-uniform'", 'false'] },
      { title: 'a reimage is tried once within a day', change: ['wasReimagedLately(node, nowMs)', 'false'] },
      {
        title: 'a node that came back from its reimage is not removed by the set that reimaged it',
        change: ['!reimagedBy(repack, nodes.get(node))', 'true'],
      },
      {
        title: 'a node that is being reimaged counts for its group, also if the memory of its set was lost',
        change: ['hasReimageTaint(node)', 'false'],
      },
    ],
  },
  {
    test: 'test/planning/state/reimaged-nodes.test.ts',
    quick: true,
    guards: [
      {
        title: 'a node counts as reimaged once it has turned ready after that and is well',
        change: ['readiness.sinceMs > reimagedAtMs', 'true'],
      },
      {
        title: 'a node that does not come back from its reimage is not awaited for ever',
        change: ['optionsOf(group, policy).maxStartupMs', 'Infinity'],
      },
      {
        title: 'a node that is being reimaged is no capacity, also after a restart',
        change: ['!isBeingReimaged(node, observation, policy)', 'true'],
      },
    ],
  },
  {
    test: 'test/loop/scale-down/reimage.test.ts',
    quick: true,
    guards: [
      { title: 'a reimage is noted on its node before it is sent', change: ['objection === undefined && reimages', 'false'] },
      {
        title: 'a reimage is sent once; one whose answer was lost may be under way, and the node shows it',
        change: ['request.reimages', 'false'],
      },
      { title: "a node whose deletion taint is another writer's is not reimaged", change: ['heldBy !== undefined', 'false'] },
    ],
  },
  {
    test: 'test/loop/scale-down/removal-safety.test.ts',
    quick: true,
    guards: [{ title: 'a sick node that is well again by the last look is left', change: ['removal.condition !== undefined', 'false'] }],
  },
  {
    test: 'test/contract/azure-reimage.test.ts',
    guards: [
      { title: 'only one instance is reimaged at once, and only of a Uniform scale set', change: ['isUniform && count === 1', 'true'] },
      {
        title: 'a reimage that a newer operation preempted is not sent again',
        change: ['resendsPreempted: false', 'resendsPreempted: true'],
      },
    ],
  },
];
