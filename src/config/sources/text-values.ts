/**
 * From the text of a flag or an environment variable to the kind of value the schema wants. What cannot be read is passed
 * on as it is: the schema refuses it, and the sentence names the source.
 */
import type { Origin, Setting } from './layers.ts';

export type TextKind = 'text' | 'duration' | 'seconds' | 'integer' | 'number' | 'boolean' | 'list' | 'secret';

/** As Go's flags read them, which users' manifests are written for. */
const TRUE = new Set(['true', 't', '1']);
const FALSE = new Set(['false', 'f', '0']);

/** What today's provider takes; a longer wait than a century is a slip of the finger. */
const MOST_SECONDS = 2 ** 32 - 1;

const ACCEPTS: Readonly<Partial<Record<TextKind, string>>> = {
  seconds: 'a whole number of seconds, 0 or more (and not above 4294967295)',
  boolean: 'true or false',
};

/** 0 of these means what leaving them out means, as in what other tools write. No retries with retries on is a mistake. */
const ZERO_IS_UNSET = /^azure\.(?:cache\.vmss\w*Ttl|rateLimit\.|readRetries\.(?!retries))/;

/** Whether a key or variable of today's provider says nothing: blank, or a zero where that is no value. */
export function isUnset(path: string, written: string): boolean {
  const text = written.trim();
  return text === '' || (text !== '' && Number(text) === 0 && ZERO_IS_UNSET.test(path));
}

export function settingFromText(path: readonly string[], kind: TextKind, written: string, label: string): Setting {
  const text = written.trim();
  const accepts = ACCEPTS[kind];
  const value = valueOf(kind, text);
  const origin: Origin = { label, written: text, ...(kind === 'secret' ? { secret: true } : {}) };
  // null is of no kind: a text such as `5m` must not pass for seconds because it happens to be a duration.
  return accepts !== undefined && value === text ? { path, value: null, origin: { ...origin, unread: accepts } } : { path, value, origin };
}

function valueOf(kind: TextKind, text: string): unknown {
  switch (kind) {
    case 'text':
    case 'secret':
    case 'duration':
      return text;
    case 'seconds':
      return /^\d{1,10}$/.test(text) && Number(text) <= MOST_SECONDS ? `${text}s` : text;
    case 'integer':
      return /^[+-]?\d+$/.test(text) ? Number(text) : text;
    case 'number':
      return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return booleanOf(text);
    case 'list':
      return text.split(',').map((part) => part.trim());
  }
}

function booleanOf(text: string): boolean | string {
  const folded = text.toLowerCase();
  if (TRUE.has(folded)) return true;
  return FALSE.has(folded) ? false : text;
}
