/** Guards of what processes share: who writes it, what is believed of it, and that no write of capacity looks at it. */
import type { Guard } from './guard.ts';

const HINTS = 'test/store/redis/redis-shared-hints.test.ts';
const TEXT = 'test/store/redis/redis-shared-text.test.ts';
const LOAD = 'test/cache/agents/shared-load.test.ts';
const SIZES = 'test/azure/sizes/size-knowledge.test.ts';
const VIEW = 'test/azure/view/subscription-hints.test.ts';
const USAGE = 'test/contract/azure-shared-usage.test.ts';
const BETWEEN = 'test/contract/azure-shared-hints.test.ts';

export const SHARING_GUARDS: readonly Guard[] = [
  {
    guard: 'a shared text is written only by the process that has the claim',
    file: 'src/store/redis/redis-shared-text.ts',
    text: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\nif (",
    instead: 'if (',
    test: TEXT,
  },
  {
    guard: 'a shared text is not replaced by an older one',
    file: 'src/store/redis/redis-shared-text.ts',
    text: "if (tonumber(redis.call('HGET', KEYS[2], 'epoch') or '0') or 0) >= tonumber(ARGV[3]) then return 0 end",
    instead: '',
    test: TEXT,
  },
  {
    guard: 'a release gives back no claim of another process',
    file: 'src/store/redis/redis-shared-text.ts',
    text: "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end${REST}",
    instead: '${REST}',
    test: TEXT,
  },
  {
    guard: 'a shared text cannot expand without end',
    file: 'src/store/redis/redis-shared-text.ts',
    text: ', { maxOutputLength: MOST_TEXT_BYTES }',
    instead: '',
    test: TEXT,
  },
  {
    guard: 'hints with impossible times are not believed',
    file: 'src/store/redis/redis-shared-hints.ts',
    text: '|| !isBelievable || ',
    instead: '|| ',
    test: HINTS,
  },
  {
    guard: 'more hints than a subscription has are not believed',
    file: 'src/store/redis/redis-shared-hints.ts',
    text: 'entries.length > MOST_HINTS ? []',
    instead: 'entries.length < 0 ? []',
    test: HINTS,
  },
  {
    guard: 'only one process has the right to try',
    file: 'src/store/redis/redis-shared-hints.ts',
    text: "if (set === 'OK') this.#tries",
    instead: 'this.#tries',
    test: HINTS,
  },
  {
    guard: 'a pause that another cluster met delays our reads by a minute at most',
    file: 'src/azure/view/subscription-hints.ts',
    text: 'Math.min(untilMs, atMs + LONGEST_HOLD_MS)',
    instead: 'untilMs',
    test: 'test/azure/view/subscription-hints.test.ts',
    quick: true,
  },
  {
    guard: 'a usage that decides soon is read by the process itself',
    file: 'src/azure/agents/usage-agent.ts',
    text: 'const matters = isNearlyUsed(value) && !isRecent(ownMs);',
    instead: 'const matters = isNearlyUsed(value) && isRecent(Infinity);',
    test: USAGE,
  },
  {
    guard: 'a shared usage that Azure has contradicted is read again',
    file: 'src/azure/agents/usage-agent.ts',
    text: ' || value.atMs < deps.doubtedAtMs();',
    instead: ';',
    test: USAGE,
  },
  {
    guard: 'a shared list of usages has a limited length, of limited numbers',
    file: 'src/azure/sizes/usage-list.ts',
    text: ' || rows.length > MOST_ROWS)',
    instead: ')',
    test: 'test/azure/sizes/usage-list.test.ts',
    quick: true,
  },
  {
    guard: 'the lock of a shared text stays closed until the next run is due',
    file: 'src/store/redis/redis-shared-text.ts',
    text: "redis.call('PEXPIRE', KEYS[1], ARGV[2]) else",
    instead: "redis.call('DEL', KEYS[1]) else",
    test: TEXT,
  },
  {
    guard: 'a run that has lost its lock uses what the run after it published',
    file: 'src/cache/agents/shared-load.ts',
    text: "return (await look(deps)) ?? { value, origin: 'own' };",
    instead: "return { value, origin: 'own' };",
    test: LOAD,
    quick: true,
  },
  {
    guard: 'after a failure that may pass, the others do not read at once',
    file: 'src/cache/agents/shared-load.ts',
    text: '? deps.rest?.failureMs : undefined',
    instead: '? undefined : undefined',
    test: LOAD,
    quick: true,
  },
  {
    guard: 'a process without a value waits for no place that is away',
    file: 'src/cache/agents/shared-load.ts',
    text: "if (looked === 'away') return { value: await deps.read(signal), origin: 'own' };\n    known = looked;",
    instead: "if (looked !== 'away') known = looked;",
    test: LOAD,
    quick: true,
  },
  {
    guard: 'a size of another process is checked before it is used',
    file: 'src/azure/sizes/size-knowledge.ts',
    text: '|| hasNumbersOfName(sku) ?',
    instead: '|| sku.vcpus > 0 ?',
    test: SIZES,
    quick: true,
  },
  {
    guard: 'only what Azure said to this process keeps a size from growing',
    file: 'src/azure/sizes/size-knowledge.ts',
    text: 'sku === undefined || this.#isShown(sku) ? reason',
    instead: 'sku !== undefined ? reason',
    test: SIZES,
    quick: true,
  },
  {
    guard: 'a list of another process removes no size',
    file: 'src/azure/sizes/sku-catalog.ts',
    text: 'if (missing.length === 0) return',
    instead: 'if (missing.length >= 0) return',
    test: SIZES,
    quick: true,
  },
  {
    guard: 'a program that reports for ever delays our reads for a minute in five',
    file: 'src/azure/view/subscription-hints.ts',
    text: 'nowMs - before < HOLD_AGAIN_MS ? before',
    instead: 'nowMs - before < LONGEST_HOLD_MS ? before',
    test: VIEW,
    quick: true,
  },
  {
    guard: 'what Azure reports to us counts more than an older report of another cluster',
    file: 'src/azure/view/subscription-hints.ts',
    text: '&& (this.#counts.get(key)?.atMs ?? 0) < atMs',
    instead: '',
    test: VIEW,
    quick: true,
  },
  {
    guard: 'a limit of our identity alone is not reported to other clusters',
    file: 'src/azure/wiring.ts',
    text: 'if (!isOwn) hints.noteThrottled',
    instead: 'hints.noteThrottled',
    test: BETWEEN,
    row: 'report no limit',
  },
  {
    guard: 'a capacity write does not look at hints',
    file: 'src/azure/azure.ts',
    text: 'const { gate, writes, inventory, quotaAccount, failures, hints } = this.#rooms;',
    instead:
      "const { gate, writes, inventory, quotaAccount, failures, hints } = this.#rooms;\n    if ((this.#deps.sharedHints?.reported('stockout') ?? []).length > 0) return { kind: 'refused', group: request.group, reason: 'x' };",
    test: BETWEEN,
    row: 'although another cluster reports',
  },
  {
    guard: 'a lack of capacity that only instances show is reported to other clusters',
    file: 'src/azure/azure.ts',
    text: 'hints.noteFailedInstances(view.groups);',
    instead: '',
    test: 'test/scenarios/fleet.test.ts',
    row: 'choose the other pool in the same loop',
  },
];
