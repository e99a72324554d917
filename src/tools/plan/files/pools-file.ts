/** Reads the list of pools for `plan`. */
import * as z from 'zod';
import { configError } from '../../../lib/errors.ts';
import { isQuantity } from '../../../domain/quantity.ts';
import { readDocuments, throwFirstIssue } from '../../../config/sources/documents.ts';
import { oneOf, text, wholeNumber } from '../../../config/schema/value-types.ts';
import { withoutNulls } from '../../../lib/json.ts';

const MOST_MIB = 10;
const MOST_POOLS = 5000;
/** Ten times the limit of one AKS pool. */
const MOST_NODES = 10_000;
const MOST_NODES_IN_ALL = 200_000;

export const quantity = z.union([z.string(), z.number()], { error: 'a quantity such as 500m or 1.5Gi' }).refine(isQuantity, {
  error: 'a quantity such as 500m or 1.5Gi',
});
const strings = z.record(z.string(), z.string({ error: 'a text' }), { error: 'a map of texts' });
const TAINT = 'a taint such as key=value:NoSchedule or {key, value, effect}';
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

const taint = z.union(
  [
    z.strictObject({ key: z.string().min(1), value: z.string().optional(), effect: z.enum(EFFECTS) }),
    z
      .string()
      .regex(/^[^=:]+(=[^:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/)
      .transform((written) => {
        const [, key = '', value, effect = ''] = /^([^=:]+)(?:=([^:]*))?:(.+)$/.exec(written) ?? [];
        return { key, value, effect: EFFECTS.find((known) => known === effect) ?? 'NoSchedule' };
      }),
  ],
  { error: TAINT },
);

const pool = z
  .strictObject(
    {
      name: text("a pool's name"),
      vmSize: text('a VM size such as Standard_D4s_v5'),
      min: wholeNumber(0),
      max: wholeNumber(0),
      targetSize: wholeNumber(0, MOST_NODES).optional(),
      zones: z
        .array(z.union([z.string().min(1), z.int()]).transform(String), { error: 'a list of zones' })
        .max(16, { error: '16 zones at most' })
        .default([]),
      labels: strings.default({}),
      taints: z.array(taint, { error: 'a list of taints' }).default([]),
      maxPods: wholeNumber(1, 1000).optional(),
      allocatable: z.record(z.string(), quantity, { error: 'a map of resources to quantities' }).optional(),
      /** A number is the level for the priority expander; a word is Azure's priority. */
      priority: z.union([wholeNumber(-1_000_000_000), oneOf(['Regular', 'Spot'])], { error: 'a whole number, Regular or Spot' }).optional(),
      price: z.number({ error: 'a price per hour' }).min(0, { error: 'a price per hour' }).optional(),
      tags: strings.default({}),
    },
    { error: 'a map {name, vmSize, min, max}' },
  )
  .refine(({ min, max }) => min <= max, { error: 'a minimum that is not above max', path: ['min'] });

export type PoolSpec = z.infer<typeof pool>;

/** @throws AutoscalerError `config` with one sentence that names the pool and the field. */
export function readPools(file: string, content: string): readonly PoolSpec[] {
  const documents = readDocuments(file, content, MOST_MIB);
  if (documents.length === 0) throw configError(`${file} is empty; it must be a list of pools {name, vmSize, min, max}.`);
  const list = documents.flatMap((document) => poolsIn(file, document));
  if (list.length > MOST_POOLS) throw configError(`${file} contains ${list.length} pools; it must be at most ${MOST_POOLS}.`);
  const pools = list.map((item: unknown, index) => readPool(file, item, index));
  const names = pools.map(({ name }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  if (duplicate !== undefined) throw configError(`${file}: pool ${duplicate} is listed twice; names must be unique.`);
  const nodes = pools.reduce((sum, { targetSize = 0 }) => sum + targetSize, 0);
  if (nodes > MOST_NODES_IN_ALL)
    throw configError(`${file}: targetSize of all pools together is ${nodes}; it must be at most ${MOST_NODES_IN_ALL}.`);
  return pools;
}

function poolsIn(file: string, document: unknown): readonly unknown[] {
  const list: unknown = typeof document === 'object' && document !== null && 'pools' in document ? document.pools : document;
  if (Array.isArray(list)) return list;
  throw configError(`${file} does not contain a list of pools {name, vmSize, min, max}.`);
}

function readPool(file: string, item: unknown, index: number): PoolSpec {
  const parsed = pool.safeParse(withoutNulls(item, { keepInLists: true }));
  if (parsed.success) return parsed.data;
  const name = typeof item === 'object' && item !== null && 'name' in item && typeof item.name === 'string' ? item.name : `[${index}]`;
  return throwFirstIssue(`${file}: pool ${name}`, item, parsed.error.issues);
}
