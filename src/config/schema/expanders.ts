/** The chain of expanders, which chooses the node group to increase, and the rules and prices that some of them need. */
import * as z from 'zod';
import type { PriorityLevel } from '../../domain/policy.ts';
import { configError } from '../../lib/errors.ts';
import { readDocuments } from '../sources/documents.ts';
import { retailPrices } from './retail-prices.ts';
import { oneOf, text, wholeNumber } from './value-types.ts';

const EXPANDERS = ['priority', 'price', 'placement', 'preferences', 'least-waste', 'least-nodes', 'most-pods', 'random'] as const;
const LEVELS_ACCEPT = 'a map of priorities (whole numbers) to lists of patterns';
const PERCENT_ACCEPTS = 'a number of percent from 0 to 99';
const PRICES_ACCEPT = 'a map of VM sizes to prices per hour, such as {Standard_D4s_v5: 0.2}';

const chain = z
  .array(oneOf(EXPANDERS), { error: `a list of ${EXPANDERS.join(', ')}` })
  .min(1, { error: `at least one of ${EXPANDERS.join(', ')}` })
  .refine((names) => new Set(names).size === names.length, { error: 'a list that names each expander once' })
  .refine((names) => !names.slice(0, -1).includes('random'), {
    error: 'a chain with random last, since it leaves no choice to later expanders',
  });

const pattern = text('a regular expression').refine(isPattern, { error: 'a regular expression' });

/** Levels of the priority expander, from the configuration or from the ConfigMap. */
const levelsAsRead = z
  .record(z.string().regex(/^-?\d{1,9}$/, { error: LEVELS_ACCEPT }), z.array(pattern, { error: 'a list of patterns' }), {
    error: LEVELS_ACCEPT,
  })
  .refine((levels) => Object.keys(levels).length > 0, { error: `${LEVELS_ACCEPT}, at least one` })
  .transform((levels) => Object.entries(levels).map(([priority, patterns]) => ({ priority: Number(priority), patterns })));
const priorities = levelsAsRead.optional();

const prices = z
  .record(z.string(), z.number({ error: 'a price per hour' }).min(0, { error: 'a price per hour of at least 0' }), {
    error: PRICES_ACCEPT,
  })
  .refine((table) => Object.keys(table).length > 0, { error: `${PRICES_ACCEPT}, at least one` })
  .transform((table) => Object.fromEntries(Object.entries(table).map(([size, price]) => [size.toLowerCase(), price])))
  .optional();

const DISCOUNTS_ACCEPT = 'a list of {sizes, percent, priority}, such as [{sizes: Standard_D*s_v5, percent: 30}]';
const SIZES_ACCEPT = 'a VM size, or a pattern of them with * and ?';

const priceDiscounts = z
  .array(
    z.strictObject({
      sizes: text(SIZES_ACCEPT).transform((sizes) => sizes.toLowerCase()),
      percent: z.number({ error: PERCENT_ACCEPTS }).min(0, { error: PERCENT_ACCEPTS }).max(99, { error: PERCENT_ACCEPTS }),
      // Most contracts leave Spot prices as they are: an unstated priority must not make Spot look cheaper than it is.
      priority: oneOf(['Regular', 'Spot']).default('Regular'),
    }),
    { error: DISCOUNTS_ACCEPT },
  )
  .default([]);

const PAID_ACCEPTS = 'a list of {size, count}, such as [{size: Standard_D8s_v5, count: 10}]';

const paidNodes = z
  .array(z.strictObject({ size: text('a VM size').transform((size) => size.toLowerCase()), count: wholeNumber(1) }), {
    error: PAID_ACCEPTS,
  })
  .refine((paid) => new Set(paid.map(({ size }) => size)).size === paid.length, { error: 'a list that names each VM size once' })
  .default([]);

/** The expander keys under `scaleUp`. */
export const expanderKeys = { expanders: chain.optional(), priorities, prices, priceDiscounts, paidNodes, retailPrices };

interface Given {
  readonly expanders?: readonly (typeof EXPANDERS)[number][] | undefined;
  readonly priorities?: readonly { readonly priority: number; readonly patterns: readonly string[] }[] | undefined;
  readonly prices?: Readonly<Record<string, number>> | undefined;
  /** Azure's list is tried unless it is disabled. Only `true` puts `price` into the default chain. */
  readonly retailPrices: { readonly enabled: boolean | 'auto' };
}

/** Rejects the price expander without prices. Priorities may come later, from a ConfigMap. */
export function checkExpanders(given: Given, context: z.core.$RefinementCtx): void {
  if (given.prices !== undefined || given.retailPrices.enabled !== false || !given.expanders?.some((expander) => expander === 'price'))
    return;
  const message = 'a chain without price, or price together with scaleUp.prices or scaleUp.retailPrices.enabled';
  context.addIssue({ code: 'custom', path: ['expanders'], message });
}

/** Returns the given chain, else priority, price and least-waste, each if its input is configured. */
export function expandersOf({ expanders, priorities: levels, prices: table, retailPrices: list }: Given) {
  const chosen = expanders ?? [
    ...(levels === undefined ? [] : (['priority'] as const)),
    ...(table === undefined && list.enabled !== true ? [] : (['price'] as const)),
    'least-waste' as const,
  ];
  return {
    expanders: chosen,
    priorities: levels,
    prices: table,
  };
}

/** Checks a pattern as the planner reads it: `(?i)` at the start and `(?P<name>...)` are allowed. */
function isPattern(source: string): boolean {
  try {
    return new RegExp(source.replace(/^\(\?i\)/, '').replaceAll('(?P<', '(?<')) instanceof RegExp;
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return false;
    throw thrown;
  }
}

/** Maximum size of a ConfigMap. */
const MAX_MIB = 1;

/**
 * Parses the priority rules in the format of the Cluster Autoscaler's ConfigMap: YAML, a map of whole numbers to lists of
 * regular expressions.
 * @throws AutoscalerError `config` with one sentence that names the wrong entry.
 */
export function parsePriorities(name: string, text: string): readonly PriorityLevel[] {
  const [document, second] = readDocuments(name, text, MAX_MIB);
  if (document === undefined) throw configError(`${name} is empty.`);
  if (second !== undefined) throw configError(`${name} contains more than one document.`);
  const parsed = levelsAsRead.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = (issue?.path ?? []).map(String).join('.');
  throw configError(`${name}${at === '' ? '' : ` at ${at}`} is invalid; it must be ${issue?.message ?? 'a map of priorities'}.`);
}
