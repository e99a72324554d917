/**
 * The limits that clients are held to. Whoever changes the tags of a pool changes them; since a client learns of it with its next
 * read only, the wider of the limits of before and of now hold.
 */
import type { PoolSpec } from '../../base/world-spec.ts';
import { pickText, type JsonObject } from '../http/json.ts';

export interface Limits {
  readonly min: number;
  readonly max: number;
}

/** `document` has the tags of now, a scale set's or those of the properties of an agent pool. */
export function limitsOf(spec: PoolSpec, document: JsonObject): Limits {
  return { min: Math.min(spec.min, tagged(document, 'min', spec.min)), max: Math.max(spec.max, tagged(document, 'max', spec.max)) };
}

function tagged(document: JsonObject, name: 'min' | 'max', fallback: number): number {
  const text = pickText(document, 'tags', name) ?? '';
  return /^\d+$/.test(text) ? Number(text) : fallback;
}
