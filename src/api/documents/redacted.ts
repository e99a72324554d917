/** Documents without credentials: texts of other systems may contain some. */
import { redactText } from '../../lib/shown-text.ts';

/** A copy in which everything that looks like a credential is replaced, in every text at any depth. */
export function withoutCredentials<Value>(value: Value): Value {
  return cleared(value) as Value;
}

function cleared(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(cleared);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cleared(part)]));
}
