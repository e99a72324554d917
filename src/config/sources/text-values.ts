/**
 * Converts the text of a flag or an environment variable to the kind of value that the schema expects. Text that cannot be
 * parsed is passed on unchanged: the schema rejects it, and the message names the source.
 */
import type { Origin, Setting } from './layers.ts';

export type TextKind = 'text' | 'duration' | 'seconds' | 'integer' | 'number' | 'boolean' | 'boolean-or-auto' | 'list' | 'secret';

/** As Go's flags parse them, since existing manifests are written for those. */
const TRUE = new Set(['true', 't', '1']);
const FALSE = new Set(['false', 'f', '0']);

/** The maximum of the Cluster Autoscaler's provider. */
const MAX_SECONDS = 2 ** 32 - 1;

const ACCEPTS: Readonly<Partial<Record<TextKind, string>>> = {
  seconds: 'a whole number of seconds from 0 to 4294967295',
  boolean: 'true or false',
};

/** For these keys 0 means "not set", as other tools write it. 0 retries with retries enabled is an error. */
const ZERO_IS_UNSET = /^azure\.(?:cache\.vmss\w*Ttl|rateLimit\.|readRetries\.(?!retries))/;

/** Whether a key or variable of the Cluster Autoscaler's provider counts as not set: blank, or 0 if that is no value. */
export function isUnset(path: string, written: string): boolean {
  const text = written.trim();
  return text === '' || (text !== '' && Number(text) === 0 && ZERO_IS_UNSET.test(path));
}

export function settingFromText(path: readonly string[], kind: TextKind, written: string, label: string): Setting {
  const text = written.trim();
  const accepts = ACCEPTS[kind];
  const value = valueOf(kind, text);
  const origin: Origin = { label, written: text, ...(kind === 'secret' ? { secret: true } : {}) };
  // null never passes the schema. A text such as `5m` must not pass as seconds because it is a valid duration.
  return accepts !== undefined && value === text ? { path, value: null, origin: { ...origin, unread: accepts } } : { path, value, origin };
}

function valueOf(kind: TextKind, text: string): unknown {
  switch (kind) {
    case 'text':
    case 'secret':
    case 'duration':
      return text;
    case 'seconds':
      return /^\d{1,10}$/.test(text) && Number(text) <= MAX_SECONDS ? `${text}s` : text;
    case 'integer':
      return /^[+-]?\d+$/.test(text) ? Number(text) : text;
    case 'number':
      return text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
    // The schema accepts `auto`, and no other text.
    case 'boolean-or-auto':
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
