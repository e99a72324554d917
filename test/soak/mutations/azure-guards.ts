/** Guards of the Azure adapter: where the token goes, what a size may become, and what may be deleted. */
import type { GuardTable } from './guard.ts';

export const AZURE_GUARDS: readonly GuardTable[] = [
  { test: 'test/contract/azure-aks-forms.test.ts', guards: ['work of AKS itself says nothing against the pool'] },
  {
    test: 'test/scenarios/shadow.test.ts',
    guards: ['a scale set that only its agent pool makes a group is listed, whichever list came first'],
  },
  { test: 'test/azure/arm/request-addresses.test.ts', quick: true, guards: [{ title: 'the token goes to one origin', change: 'always' }] },
  {
    test: 'test/contract/azure-list-links.test.ts',
    guards: [
      'every request passes the check of its origin',
      'a list whose page links to an earlier one is broken',
      'a page of known items only ends a list as broken',
      { title: 'an error is not the end of a list', run: { theme: 'broken lists', seed: 1 }, change: ['error }', 'error: undefined }'] },
    ],
  },
  {
    guards: [
      {
        title: 'a list that is not found is not a list of nothing',
        run: { theme: 'lists of nothing found', seed: 1 },
        change: [
          'if (',
          "if (error.kind === 'not-found') return { pages: [...pages, { stamp: deps.order.stamp(), rows: [] }], error: undefined }; if (",
        ],
      },
    ],
  },
  {
    test: 'test/azure/arm/errors.test.ts',
    quick: true,
    guards: [
      { title: 'a Retry-After is at most an hour', change: ['Math.min(LONGEST_HOLD_MS, askedMs)', 'askedMs'] },
      { title: 'a Retry-After date is read by the clock of the server', change: ['date;', 'nowMs;'] },
    ],
  },
  {
    test: 'test/azure/arm/held-calls.test.ts',
    quick: true,
    guards: [{ title: 'a hold of an hour ends with one call', change: ['PROBE_WAIT_MS', '0'] }],
  },
  {
    test: 'test/azure/rows/zone-placement.test.ts',
    quick: true,
    guards: [
      { title: 'a zone that is no number is no zone', change: ['/^\\d+$/.test(zone)', 'true'] },
      { title: 'Azure chooses no zone that the group excludes', change: [' && !excluded.includes(zone)'] },
    ],
  },
  {
    test: 'test/azure/arm/operations.test.ts',
    quick: true,
    guards: [
      {
        title: 'the end of an operation is not learned a minute late because its first read asks for a long wait',
        change: ['Math.min(MAX_INTERVAL_MS, retryAfterMs)', 'retryAfterMs'],
      },
    ],
  },
  {
    test: 'test/azure/inventory/placed-zones.test.ts',
    quick: true,
    guards: ['a group whose zones are not known is not planned for as if it had none'],
  },
  {
    test: 'test/azure/arm/rate-limits.test.ts',
    quick: true,
    guards: [
      {
        title: 'a limit that several kinds of reads share slows all of them',
        change: [' || (SHARED_LIMITS.get(stem)?.includes(family) ?? false)'],
      },
      {
        title: 'a refusal by a limit that several kinds of reads share stops all of them',
        change: [', ...shared'],
      },
      { title: 'a limit counts under its documented name, too', change: ['DOCUMENTED_NAMES.get(stem) ?? '] },
    ],
  },
  {
    test: 'test/azure/arm/errors.test.ts',
    quick: true,
    guards: [
      {
        title: 'an operation that another writer preempted is a conflict and no failure of the pool',
        change: [' || PREEMPTED.test(failure.message)'],
      },
    ],
  },
  { test: 'test/contract/azure-redirects.test.ts', guards: [{ title: 'a redirect that was not followed is a failure', change: 'always' }] },
  { test: 'test/azure/writes/check-request.test.ts', quick: true, guards: ['no size above the maximum is written'] },
  {
    test: 'test/contract/azure-writes.test.ts',
    guards: [
      { title: 'one 404 does not make a group disappear', change: 'always' },
      { title: 'a capacity write is conditional', run: { theme: 'racers', seed: 1 } },
      {
        title: 'a lost race is planned again',
        change: [
          'return conflict;',
          '{ await backend.readShown(signal); const again = await backend.read(signal); if (again !== undefined) return writeSize(deps, group, { backend, request, read: again }, signal); }',
        ],
      },
      'an increase is a whole number above the size that it was planned from',
      { title: 'no capacity below the number of listed instances is written', change: 'always' },
    ],
  },
  {
    test: 'test/contract/write-faults.test.ts',
    guards: [{ title: 'a write whose answer was lost is read back', change: ['isEffectUnknown(error)', 'false'] }],
  },
  { test: 'test/cache/table/refresh.test.ts', quick: true, guards: ['a failed read is tried again'] },
  { test: 'test/scenarios/partial-stock.test.ts', guards: ['a failed instance of an increase wakes the loop'] },
  {
    test: 'test/azure/arm/operations.test.ts',
    quick: true,
    guards: [
      { title: 'a server error of an operation poll is waited for as long as it says', change: [', retryAfterMs: error.retryAfterMs'] },
    ],
  },
  {
    test: 'test/contract/azure-vms-pools-growth.test.ts',
    guards: [{ title: 'a write of an agent pool is conditional', run: { theme: 'slow answers of pools', seed: 2 } }],
  },
  { test: 'test/contract/azure-conditions.test.ts', guards: ['an increase writes only over the number that it was planned from'] },
  {
    test: 'test/azure/writes/write-context.test.ts',
    quick: true,
    guards: [{ title: 'no number below the size just read is written', change: 'always' }],
  },
  { test: 'test/contract/azure-last-guard.test.ts', guards: ['every capacity write passes the last guard'] },
  {
    test: 'test/azure/writes/no-lower-number.test.ts',
    guards: [
      'no count below the size just read is written to an agent pool',
      'no count below that in the document is written to an agent pool',
    ],
  },
  {
    test: 'test/contract/azure-deletion-lag.test.ts',
    guards: [
      { title: 'growth during a deletion adds to the capacity just read', change: ['shown + to - from', 'to'] },
      { title: 'growth during a deletion does not pass the maximum', change: 'always' },
      'a size that other writers lowered during a deletion is not written over',
    ],
  },
  {
    test: 'test/azure/writes/sync-agent-pool-count.test.ts',
    quick: true,
    guards: ["AKS's count is written only as both reads show it", 'the scale set is not written while AKS brings its count in step'],
  },
  {
    test: 'test/contract/azure-count-sync.test.ts',
    guards: [
      { title: 'an increase that waited for the lock sees that AKS is at work', change: ["{ code: 'written-through-aks' }", 'undefined'] },
      {
        title: 'a removal that waited for the lock sees that AKS is at work',
        change: ["foldName(inventory.facts.poolOf(group)?.name ?? '')", "''"],
      },
      { title: "AKS's count of a group in which something goes on is not written", change: ['&& !busy.has(id)'] },
    ],
  },
  {
    test: 'test/contract/azure-capacity-reservations.test.ts',
    guards: [
      {
        title: 'requested nodes count in reserved capacity before Azure lists them there',
        row: 'count an increase at once',
        change: ['unlistedNodes(each, own)', '0'],
      },
      {
        title: 'nodes in reserved capacity do not count against the quota a second time',
        row: 'count an increase at once',
        change: ['Math.max(0, nodes - reserved)', 'nodes'],
      },
      { title: 'an old reading of reserved capacity counts as none', row: 'keep the last reading' },
      { title: 'Spot pools have no reserved capacity', row: 'in two calls every five minutes', change: ["|| source.priority === 'Spot'"] },
    ],
  },
  {
    test: 'test/contract/azure-deletes.test.ts',
    guards: [
      { title: 'a delete leaves the minimum of its group', run: { theme: 'takers', seed: 1 } },
      'instances are read again before they are deleted',
      'an instance that has the number of another is not deleted',
      'an instance of another group is not deleted',
      'the last look comes after every wait and every read of Azure',
      { title: 'one 404 does not make an instance disappear', change: ['confirmNotFound(read)', 'read()'] },
      { title: 'a 404 on a delete is no success while the instance is shown', change: 'always' },
      { title: 'an id of another resource group is refused', change: ['isInResourceGroup(key, options)', 'true'] },
    ],
  },
  {
    test: 'test/azure/writes/undo-unfilled-increase.test.ts',
    quick: true,
    guards: [
      'capacity is given back only while no other writer changed it',
      'capacity is given back only if the set counts no more instances than its list',
      'capacity is given back only as long as nothing is being created',
      {
        title: 'capacity is given back only with proof that it is ours and empty',
        change: [
          "exists' };",
          "exists' }; if (set.capacity > increase.before) return { kind: 'write', set, to: increase.before, listed: states.length };",
        ],
      },
    ],
  },
];
