/** Guards of removals: whose taint it is, which nodes may go, and how many. */
import type { GuardTable } from './guard.ts';

export const REMOVAL_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/scenarios/vertical-pod-autoscalers.test.ts',
    guards: [
      {
        title: 'pods that a removal evicts need places for what their VerticalPodAutoscalers give them',
        change: [
          'allRecreated(checkNodeDrain(real, context.drainOn(candidate.node.name)).movable, cluster)',
          'checkNodeDrain(real, context.drainOn(candidate.node.name)).movable',
        ],
      },
    ],
  },
  {
    test: 'test/loop/scale-down/deletion-taint.test.ts',
    quick: true,
    guards: [
      {
        title: 'the loop waits for soft taints no longer than their time',
        row: 'the loop waits no longer than that',
        change: [
          'withTimeout(input.clock, { timeoutMs, signals: [signal], run })',
          "run(signal).then(() => (timeoutMs > 0 ? 'done' : 'timed-out'))",
        ],
      },
      'the taint of a daemon that may be at work is not removed',
      'a taint counts as left behind only on a node that turned ready after it',
      { title: 'the taint of an ended removal keeps no started node from pods', change: ["=== 'stops'", "=== 'deletes'"] },
      {
        title: 'deletion taints that cannot be removed hold no others, loop after loop',
        row: 'holds neither the loop nor the other nodes',
        change: ['(loopId * UNDO_AT_ONCE) % found.length', '0'],
      },
    ],
  },
  {
    test: 'test/kubernetes/writes/nominations.test.ts',
    quick: true,
    guards: [{ title: 'a nomination by another writer is never replaced', change: ['force: false', 'force: true'] }],
  },
  {
    test: 'test/kubernetes/writes/taint-owners.test.ts',
    quick: true,
    guards: [
      'a taint is written only where there is none of another writer, and removed only by its owner',
      {
        title: 'a node without the taint of its removal is not uncordoned',
        row: 'that a person removed takes the name of its writer with it',
      },
    ],
  },
  {
    test: 'test/loop/run-once-ends.test.ts',
    quick: true,
    guards: [{ title: 'a node counts as freed only if its taint was removed', row: 'counts on none that another process has' }],
  },
  {
    test: 'test/loop/scale-down/eviction-turns.test.ts',
    quick: true,
    guards: [
      {
        title: 'few evictions of one budget are under way at once',
        row: 'are five at once of one budget',
        change: ['slots.run(inTotal, signal)', 'inTotal()'],
      },
      {
        title: 'the evictions of all drains together are limited',
        row: 'are twenty at once',
        change: ['this.#all.run(evict, signal)', 'evict()'],
      },
      { title: 'no eviction from a preempted node is sent after its deadline', row: 'are not sent after the deadline' },
    ],
  },
  {
    test: 'test/kubernetes/writes/writes.test.ts',
    quick: true,
    guards: [
      {
        title: 'a conflict of an eviction does not say that the pod is gone',
        row: 'the pod itself shows whether it is gone',
        change: ['present === uid', 'false'],
      },
      {
        title: 'no eviction is sent with a grace period below a second',
        row: 'never sends a grace period below a second',
        change: ['LEAST_GRACE_SECONDS', 'LEAST_GRACE_SECONDS - 1'],
      },
    ],
  },
  {
    test: 'test/loop/scale-down/spot-preemption.test.ts',
    quick: true,
    guards: [
      {
        title: 'on a node that is ready after the deadline of its preemption no evacuation begins',
        row: 'starts nothing on a node that is still ready',
      },
      {
        title: 'the deadline of a preemption is looked at again after the taint',
        row: 'evicts nothing when the taint could be written only after the deadline',
        change: ['|| mayBeSpared(fresh.node, preemption, clock.now())'],
      },
    ],
  },
  {
    test: 'test/kubernetes/projection/preemption.test.ts',
    quick: true,
    guards: [
      {
        title: 'the deadline of a preemption is not further ahead than any notice of Azure',
        change: ['|| stated > noticedAtMs + LONGEST_NOTICE_MS'],
      },
    ],
  },
  {
    test: 'test/contract/azure-vms-pools-removal.test.ts',
    quick: true,
    guards: [
      {
        title: 'what a deletion means is taken before it waits for its turn',
        row: 'while the pool was busy',
        change: ['deletion.run()', 'new Deletion({ deps, group, backend, request, signal }).run()'],
      },
      {
        title: 'a deletion means the instances of the plan, however often it is tried',
        row: 'since the plan',
        change: ['request.uids.get(key) ??'],
      },
    ],
  },
  {
    test: 'test/planning/lost-deletion.test.ts',
    quick: true,
    guards: [{ title: 'a drain that takes long is no lost deletion', change: ['entry.sentAtMs ?? nowMs', 'entry.sinceMs'] }],
  },
  {
    test: 'test/planning/scale-down/leaving.test.ts',
    quick: true,
    guards: [{ title: 'removals of another daemon count for the minimum', change: 'always' }],
  },
  {
    test: 'test/planning/scale-down/full-groups.test.ts',
    quick: true,
    guards: [
      'no node of a full pool is removed while pods wait for that pool',
      { title: 'a follower is placed after the pod that it follows', change: ['&& !dependsOnOthers(pod)'] },
    ],
  },
  {
    test: 'test/planning/scale-down/usable-groups.test.ts',
    quick: true,
    guards: [{ title: 'no node is removed that a pod could use whose place was not searched in time', change: ['...usable, ...wanted,'] }],
  },
  {
    test: 'test/planning/scale-down/awaited-pods.test.ts',
    quick: true,
    guards: ['the only node for a terminating pod of a StatefulSet stays'],
  },
  {
    test: 'test/planning/scale-up/nominated-pods.test.ts',
    quick: true,
    guards: [
      {
        title: 'a nomination of a node that is gone or leaving says nothing',
        change: [' || node.deletionAtMs !== undefined || state.deleting.has(node.name)) return undefined', ') return name'],
      },
      'a nomination of a node that takes no pods yet keeps its pod from no other node',
    ],
  },
  {
    test: 'test/scheduling/drainability/drainability.test.ts',
    quick: true,
    guards: [
      {
        title: 'a pod is protected for the time that its annotation states',
        row: 'do-not-disrupt blocks until its end',
        change: ['hasProtectionEnded(protection, nowMs)', 'protection.protectedUntilMs !== undefined'],
      },
      { title: 'safe-to-evict does not pass a budget that never allows a disruption', change: ['!byBudget.passing', 'false'] },
    ],
  },
  {
    test: 'test/domain/annotations.test.ts',
    quick: true,
    guards: [
      {
        title: 'a protection that cannot be read protects',
        row: 'protects without end, and says so',
        change: ['{ protectedBy: shownText(value, MOST_VALUE_BYTES), protectedUntilMs: undefined }', 'undefined'],
      },
    ],
  },
  { test: 'test/planning/scale-down/timers.test.ts', guards: ['time in which the cluster was not seen does not count as unneeded'] },
  {
    test: 'test/tools/doctor/experiment.test.ts',
    guards: [
      { title: 'the experiment deletes nothing that it did not make', row: 'is not known if several are new' },
      { title: 'the experiment deletes nothing while another writer changes the size', row: 'is not known if another writer changed' },
      { title: 'a pool whose condition has no effect gets no node', row: 'if a wrong tag is taken' },
      {
        title: 'an unchanged write of a pool whose count is not its size is not sent',
        row: 'writes no pool whose size another writer changed',
      },
      { title: 'the second write of a size does not lower it', row: 'repeats no write of a size' },
      { title: 'a request of the experiment passes the check of its origin', row: 'sends its token to no other host' },
      { title: 'a report has no addresses, ids or names of resources', row: 'has no ids', change: ["'<resource>'", "'$&'"] },
    ],
  },
];
