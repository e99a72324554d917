/** From an issue of the schema to one sentence that names the key as the user wrote it, the value, and what is accepted. */
import type * as z from 'zod';
import { USUAL_DIFFERENCE_RATIOS } from '../../domain/policy.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import { isDocument, type Document, type Merged, type Origin } from '../sources/layers.ts';
import { knownKeys, waysToSet } from './schema-keys.ts';
import type { Parsed } from './schema.ts';

type Issue = z.core.$ZodIssue;

export function sentencesOf(issues: readonly Issue[], merged: Merged): readonly string[] {
  const told = new Set<string>();
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...pathOf(issue), key], merged));
    const key = pathOf(issue).join('.');
    if (told.has(key)) return [];
    told.add(key);
    return [sentenceOf(issue, merged)];
  });
}

function pathOf(issue: Issue): readonly string[] {
  return issue.path.map(String);
}

function unknownKey(path: readonly string[], merged: Merged): string {
  const parent = path.slice(0, -1);
  const name = path.at(-1) ?? '';
  const key = dotted(path);
  const source = originBelow(path, merged)?.label;
  const nearest = nearestName(name, knownKeys(parent));
  const hint =
    nearest === undefined ? `accepted there is ${knownKeys(parent).join(', ')}.` : `did you mean ${dotted([...parent, nearest])}?`;
  const file = source === undefined ? '' : (/ of (.+)$/.exec(source)?.[1] ?? '');
  return `key ${key}${file === '' ? '' : ` of ${file}`} is not known; ${hint}`;
}

function sentenceOf(issue: Issue, merged: Merged): string {
  const path = pathOf(issue);
  const origin = originOf(path, merged);
  const value = valueAt(merged.document, path);
  const accepts = origin?.unread ?? acceptsOf(issue);
  if (value === undefined) return `${dotted(path)} is missing; accepted is ${accepts}${waysToSet(path)}.`;
  const isSecret = origin?.secret === true || /secret|password/i.test(path.at(-1) ?? '');
  const shown = isSecret ? 'not acceptable' : shownOf(origin?.written ?? value);
  return `${label(path, origin)} is ${shown}; accepted is ${accepts}.`;
}

/** JSON has no word for numbers that are none. */
function shownOf(value: unknown): string | undefined {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : JSON.stringify(value);
}

function acceptsOf(issue: Issue): string {
  return issue.code === 'invalid_type' && issue.expected === 'object' ? 'a map of settings' : issue.message;
}

/** The words of the source; inside a list, with the place in it. */
function label(path: readonly string[], origin: Origin | undefined): string {
  if (origin === undefined) return `key ${dotted(path)}`;
  const file = /^key \S+ of (.+)$/.exec(origin.label)?.[1];
  const isNested = file !== undefined && path.some((part) => /^\d+$/.test(part));
  return isNested ? `key ${dotted(path)} of ${file}` : origin.label;
}

function dotted(path: readonly string[]): string {
  return path.reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`), '');
}

/** The origin of the path itself or of the nearest thing above it. */
function originOf(path: readonly string[], merged: Merged): Origin | undefined {
  for (let length = path.length; length > 0; length--) {
    const origin = merged.origins.get(path.slice(0, length).join('.'));
    if (origin !== undefined) return origin;
  }
  return undefined;
}

function originBelow(path: readonly string[], merged: Merged): Origin | undefined {
  const key = path.join('.');
  return originOf(path, merged) ?? [...merged.origins].find(([known]) => known.startsWith(`${key}.`))?.[1];
}

function valueAt(document: Document, path: readonly string[]): unknown {
  let value: unknown = document;
  for (const part of path) {
    if (Array.isArray(value)) value = (value as readonly unknown[])[Number(part)];
    else if (isDocument(value) && Object.hasOwn(value, part)) value = value[part];
    else return undefined;
  }
  return value;
}

// What is given and cannot be obeyed beside the rest: said, so that nobody waits for it. Must not refuse anything: the schema does.

const CLUSTER_NAME = 'azure.clusterName';

/**
 * Without `--cluster-name` where nothing says the cluster's resource group: the Cluster Autoscaler takes that flag for every
 * cloud and asks Azure nothing by it, so an existing Deployment's must not keep us from starting. Other sources mean agent pools.
 */
export function withoutIdleName(merged: Merged): { readonly merged: Merged; readonly warnings: readonly string[] } {
  const { azure } = merged.document;
  const label = merged.origins.get(CLUSTER_NAME)?.label;
  if (!isDocument(azure) || azure['clusterResourceGroup'] !== undefined || label !== 'flag --cluster-name') return { merged, warnings: [] };
  const { clusterName: _idle, ...rest } = azure;
  const document: Document = { ...merged.document, azure: rest };
  const warning = `${label} has no effect: agent pools are read where ARM_CLUSTER_RESOURCE_GROUP (azure.clusterResourceGroup) is set too.`;
  return { merged: { document, origins: merged.origins }, warnings: [warning] };
}

/** One sentence for each setting of the whole that another leaves nothing to say. */
export function idleSettings({ nodeGroups, discovery, scaleUp }: Parsed): readonly string[] {
  const nudge = 'No node group is configured: name them by --nodes=MIN:MAX:NAME or --node-group-auto-discovery=label:TAG=VALUE.';
  const alone = 'when scale-ups are balanced: scaleUp.balancingLabels (--balancing-label) alone decide what is similar.';
  const beaten = scaleUp.balancingLabels.length > 0 ? otherMeasures(scaleUp) : [];
  return [
    ...beaten.map((measure) => `${measure} is not asked ${alone}`),
    ...(nodeGroups.length === 0 && discovery.length === 0 ? [nudge] : []),
  ];
}

/** What was set of likeness beside the labels that decide alone; a ratio that is as usual need not have been set. */
function otherMeasures({ balancingIgnoreLabels, differenceRatios: set }: Parsed['scaleUp']): readonly string[] {
  const usual = USUAL_DIFFERENCE_RATIOS;
  return [
    ...(balancingIgnoreLabels.length > 0 ? ['scaleUp.balancingIgnoreLabels (--balancing-ignore-label)'] : []),
    ...(set.memory === usual.memory ? [] : ['scaleUp.memoryDifferenceRatio (--memory-difference-ratio)']),
    ...(set.allocatable === usual.allocatable ? [] : ['scaleUp.maxAllocatableDifferenceRatio (--max-allocatable-difference-ratio)']),
    ...(set.free === usual.free ? [] : ['scaleUp.maxFreeDifferenceRatio (--max-free-difference-ratio)']),
  ];
}
