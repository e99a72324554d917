/** `resume`: ends pauses before their time. Removes entries of a ConfigMap. Must not know Azure. */
import { parseArgs } from 'node:util';
import { configError } from '../../lib/errors.ts';
import { EXIT_OK, type Terminal } from '../../cli/process/process.ts';
import { wrongArguments } from '../../cli/process/wrong-arguments.ts';
import { keyOf, keysOf, printPauses, SOURCE_HELP, SOURCE_OPTIONS, type SourceValues, withEntries } from './pause-source.ts';

const HELP = `End a pause before its time.

Usage:
  resume              end the pause of every pool; pauses of single pools stay
  resume POOL         end the pause of this pool; a pause of every pool stays
  resume --all        end all pauses

${SOURCE_HELP}
What is still paused is printed. An entry that does not exist is not a failure.

Exit code: 0 done, 1 failed, 2 wrong use.
`;

const OPTIONS = { ...SOURCE_OPTIONS, all: { type: 'boolean' } } as const;

/** @returns the exit code. @throws AutoscalerError with one sentence. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = readArguments(argv);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const [pool, ...others] = positionals;
  if (others.length > 0 || (pool !== undefined && values.all === true)) throw configError('resume takes one POOL, or --all.');
  const left = await endPauses(values.all === true ? undefined : keyOf(pool), values, terminal);
  printPauses(left, values, terminal);
  return EXIT_OK;
}

/** `which`: undefined means all. @returns what is left. */
function endPauses(which: string | undefined, values: SourceValues, terminal: Terminal): Promise<Readonly<Record<string, string>>> {
  return withEntries(values, terminal, async (entries, signal) => {
    const present = await entries.read(signal);
    const keys = which === undefined ? Object.keys(present) : keysOf(which, present);
    if (keys.length === 0) return present;
    return entries.change(Object.fromEntries(keys.map((key) => [key, null])), signal);
  });
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (cause) {
    throw wrongArguments(cause, 'resume');
  }
}
