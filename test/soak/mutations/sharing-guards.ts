/** Guards of what processes share: who writes it, what is believed of it, and that no write of capacity looks at it. */
import type { GuardTable } from './guard.ts';

export const SHARING_GUARDS: readonly GuardTable[] = [
  {
    test: 'test/planning/scale-up/explanation.test.ts',
    quick: true,
    guards: [
      { title: 'pods that a plan left out stop no removal in full pools that they could not use', change: [': []', ': full'] },
      { title: 'no loop explains more pods than it has time for', change: 'always' },
      { title: 'what one loop does not explain is explained by a later one', change: [', state.stopped?.explained'] },
    ],
  },
  {
    test: 'test/store/redis/redis-shared-text.test.ts',
    guards: [
      {
        title: 'a shared text is written only by the process that has the claim',
        change: ["if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end"],
      },
      {
        title: 'a shared text is not replaced by an older one',
        change: ['if known <= ${MOST_EPOCH} and known >= tonumber(ARGV[3]) then return 0 end'],
      },
      { title: 'a release gives back no claim of another process', change: ["if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end"] },
      { title: 'a shared text cannot expand without end', change: [', { maxOutputLength: MOST_TEXT_BYTES }'] },
      { title: 'a lock that comes after its claim was given up is opened', change: ['this.#open(token, 0)', 'undefined'] },
      { title: 'the server does not send more than programs of ours write', change: ['and size <= tonumber(ARGV[1])'] },
      {
        title: 'the lock of a shared text stays closed until the next run is due',
        change: ["'PEXPIRE', KEYS[1], ARGV[2]", "'DEL', KEYS[1]"],
      },
    ],
  },
  {
    test: 'test/contract/azure-shared-usage.test.ts',
    guards: [
      { title: 'usages that another process read keep no pod from a node before a read of our own', quick: true },
      { title: 'absence from a list of usages that another process read means nothing', change: ['addOther(this.#own, value)', 'value'] },
      { title: 'a usage that decides soon is read by the process itself', change: ['|| isNearlyUsed(value)'] },
      { title: 'a shared usage that Azure has contradicted is read again', change: ['|| this.#isDoubted(value)'] },
    ],
  },
  {
    test: 'test/store/redis/redis-shared-clusters.test.ts',
    guards: [{ title: 'a process with a wrong clock does not remove the reports of the others', change: ['NEAR_MS', '60_000'] }],
  },
  {
    test: 'test/store/redis/redis-connection.test.ts',
    guards: [{ title: 'a server that owes an answer for long is connected to again', change: 'always' }],
  },
  {
    test: 'test/store/redis/redis-shared-hints.test.ts',
    guards: [
      { title: 'hints with impossible times are not believed', change: ['!isBelievable ||'] },
      { title: 'more hints than a subscription has are not believed', change: ['entries.length > MOST_HINTS', 'false'] },
      'only one process has the right to try',
      { title: 'one size a minute is tried in all of the region', change: [':try`', ':try:${key}`'] },
    ],
  },
  {
    test: 'test/azure/groups/write-shares.test.ts',
    quick: true,
    guards: [
      { title: 'a write that can wait goes after a minute, whatever the store says', change: ['nowMs >= known.untilMs', 'false'] },
      { title: 'a share of writes is never so small that a cluster cannot write', change: ['Math.max', 'Math.min'] },
      { title: 'what Azure reported to this process decides how many writes are left', change: ['own !== undefined', 'false'] },
      'a cluster that shares with no other postpones nothing',
    ],
  },
  { test: 'test/contract/azure-write-shares.test.ts', guards: ['deletions keep to the share of the cluster'] },
  {
    test: 'test/azure/view/subscription-hints.test.ts',
    quick: true,
    guards: [
      { title: 'the stockout that was tried least recently is tried next', change: ['>= triedMs', '>= 0'] },
      {
        title: 'a program that wants a try without end keeps no other from trying',
        change: ['Math.min(LONGEST_WAIT_MS, (others.size + 1) * MINUTE)', 'Number.POSITIVE_INFINITY'],
      },
      { title: 'a pause that another cluster met delays our reads by a minute at most', change: ['Math.min(untilMs, lastMs)', 'untilMs'] },
      { title: 'a program that reports for ever delays our reads for a minute in five', change: ['HOLD_AGAIN_MS', 'LONGEST_HOLD_MS'] },
      {
        title: 'what Azure reports to us counts more than an older report of another cluster',
        change: ['&& (this.#counts.get(key)?.atMs ?? 0) < atMs'],
      },
      {
        title: 'clusters that waited for the same limit do not go on in the same moment',
        change: ['+ this.#deps.phase(family) * (lastMs - soonestMs)'],
      },
    ],
  },
  {
    test: 'test/planning/scale-up/last-resort.test.ts',
    quick: true,
    guards: ['a stockout that another cluster reports keeps no pod pending that no other pool can take'],
  },
  {
    test: 'test/planning/scale-up/pods/search-order.test.ts',
    quick: true,
    guards: [
      { title: 'the pods of one namespace keep those of another from no search', change: ['|| left.number - right.number'] },
      { title: 'pods that were searched in vain keep no other pod from its search', change: ['+ Number(had.has(pod.uid))'] },
      { title: 'each pod is searched again after a round', change: ['isNewRound ? now.filter((uid) => earlier.has(uid)) :'] },
      { title: 'estimates go on where the last plan stopped', change: ['stopped?.estimateFrom ??'] },
    ],
  },
  {
    test: 'test/planning/scale-up/groups/zonal-siblings.test.ts',
    quick: true,
    guards: ['a node that gets a pod is looked at again'],
  },
  {
    test: 'test/scheduling/snapshot/refused-shapes.test.ts',
    quick: true,
    guards: [
      'pods that no node could hold take no time of searches',
      { title: 'a pod that all nodes refused is tried on a node that comes later', change: 'always' },
    ],
  },
  {
    test: 'test/planning/scale-up/groups/refused-shapes.test.ts',
    quick: true,
    guards: [
      { title: 'pods that no new node could hold take no time of estimates', change: ['!isRefusedByAll(shape, kinds)', 'true'] },
      {
        title: 'a pod that all templates refused is tried when a template changes',
        change: ['before?.by === kinds', 'before !== undefined'],
      },
    ],
  },
  {
    test: 'test/loop/unfinished-plans.test.ts',
    quick: true,
    guards: [
      {
        title: 'increases are written before pods that stay pending are explained',
        change: ['const increases', 'await explainTimed(timed, deps); const increases'],
      },
      { title: 'searches leave time to estimates', change: ['searchesEndAt)', 'endsAt)'] },
      { title: 'the next loop knows where a plan stopped', change: ['rememberStop(state, plan, observation.loopId)', 'state'] },
    ],
  },
  {
    test: 'test/azure/sizes/usage-list.test.ts',
    quick: true,
    guards: [{ title: 'a shared list of usages has a limited length, of limited numbers', change: ['|| rows.length > MOST_ROWS'] }],
  },
  {
    test: 'test/cache/agents/shared-load.test.ts',
    quick: true,
    guards: [
      { title: 'a run that has lost its lock uses what the run after it published', change: ['(await look(deps)) ??'] },
      'after a failure that may pass, the others do not read at once',
      {
        title: 'a process without a value waits for no place that is away',
        change: ['ownValue(await deps.read(signal))', 'usable(deps, known) ?? (await loadInTurn(deps, 0, signal))'],
      },
      {
        title: 'a first decision waits for a store for no longer than a moment',
        change: ['START_LIMIT_MS : undefined', 'undefined : START_LIMIT_MS'],
      },
    ],
  },
  {
    test: 'test/azure/sizes/size-knowledge.test.ts',
    quick: true,
    guards: [
      { title: 'a size of another process is checked before it is used', change: ['hasNumbersOfName(sku)', 'sku.vcpus > 0'] },
      {
        title: 'what Azure has shown to this process of a size counts more than the word of another',
        row: 'does not replace what Azure has shown',
        change: 'always',
      },
      { title: 'only what Azure said to this process keeps a size from growing', change: ['this.#isShown(sku)', 'true'] },
      { title: 'a list of another process removes no size', change: 'always' },
    ],
  },
  {
    test: 'test/azure/prices/price-hints.test.ts',
    quick: true,
    guards: [
      {
        title: 'a price of another process replaces no reading of our own that is not due',
        row: 'that is not due',
        change: ['this.#due(readings)', 'this.#deps.sizes()'],
      },
      {
        title: 'a price of another process is used only for a size that this process has read itself',
        row: 'never read',
        change: ['if (', 'if (prices === undefined) return []; if (reading === undefined) return [{ vmSize, prices, ownAtMs: 0 }]; if ('],
      },
      {
        title: 'a price of another process that differs by more than a factor of two is read first',
        row: 'factor of two',
        change: ['|| contradicts(reading, prices)'],
      },
      { title: 'a sample of the prices of another process is read again', row: 'for the longest', change: [', ...sample'] },
      {
        title: 'a process that published one wrong price is believed in no other',
        row: 'another price of that process is wrong',
        change: 'always',
      },
      {
        title: 'a price of another process does not outlive the shared store in our own file',
        row: 'not stored',
        change: ['this.#own', 'this.#table'],
      },
    ],
  },
  {
    test: 'test/contract/azure-shared-hints.test.ts',
    guards: [
      { title: 'a limit of our identity alone is not reported to other clusters', row: 'report no limit', change: 'always' },
      {
        title: 'a capacity write does not look at hints',
        row: 'although another cluster reports',
        change: [
          ' = this.#rooms;',
          " = this.#rooms; if ((this.#deps.sharedHints?.reported('stockout') ?? []).length > 0) return { kind: 'refused', group: request.group, reason: 'x' };",
        ],
      },
    ],
  },
  {
    test: 'test/contract/azure-shared-hints.test.ts',
    guards: [
      { title: 'a lack of capacity that only instances show is reported to other clusters', row: 'only an instance of another one' },
    ],
  },
  {
    test: 'test/scenarios/lying-store.test.ts',
    guards: [{ title: 'a store that lies about sizes keeps no group from growing', change: ['return', 'return true ||'] }],
  },
];
