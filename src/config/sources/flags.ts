/** Settings from command-line flags. Reports every error, not only the first. */
import { nearestName } from '../../lib/nearest-name.ts';
import { parseDiscoverySpec, parseNodesSpec } from './node-group-specs.ts';
import { FLAGS, type Flag } from './flag-table.ts';
import type { Layer, Setting } from './layers.ts';
import { RETIRED_FLAGS } from './retired-settings.ts';
import { settingFromText } from './text-values.ts';

interface GivenFlag {
  readonly flag: Flag;
  /** If empty, the default applies. */
  readonly text: string;
}

/** Their default in the Cluster Autoscaler is empty, so manifests with an empty variable must start. */
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

/** Current flags override retired ones: a retired flag may have come back. */
const BY_NAME = new Map<string, Flag>(
  [...RETIRED_FLAGS.map(({ name, instead }) => ({ name, kind: 'retired', path: '', help: instead }) as const), ...FLAGS].map((flag) => [
    flag.name,
    flag,
  ]),
);
/** Without `=`, these are true and do not consume the next word, as Go's flags do. */
const BARE: ReadonlySet<string> = new Set([
  ...FLAGS.filter(({ kind }) => kind.startsWith('boolean')).map(({ name }) => name),
  ...RETIRED_FLAGS.filter(({ isBoolean }) => isBoolean).map(({ name }) => name),
  'logtostderr',
  'alsologtostderr',
  'parallel-scale-up',
]);

/** One dash equals two, and `_` equals `-`: existing manifests use all forms. */
const WORD = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s;
const VERBOSITY = /^-v(\d+)$/;

export function readFlags(argv: readonly string[]): { readonly given: readonly GivenFlag[]; readonly errors: readonly string[] } {
  const given: GivenFlag[] = [];
  const errors: string[] = [];
  let afterUnknown = false;
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    const read = readWord(word, argv[index + 1]);
    // A word after an unknown flag was probably its value: one error, one sentence.
    if ('stray' in read && !afterUnknown && word !== '--') errors.push(read.stray);
    else if ('unknown' in read) errors.push(read.unknown);
    else if ('flag' in read) addFlag(read);
    afterUnknown = 'unknown' in read;
    if ('flag' in read && read.tookNext) index += 1;
  }
  return { given, errors };

  function addFlag({ flag, text }: ReadFlag): void {
    const outcome = withText(flag, text);
    if ('error' in outcome) errors.push(outcome.error);
    else given.push(outcome);
  }
}

interface ReadFlag {
  readonly flag: Flag;
  readonly text: string | undefined;
  readonly tookNext: boolean;
}

/** A word that is a flag is never a value: a flag without a value must not consume the next flag. */
function readWord(word: string, next: string | undefined): ReadFlag | { readonly unknown: string } | { readonly stray: string } {
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

function withText(flag: Flag, text: string | undefined): GivenFlag | { readonly error: string } {
  if (text !== undefined && text !== '') return { flag, text };
  const isUnset = flag.kind === 'ignored' || flag.kind === 'retired' || (text === '' && MAY_BE_EMPTY.has(flag.name));
  return isUnset ? { flag, text: '' } : { error: `--${flag.name} has no value; write --${flag.name}=VALUE.` };
}

interface FlagLayer extends Layer {
  readonly configFile: string | undefined;
  readonly cloudConfigFile: string | undefined;
}

const RETIRED = new Map(RETIRED_FLAGS.map((entry) => [entry.name, entry]));

export function flagLayer(argv: readonly string[]): FlagLayer {
  const read = readFlags(argv);
  const { errors } = read;
  const given = joined(read.given);
  const specs = [nodesSetting(given), discoverySetting(given)];
  const singles = given.map((entry) => singleSetting(entry));
  const outcomes = [...specs, ...singles];
  const last = (name: string): string | undefined => given.findLast((entry) => entry.flag.name === name)?.text || undefined;
  return {
    settings: outcomes.flatMap((outcome) => outcome.settings),
    errors: [...errors, ...outcomes.flatMap((outcome) => outcome.errors)],
    warnings: given.flatMap(warningOf),
    configFile: last('config'),
    cloudConfigFile: last('cloud-config'),
  };
}

/** Lists that the Cluster Autoscaler collects from all uses of their flag. */
const REPEATED: ReadonlySet<string> = new Set([
  'scaleUp.balancingIgnoreLabels',
  'scaleUp.balancingLabels',
  'scaleUp.allowedSchedulers',
  'scaleUp.bypassedSchedulers',
  'cluster.startupTaints',
  'cluster.startupTaintPrefixes',
  'cluster.statusTaints',
]);

/** Joins several flags for the same list into one. */
function joined(given: readonly GivenFlag[]): readonly GivenFlag[] {
  const first = (path: string): number => given.findIndex(({ flag }) => flag.path === path);
  return given.flatMap((entry, index) => {
    const { path } = entry.flag;
    if (!REPEATED.has(path)) return [entry];
    if (first(path) !== index) return [];
    return [{ ...entry, text: given.flatMap(({ flag, text }) => (flag.path === path && text !== '' ? [text] : [])).join(',') }];
  });
}

type Outcome = { readonly settings: readonly Setting[]; readonly errors: readonly string[] };
const NOTHING: Outcome = { settings: [], errors: [] };

function singleSetting({ flag, text }: GivenFlag): Outcome {
  const path = flag.path.split('.');
  if (text === '' && flag.kind !== 'retired' && flag.kind !== 'ignored') return NOTHING;
  switch (flag.kind) {
    case 'nodes':
    case 'discovery':
    case 'file':
      return NOTHING;
    case 'ignored':
      return flag.name === 'cloud-provider' && text !== 'azure'
        ? { settings: [], errors: [`flag --cloud-provider is "${text}"; it must be azure.`] }
        : NOTHING;
    case 'retired':
      return { settings: [], errors: retiredFlagErrors(flag.name, text) };
    case 'bounds':
      return boundsSettings(flag, text);
    default:
      return { settings: [settingFromText(path, flag.kind, text, `flag --${flag.name}`)], errors: [] };
  }
}

function boundsSettings(flag: Flag, text: string): Outcome {
  const [, min = '', max = ''] = /^(\d+):(\d+)$/.exec(text.trim()) ?? [];
  if (max === '' || Number(min) > Number(max)) {
    return { settings: [], errors: [`flag --${flag.name} is "${text}"; it must be MIN:MAX, two whole numbers with MIN not above MAX.`] };
  }
  const origin = { label: `flag --${flag.name}`, written: text };
  const values = [Number(min), Number(max)];
  return { settings: flag.path.split(':').map((path, index) => ({ path: path.split('.'), value: values[index], origin })), errors: [] };
}

function nodesSetting(given: readonly GivenFlag[]): Outcome {
  return listSetting(given, 'nodes', parseNodesSpec);
}

function discoverySetting(given: readonly GivenFlag[]): Outcome {
  return listSetting(given, 'node-group-auto-discovery', parseDiscoverySpec);
}

/** All uses of a repeatable flag make one list. Each entry keeps its original text. */
function listSetting(
  given: readonly GivenFlag[],
  name: string,
  parse: (text: string) => { readonly value: object } | { readonly problem: string },
): Outcome {
  const uses = given.filter((entry) => entry.flag.name === name);
  const first = uses[0];
  if (first === undefined) return NOTHING;
  const outcomes = uses.map(({ text }) => ({ text, outcome: parse(text) }));
  const good = outcomes.flatMap(({ text, outcome }) => ('value' in outcome ? [{ text, value: outcome.value }] : []));
  const label = `flag --${name}`;
  const list: Setting = { path: [first.flag.path], value: good.map(({ value }) => value), origin: { label } };
  const entries = good.map(({ text }, index) => ({ key: `${first.flag.path}.${index}`, origin: { label, written: text } }));
  return {
    settings: [{ ...list, entries }],
    errors: outcomes.flatMap(({ text, outcome }) => ('problem' in outcome ? [`${label} is "${text}": ${outcome.problem}.`] : [])),
  };
}

function retiredFlagErrors(name: string, text: string): readonly string[] {
  const entry = RETIRED.get(name);
  if (entry?.least !== undefined && Number(text) < entry.least)
    return [`flag --${name} is "${text}"; it must be a whole number of at least ${entry.least}, which has no effect: ${entry.instead}.`];
  if (entry?.verdict !== 'refused' || entry.builtIn.includes(text.trim().toLowerCase())) return [];
  return [`flag --${name}=${text} is not supported: ${entry.instead}.`];
}

function warningOf({ flag, text }: GivenFlag): readonly string[] {
  const entry = flag.kind === 'retired' ? RETIRED.get(flag.name) : undefined;
  if (entry !== undefined) {
    const isReported = entry.verdict === 'ignored' && !entry.builtIn.includes(text.trim().toLowerCase());
    return isReported ? [`flag --${flag.name}=${text} has no effect: ${entry.instead}.`] : [];
  }
  if (flag.kind === 'ignored' && flag.name !== 'cloud-provider') return [`--${flag.name}=${text} is ${flag.help}.`];
  return [];
}
