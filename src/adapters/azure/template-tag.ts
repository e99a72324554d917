/** One tag that says a whole template as JSON, for who has no room for a tag per label: a set holds fifty, a value 256 characters. Pure. */
import { isRecord, jsonOf } from './arm-body.ts';

export const WHOLE_TEMPLATE = 'k8s.io_cluster-autoscaler_node-template';

type Texts = Readonly<Record<string, string>>;

export interface StatedTemplate {
  readonly labels: Texts;
  /** `key=value:Effect` or `key:Effect`. */
  readonly taints: readonly string[];
  readonly resources: Texts;
  /** By the names that option tags have. */
  readonly options: Texts;
  /** What of the text cannot be used, as parts of a sentence. */
  readonly problems: readonly string[];
}

const NOTHING: StatedTemplate = { labels: {}, taints: [], resources: {}, options: {}, problems: [] };
const PARTS = ['labels', 'taints', 'resources', 'options'];

/** A part that cannot be read is left out and told; the others count. */
export function parseTemplate(text: string | undefined): StatedTemplate {
  if (text === undefined || text.trim() === '') return NOTHING;
  const raw = jsonOf(text);
  if (!isRecord(raw)) return { ...NOTHING, problems: ['it is not a JSON object'] };
  const taints: readonly unknown[] = Array.isArray(raw['taints']) ? raw['taints'] : [];
  const isList = raw['taints'] === undefined || Array.isArray(raw['taints']);
  return {
    labels: textsOf(raw['labels']),
    taints: taints.filter((taint) => typeof taint === 'string'),
    resources: textsOf(raw['resources']),
    options: textsOf(raw['options']),
    problems: [
      ...Object.keys(raw).flatMap((key) => (PARTS.includes(key) ? [] : [`it knows no "${key}", only ${PARTS.join(', ')}`])),
      ...['labels', 'resources', 'options'].flatMap((key) =>
        raw[key] === undefined || isRecord(raw[key]) ? [] : [`its "${key}" is no map`],
      ),
      ...(isList ? [] : ['its "taints" is no list']),
    ],
  };
}

/** Numbers and booleans are taken as they are written. */
function textsOf(part: unknown): Texts {
  if (!isRecord(part)) return {};
  return Object.fromEntries(
    Object.entries(part).flatMap(([key, value]) =>
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? [[key, String(value)]] : [],
    ),
  );
}
