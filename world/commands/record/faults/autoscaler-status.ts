/** The limits of pools in the status that an autoscaler publishes, in its present form and in the older one. Pure. */
import { readDocuments } from '../../../../src/config/sources/documents.ts';
import type { ObjectJson } from '../../../../src/kubernetes/api/core-json.ts';
import type { ObservedLimits } from '../../../lab/recordings/observed.ts';
import { AutoscalerError } from '../../../../src/lib/errors.ts';
import { STATUS_NAME } from '../../../../src/planning/explain/scale-up-events.ts';
import { poolOfGroup } from './autoscaler-events.ts';

export interface StatusJson extends ObjectJson {
  readonly data?: Readonly<Record<string, string>> | null;
}

interface GroupJson {
  readonly name?: unknown;
  readonly health?: { readonly minSize?: unknown; readonly maxSize?: unknown } | null;
}

/** Of each group in the text that Cluster Autoscalers wrote until 2023. */
const OLDER_GROUP = /^\s*Name:\s+(\S+)\s*\n\s*Health:.*\(minSize=(\d+), maxSize=(\d+)\)/gm;
/** More than a ConfigMap can hold. */
const MOST_MIB = 2;

/** Sizes of a VMs pool have their own: the pool has the sums. Empty if it is another object, or has another form. */
export function limitsIn({ metadata, data }: StatusJson): readonly ObservedLimits[] {
  if (metadata?.name !== STATUS_NAME) return [];
  const text = data?.['status'] ?? '';
  const older = [...text.matchAll(OLDER_GROUP)].map(([, name = '', min, max]) => ({ name, min: Number(min), max: Number(max) }));
  const found = new Map<string, ObservedLimits>();
  for (const { name, min, max } of older.length > 0 ? older : groupsIn(text)) {
    const pool = poolOfGroup(name);
    const before = found.get(pool);
    found.set(pool, { pool, min: min + (before?.min ?? 0), max: max + (before?.max ?? 0) });
  }
  return [...found.values()];
}

function groupsIn(text: string): readonly { readonly name: string; readonly min: number; readonly max: number }[] {
  const groups = documentOf(text).nodeGroups;
  return (Array.isArray(groups) ? (groups as readonly (GroupJson | null)[]) : []).flatMap((group) => {
    const { name, health } = group ?? {};
    const { minSize: min, maxSize: max } = health ?? {};
    return typeof name === 'string' && typeof min === 'number' && typeof max === 'number' ? [{ name, min, max }] : [];
  });
}

/** Another program may write the object: what cannot be read says nothing. */
function documentOf(text: string): { readonly nodeGroups?: unknown } {
  try {
    const [document] = readDocuments(STATUS_NAME, text, MOST_MIB);
    return typeof document === 'object' && document !== null ? document : {};
  } catch (thrown) {
    if (thrown instanceof AutoscalerError) return {};
    throw thrown;
  }
}
