/** Recorded decisions: as input of `plan --dump`, with all that the loop had decided before, and for `replay`. */
import { ResourceNames } from '../../domain/resources.ts';
import { AutoscalerError, configError } from '../../lib/errors.ts';
import { readDump, type Dump, plainPlan } from '../../loop/replay/dump.ts';
import { cutAsRecorded, replayDump } from '../../loop/replay/replay.ts';
import { EXIT_FAILED, EXIT_OK, type Terminal } from '../../cli/process/process.ts';
import { REMOVALS_ALONE } from '../../planning/scale-down/plan-context.ts';
import { FIRST_PLAN } from '../../planning/scale-up/plan-input.ts';
import { NEVER_LATE } from '../../planning/scale-up/pods/try-limits.ts';
import type { PlanInput, RecordedTurn } from './report/plan-loop.ts';

/** @throws AutoscalerError `config` with one sentence if the text is not a complete dump. */
export function recordedInput(file: string, text: string, names: ResourceNames): PlanInput {
  const dump = readWholeDump(file, text, names);
  const { observation, state, policy } = dump;
  return { observation, state, policy, names, recorded: recordedTurn(dump) };
}

/** The same decision with unlimited time, and with every pod explained. */
export function withoutTimeLimits({ scaleUp, scaleDown }: RecordedTurn): RecordedTurn {
  return {
    scaleUp: { ...scaleUp, isLate: NEVER_LATE, mostExplained: Number.POSITIVE_INFINITY },
    scaleDown: scaleDown && { ...scaleDown, isLate: NEVER_LATE },
  };
}

function recordedTurn({ excluded, request, scaleUp, scaleDown, scaleUpPlanned, fullGroups, cancellable }: Dump): RecordedTurn {
  const hasScaleDown = scaleDown !== null && scaleDown !== undefined;
  return {
    scaleUp: { ...FIRST_PLAN, exclude: new Set(excluded), request, ...cutAsRecorded(scaleUp[0]) },
    scaleDown: hasScaleDown ? { ...REMOVALS_ALONE, scaleUpPlanned, fullGroups, cancellable, ...cutAsRecorded(scaleDown) } : undefined,
  };
}

/** Distinguishes an edited or truncated dump from a bug: the daemon itself writes complete dumps. */
function readWholeDump(file: string, text: string, names: ResourceNames): Dump {
  const dump = readOrRefuse(file, text, names);
  const required: readonly unknown[] = [
    dump.observation?.cluster?.nodes,
    dump.observation?.cluster?.pendingPods,
    dump.observation?.cloud?.groups,
    dump.state?.unneededSince,
    dump.policy?.scaleUp,
    dump.policy?.scaleDown,
  ];
  if (required.some((part) => typeof part !== 'object' || part === null))
    throw configError(`${file} is not a complete dump of a decision.`);
  return dump;
}

function readOrRefuse(file: string, text: string, names: ResourceNames): Dump {
  try {
    return readDump(text, names);
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) throw thrown;
    throw configError(`${file} is not a complete dump of a decision.`, { cause: thrown });
  }
}

const HELP = `Repeat a decision that the daemon recorded (--dump-directory), and print the plan as JSON.

Usage: replay FILE

Exit code: 0 if the plan equals the recorded one, 1 if it differs, 2 if the file cannot be used.
`;

/** `replay`. @returns the exit code: 0 the plans are equal, 1 they differ. */
export function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [file, ...rest] = argv;
  if (file === '--help') {
    terminal.out(HELP);
    return Promise.resolve(EXIT_OK);
  }
  if (file === undefined || rest.length > 0 || file.startsWith('-')) {
    throw configError('replay needs exactly one FILE, as written to --dump-directory; see replay --help.');
  }
  const names = new ResourceNames();
  const result = replayDump(readDump(read(file, terminal), names), names);
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
    throw configError(`File "${file}" cannot be read (${code}).`, { cause });
  }
}
