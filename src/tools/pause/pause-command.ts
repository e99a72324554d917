/** `pause`: the autoscaler leaves a pool, or every pool, as it is for a while. Writes one entry of a ConfigMap. Must not know Azure. */
import { parseArgs } from 'node:util';
import type { PauseDirection } from '../../domain/ports/pauses.ts';
import { pauseText } from '../../kubernetes/projection/pauses.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { configError } from '../../lib/errors.ts';
import { EXIT_OK, type Terminal } from '../../cli/process/process.ts';
import { wrongArguments } from '../../cli/process/wrong-arguments.ts';
import { keyOf, keysOf, nowMs, printPauses, SOURCE_HELP, SOURCE_OPTIONS, withEntries } from './pause-source.ts';

const HELP = `Keep the autoscaler from changing a pool, or every pool, for a while. The pause ends by itself.
It is an entry of a ConfigMap: it also holds for a daemon that starts later, and can be written with kubectl.

Usage:
  pause [POOL] --for SPAN [--direction WHICH] [--reason TEXT] [--by NAME]
  pause --list

  POOL                a pool, or a node group as the autoscaler names it (default: every pool)
  --for SPAN          how long, such as 30m, 2h or 1d; at most 14d
  --direction WHICH   scale-up, scale-down or both (default: both)
  --reason TEXT       why, for colleagues
  --by NAME           who (default: your user name)
  --list              show what is paused, and change nothing
${SOURCE_HELP}
A second pause of the same pool takes the place of the first. POOL is not checked: a name that no node group
has pauses nothing, and the daemon says so in an event.

Exit code: 0 done, 1 failed, 2 wrong use.
`;

const OPTIONS = {
  ...SOURCE_OPTIONS,
  for: { type: 'string' },
  direction: { type: 'string' },
  reason: { type: 'string' },
  by: { type: 'string' },
  list: { type: 'boolean' },
} as const;

const SECOND_MS = 1_000;
/** A longer pause is one that people forget. For more, renew it, or set the limits of the pool. */
const LONGEST_MS = 14 * 86_400_000;
const DIRECTIONS: readonly PauseDirection[] = ['scale-up', 'scale-down', 'both'];

/** @returns the exit code. @throws AutoscalerError with one sentence. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(argv);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const [pool, ...others] = positionals;
  if (others.length > 0) throw configError('pause takes one POOL; run it once for each.');
  if (values.list === true) {
    if (pool !== undefined || values.for !== undefined) throw configError('--list shows every pause and takes neither POOL nor --for.');
    printPauses(await withEntries(values, terminal, (entries, signal) => entries.read(signal)), values, terminal);
    return EXIT_OK;
  }
  const key = keyOf(pool);
  const text = entryOf(values, terminal);
  const after = await withEntries(values, terminal, async (entries, signal) => {
    const former = keysOf(key, await entries.read(signal)).map((each) => [each, null] as const);
    return entries.change({ ...Object.fromEntries(former), [key]: text }, signal);
  });
  printPauses(after, values, terminal);
  return EXIT_OK;
}

type PauseValues = ReturnType<typeof readArguments>['values'];

function entryOf({ for: span, direction = 'both', reason, by }: PauseValues, terminal: Terminal): string {
  if (span === undefined) throw configError('pause needs --for, such as --for 2h: a pause ends by itself.');
  const forMs = parseDurationMs(span, { days: true });
  // guard: a command pauses for a time that people remember
  if (forMs === undefined || forMs < SECOND_MS || forMs > LONGEST_MS)
    throw configError(`--for is "${span}"; it must be a span from 1s to 14d, such as 30m, 2h or 1d.`);
  const which = DIRECTIONS.find((each) => each === direction);
  if (which === undefined) throw configError(`--direction is "${direction}"; it must be scale-up, scale-down or both.`);
  const { USER, LOGNAME, USERNAME } = terminal.env;
  const untilMs = Math.ceil((nowMs(terminal) + forMs) / SECOND_MS) * SECOND_MS;
  return pauseText({ direction: which, untilMs, by: by ?? USER ?? LOGNAME ?? USERNAME ?? terminal.hostname, reason });
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (cause) {
    throw wrongArguments(cause, 'pause');
  }
}
