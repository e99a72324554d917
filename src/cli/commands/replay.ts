/** `replay FILE`: makes a dumped decision again and says whether it comes out the same. */
import { AutoscalerError } from '../../domain/errors.ts';
import { ResourceNames } from '../../domain/resources.ts';
import { plainPlan, readDump } from '../../loop/dump.ts';
import { replay } from '../../loop/replay.ts';
import { EXIT_FAILED, EXIT_OK, type Terminal } from '../terminal.ts';

const HELP = `Usage: replay FILE

Plans again what a file of --dump-directory recorded, prints the plan as JSON, and ends with 0 when it equals the recorded one.
`;

export function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [file, ...rest] = argv;
  if (file === '--help') {
    terminal.out(HELP);
    return Promise.resolve(EXIT_OK);
  }
  if (file === undefined || rest.length > 0 || file.startsWith('-')) {
    throw new AutoscalerError({ kind: 'config' }, 'replay takes exactly one FILE, as written to --dump-directory.');
  }
  const names = new ResourceNames();
  const result = replay(readDump(read(file, terminal), names), names);
  for (const plan of [result.scaleUp, result.scaleDown]) {
    if (plan !== undefined) terminal.out(`${JSON.stringify(plainPlan(plan), undefined, 2)}\n`);
  }
  terminal.out(result.equal ? 'The plan equals the recorded one.\n' : 'The plan DIFFERS from the recorded one.\n');
  return Promise.resolve(result.equal ? EXIT_OK : EXIT_FAILED);
}

function read(file: string, terminal: Terminal): string {
  try {
    return terminal.readFile(file);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw new AutoscalerError({ kind: 'config' }, `"${file}" cannot be read (${code}).`, { cause });
  }
}
