/** Guards of how often Azure is read, of the length of what comes from outside, and of credentials in texts. */
import type { GuardTable } from './guard.ts';

export const READ_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/loop/scale-down/removal-safety.test.ts',
    quick: true,
    guards: [{ title: 'no more nodes are removed than a budget of removals allows', row: 'whatever was planned' }],
  },
  {
    test: 'test/planning/facts/reserved-nodes.test.ts',
    quick: true,
    guards: [
      {
        title: 'a working node that a capacity reservation pays anyway is not removed',
        change: ['detail === undefined', 'true'],
      },
      { title: 'removals of one plan together do not go below what a capacity reservation pays', row: 'of one plan' },
    ],
  },
  {
    test: 'test/planning/facts/removal-budgets.test.ts',
    guards: [{ title: 'no plan removes more nodes than a budget of removals allows', row: 'is passed by no plan' }],
  },
  {
    test: 'test/loop/memory/memory-text.test.ts',
    guards: [
      {
        title: 'what budgets of removals have counted survives a restart',
        change: ['budgetedRemovals.length === 0', 'budgetedRemovals.length >= 0'],
      },
    ],
  },
  {
    test: 'test/scenarios/removal-budgets.test.ts',
    guards: [
      { title: 'a restart gives no budget of removals a second time', change: ['rules.budgets.length === 0', 'rules.budgets.length >= 0'] },
    ],
  },
  {
    test: 'test/loop/scale-down/execute.test.ts',
    guards: [
      { title: 'no more nodes are removed than their window allows', quick: true },
      { title: 'an instance that has become a node is not deleted as one without', change: 'always' },
      {
        title: 'an instance that was to go because it failed must have failed still',
        row: 'a deletion of instances that failed demands that they have still failed',
        change: ["state === 'failed'", 'false'],
      },
      { title: 'the rest of an atomic group that is in use is not deleted', change: ['&& isUnused(node.pods)'] },
      {
        title: 'a request to delete instances without a node names those of the plan',
        row: 'by their uid',
        change: ['uid === undefined', 'true'],
        quick: true,
      },
      { title: 'no more empty nodes are removed than their window allows', quick: true },
    ],
  },
  {
    test: 'test/loop/memory/memory-text.test.ts',
    guards: [
      'a huge memory is not read',
      'a saved memory has a limited size, and loses what matters least first',
      { title: 'a saved memory holds no credential', change: ['shownText(message, MESSAGE_BYTES)', 'message'] },
      'a saved memory with a time far in the future is not used',
      { title: 'no event of a saved memory lies after the save', change: ['Math.min(atMs, savedAtMs)', 'atMs'] },
      { title: 'in-flight increases survive a restart', change: ['[...increases.values()]', '[]'] },
      { title: 'the pods of in-flight increases survive a restart, by their class', change: ['? pods : {', '? { ...pods, count: 0 } : {'] },
    ],
  },
  {
    test: 'test/contract/azure-reads.test.ts',
    guards: [
      {
        title: 'in one loop ten instances of a group are read singly at most',
        row: 'after two lists in a minute ten nodes are read singly',
        change: ['Math.min(READ_EACH_AT_MOST, reads.singleReadsLeft(group))', 'reads.singleReadsLeft(group)'],
      },
      { title: 'single reads of instances stay below the limit of Azure', row: 'fifty nodes that join in waves of ten' },
    ],
  },
  {
    test: 'test/lib/allowance.test.ts',
    quick: true,
    guards: [{ title: 'an allowance of calls is used up by calls', change: ['Math.ceil(usedMs / this.#refillMs)', '0'] }],
  },
  {
    test: 'test/cache/agents/agent-rest.test.ts',
    quick: true,
    guards: [
      { title: 'a list that rests is read after a quarter of an hour in any case', change: ['|| monotonicMs >= state.restUntilMs'] },
    ],
  },
  { test: 'test/azure/agents/rest-rule.test.ts', quick: true, guards: ['a moved tag ends the rest of a list'] },
  {
    test: 'test/scenarios/reads-on-change.test.ts',
    guards: [
      { title: 'a node that is not ready ends the rest of a list', row: 'Azure evicts and keeps an instance' },
      {
        title: 'a missing node ends the rest of a list, whatever the tag',
        row: 'a tag that lies',
        change: ["'node-missing'", 'undefined'],
      },
    ],
  },
  {
    test: 'test/azure/agents/rest-watch.test.ts',
    quick: true,
    guards: [{ title: 'a rest that is over ends at once, not at the next turn', change: ['!this.mayRest(id)', 'false'] }],
  },
  {
    test: 'test/scenarios/instance-lists.test.ts',
    guards: ['the instances of a set are listed twice in a minute at most'],
  },
  {
    test: 'test/contract/azure-holds.test.ts',
    guards: [
      'a manual refresh ends the pauses of calls',
      'a manual refresh ends the pauses of lists',
      { title: 'after a manual refresh one call is sent first', change: ['probed: true', 'probed: false'] },
    ],
  },
  {
    test: 'test/lib/shown-text.test.ts',
    guards: [
      { title: 'texts of other systems are shown without credentials', change: ["'[redacted]'", "'$&'"], quick: true },
      { title: 'texts of other systems are cut to what people read', change: 'always' },
      {
        title: 'half of a credential is not shown where a text is cut',
        change: ["text.lastIndexOf(' ', MAX_READ_CHARS)", 'MAX_READ_CHARS'],
      },
    ],
  },
  {
    test: 'test/azure/arm/error-texts.test.ts',
    guards: [{ title: "Azure's sentences are redacted where they become errors", change: ['shownText(body.message)', 'body.message'] }],
  },
  {
    test: 'test/planning/explain/scale-up-events.test.ts',
    guards: [
      { title: 'a pod of a group that is placed as a whole says how it is planned', change: ['describe(pod)', "''"] },
      { title: 'what keeps a group of pods from starting is said once' },
    ],
  },
  { test: 'test/kubernetes/watch/object-table.test.ts', guards: ['a kind of objects of the API server has a limited number'] },
  {
    test: 'test/kubernetes/projection/capacity-bounds.test.ts',
    guards: ['a ProvisioningRequest asks for no more pods than a cluster has', 'a ProvisioningRequest has a limited number of pod sets'],
  },
];
