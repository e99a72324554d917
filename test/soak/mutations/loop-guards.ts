/** Guards of the cache, the planner's memory, drains and the debug server. */
import type { GuardTable } from './guard.ts';

export const LOOP_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/cache/table/fences.test.ts',
    quick: true,
    guards: [
      'a read from before our write does not count',
      'while our change runs, a list does not count',
      { title: 'our own writes are laid over what is read', change: 'always' },
      { title: 'a size is in doubt until a write of unknown effect is read back', change: ['return', 'return true ||'] },
      {
        title: 'a list that contradicts our success is not believed at once',
        change: ["fence.expect !== undefined && amount !== fence.expect ? 'contradicts-expectation' :"],
      },
      'a read from before our delete does not bring an instance back',
      { title: 'a read from before the end of our change ends no row', change: ['seq >= fence.minSeq', 'seq > 0'] },
    ],
  },
  {
    test: 'test/cache/table/table.test.ts',
    quick: true,
    guards: [{ title: 'a list that would remove most rows is doubted once', run: { theme: 'empty lists', seed: 1 } }],
  },
  { test: 'test/scenarios/refused-writes.test.ts', guards: ['a refused write backs off its group'] },
  {
    test: 'test/scenarios/slow-answers.test.ts',
    guards: [
      'a write that takes long holds up no other pool',
      'pods of a write that was refused late wait for no regular loop',
      { title: 'nodes of an increase use up quota as soon as it is sent', change: [" || written.kind === 'sent'", ''] },
      {
        title: 'writes that AKS answers slowly leave all slots to other calls',
        change: ['isSlow(call) ? this.#slowSlots : this.#slots', 'this.#slots'],
      },
      'a pool with an unanswered write takes no other one',
      'AKS at work is not asked in each loop',
      'a write without success holds its pool no longer than it takes to read back',
    ],
  },
  {
    test: 'test/planning/state/increases/late-answers.test.ts',
    quick: true,
    guards: [
      { title: 'a write that was refused late is no increase', change: ['followed?.id !== id', 'true'] },
      { title: 'a group backs off until a write of it is accepted', change: ["outcome.kind === 'sent' ? state.backoffs :", ''] },
    ],
  },
  {
    test: 'test/planning/state/failed-increases.test.ts',
    quick: true,
    guards: [
      'a write of unknown effect is no refusal',
      'a counted quota is planned smaller, not backed off',
      { title: 'the backoff grows with each refusal', change: ['nextDurationMs(times, { durationMs: longestMs })', 'times.firstMs'] },
      { title: 'no backoff is longer than an hour without a try', change: ['Math.min(LONGEST_RETRY_AFTER_MS, asked)', 'asked'] },
    ],
  },
  {
    test: 'test/loop/scale-down/undone-removals.test.ts',
    quick: true,
    guards: [
      'a pod outside the plan stops a removal',
      { title: 'the last look at a node comes right before its delete', run: { theme: 'pods after the drain', seed: 1 } },
      'the taint is checked between evictions',
      'a node of the same name is another node',
      'a taint of another component is not overwritten',
      'a node that recovered is not removed as unready',
      'the evictions of each further band follow a look at the taint',
      'an eviction is repeated only after a look at the taint',
      { title: 'one node that must stay keeps its whole group', change: ['[[instance, spared]]', '[]'] },
    ],
  },
  {
    test: 'test/loop/scale-down/removal-safety.test.ts',
    quick: true,
    guards: [
      'a pod that is still there stops the delete',
      'a removal whose taint is absent or foreign is called off',
      {
        title: 'the protection of a node is obeyed in the last look, too',
        row: 'a protection of the node',
        change: ['input.nowMs', 'Number.MAX_VALUE'],
      },
    ],
  },
  {
    test: 'test/cli/serving/debug-access.test.ts',
    quick: true,
    guards: [
      { title: '/debug refuses a foreign Host', change: 'always' },
      '/debug refuses a foreign Origin',
      '/debug without a token is for this machine only',
    ],
  },
  {
    test: 'test/soak/rest.test.ts',
    guards: [
      {
        title: 'the rest at the end of a soak is judged in virtual time',
        change: [
          'while (run.clock.now() < endMs)',
          'const giveUpMs = performance.now() + 50; while (run.clock.now() < endMs && performance.now() < giveUpMs)',
        ],
      },
      { title: 'waiting pods count as unrest', change: ['&& unrest(stage).length === 0'] },
    ],
  },
];
