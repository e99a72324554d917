/** Guards of repacking: what is searched, and what each step checks. */
import type { GuardTable } from './guard.ts';

export const REPACK_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/scale-down/repack/repack-search.test.ts',
    quick: true,
    guards: [
      { title: 'nodes of groups whose prices are not known are not replaced by others', change: ['added === undefined', 'true'] },
      { title: 'nothing is repacked that saves nothing', change: ['worth.gain <= 0', 'false'] },
      { title: 'no set takes a group below its minimum', change: ['groups.allowsWorking(group)', 'true'] },
      { title: 'the zone of a new node is not guessed', change: ['withoutZone(first)', 'first'] },
    ],
  },
  {
    test: 'test/planning/scale-down/repack/even-zones.test.ts',
    quick: true,
    guards: [
      { title: 'no repack leaves the zones of sibling groups less even', change: ['seen === undefined ||', 'true ||'] },
      { title: 'nothing is repacked in a pool while one of its zones is down', change: ['outageOfPool(group, context)', 'undefined'] },
    ],
  },
  {
    test: 'test/planning/scale-down/repack/repack.test.ts',
    quick: true,
    guards: [
      { title: 'a pool is repacked only where that is turned on', change: ['optionsOf(group, policy).repack ?', 'true ?'] },
      { title: 'a repack is undone once a removal rule keeps one of its nodes', change: ['candidate === undefined', 'false'] },
      { title: 'an undone repack is tried again only after a time that grows', change: ['closures.get(node)', 'undefined'] },
      'a refused node of a repack undoes it, and its nodes are left out for a while',
      'a repack is checked again before its first step',
      'no old node of a repack is drained before its new nodes are ready',
      'no pod is moved by a repack within an hour of its start',
      { title: 'a set that saves too little for what it moves is not repacked', change: 'always' },
      { title: 'no repack begins while a budget of removals leaves no node of its pool', change: ['why === undefined', 'true'] },
      'no repack takes a step while pods are pending',
      { title: 'repacks remove no more nodes within an hour than they may', change: ['- memory.begunMs.length'] },
    ],
  },
  {
    test: 'test/planning/scale-down/repack/repacked-nodes.test.ts',
    quick: true,
    guards: [
      'a new node of a repack stays while its pods have yet to come',
      'a pod that a repack may have moved is not moved again by one',
      {
        title: 'where repacking is on, no pod is moved twice within its least age',
        change: ['node.readiness.ready && condition === undefined', 'false'],
      },
    ],
  },
  {
    test: 'test/planning/scale-down/repack/sick-sets.test.ts',
    quick: true,
    guards: [
      { title: 'sick nodes are replaced only where that is turned on', change: ['options.sickNodes === undefined', 'false'] },
      { title: 'a sick node is looked at twice before it is replaced', change: ['CONFIRM_SICK_AFTER_MS', '0'] },
      'a node that is well again is not replaced',
      'a group whose new nodes turned sick as well waits for a time that grows',
      { title: 'no more sick nodes of a group are replaced at once than its rules say', change: ['rules.maximum', 'Infinity'] },
      { title: 'if too many nodes of a group are sick, none of them is replaced', change: 'always' },
    ],
  },
  {
    test: 'test/planning/scale-down/quarantined.test.ts',
    quick: true,
    guards: [
      {
        title: 'a node that AKS quarantined is no working node of its group',
        change: ['group !== undefined && isLeftAside(node, state)', 'false'],
      },
    ],
  },
  {
    test: 'test/loop/memory/memory-text.test.ts',
    quick: true,
    guards: [
      { title: 'repacks under way survive a restart', change: ["take('repacks', running)", '[]'] },
      { title: 'after a restart no room is made on a node a second time', change: ["take('rooms', closed)", '[]'] },
      { title: 'after a restart no pod is moved a second time', change: ["take('movedPods', moved.toReversed())", '[]'] },
    ],
  },
];
