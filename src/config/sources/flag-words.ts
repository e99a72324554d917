/** From the words of a command line to flags of the table with their texts. What a text means is not known here. */
import { nearestName } from '../nearest-name.ts';
import { FLAGS, type Flag } from './flag-table.ts';
import { RETIRED_FLAGS } from './retired-flags.ts';

export interface GivenFlag {
  readonly flag: Flag;
  /** Empty: it means its default. */
  readonly text: string;
}

/** Empty is their default there, so a manifest whose variable is empty starts today. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set([
  'allowed-scheduler-names',
  'balancing-ignore-label',
  'balancing-label',
  'bypassed-scheduler-names',
  'check-capacity-processor-instance',
  'cloud-config',
  'cluster-name',
  'ignore-taint',
  'kubeconfig',
  'startup-taint',
  'startup-taint-prefix',
  'status-taint',
]);

/** What the table has goes before what is gone: a flag may have come back. */
const BY_NAME = new Map<string, Flag>(
  [...RETIRED_FLAGS.map(({ name, instead }) => ({ name, kind: 'retired', path: '', help: instead }) as const), ...FLAGS].map((flag) => [
    flag.name,
    flag,
  ]),
);
/** These alone are true, and take no word that stands apart, as Go's flags have it. */
const BARE: ReadonlySet<string> = new Set([
  ...FLAGS.filter(({ kind }) => kind === 'boolean').map(({ name }) => name),
  ...RETIRED_FLAGS.filter(({ isBoolean }) => isBoolean).map(({ name }) => name),
  'logtostderr',
  'alsologtostderr',
  'parallel-scale-up',
]);

/** One dash is as good as two, and `_` as good as `-`: users' manifests have them all. */
const WORD = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s;
const VERBOSITY = /^-v(\d+)$/;

export function readFlags(argv: readonly string[]): { readonly given: readonly GivenFlag[]; readonly errors: readonly string[] } {
  const given: GivenFlag[] = [];
  const errors: string[] = [];
  let afterUnknown = false;
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    const read = readWord(word, argv[index + 1]);
    // What follows an unknown flag was meant as its value: one mistake, one sentence.
    if ('stray' in read && !afterUnknown && word !== '--') errors.push(read.stray);
    else if ('unknown' in read) errors.push(read.unknown);
    else if ('flag' in read) take(read);
    afterUnknown = 'unknown' in read;
    if ('flag' in read && read.tookNext) index += 1;
  }
  return { given, errors };

  function take({ flag, text }: Read): void {
    const outcome = valued(flag, text);
    if ('error' in outcome) errors.push(outcome.error);
    else given.push(outcome);
  }
}

interface Read {
  readonly flag: Flag;
  readonly text: string | undefined;
  readonly tookNext: boolean;
}

/** A word that is a flag itself is nobody's value: a flag that lacks one must not swallow another. */
function readWord(word: string, next: string | undefined): Read | { readonly unknown: string } | { readonly stray: string } {
  const [, written = '', inline] = WORD.exec(word.replace(VERBOSITY, '--v=$1')) ?? [];
  if (written === '') return { stray: `The argument "${word}" is not expected; settings are given as --name=value.` };
  const flag = BY_NAME.get(written.replaceAll('_', '-'));
  if (flag === undefined) return { unknown: unknownFlag(written) };
  if (inline !== undefined) return { flag, text: inline, tookNext: false };
  if (BARE.has(flag.name)) return { flag, text: 'true', tookNext: false };
  const isValue = next !== undefined && !WORD.test(next);
  return { flag, text: isValue ? next : undefined, tookNext: isValue };
}

function unknownFlag(written: string): string {
  const nearest = nearestName(
    written,
    FLAGS.map((flag) => flag.name),
  );
  return `--${written} is not a known flag; ${nearest === undefined ? 'run --help lists what is accepted.' : `did you mean --${nearest}?`}`;
}

function valued(flag: Flag, text: string | undefined): GivenFlag | { readonly error: string } {
  if (text !== undefined && text !== '') return { flag, text };
  const isUnset = flag.kind === 'ignored' || flag.kind === 'retired' || (text === '' && MAY_BE_EMPTY.has(flag.name));
  return isUnset ? { flag, text: '' } : { error: `--${flag.name} has no value; write --${flag.name}=VALUE.` };
}
