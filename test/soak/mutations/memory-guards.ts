/** Guards of what survives a restart, and of what real nodes disprove. */
import type { GuardTable } from './guard.ts';

export const MEMORY_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/state/after-restart.test.ts',
    guards: [
      { title: 'time in which no process watched is not idle time', change: ['+ nowMs - savedAtMs'], quick: true },
      { title: 'idle timers count only if they were saved lately', change: ['Math.abs(nowMs - savedAtMs) > candidateTtlMs', 'false'] },
      {
        title: 'a node of the same name that joined later is another node',
        change: ['(nodes.get(name)?.createdAtMs ?? Infinity) <= sinceMs', 'nodes.has(name)'],
      },
    ],
  },
  {
    test: 'test/planning/state/clock-shift.test.ts',
    quick: true,
    guards: [{ title: 'if the wall clock is set, the times of requests move with it, too', change: ["'past'", "'amount'"] }],
  },
  {
    test: 'test/planning/state/in-flight-increases.test.ts',
    guards: [
      {
        title: 'an instance that never becomes a node is not awaited by later increases',
        change: ['- Math.max(0, leftover - unlisted)'],
        quick: true,
      },
      {
        title: 'a node under the id of another instance hides no node that is missing',
        change: ['Math.max(0, leftover - unlisted)', 'leftover'],
      },
      {
        title: 'a node that an increase did request is awaited until the increase must be complete',
        change: ['Math.min(context.nowMs, expectedByMs)', 'context.nowMs'],
      },
      'an instance that was seen after the request is part of the increase',
    ],
  },
  {
    test: 'test/loop/memory/memory-store.test.ts',
    guards: [{ title: 'the memory is written at most once in ten seconds', change: ['9_500', '0'] }],
  },
  {
    test: 'test/planning/state/increases/scale-up-times.test.ts',
    guards: [{ title: 'an increase that brought no node leaves no cooldown', change: ['inFlight(state, group) === undefined', 'false'] }],
  },
  {
    test: 'test/planning/state/increases/increase-records.test.ts',
    guards: [{ title: 'a node that came is awaited no more', change: ['Math.min(gone, record.coming.nodes)', '0'], quick: true }],
  },
  { test: 'test/scenarios/second-bursts.test.ts', guards: ['an increase remembers the pods that it was made for'] },
  {
    test: 'test/planning/promises/check-promises.test.ts',
    guards: [
      { title: 'a pod that waited for any node corrects no template', quick: true },
      { title: 'a pod that came long after its node corrects no template', change: ['&& cameWith(pod, node)'] },
      { title: 'a node that starts breaks no promise', change: ['starting.has(name) ||'] },
      { title: 'pods that took the room break no promise', change: ['isOwn(pod) &&'], quick: true },
      { title: 'one node is requested to try a disproved template again', change: ['?? trialReason(group, state, observation)'] },
    ],
  },
  {
    test: 'test/azure/templates/custom-daemons.test.ts',
    guards: [
      {
        title: 'a pod that waited for any node is no daemon pod of the next, whatever its annotation says',
        change: ['&& !isOlderThanNode(pod, node)'],
      },
    ],
  },
  {
    test: 'test/planning/promises/missed-zones.test.ts',
    guards: [
      {
        title: 'a zone in which no node came is not tried node after node',
        change: ['withoutMissedZones(corrected, zones)', 'corrected'],
      },
    ],
  },
  {
    test: 'test/planning/state/accepted-increases.test.ts',
    guards: [
      {
        title: 'pods that a controller creates have the nodes that were requested for their copies',
        change: [
          'withCreatedPods(withFoundPods(state.increases, cluster.pendingPods), cluster.pendingPods)',
          'withFoundPods(state.increases, cluster.pendingPods)',
        ],
      },
    ],
  },
];
