/** The simple JSON paths of definitions: `.spec.size`, `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels['a.b/c']`. */
import { isRecord, sameJson } from '../store/patches.ts';

type Step = { readonly name: string } | { readonly index: number } | { readonly where: readonly [string, string] } | 'all';

const STEP = /\.((?:\\.|[^.[\\])+)|\['([^']+)'\]|\[(\d+)\]|\[\?\(@\.([^=)]+)==["']([^"']*)["']\)\]|\[\*\]/g;

function stepsOf(path: string): readonly Step[] {
  return [...path.matchAll(STEP)].map(([, plain, quoted, index, field, value]): Step => {
    if (plain !== undefined) return { name: plain.replace(/\\(.)/g, '$1') };
    if (quoted !== undefined) return { name: quoted };
    if (index !== undefined) return { index: Number(index) };
    return field === undefined ? 'all' : { where: [field.trim(), value ?? ''] };
  });
}

/** The first value at the path; undefined if there is none. */
export function valueAt(object: unknown, path: string): unknown {
  let values: readonly unknown[] = [object];
  for (const step of stepsOf(path)) values = values.flatMap((value) => take(value, step));
  return values[0];
}

function take(value: unknown, step: Step): readonly unknown[] {
  if (step === 'all') return Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : [];
  if ('name' in step) return isRecord(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
  if (!Array.isArray(value)) return [];
  const items: readonly unknown[] = value;
  if ('index' in step) return step.index < items.length ? [items[step.index]] : [];
  const [field, wanted] = step.where;
  return items.filter((item) => isRecord(item) && sameJson(String(item[field]), wanted));
}

/** The object with a value at a path of names. */
export function withValueAt(object: Readonly<Record<string, unknown>>, path: string, value: unknown): Readonly<Record<string, unknown>> {
  const names = stepsOf(path).flatMap((step) => (typeof step === 'object' && 'name' in step ? [step.name] : []));
  const write = (target: unknown, [head, ...rest]: readonly string[]): unknown => {
    if (head === undefined) return value;
    const fields = isRecord(target) ? target : {};
    return { ...fields, [head]: write(fields[head], rest) };
  };
  return write(object, names) as Readonly<Record<string, unknown>>;
}
