/** Guards of instances that are deallocated instead of deleted. */
import type { GuardTable } from './guard.ts';

export const STOP_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/contract/azure-deallocate.test.ts',
    guards: [
      'only where AKS deallocates too, nodes are deallocated',
      {
        title: 'an instance whose start failed is not deleted as one whose creation failed',
        change: ['wasStopped &&', 'false &&'],
      },
      { title: 'the node of a stopped instance is no unready node', change: ['row !== undefined', 'false'] },
      { title: 'no more instances are stopped than the maximum', change: ['.slice(roomOf(deps, group))', '.slice(1_000)'] },
      { title: 'a stop names its instances; without names, Azure stops the whole set', change: ['{ instanceIds }', 'undefined'] },
      { title: 'a start names its instances; without names, Azure starts the whole set', change: ['{ instanceIds }', 'undefined'] },
      {
        title: 'a node that is being stopped is not freed because another one could not be deleted',
        change: ['accepted.length === 0 ? stopped', 'accepted.length < 2 ? deleted'],
      },
      'which instances run is read before one of them is removed',
      { title: 'what was started counts although the rest could not be created', change: ["outcome.kind === 'accepted'", 'true'] },
      'after a failed start, new instances are created',
      { title: 'a start that waited for its turn obeys a pause', change: ['checkPause(deps, group)', 'undefined'], row: 'overtakes' },
      {
        title: 'a start leaves the size at or below the maximum',
        change: [
          'checkRequest({ ...group, ...deps.limitsOf(group) }, request, target === undefined ? undefined : target - inSize)',
          'undefined',
        ],
      },
      { title: 'a start whose answer was lost is read back', change: ['started === rows.length', 'false'] },
    ],
  },
  {
    test: 'test/azure/groups/stopped-counts.test.ts',
    quick: true,
    guards: [
      'a pool that changes shows nothing of how it counts',
      'a count that fits neither form is not written over',
      'one reading does not show that stopped machines are counted',
    ],
  },
  {
    test: 'test/contract/azure-machine-stops.test.ts',
    guards: [
      { title: 'a size is not changed while it is not known how it counts stopped machines', row: 'until that is known' },
      { title: 'nothing is removed from a size while it is not known how it counts stopped machines', row: 'once the operation' },
      { title: 'no count is written to a size while it is not known whether it includes stopped machines', row: 'once the operation' },
      { title: 'no node is drained that AKS could only stop beyond the maximum', change: 'always', row: 'no more than the maximum' },
      { title: 'what was started counts although another start failed', row: 'another start got' },
      { title: 'an answer that takes long is waited for although others were started', row: 'takes long to answer' },
    ],
  },
  {
    test: 'test/azure/groups/stopped-instances.test.ts',
    quick: true,
    guards: [
      { title: 'a read from before the end of a start or a stop does not undo it', change: ['change.end !== undefined &&', ''] },
      { title: 'an instance that another writer started is awaited, not replaced', change: ['known.vmId === row.value.vmId', 'false'] },
      { title: 'an instance that an earlier process started is awaited, not replaced', change: ["=== 'up'", "=== 'stopped'"] },
    ],
  },
  {
    test: 'test/planning/state/accepted-increases.test.ts',
    quick: true,
    guards: [
      {
        title: 'nodes are ready at the time of a rule although the last ones were started, not created',
        change: ['startedNodes(each, group) < Math.max(1, each.nodes)', 'true'],
      },
    ],
  },
  {
    test: 'test/planning/state/increases/follow-increases.test.ts',
    quick: true,
    guards: [
      {
        title: 'an instance that is started again is of the increase that started it',
        change: ['isAgain ? this.#missing(instance, stages, (known ?? -1) + 1)', 'false ? -1'],
      },
    ],
  },
  {
    test: 'test/planning/scale-up/quota.test.ts',
    quick: true,
    guards: [{ title: 'a stopped instance needs no quota a second time', change: ['(startable.get(group.id) ?? 0)', '0'] }],
  },
  {
    test: 'test/loop/scale-down/execute.test.ts',
    quick: true,
    guards: [
      {
        title: 'a node whose instance Azure did not accept is not taken for deleted',
        change: ['!outcome.instances.includes(node.instance)', 'false'],
      },
      {
        title: 'a node that does not work is deleted, not stopped',
        change: ["removal.cause !== 'unready' && first.node.readiness.ready", 'true'],
      },
    ],
  },
];
