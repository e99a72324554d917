/**
 * Reads the tags of a scale set that configure an autoscaler. The names and their encoding (`_` stands for `/`, `~2` for `_`,
 * since a tag name cannot contain a slash) are the Cluster Autoscaler's, so pools tagged for it work unchanged. Bad tags are
 * returned as values, never thrown: a typing error in one pool must not affect others. Pure.
 */
import type { StatedOptions } from '../../domain/node-group.ts';
import { MAX_CLUSTER_NODES } from '../../domain/platform-limits.ts';
import { isQuantity } from '../../domain/quantity.ts';
import { PRESET_SICK_RULES } from '../../domain/repack.ts';
import type { Taint, TaintEffect } from '../../domain/taints.ts';
import { defined } from '../../lib/defined.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { jsonOf } from '../arm/error-bodies.ts';
import type { DiscoveryRule, NamedGroupOptions, WritePath } from '../arm/options.ts';
import { foldName } from '../arm/resource-ids.ts';
import { deviceTagsOf } from './device-tags.ts';
import { isRecord } from '../../lib/json.ts';

/** A whole node template as JSON in one tag, for scale sets that are out of tag slots: a set holds 50 tags, a value 256 characters. */
const TEMPLATE_TAG = 'k8s.io_cluster-autoscaler_node-template';

type Texts = Readonly<Record<string, string>>;

interface TemplateTag {
  readonly labels: Texts;
  /** `key=value:Effect` or `key:Effect`. */
  readonly taints: readonly string[];
  readonly resources: Texts;
  /** By the names of option tags. */
  readonly options: Texts;
  /** The unusable parts of the text, as parts of a sentence. */
  readonly problems: readonly string[];
}

const EMPTY_TEMPLATE: TemplateTag = { labels: {}, taints: [], resources: {}, options: {}, problems: [] };
const TEMPLATE_KEYS = ['labels', 'taints', 'resources', 'options'];

/** An unreadable part is left out and reported; the others apply. */
function parseTemplateTag(text: string | undefined): TemplateTag {
  if (text === undefined || text.trim() === '') return EMPTY_TEMPLATE;
  const raw = jsonOf(text);
  if (!isRecord(raw)) return { ...EMPTY_TEMPLATE, problems: ['it is not a JSON object'] };
  const taints: readonly unknown[] = Array.isArray(raw['taints']) ? raw['taints'] : [];
  const isList = raw['taints'] === undefined || Array.isArray(raw['taints']);
  return {
    labels: textsOf(raw['labels']),
    taints: taints.filter((taint) => typeof taint === 'string'),
    resources: textsOf(raw['resources']),
    options: textsOf(raw['options']),
    problems: [
      ...Object.keys(raw).flatMap((key) =>
        TEMPLATE_KEYS.includes(key) ? [] : [`"${key}" is unknown; accepted are ${TEMPLATE_KEYS.join(', ')}`],
      ),
      ...['labels', 'resources', 'options'].flatMap((key) =>
        raw[key] === undefined || isRecord(raw[key]) ? [] : [`its "${key}" is not a map`],
      ),
      ...(isList ? [] : ['its "taints" is not a list']),
    ],
  };
}

/** Numbers and booleans are accepted as written. */
function textsOf(part: unknown): Texts {
  if (!isRecord(part)) return {};
  return Object.fromEntries(
    Object.entries(part).flatMap(([key, value]) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [[key, String(value)]] : [],
    ),
  );
}

export type Tags = Readonly<Record<string, string>>;

/** Null-valued tags occur in responses and mean nothing. */
export function readTags(raw: Readonly<Record<string, string | null | undefined>> | undefined): Tags {
  return Object.fromEntries(Object.entries(raw ?? {}).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

const PREFIX = 'k8s.io_cluster-autoscaler_node-template_';
const LABEL = `${PREFIX}label_`;
const TAINT = `${PREFIX}taint_`;
const RESOURCES = `${PREFIX}resources_`;
const OPTIONS = `${PREFIX}autoscaling-options_`;

/** Whether the set itself is written or the count of its agent pool. undefined: no tag has a known value. */
export function writePathTag(tags: Tags): WritePath | undefined {
  const value = findTag(tags, 'k8s.io_cluster-autoscaler_write-path')?.toLowerCase();
  if (value === 'agentpool') return 'agentPool';
  return value === 'vmss' ? 'vmss' : undefined;
}

/** The agent pool of a set or a virtual machine by its AKS tags. The managed tag wins over the older one. */
export function poolOf(tags: Tags): string | undefined {
  const name = findTag(tags, 'aks-managed-poolName') ?? findTag(tags, 'poolName');
  return name === '' ? undefined : name;
}

/** Azure preserves the case of tag names but compares without it. */
export function findTag(tags: Tags, name: string): string | undefined {
  if (Object.hasOwn(tags, name)) return tags[name];
  const folded = name.toLowerCase();
  return Object.entries(tags).find(([key]) => key.toLowerCase() === folded)?.[1];
}

/** `1.33.2` from `Kubernetes:1.33.2`. */
export function kubernetesVersionOf(tags: Tags): string | undefined {
  const text = findTag(tags, 'aks-managed-orchestrator') ?? findTag(tags, 'orchestrator');
  return text?.split(':')[1];
}

type RuleMatch =
  | { readonly kind: 'limits'; readonly min: number; readonly max: number }
  | { readonly kind: 'not-matched' }
  | { readonly kind: 'skipped'; readonly reason: string };

/**
 * Whether any rule selects a set with these tags, and its limits. Tags `min` and `max` win over limits of rules. If several
 * rules select it, the highest minimum and the lowest maximum apply.
 */
export function matchRules(tags: Tags, rules: readonly DiscoveryRule[]): RuleMatch {
  const selecting = rules.filter(({ selectors }) => selectors.length > 0 && selectors.every(({ key, value }) => tags[key] === value));
  if (selecting.length === 0) return { kind: 'not-matched' };
  const min = readLimit(tags, 'min', highest(selecting.flatMap((rule) => rule.min ?? [])));
  const max = readLimit(tags, 'max', lowest(selecting.flatMap((rule) => rule.max ?? [])));
  if (typeof min === 'string') return { kind: 'skipped', reason: min };
  if (typeof max === 'string') return { kind: 'skipped', reason: max };
  if (min > MAX_CLUSTER_NODES)
    return { kind: 'skipped', reason: `its minimum ${min} is above ${MAX_CLUSTER_NODES}, the most nodes that a cluster of AKS can have` };
  if (max < min) return { kind: 'skipped', reason: `its maximum ${max} is below its minimum ${min}` };
  return { kind: 'limits', min, max };
}

function highest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

function lowest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

/** The number, or the reason why it is missing. */
function readLimit(tags: Tags, name: 'min' | 'max', fallback: number | undefined): number | string {
  const text = tags[name]?.trim();
  if (text === undefined || text === '') return fallback ?? `it has no tag "${name}", and the discovery rule sets no ${name}`;
  return /^\d{1,9}$/.test(text) ? Number(text) : `tag "${name}" is "${text}"; it must be a whole number of 0 or more`;
}

/** Reads the tag with a whole template. Tags for single parts win over it. */
function templateTagOf(tags: Tags): TemplateTag {
  return parseTemplateTag(findTag(tags, TEMPLATE_TAG));
}

export function templateLabels(tags: Tags): Tags {
  return { ...templateTagOf(tags).labels, ...Object.fromEntries(decodeTags(tags, LABEL)) };
}

/** Values are `<value>:<effect>`. Others are dropped. */
export function templateTaints(tags: Tags): readonly Taint[] {
  const own = decodeTags(tags, TAINT).flatMap(([key, text]) => {
    const match = /^([^:]*):(NoSchedule|NoExecute|PreferNoSchedule)$/.exec(text.trim());
    return match === null ? [] : [{ key, value: match[1] ?? '', effect: match[2] as TaintEffect }];
  });
  const named = new Set(own.map(({ key, effect }) => `${key}:${effect}`));
  const whole = templateTagOf(tags).taints.flatMap((text) => parseTaint(text) ?? []);
  return [...own, ...whole.filter(({ key, effect }) => !named.has(`${key}:${effect}`))];
}

/** Parses `key=value:Effect` or `key:Effect`, as agent pools spell taints. undefined: another form. */
export function parseTaint(text: string): Taint | undefined {
  const match = /^([^=:]+)(?:=([^:]*))?:(NoSchedule|NoExecute|PreferNoSchedule)$/.exec(text.trim());
  return match === null ? undefined : { key: match[1] ?? '', value: match[2] ?? '', effect: match[3] as TaintEffect };
}

/** Quantities by resource name. Values that are not quantities are dropped. */
export function templateResources(tags: Tags): Tags {
  const all = [...Object.entries(templateTagOf(tags).resources), ...decodeTags(tags, RESOURCES)];
  return Object.fromEntries(all.filter(([, text]) => isQuantity(text)));
}

/** Decoded name and value of every tag with this prefix. Empty names are dropped. */
function decodeTags(tags: Tags, prefix: string): readonly (readonly [name: string, value: string])[] {
  return Object.entries(tags)
    .filter(([key]) => key.toLowerCase().startsWith(prefix) && key.length > prefix.length)
    .map(([key, value]) => [key.slice(prefix.length).replaceAll('_', '/').replaceAll('~2', '_'), value] as const);
}

/** The options of a group: from its tags, then the user's for its agent pool, then the user's for the group itself. Later ones win. */
export function nodeGroupOptionsOf(key: string, tags: Tags, stated: readonly NamedGroupOptions[] = []): StatedOptions {
  const of = (name: string | undefined): StatedOptions | undefined =>
    name === undefined ? undefined : stated.find((entry) => foldName(entry.name) === foldName(name))?.options;
  const { devices } = deviceTagsOf(tags);
  return { ...defined({ devices }), ...optionTagsOf(tags), ...of(poolOf(tags)), ...of(key) };
}

/** Describes a discovery rule for people: its index, counted from 0, and its tags. */
export function describeRule(rules: readonly DiscoveryRule[], index: number): string {
  const tags = (rules[index]?.selectors ?? []).map(({ key, value }) => `${key}=${value}`);
  return `discovery[${index}] (${tags.join(',')})`;
}

/** Names in the user's options that no group has. */
export function unusedOptionNames(
  stated: readonly NamedGroupOptions[] = [],
  groups: readonly { readonly key: string; readonly tags: Tags }[],
): readonly string[] {
  const names = new Set(groups.flatMap(({ key, tags }) => [key, poolOf(tags) ?? ''].map(foldName)));
  return stated.flatMap(({ name }) => (names.has(foldName(name)) ? [] : [name]));
}

/** Per-group options from tags. Keys are case-insensitive; unreadable values keep the default. */
export function optionTagsOf(tags: Tags): StatedOptions {
  const options: { -readonly [Key in keyof StatedOptions]: StatedOptions[Key] } = {};
  const own = Object.entries(tags).flatMap(([key, text]): [string, string][] =>
    key.toLowerCase().startsWith(OPTIONS) ? [[key.slice(OPTIONS.length), text]] : [],
  );
  for (const [key, text] of [...Object.entries(templateTagOf(tags).options), ...own]) {
    const name = key.toLowerCase();
    const number = NUMBERS[name];
    const value = number?.read(text);
    if (number !== undefined && value !== undefined) options[number.option] = value;
    const flag = FLAGS[name];
    const isSet = parseBoolean(text);
    if (flag !== undefined && isSet !== undefined) options[flag] = isSet;
    const rules = name === 'sicknodes' ? PRESET_SICK_RULES[text.toLowerCase().replaceAll(/\s/g, '')] : undefined;
    if (rules !== undefined) options.sickNodes = rules;
  }
  return options;
}

type NumberOption = Exclude<keyof StatedOptions, FlagOption | 'headroom' | 'maintenance' | 'sickNodes' | 'devices'>;
type FlagOption =
  | 'ignoreDaemonSetsUtilization'
  | 'zeroOrMax'
  | 'keepsPartOfMax'
  | 'repack'
  | 'makeRoom'
  | 'deallocate'
  | 'skipNodesWithSystemPods'
  | 'skipNodesWithLocalStorage'
  | 'skipNodesWithCustomControllerPods';

const NUMBERS: Readonly<Record<string, { readonly option: NumberOption; readonly read: (text: string) => number | undefined }>> = {
  scaledownutilizationthreshold: { option: 'utilizationThreshold', read: parseFraction },
  scaledowngpuutilizationthreshold: { option: 'gpuUtilizationThreshold', read: parseFraction },
  scaledownunneededtime: { option: 'unneededForMs', read: parseDurationTag },
  scaledownunreadytime: { option: 'unreadyForMs', read: parseDurationTag },
  maxnodeprovisiontime: { option: 'maxProvisionMs', read: parseDurationTag },
  maxnodestartuptime: { option: 'maxStartupMs', read: parseDurationTag },
  scaledowndelayafteradd: { option: 'delayAfterAddMs', read: parseDurationTag },
  scaledowndelayafterdelete: { option: 'delayAfterDeleteMs', read: parseDurationTag },
  scaledowndelayafterfailure: { option: 'delayAfterFailureMs', read: parseDurationTag },
  initialbackoff: { option: 'backoffInitialMs', read: parseDurationTag },
  maxbackoff: { option: 'backoffMaxMs', read: parseDurationTag },
  maxparallelremovals: { option: 'maxParallelRemovals', read: (text) => countAtLeast(text, 1) },
  maxgracefultermination: { option: 'maxGracefulTerminationMs', read: parseDurationTag },
  evictiontimeout: { option: 'evictionTimeoutMs', read: parseDurationTag },
  evictionretry: { option: 'evictionRetryMs', read: parseDurationTag },
  maxstopped: { option: 'maxStopped', read: (text) => countAtLeast(text, 0) },
  expanderpriority: { option: 'expanderPriority', read: (text) => countAtLeast(text, 0) },
};

/** All but the first are our own names. The Cluster Autoscaler takes these options from its cloud provider, not from tags. */
const FLAGS: Readonly<Record<string, FlagOption>> = {
  ignoredaemonsetsutilization: 'ignoreDaemonSetsUtilization',
  skipnodeswithsystempods: 'skipNodesWithSystemPods',
  skipnodeswithlocalstorage: 'skipNodesWithLocalStorage',
  skipnodeswithcustomcontrollerpods: 'skipNodesWithCustomControllerPods',
  zeroormaxnodescaling: 'zeroOrMax',
  allownonatomicscaleuptomax: 'keepsPartOfMax',
  repack: 'repack',
  makeroom: 'makeRoom',
  deallocate: 'deallocate',
};

/** Accepts the texts that Go parses as a boolean, in any letter case. */
function parseBoolean(text: string): boolean | undefined {
  const folded = text.trim().toLowerCase();
  if (folded === 'true' || folded === 't' || folded === '1') return true;
  return folded === 'false' || folded === 'f' || folded === '0' ? false : undefined;
}

function parseFraction(text: string): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return value >= 0 && value <= 1 ? value : undefined;
}

function countAtLeast(text: string, least: number): number | undefined {
  const value = /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN;
  return value >= least ? value : undefined;
}

/** Durations as Go writes them, in any letter case: `30m`, `1h30m`, `90s`. */
function parseDurationTag(text: string): number | undefined {
  return parseDurationMs(text.trim().toLowerCase());
}

interface TagFamily {
  readonly prefix: string;
  readonly accepts: string;
  /** Whether these tags contain at least one readable value. */
  readonly isReadable: (tags: Tags) => boolean;
}

const FAMILIES: readonly TagFamily[] = [
  {
    prefix: TAINT,
    accepts: 'a value and an effect such as gpu:NoSchedule',
    isReadable: (tags) => templateTaints(tags).length > 0,
  },
  { prefix: RESOURCES, accepts: 'a quantity such as 100m or 16Gi', isReadable: (tags) => Object.keys(templateResources(tags)).length > 0 },
  { prefix: OPTIONS, accepts: 'a known option and a value it can have', isReadable: (tags) => Object.keys(optionTagsOf(tags)).length > 0 },
];

/** Template tags that cannot be parsed, one sentence each. They are logged, since a missing label is easy to overlook. */
export function tagProblems(tags: Tags): readonly string[] {
  const ofParts = Object.entries(tags).flatMap(([key, value]) => {
    const family = FAMILIES.find(({ prefix }) => key.toLowerCase().startsWith(prefix));
    return family === undefined || family.isReadable({ [key]: value }) ? [] : [`tag ${key} is "${value}"; it must be ${family.accepts}.`];
  });
  return [...ofParts, ...templateTagProblems(tags), ...deviceTagsOf(tags).problems];
}

function templateTagProblems(tags: Tags): readonly string[] {
  const { problems, taints, resources, options } = templateTagOf(tags);
  const problemOf = (what: string, accepts: string): string => `${what}; it must be ${accepts}`;
  const [taint, quantity, option] = FAMILIES.map(({ accepts }) => accepts);
  return [
    ...problems,
    ...taints.flatMap((text) => (parseTaint(text) === undefined ? [problemOf(`its taint is "${text}"`, `key=${taint ?? ''}`)] : [])),
    ...Object.entries(resources).flatMap(([name, text]) =>
      Object.keys(templateResources({ [`${RESOURCES}x`]: text })).length > 0 ? [] : [problemOf(`its ${name} is "${text}"`, quantity ?? '')],
    ),
    ...Object.entries(options).flatMap(([name, text]) =>
      Object.keys(optionTagsOf({ [`${OPTIONS}${name}`]: text })).length > 0
        ? []
        : [problemOf(`its option ${name} is "${text}"`, option ?? '')],
    ),
  ].map((problem) => `tag ${TEMPLATE_TAG}: ${problem}.`);
}
