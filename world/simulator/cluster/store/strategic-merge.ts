/**
 * Strategic merge patch: a merge patch in which lists with a merge key are merged item by item, with the directives that kubectl
 * writes. The lists with a key are documented. Node taints and tolerations have no key: they are replaced as a whole.
 */
import { isRecord, sameJson } from './patches.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Field name -> merge key. The key of `ports` differs between containers and services; it is detected from the items. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  imagePullSecrets: 'name',
  secrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
  conditions: 'type',
  addresses: 'type',
  ownerReferences: 'uid',
  podIPs: 'ip',
  schedulingGates: 'name',
};

/** Lists of primitives that are merged as sets. */
const MERGED_SETS = new Set(['finalizers', 'podCIDRs']);

function mergeKeyOf(field: string, items: readonly unknown[]): string | undefined {
  if (field !== 'ports') return MERGE_KEYS[field];
  return items.some((item) => isRecord(item) && 'containerPort' in item) ? 'containerPort' : 'port';
}

function isDirective(key: string): boolean {
  return key.startsWith('$');
}

/** Applies a strategic merge patch to a JSON value. */
export function strategicMerge(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  if (patch['$patch'] === 'delete') return undefined;
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  let base: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  const retained = patch['$retainKeys'];
  if (Array.isArray(retained)) base = Object.fromEntries(Object.entries(base).filter(([key]) => retained.includes(key)));
  deletePrimitives(base, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (isDirective(key)) continue;
    if (value === null) delete base[key];
    else base[key] = mergeField(key, base[key], value);
    if (base[key] === undefined) delete base[key];
  }
  return reordered(base, patch);
}

function mergeField(field: string, target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) return strategicMerge(target, patch);
  const items: readonly unknown[] = patch;
  const current: readonly unknown[] = Array.isArray(target) ? target : [];
  if (items.some((item) => isRecord(item) && item['$patch'] === 'replace')) {
    return items.filter((item) => !(isRecord(item) && item['$patch'] === 'replace')).map(withoutDirectives);
  }
  if (MERGED_SETS.has(field)) return [...new Set([...current, ...items])];
  const mergeKey = mergeKeyOf(field, [...current, ...items]);
  return mergeKey === undefined ? items.map(withoutDirectives) : mergeItems(current, items, mergeKey);
}

function mergeItems(current: readonly unknown[], patches: readonly unknown[], mergeKey: string): unknown {
  let result = [...current];
  for (const patch of patches.filter(isRecord)) {
    const matches = (item: unknown): boolean => isRecord(item) && sameJson(item[mergeKey], patch[mergeKey]);
    const before = result.find(matches);
    const merged = strategicMerge(before, patch);
    if (merged === undefined) result = result.filter((item) => !matches(item));
    else result = before === undefined ? [...result, merged] : result.map((item) => (matches(item) ? merged : item));
  }
  return result;
}

function deletePrimitives(base: Record<string, unknown>, patch: Entry): void {
  for (const [directive, values] of Object.entries(patch)) {
    const field = directive.startsWith('$deleteFromPrimitiveList/') ? directive.slice('$deleteFromPrimitiveList/'.length) : undefined;
    const current = field === undefined ? undefined : base[field];
    if (field === undefined || !Array.isArray(current) || !Array.isArray(values)) continue;
    base[field] = current.filter((item) => !values.includes(item));
  }
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDirectives);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, item]) => !isDirective(key) && item !== null)
      .map(([key, item]) => [key, withoutDirectives(item)]),
  );
}

/** `$setElementOrder/<field>`: named items take the given order, the rest follow. */
function reordered(base: Record<string, unknown>, patch: Entry): unknown {
  for (const [directive, order] of Object.entries(patch)) {
    const field = directive.startsWith('$setElementOrder/') ? directive.slice('$setElementOrder/'.length) : undefined;
    const items = field === undefined ? undefined : base[field];
    if (field === undefined || !Array.isArray(items) || !Array.isArray(order)) continue;
    const mergeKey = mergeKeyOf(field, items);
    const place = (item: unknown): number => {
      const at = order.findIndex((wanted) => sameElement(item, wanted, mergeKey));
      return at === -1 ? order.length : at;
    };
    base[field] = items
      .map((item: unknown, index) => ({ item, index }))
      .sort((a, b) => place(a.item) - place(b.item) || a.index - b.index)
      .map(({ item }) => item);
  }
  return base;
}

function sameElement(item: unknown, wanted: unknown, mergeKey: string | undefined): boolean {
  if (mergeKey === undefined || !isRecord(item) || !isRecord(wanted)) return sameJson(item, wanted);
  return sameJson(item[mergeKey], wanted[mergeKey]);
}
