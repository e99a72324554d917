/** The arguments of `lab run`. */
import { statSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { LimitsByPool, PoolLimits } from '../../lab/loads/pool-limits.ts';
import { parseDurationMs } from '../../../src/lib/duration.ts';
import { AutoscalerError, configError } from '../../../src/lib/errors.ts';

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
  /** The part of the scenario to play, milliseconds; undefined: from the start, to the end. */
  readonly fromMs: number | undefined;
  readonly forMs: number | undefined;
  /** Of pools, in place of those of the scenario. */
  readonly limits: LimitsByPool;
  /** Present: everything runs in real time. */
  readonly rival: RivalOptions | undefined;
}

interface RivalOptions {
  readonly name: string;
  readonly path: string;
  readonly flags: readonly string[];
  /** How many times faster than Azure the world is. */
  readonly speed: number;
}

export interface PolicyFile {
  /** Unique among the policies. */
  readonly name: string;
  readonly file: string;
}

const DEFAULT_SEEDS = 5;
/** In real time all runs are at once. */
const DEFAULT_SEEDS_WITH_RIVAL = 3;
const MOST_SPEED = 100;
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
  const rival = rivalOf(values);
  const usual = rival === undefined ? DEFAULT_SEEDS : DEFAULT_SEEDS_WITH_RIVAL;
  const count = wholeNumber('--seeds', values.seeds ?? String(usual), { least: 1, most: MOST_SEEDS });
  return {
    scenario,
    policies: named(files),
    rival,
    fromMs: values.from === undefined ? undefined : spanOf('--from', values.from),
    forMs: values.for === undefined ? undefined : spanOf('--for', values.for),
    seeds: Array.from({ length: count }, (_, at) => first + at),
    days: values.days === undefined ? undefined : daysOf(values.days),
    jobs: values.jobs === undefined ? undefined : wholeNumber('--jobs', values.jobs, { least: 1, most: 256 }),
    out: values.out ?? '.',
    json: values.json === true,
    limits: Object.fromEntries((values.limits ?? []).map(limitsOf)),
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
        from: text,
        for: text,
        limits: { type: 'string', multiple: true },
        rival: text,
        'rival-flag': { type: 'string', multiple: true },
        speed: text,
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

export function wholeNumber(flag: string, text: string, { least, most }: { readonly least: number; readonly most: number }): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw configError(`${flag} is "${text}"; it must be a whole number from ${least} to ${most}.`);
}

interface RivalInput {
  readonly rival?: string;
  readonly 'rival-flag'?: readonly string[];
  readonly speed?: string;
}

function rivalOf(values: RivalInput): RivalOptions | undefined {
  const { rival, speed, 'rival-flag': flags = [] } = values;
  if (rival === undefined) {
    if (speed !== undefined || flags.length > 0)
      throw configError('--speed and --rival-flag need --rival: without one, runs are in virtual time.');
    return undefined;
  }
  const [, name, path] = /^([^=]+)=(.+)$/.exec(rival) ?? [];
  if (name === undefined || path === undefined)
    throw configError(`--rival is "${rival}"; it must be NAME=PATH, such as cluster-autoscaler=./cluster-autoscaler.`);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw configError(`--rival names "${path}", which is not a file.`);
  return { name, path: resolve(path), flags, speed: wholeNumber('--speed', speed ?? '1', { least: 1, most: MOST_SPEED }) };
}

function spanOf(flag: string, text: string): number {
  const ms = parseDurationMs(text, { days: true });
  if (ms !== undefined && (ms > 0 || flag === '--from')) return ms;
  throw configError(`${flag} is "${text}"; it must be a time such as 30m, 8h or 1d12h.`);
}

function limitsOf(text: string): readonly [pool: string, limits: PoolLimits] {
  const [, pool, least, most] = /^([^=]+)=(\d{1,4}):(\d{1,4})$/.exec(text) ?? [];
  const [min, max] = [Number(least), Number(most)];
  if (pool !== undefined && min <= max && max > 0) return [pool, { min, max }];
  throw configError(`--limits is "${text}"; it must be POOL=MIN:MAX, such as general=1:10.`);
}

function daysOf(text: string): number {
  const days = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && days > 0 && days <= MOST_DAYS) return days;
  throw configError(`--days is "${text}"; it must be a number above 0, at most ${MOST_DAYS}.`);
}
