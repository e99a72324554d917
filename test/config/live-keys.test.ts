/** Every setting is live or waits for a restart, and what is told of it is what is done. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { settingRows } from '../../docs/reference.ts';
import { isLive, overlaid } from '../../src/config/live-keys.ts';
import { loadSettings, type Settings } from '../../src/config/load.ts';
import { GOOD_ENV } from './support.ts';

const SAMPLE = readFileSync(join(import.meta.dirname, '../../config/aks-autoscaler.yaml'), 'utf8');

function load(file: object): Settings | undefined {
  const settings = loadSettings({ argv: ['--config=c', '--nodes=0:1:a'], env: GOOD_ENV, readFile: () => stringify(file) });
  return 'errors' in settings ? undefined : settings;
}

/** `a.b` and a value -> `{ a: { b: value } }`. */
function nested(key: string, value: unknown): object {
  return key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as object;
}

/** Other values of the kind that a default has; some may be out of range. */
function others(value: unknown): readonly unknown[] {
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value / 2, 1];
  return typeof value === 'string' && /^\d/.test(value) ? ['77s', '1s', '9s', '20m', '90m', '4s'] : [];
}

const plain = load({ metrics: {} });
const changes = settingRows(SAMPLE).flatMap(({ key, default: written }) => {
  const next = others(written === undefined ? undefined : parse(written))
    .map((value) => load(nested(key, value)))
    .find((settings) => settings !== undefined && JSON.stringify(settings.config) !== JSON.stringify(plain?.config));
  return next === undefined ? [] : [{ key, next }];
});

describe('a setting that is changed while the daemon runs', () => {
  it('is one of nearly all that have a default', () => {
    expect(changes.length).toBeGreaterThan(90);
  });

  it.each(changes)('$key applies at once if it is documented as live, and not at all if it waits', ({ key, next }) => {
    if (plain === undefined) throw new Error('the plain settings are not valid');
    const { warnings: _told, ...runs } = overlaid(plain.config, next.config);
    const { warnings: _more, ...expected } = isLive(key, plain.config, next.config) ? next.config : plain.config;
    expect(runs).toEqual(expected);
  });
});
