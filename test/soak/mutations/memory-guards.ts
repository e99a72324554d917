/** Guards of what survives a restart, and of what real nodes disprove. */
import type { Guard } from './guard.ts';

const AFTER_RESTART = 'test/planning/state/after-restart.test.ts';
const IN_FLIGHT = 'test/planning/state/in-flight-increases.test.ts';
const PROMISES = 'test/planning/promises/check-promises.test.ts';

export const MEMORY_GUARDS: readonly Guard[] = [
  {
    guard: 'time in which no process watched is not idle time',
    file: 'src/planning/state/after-restart.ts',
    text: 'sinceMs + nowMs - savedAtMs',
    instead: 'sinceMs',
    test: AFTER_RESTART,
    quick: true,
  },
  {
    guard: 'idle timers count only if they were saved lately',
    file: 'src/planning/state/after-restart.ts',
    text: 'Math.abs(nowMs - savedAtMs) > candidateTtlMs ?',
    instead: 'Math.abs(nowMs - savedAtMs) < 0 ?',
    test: AFTER_RESTART,
  },
  {
    guard: 'a node of the same name that joined later is another node',
    file: 'src/planning/state/after-restart.ts',
    text: '(nodes.get(name)?.createdAtMs ?? Infinity) <= sinceMs',
    instead: 'nodes.has(name)',
    test: AFTER_RESTART,
  },
  {
    guard: 'an instance that never becomes a node is not awaited by later increases',
    file: 'src/planning/state/in-flight-increases.ts',
    text: 'failed.length - Math.max(0, leftover - unlisted)',
    instead: 'failed.length',
    test: IN_FLIGHT,
    quick: true,
  },
  {
    guard: 'a node under the id of another instance hides no node that is missing',
    file: 'src/planning/state/in-flight-increases.ts',
    text: 'Math.max(0, leftover - unlisted)',
    instead: 'leftover',
    test: IN_FLIGHT,
  },
  {
    guard: 'a node that an increase did request is awaited until the increase must be complete',
    file: 'src/planning/state/unregistered.ts',
    text: 'nowMs: Math.min(context.nowMs, expectedByMs)',
    instead: 'nowMs: context.nowMs',
    test: IN_FLIGHT,
  },
  {
    guard: 'an instance that was seen after the request is part of the increase',
    file: 'src/planning/state/unregistered.ts',
    text: 'if (firstSeenMs >= requestedAtMs) return false;',
    instead: '',
    test: IN_FLIGHT,
  },
  {
    guard: 'a huge memory is not read',
    file: 'src/loop/memory/memory-text.ts',
    text: 'if (Buffer.byteLength(text) > MOST_BYTES)',
    instead: 'if (text.length < 0)',
    test: 'test/loop/memory/memory-text.test.ts',
  },
  {
    guard: 'the memory is written at most once in ten seconds',
    file: 'src/loop/memory/memory-store.ts',
    text: 'const WRITE_INTERVAL_MS = 9_500;',
    instead: 'const WRITE_INTERVAL_MS = 0;',
    test: 'test/loop/memory/memory-store.test.ts',
  },
  {
    guard: 'an increase that brought no node leaves no cooldown',
    file: 'src/planning/state/increases/scale-up-times.ts',
    text: 'before.has(group) && !state.increases.has(group)',
    instead: 'before.has(group) && false',
    test: 'test/planning/state/increases/scale-up-times.test.ts',
  },
  {
    guard: 'an increase remembers the pods that it was made for',
    file: 'src/planning/state/loop-state.ts',
    text: 'accepted: rememberAccepted(state.accepted, { group, nodes, pods, template: result.group?.template }, nowMs),',
    instead: '',
    test: 'test/scenarios/second-bursts.test.ts',
  },
  {
    guard: 'a node that starts breaks no promise',
    file: 'src/planning/promises/check-promises.ts',
    text: 'starting.has(name) || ',
    instead: '',
    test: PROMISES,
  },
  {
    guard: 'pods that took the room break no promise',
    file: 'src/planning/promises/node-offer.ts',
    text: 'pods.filter((pod) => isOwn(pod) && ',
    instead: 'pods.filter((pod) => ',
    test: PROMISES,
    quick: true,
  },
  {
    guard: 'one node is requested to try a disproved template again',
    file: 'src/planning/scale-up/plan-context.ts',
    text: '[byProbe, byTrial]',
    instead: '[byProbe]',
    test: PROMISES,
  },
  {
    guard: 'a zone in which no node came is not tried node after node',
    file: 'src/planning/promises/corrected-templates.ts',
    text: 'return withoutMissedZones(withoutDisprovedParts(observation, state, names), state);',
    instead: 'return withoutDisprovedParts(observation, state, names);',
    test: 'test/planning/promises/missed-zones.test.ts',
  },
  {
    guard: 'pods that a controller creates have the nodes that were requested for their copies',
    file: 'src/planning/state/accepted-increases.ts',
    text: 'withCreatedPods(withFoundPods(state.accepted, cluster.pendingPods), cluster.pendingPods)',
    instead: 'withFoundPods(state.accepted, cluster.pendingPods)',
    test: 'test/planning/state/accepted-increases.test.ts',
  },
];
