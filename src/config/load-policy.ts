/** The part of a configuration that decisions are made by, without the part that says how to reach a cluster. */
import * as z from 'zod';
import { AutoscalerError } from '../domain/errors.ts';
import type { Policy } from '../domain/policy.ts';
import type { RetailPricesConfig } from './config.ts';
import { mergeLayers } from './layer.ts';
import { backoff, capacity, cluster, drain, scaleDown, scaleUp, scaleUpPricedElsewhere } from './policy-schema.ts';
import { sentencesOf } from './sentences.ts';
import { configFileLayer } from './sources/config-file.ts';

const PARTS = z.object({ cluster, scaleUp, scaleDown, backoff, drain, capacity });
const PARTS_PRICED_ELSEWHERE = PARTS.extend({ scaleUp: scaleUpPricedElsewhere });

export interface LoadedPolicy {
  readonly policy: Policy;
  /** undefined: the public price list is not used. */
  readonly retailPrices: RetailPricesConfig | undefined;
  /** Whether the file says which expanders to use. */
  readonly hasChain: boolean;
}

/**
 * Defaults where the file says nothing; no file: all defaults. `pricedElsewhere`: a chain with price needs no prices of the file.
 * @throws AutoscalerError `config` with the first mistake's sentence.
 */
export function loadPolicy(file?: { readonly name: string; readonly text: string }, pricedElsewhere = false): LoadedPolicy {
  const layer = file === undefined ? undefined : configFileLayer(file.name, file.text);
  const merged = mergeLayers(layer === undefined ? [] : [layer]);
  const parsed = (pricedElsewhere ? PARTS_PRICED_ELSEWHERE : PARTS).safeParse(merged.document);
  const mistake = layer?.errors[0] ?? (parsed.success ? undefined : sentencesOf(parsed.error.issues, merged)[0]);
  if (mistake !== undefined || !parsed.success) throw new AutoscalerError({ kind: 'config' }, mistake ?? 'The configuration is not valid.');
  const { retailPrices, ...scaleUpPolicy } = parsed.data.scaleUp;
  return { policy: { ...parsed.data, scaleUp: scaleUpPolicy }, retailPrices, hasChain: merged.origins.has('scaleUp.expanders') };
}
