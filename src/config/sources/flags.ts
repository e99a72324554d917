/** Settings from command-line flags. Reports every mistake, not the first. */
import { parseArgs } from 'node:util';
import type { Layer, Setting } from '../layer.ts';
import { nearestName } from '../nearest-name.ts';
import { parseDiscoverySpec, parseNodesSpec } from '../node-group-specs.ts';
import { FLAGS, type Flag } from './flag-table.ts';
import { RETIRED_FLAGS } from './retired-flags.ts';
import { settingFromText } from './text-values.ts';

export interface FlagLayer extends Layer {
  readonly configFile: string | undefined;
  readonly cloudConfigFile: string | undefined;
}

interface Given {
  readonly flag: Flag;
  readonly text: string;
}

const RETIRED = new Map(RETIRED_FLAGS.map((entry) => [entry.name, entry]));
/** What the table has goes before what is gone: a flag may have come back. */
const ALL: readonly Flag[] = [
  ...RETIRED_FLAGS.map(({ name, instead }) => ({ name, kind: 'retired', path: '', help: instead }) as const),
  ...FLAGS,
];
const BY_NAME = new Map(ALL.map((flag) => [flag.name, flag]));
const OPTIONS = Object.fromEntries(ALL.map((flag) => [flag.name, { type: 'string', multiple: true } as const]));

export function flagLayer(argv: readonly string[]): FlagLayer {
  const read = readFlags(argv);
  const { errors } = read;
  const given = joined(read.given);
  const specs = [nodesSetting(given), discoverySetting(given)];
  const singles = given.map((entry) => singleSetting(entry));
  const outcomes = [...specs, ...singles];
  const last = (name: string): string | undefined => given.findLast((entry) => entry.flag.name === name)?.text;
  return {
    settings: outcomes.flatMap((outcome) => outcome.settings),
    errors: [...errors, ...outcomes.flatMap((outcome) => outcome.errors)],
    warnings: given.flatMap(warningOf),
    configFile: last('config'),
    cloudConfigFile: last('cloud-config'),
  };
}

/** Lists of which the Cluster Autoscaler takes one item per flag. */
const REPEATED: ReadonlySet<string> = new Set([
  'scaleUp.balancingIgnoreLabels',
  'cluster.startupTaints',
  'cluster.startupTaintPrefixes',
  'cluster.statusTaints',
]);

/** One flag instead of several for the same list. */
function joined(given: readonly Given[]): readonly Given[] {
  const first = (path: string): number => given.findIndex(({ flag }) => flag.path === path);
  return given.flatMap((entry, index) => {
    const { path } = entry.flag;
    if (!REPEATED.has(path)) return [entry];
    if (first(path) !== index) return [];
    return [{ ...entry, text: given.flatMap(({ flag, text }) => (flag.path === path ? [text] : [])).join(',') }];
  });
}

function readFlags(argv: readonly string[]): { readonly given: readonly Given[]; readonly errors: readonly string[] } {
  const { tokens } = parseArgs({ args: argv.map(spelledOut), options: OPTIONS, strict: false, allowPositionals: true, tokens: true });
  const given: Given[] = [];
  const errors: string[] = [];
  let afterUnknown = false;
  for (const token of tokens) {
    if (token.kind === 'option') {
      const outcome = readOption(token.name, token.value, token.inlineValue);
      if ('error' in outcome) errors.push(outcome.error);
      else given.push(outcome);
      afterUnknown = !BY_NAME.has(token.name);
    } else if (token.kind === 'positional') {
      // What follows an unknown flag was meant as its value: one mistake, one sentence.
      if (!afterUnknown) errors.push(`The argument "${token.value}" is not expected; settings are given as --name=value.`);
      afterUnknown = false;
    }
  }
  return { given, errors };
}

function readOption(name: string, value: string | undefined, inline: boolean | undefined): Given | { readonly error: string } {
  const flag = BY_NAME.get(name);
  if (flag === undefined) {
    const nearest = nearestName(
      name,
      FLAGS.map((flag) => flag.name),
    );
    const hint = nearest === undefined ? 'run --help lists what is accepted' : `did you mean --${nearest}?`;
    return { error: `--${name} is not a known flag; ${hint}${hint.endsWith('?') ? '' : '.'}` };
  }
  if (value === undefined || value === '' || (inline !== true && value.startsWith('--'))) {
    return flag.kind === 'ignored' || flag.kind === 'retired'
      ? { flag, text: '' }
      : { error: `--${name} has no value; write --${name}=VALUE.` };
  }
  return { flag, text: value };
}

/** `--flag` alone is true, and one dash is as good as two: users' manifests have both. */
function spelledOut(argument: string): string {
  const match = /^--?([a-z][a-z-]*)(=.*)?$/s.exec(argument);
  const flag = BY_NAME.get(match?.[1] ?? '');
  if (match === null || flag === undefined) return argument;
  const bare =
    match[2] === undefined &&
    (flag.kind === 'boolean' || RETIRED.get(flag.name)?.isBoolean === true || (flag.kind === 'ignored' && flag.name.includes('log')));
  return `--${flag.name}${bare ? '=true' : (match[2] ?? '')}`;
}

type Outcome = { readonly settings: readonly Setting[]; readonly errors: readonly string[] };
const NOTHING: Outcome = { settings: [], errors: [] };

function singleSetting({ flag, text }: Given): Outcome {
  const path = flag.path.split('.');
  switch (flag.kind) {
    case 'nodes':
    case 'discovery':
    case 'file':
      return NOTHING;
    case 'ignored':
      return flag.name === 'cloud-provider' && text !== 'azure'
        ? { settings: [], errors: [`flag --cloud-provider is "${text}"; accepted is azure.`] }
        : NOTHING;
    case 'retired':
      return { settings: [], errors: refusalOf(flag.name, text) };
    case 'bounds':
      return bounds(flag, text);
    default:
      return { settings: [settingFromText(path, flag.kind, text, `flag --${flag.name}`)], errors: [] };
  }
}

function bounds(flag: Flag, text: string): Outcome {
  const [, min = '', max = ''] = /^(\d+):(\d+)$/.exec(text.trim()) ?? [];
  if (max === '' || Number(min) > Number(max)) {
    return { settings: [], errors: [`flag --${flag.name} is "${text}"; accepted is MIN:MAX, two whole numbers with MIN not above MAX.`] };
  }
  const origin = { label: `flag --${flag.name}`, written: text };
  const values = [Number(min), Number(max)];
  return { settings: flag.path.split(':').map((path, index) => ({ path: path.split('.'), value: values[index], origin })), errors: [] };
}

function nodesSetting(given: readonly Given[]): Outcome {
  return listSetting(given, 'nodes', parseNodesSpec);
}

function discoverySetting(given: readonly Given[]): Outcome {
  return listSetting(given, 'node-group-auto-discovery', parseDiscoverySpec);
}

/** All uses of a repeatable flag make one list; each entry keeps the words it was written with. */
function listSetting(
  given: readonly Given[],
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

function refusalOf(name: string, text: string): readonly string[] {
  const entry = RETIRED.get(name);
  if (entry?.verdict !== 'refused' || entry.asDone.includes(text.trim().toLowerCase())) return [];
  return [`flag --${name}=${text} is not supported: ${entry.instead}.`];
}

function warningOf({ flag, text }: Given): readonly string[] {
  const entry = flag.kind === 'retired' ? RETIRED.get(flag.name) : undefined;
  if (entry !== undefined) {
    const isSaid = entry.verdict === 'ignored' && !entry.asDone.includes(text.trim().toLowerCase());
    return isSaid ? [`flag --${flag.name}=${text} has no effect: ${entry.instead}.`] : [];
  }
  if (flag.kind === 'ignored' && flag.name !== 'cloud-provider') return [`--${flag.name}=${text} is ${flag.help}.`];
  return [];
}
