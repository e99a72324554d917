/**
 * Turns an issue of the schema into one sentence: the key as the user wrote it, the value, and what is accepted. Must not
 * decide what is accepted: the schema does.
 */
import type * as z from 'zod';
import { DEFAULT_DIFFERENCE_RATIOS } from '../../domain/policy.ts';
import { nearestName } from '../../lib/nearest-name.ts';
import type { Document, Merged, Origin } from '../sources/layers.ts';
import { knownKeys, waysToSet } from './schema-keys.ts';
import type { Parsed } from './schema.ts';
import { isRecord } from '../../lib/json.ts';

type Issue = z.core.$ZodIssue;

export function messagesOf(issues: readonly Issue[], merged: Merged): readonly string[] {
  const reported = new Set<string>();
  return issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...pathOf(issue), key], merged));
    const key = pathOf(issue).join('.');
    if (reported.has(key)) return [];
    reported.add(key);
    return [messageOf(issue, merged)];
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
    nearest === undefined ? `the accepted keys are ${knownKeys(parent).join(', ')}.` : `did you mean ${dotted([...parent, nearest])}?`;
  const file = source === undefined ? '' : (/ of (.+)$/.exec(source)?.[1] ?? '');
  return `key ${key}${file === '' ? '' : ` of ${file}`} is not known; ${hint}`;
}

function messageOf(issue: Issue, merged: Merged): string {
  const path = pathOf(issue);
  const origin = originOf(path, merged);
  const value = valueAt(merged.document, path);
  const accepts = origin?.unread ?? acceptsOf(issue);
  if (value === undefined) return `${dotted(path)} is missing; it must be ${accepts}${waysToSet(path)}.`;
  const isSecret = origin?.secret === true || /secret|password/i.test(path.at(-1) ?? '');
  const shown = isSecret ? 'invalid' : shownOf(origin?.written ?? value);
  return `${label(path, origin)} is ${shown}; it must be ${accepts}.`;
}

/** JSON cannot express NaN and infinity. */
function shownOf(value: unknown): string | undefined {
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : JSON.stringify(value);
}

function acceptsOf(issue: Issue): string {
  return issue.code === 'invalid_type' && issue.expected === 'object' ? 'a map of settings' : issue.message;
}

/** Names the key as its source does. Inside a list, with the index. */
function label(path: readonly string[], origin: Origin | undefined): string {
  if (origin === undefined) return `key ${dotted(path)}`;
  const file = /^key \S+ of (.+)$/.exec(origin.label)?.[1];
  const isNested = file !== undefined && path.some((part) => /^\d+$/.test(part));
  return isNested ? `key ${dotted(path)} of ${file}` : origin.label;
}

function dotted(path: readonly string[]): string {
  return path.reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`), '');
}

/** Returns the origin of the path, or of the nearest path above it. */
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
    else if (isRecord(value) && Object.hasOwn(value, part)) value = value[part];
    else return undefined;
  }
  return value;
}

const CLUSTER_NAME = 'azure.clusterName';

/**
 * Removes `--cluster-name` if the cluster's resource group is not configured. The Cluster Autoscaler accepts that flag for
 * every cloud and does not use it for Azure, so an existing Deployment's flag must not prevent the start. From other sources
 * the setting means agent pools and stays.
 */
export function withoutIneffectiveClusterName(merged: Merged): { readonly merged: Merged; readonly warnings: readonly string[] } {
  const { azure } = merged.document;
  const label = merged.origins.get(CLUSTER_NAME)?.label;
  if (!isRecord(azure) || azure['clusterResourceGroup'] !== undefined || label !== 'flag --cluster-name') return { merged, warnings: [] };
  const { clusterName: _idle, ...rest } = azure;
  const document: Document = { ...merged.document, azure: rest };
  const warning = `${label} has no effect: agent pools are only read if ARM_CLUSTER_RESOURCE_GROUP (azure.clusterResourceGroup) is set too.`;
  return { merged: { document, origins: merged.origins }, warnings: [warning] };
}

/** One sentence for each setting that another setting makes ineffective. */
export function ineffectiveSettings({ nodeGroups, discovery, scaleUp, azure, schedules }: Parsed): readonly string[] {
  const nudge =
    'No node group is configured: set --nodes=MIN:MAX:NAME, --node-group-auto-discovery=label:TAG=VALUE, or the name of the cluster.';
  const alone = 'when scale-ups are balanced: scaleUp.balancingLabels (--balancing-label) alone decide which groups are similar.';
  const beaten = scaleUp.balancingLabels.length > 0 ? otherMeasures(scaleUp) : [];
  return [
    ...(scaleUp.enforceMinSize || schedules.rules.every(({ says }) => says.min === undefined)
      ? []
      : ['min of schedules adds no node while scaleUp.enforceMinSize (--enforce-node-group-min-size) is false; it only keeps nodes.']),
    ...beaten.map((measure) => `${measure} has no effect ${alone}`),
    // With the name of the cluster, its tagged pools are selected.
    ...(nodeGroups.length === 0 && discovery.length === 0 && azure.clusterName === undefined ? [nudge] : []),
  ];
}

/** Settings about similar groups that balancing labels override. A ratio with its default value need not have been set. */
function otherMeasures({ balancingIgnoreLabels, differenceRatios: set }: Parsed['scaleUp']): readonly string[] {
  const usual = DEFAULT_DIFFERENCE_RATIOS;
  return [
    ...(balancingIgnoreLabels.length > 0 ? ['scaleUp.balancingIgnoreLabels (--balancing-ignore-label)'] : []),
    ...(set.memory === usual.memory ? [] : ['scaleUp.memoryDifferenceRatio (--memory-difference-ratio)']),
    ...(set.allocatable === usual.allocatable ? [] : ['scaleUp.maxAllocatableDifferenceRatio (--max-allocatable-difference-ratio)']),
    ...(set.free === usual.free ? [] : ['scaleUp.maxFreeDifferenceRatio (--max-free-difference-ratio)']),
  ];
}
