/** Guards of what comes from outside: sizes, forms and numbers of answers, files, requests, and the end of the process. */
import type { GuardTable } from './guard.ts';

export const EDGE_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/kubernetes/views/devices.test.ts',
    quick: true,
    guards: [
      {
        title: 'a rule about the devices of one node says nothing of the next node',
        row: 'have the taint of a rule about those',
        change: ['usual.length === mine.length', 'mine.length > 0'],
      },
    ],
  },
  {
    test: 'test/planning/scale-up/packing/soft-preferences.test.ts',
    quick: true,
    guards: [
      {
        title: 'pods that prefer different nodes are not planned as one kind',
        row: 'that more pods prefer',
        change: ['const { preferred } = shape;', 'const preferred = [];'],
      },
      {
        title: 'pods that prefer to be spread by different rules are not planned as one kind',
        row: 'for most of the pods',
        change: ['shape.softSpread.map((rule) => [shape.namespace, rule])', '[]'],
      },
    ],
  },
  {
    test: 'test/kubernetes/views/default-spread.test.ts',
    quick: true,
    guards: [
      { title: 'a pod with spread constraints of its own, soft ones too, gets none by default', row: 'though they are soft' },
      { title: 'a pod whose default constraints are not known is not planned as if it had none', row: 'while Services cannot be read' },
    ],
  },
  {
    test: 'test/config/scheduler-config.test.ts',
    quick: true,
    guards: [
      {
        title: 'a file of the scheduler that cannot be understood is not taken for one without constraints',
        row: 'that is not understood',
        change: ["typeof found === 'string' ? `kubernetes.schedulerConfigFile is", 'false ? `kubernetes.schedulerConfigFile is'],
      },
    ],
  },
  {
    test: 'test/cli/leader.test.ts',
    guards: [
      'nothing is written without the lease',
      'the probes have a listener of their own',
      {
        title: 'a lease that is lost during a stop ends what the stop still does',
        row: 'loses its lease while it stops',
        change: ['this.#lost', 'if (this.#stopping !== undefined) return; this.#lost'],
      },
      {
        title: 'the lease is released although the stop takes all of its time',
        change: ["this.#lost ? AbortSignal.abort() : signal), 'last'", 'overdue)'],
      },
    ],
  },
  {
    test: 'test/planning/scale-up/quota.test.ts',
    quick: true,
    guards: [
      {
        title: 'a node that may come in several zones fits into reserved capacity only if each of them has some',
        row: 'several zones',
        change: ['Math.min', 'Math.max'],
      },
      {
        title: 'a quota that is exceeded takes nothing from reserved capacity',
        row: 'takes nothing from reserved',
        change: ['Math.max(0, Math.floor(left / needs))', 'Math.floor(left / needs)'],
      },
      {
        title: 'two pools do not both use the same reserved capacity',
        row: 'two pools that share',
        change: ['takeReserved(reserved, template, inReserved)', 'reserved'],
      },
    ],
  },
  {
    test: 'test/lying-world/azure-answers.test.ts',
    guards: [
      'one resource in an undocumented form does not end a list',
      { title: 'no response of Azure is read on without end', change: 'always' },
      'no list of Azure has more items than any list has',
      {
        title: 'no node group is larger than a cluster',
        change: ['wholeNumberUpTo(value, MAX_CLUSTER_NODES)', "typeof value === 'number' ? value : undefined"],
      },
      { title: 'an instance of another scale set is not taken for our own', change: ['|| foldName(parsed.ref.set) !== foldName(set)'] },
      { title: 'an instance of another resource group is not taken for our own', change: ['|| !isInScope(value.ref, options)'] },
      { title: 'a read of one scale set that returns another says nothing', change: ['|| foldName(value.name) !== key'] },
    ],
  },
  { test: 'test/kubernetes/api/dead-connections.test.ts', guards: ['a connection of all watches whose peer is silent is given up'] },
  {
    test: 'test/lying-world/kubernetes-answers.test.ts',
    guards: [
      { title: 'one object that cannot be read does not keep the others unread', row: 'a pod whose containers are text' },
      'no line of a watch is read on without end',
      { title: 'no answer of the API server is read on without end', change: 'always' },
      { title: 'the pages of a list of the API server end', change: ['|| this.#seen.has(token) || this.#seen.size >= MAX_PAGES'] },
      { title: 'bookmarks alone are no progress of a full read', change: 'always' },
      'a negative amount is not an amount',
    ],
  },
  {
    test: 'test/kubernetes/api/rest.test.ts',
    guards: [{ title: 'evictions take no slot of the calls of the loop', row: 'wait for no eviction', change: [', isEviction: true'] }],
  },
  {
    test: 'test/planning/scale-down/lying-nodes.test.ts',
    quick: true,
    guards: ['an instance with two nodes is not deleted', 'an instance whose node is known by name is not deleted'],
  },
  {
    test: 'test/planning/capacity-objects/skipped-objects.test.ts',
    guards: [
      { title: 'no more pods are made for buffers than may be planned', change: ['- pods.length'] },
      {
        title: 'a buffer of more pods than a cluster has gets none',
        change: ['wholeNumberUpTo(status.replicas, MAX_CLUSTER_PODS)', 'status.replicas'],
      },
    ],
  },
  {
    test: 'test/config/bad-input.test.ts',
    guards: [
      { title: 'a YAML file cannot expand without end', change: ['MAX_ALIASES', '1_000_000'] },
      'a YAML file cannot nest without end',
    ],
  },
  {
    test: 'test/config/load.test.ts',
    guards: [
      {
        title: 'lists of instances are spread unless a jitter of zero is given',
        change: ['Math.round(given.vmssVmsTtl * JITTER_OF_TTL)', '0'],
      },
    ],
  },
  {
    test: 'test/cli/refresh-requests.test.ts',
    quick: true,
    guards: [{ title: 'refreshes by operators are at most one in ten seconds', change: 'always' }],
  },
  {
    test: 'test/kubernetes/writes/event-shares.test.ts',
    guards: [
      { title: 'events of what was done go before verdicts', change: ['VERDICTS.has(item.event.reason) ? this.#verdicts :'] },
      { title: 'each namespace has its share of the queue of events', change: ['namespaceOf(item)', "''"] },
    ],
  },
  {
    test: 'test/cli/serving/probes.test.ts',
    guards: [
      'the connections of one address are limited',
      'the connections of all addresses together are limited',
      {
        title: 'a new connection takes the place of one that waits for a request',
        change: ['among.find(({ requests }) => requests === 0) ??'],
      },
    ],
  },
  {
    test: 'test/deploy/manifests.test.ts',
    guards: [
      { title: "the chart's probes use the listener that serves nothing else", change: ["'probes'", "'http'"] },
      { title: "the chart's network policy admits no pod that is not named", change: ["ingressFrom', [", "enabled', ["] },
    ],
  },
  { test: 'test/deploy/value-effects.test.ts', quick: true, guards: ["each of the chart's values reaches what it renders"] },
  { test: 'test/cli/serving/http.test.ts', guards: ['idle connections of the server are closed'] },
  {
    test: 'test/kubernetes/leadership/lease-conflicts.test.ts',
    guards: [{ title: 'no write begins once the lease was held and is not any more', change: 'always' }],
  },
  {
    test: 'test/kubernetes/api/first-call.test.ts',
    guards: [{ title: 'a first call whose connection is cut is tried again', change: 'always' }],
  },
  { test: 'world/test/lab/virtual-time.test.ts', quick: true, guards: ['virtual time passes only while the process waits for it'] },
  {
    test: 'test/observers/status/status-document.test.ts',
    quick: true,
    guards: ['a status that is offered while another is written is not lost'],
  },
];
