/**
 * Guards of room that is kept free: it is where it is meant to be, is counted once, and disturbs no person. And of nodes on their way that are
 * cancelled: nothing needs them, and they are ours. And of room that is made by moving pods.
 */
import type { GuardTable } from './guard.ts';

export const ROOM_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/tools/plan/devices.test.ts',
    guards: [
      {
        title: 'a node with an amount of its own has no more of it than that',
        row: 'a pod may ask for devices by the name of a resource',
        change: ['(allocatable?.[own] ?? 0) > 0 ?', '(allocatable?.[own] ?? 0) < 0 ?'],
      },
      {
        title: 'distinct devices differ from each other, also those of one request',
        row: 'asks for all devices, for those with the same attribute',
        change: ['!values.includes(own)', 'values.at(-1) !== own'],
      },
      {
        title: 'claims have no more of a divided device than there is of it',
        row: 'claims share a device by parts of its capacity',
        change: ['(had[at] ?? 0) + (amounts[index] ?? 0) <= whole', '(amounts[index] ?? 0) <= whole'],
      },
      {
        title: 'a device that several nodes reach is taken for all of them',
        row: 'devices that several nodes reach are had once for all of them',
        change: ['takenById(pool.held, list)', 'takenById([], list)'],
      },
    ],
  },
  {
    test: 'test/scheduling/devices.property.test.ts',
    guards: ['the pods of a node that is gone have no device that other nodes reach'],
  },
  {
    test: 'test/scheduling/common-devices.test.ts',
    quick: true,
    guards: [
      {
        title: 'a shared claim keeps its pods on one node unless several nodes reach all of its devices',
        change: ['device.isBound !== true', 'true'],
      },
    ],
  },
  {
    test: 'test/azure/rows/device-tags.test.ts',
    quick: true,
    guards: ['declared devices give way to what a real node publishes'],
  },
  {
    test: 'test/azure/templates/learned-templates.test.ts',
    quick: true,
    guards: [
      {
        title: 'claims have no part of a device whose parts no node has shown',
        row: 'a device that was stored',
        change: ['record.knowsParts', 'true'],
      },
    ],
  },
  {
    test: 'test/azure/agent-pools.test.ts',
    quick: true,
    guards: [
      {
        title: 'without a driver of AKS, GPUs exist only if something else installs one',
        row: 'are not guessed where AKS installs no driver',
        change: ['lacksDriver(pool) ?', 'pool === undefined ?'],
      },
    ],
  },
  {
    test: 'test/planning/scale-down/room/room.test.ts',
    quick: true,
    guards: [
      { title: 'room is made only in pools where that is on', change: ['!optionsOf(group, input.context.policy).makeRoom', 'false'] },
      {
        title: 'room is made on a node once within a time that grows',
        change: ['untilMs > context.observation.nowMs && added === undefined', 'false'],
      },
      { title: 'no pod is moved to make room while nothing may be removed', change: ['!policy.scaleDown.enabled', 'false'] },
      { title: 'a try to make room that came to nothing is not repeated at once', change: ['failed !== undefined', 'false'] },
      { title: 'room is made on few nodes within an hour', change: ['begun.length < MOST_NODES_PER_HOUR', 'true'] },
      {
        title: 'no pod is moved to make room within an hour of its start',
        change: ['youngPod([pod], minPodAgeMs, nowMs) === undefined', 'true'],
      },
      'no pod is moved to make room to a place that a pod of a draining node needs',
      { title: 'no pod is moved to make room before it has a place', change: ['unplaced(pods)', 'undefined'] },
      {
        title: 'a pod is not moved for its new size if it would come back without',
        change: ['!comesBackWith(pod, wanted, cluster)', 'false'],
      },
      'a resized pod is not moved within an hour of its start',
      { title: 'a resized pod is not moved before it has a place for its new size', change: ['unplaced([pod])', 'undefined'] },
    ],
  },
  {
    test: 'test/loop/scale-down/room-maker.test.ts',
    quick: true,
    guards: [
      {
        title: 'a pod that is gone or ends by itself leaves the others where they are',
        change: ['pods.length < move.pods.length', 'false'],
      },
      'no pod is moved for one that has its room, or is gone',
    ],
  },
  {
    test: 'test/planning/scale-up/headroom.test.ts',
    quick: true,
    guards: ['a copy of a pod does not stand on the volumes and devices of that pod'],
  },
  {
    test: 'test/planning/scale-up/headroom.test.ts',
    quick: true,
    guards: [
      {
        title: 'room of a pool whose nodes no label names is not looked for elsewhere',
        row: 'stands for no room, and says why',
      },
      { title: 'copies of one workload are held once', row: 'of the same workload once', change: ['replicas - already', 'replicas'] },
    ],
  },
  {
    test: 'test/planning/explain/headroom-rows.test.ts',
    quick: true,
    guards: [
      { title: 'headroom that finds no place is no event', row: 'without a place', change: ['isHeadroom(pod) || '] },
      { title: 'a refusal of headroom alone is no warning', row: 'no warning' },
    ],
  },
  {
    test: 'test/azure/writes/failure-counts.test.ts',
    guards: [{ title: 'no alert follows from headroom that Azure does not give', row: 'headroom alone' }],
  },
  {
    test: 'test/planning/scale-up/cancelled-increases.test.ts',
    quick: true,
    guards: [
      { title: 'nodes on their way are cancelled only if a plan without them needs no others', row: 'stay for other pods' },
      {
        title: 'if another increase of the group is on its way, whose instances are whose is a guess',
        row: 'beside an increase of another writer',
      },
      { title: 'a size that another writer has changed since is not cancelled', row: 'size was changed' },
      { title: 'pods that are replaced have the nodes that were requested for the former ones', row: 'may be replaced' },
      'nodes on their way for a repack, or for room, are not cancelled',
      { title: 'instances that are not needed are not deleted below the minimum size', row: 'minimum size' },
    ],
  },
  {
    test: 'test/kubernetes/writes/pod-dry-runs.test.ts',
    guards: [{ title: 'the pod of a dry run is never created', change: ["{ dryRun: 'All' }", '{}'] }],
  },
  {
    test: 'test/observers/metrics/idle-gpus.test.ts',
    guards: [{ title: 'a node that is kept free on purpose is no waste', row: 'on purpose', change: ["reserved === 'unknown'", 'true'] }],
  },
  {
    test: 'test/observers/events/blocked-nodes.test.ts',
    guards: [
      {
        title: 'a node that is kept free on purpose is reported by no event',
        row: 'on purpose',
        change: [" && entry.cause !== 'RoomKeptFree'"],
      },
    ],
  },
];
