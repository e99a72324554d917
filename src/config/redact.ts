import type { Config } from './types/config.ts';

const SECRET_KEYS = /secret|password/i;

/** Returns the effective configuration for the log line at start: secrets are masked, and the certificate is left out. */
export function redact(config: Config): Readonly<Record<string, unknown>> {
  return maskIn(config) as Readonly<Record<string, unknown>>;
}

function maskIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskIn);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, maskKey(key, part)]));
}

function maskKey(key: string, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (key === 'caPem') return '[a certificate]';
  return typeof value === 'string' && SECRET_KEYS.test(key) ? '[redacted]' : maskIn(value);
}
