/** The arguments of `lab run`. */
import { basename, extname } from 'node:path';
import { parseArgs } from 'node:util';
import { AutoscalerError, configError } from '../../lib/errors.ts';

export interface LabOptions {
  /** The name of a generated scenario, or the path of a recording. */
  readonly scenario: string;
  /** At least one; the first is the base of the comparison. */
  readonly policies: readonly PolicyFile[];
  readonly seeds: readonly number[];
  /** Of a generated scenario; undefined: its own length. */
  readonly days: number | undefined;
  /** Runs at the same time; undefined: one for each core. */
  readonly jobs: number | undefined;
  /** The folder of the report. */
  readonly out: string;
  readonly json: boolean;
}

export interface PolicyFile {
  /** Unique among the policies. */
  readonly name: string;
  readonly file: string;
}

const DEFAULT_SEEDS = 5;
const MOST_SEEDS = 100;
const MOST_DAYS = 366;

/** Arguments after `lab run`. @throws AutoscalerError `config` with one sentence. */
export function parseLabOptions(argv: readonly string[]): LabOptions {
  const { values, positionals } = parse(argv);
  const [scenario, ...more] = positionals;
  if (scenario === undefined) throw configError('lab run needs a scenario; see lab --help.');
  if (more.length > 0) throw configError(`lab run takes one scenario, but there is also "${more[0] ?? ''}"; see lab --help.`);
  const files = values.policy ?? [];
  if (files.length === 0) throw configError('lab run needs at least one --policy FILE; see lab --help.');
  const first = wholeNumber('--first-seed', values['first-seed'] ?? '1', { least: 0, most: 1_000_000 });
  const count = wholeNumber('--seeds', values.seeds ?? String(DEFAULT_SEEDS), { least: 1, most: MOST_SEEDS });
  return {
    scenario,
    policies: named(files),
    seeds: Array.from({ length: count }, (_, at) => first + at),
    days: values.days === undefined ? undefined : daysOf(values.days),
    jobs: values.jobs === undefined ? undefined : wholeNumber('--jobs', values.jobs, { least: 1, most: 256 }),
    out: values.out ?? '.',
    json: values.json === true,
  };
}

function parse(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        policy: { type: 'string', multiple: true },
        seeds: text,
        'first-seed': text,
        days: text,
        jobs: text,
        out: text,
        json: { type: 'boolean' },
      },
    });
  } catch (error) {
    if (error instanceof AutoscalerError) throw error;
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw configError(`${message}; see lab --help.`, { cause: error });
  }
}

/** Names of the files without their endings; a name that comes again gets a number. */
function named(files: readonly string[]): readonly PolicyFile[] {
  const names = files.map((file) => basename(file, extname(file)));
  return files.map((file, at) => {
    const name = names[at] ?? file;
    const before = names.slice(0, at).filter((each) => each === name).length;
    return { file, name: before === 0 ? name : `${name} (${before + 1})` };
  });
}

function wholeNumber(flag: string, text: string, { least, most }: { readonly least: number; readonly most: number }): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw configError(`${flag} is "${text}"; it must be a whole number from ${least} to ${most}.`);
}

function daysOf(text: string): number {
  const days = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && days > 0 && days <= MOST_DAYS) return days;
  throw configError(`--days is "${text}"; it must be a number above 0, at most ${MOST_DAYS}.`);
}
