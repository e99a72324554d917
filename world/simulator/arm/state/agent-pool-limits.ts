/**
 * The limits that the write-safety rules check. Other writers can change them with a pool's tags. A client learns of it only by
 * its next read, so the wider one of the old and the new limits applies.
 */
import type { PoolSpec } from '../../base/world-spec.ts';
import { pickText, type JsonObject } from '../http/json.ts';

export interface Limits {
  readonly min: number;
  readonly max: number;
}

/** `document` has the current tags: a scale set's, or those of an agent pool's properties. */
export function limitsOf(spec: PoolSpec, document: JsonObject): Limits {
  return {
    min: Math.min(spec.min, limitFromTag(document, 'min', spec.min)),
    max: Math.max(spec.max, limitFromTag(document, 'max', spec.max)),
  };
}

function limitFromTag(document: JsonObject, name: 'min' | 'max', fallback: number): number {
  const text = pickText(document, 'tags', name) ?? '';
  return /^\d+$/.test(text) ? Number(text) : fallback;
}
