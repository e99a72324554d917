/** The documents agree with the program about settings and metrics. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { generatedDocuments } from '../../docs/files.ts';
import { RECORDING_RULES } from '../../deploy/recording-rules.ts';
import { catalogue, settingRows } from '../../docs/reference.ts';
import { isConfigErrors, type Config } from '../../src/config/types/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { labelOf, VERDICTS } from '../../src/planning/explain/verdicts.ts';
import { DOCUMENTS } from '../support/documents.ts';
import { familyOf } from './promql.ts';
import { FLAGS } from '../../src/config/sources/flag-table.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const SAMPLE = readFileSync(join(ROOT, 'config', 'aks-autoscaler.yaml'), 'utf8');

const ENV = {
  ARM_SUBSCRIPTION_ID: 'sub',
  ARM_RESOURCE_GROUP: 'rg',
  LOCATION: 'westeurope',
  ARM_TENANT_ID: 'tenant',
  ARM_CLIENT_ID: 'client',
  ARM_CLIENT_SECRET: 'hush',
};

function configOf(file: object, argv: readonly string[] = []): Config {
  const config = loadConfig({ argv: ['--config=x.yaml', '--nodes=0:1:a', ...argv], env: ENV, readFile: () => stringify(file) });
  if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
  return config;
}

/** `a.b` and a value -> `{ a: { b: value } }`. */
function nested(key: string, value: unknown): object {
  return key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as object;
}

describe('the generated documents', async () => {
  const documents = await generatedDocuments(ROOT);

  it.each([...documents])('%s is up to date: run npm run docs', (path, text) => {
    expect(readFileSync(join(ROOT, path), 'utf8')).toBe(text);
  });
});

describe('the settings', () => {
  const rows = settingRows(SAMPLE);
  const defaults = rows.flatMap((row) => (row.default === undefined ? [] : [[row.key, row.default] as const]));
  const plain = configOf({ logLevel: 'info' });

  it('are complete, each with a meaning', () => {
    expect(rows.length).toBeGreaterThan(70);
    expect(rows.filter(({ meaning }) => meaning.length < 8).map(({ key }) => key)).toEqual([]);
    const flags = new Set(rows.flatMap((row) => row.flags));
    const shown = FLAGS.filter(({ kind }) => kind !== 'ignored' && kind !== 'file').map(({ name }) => `--${name}`);
    expect(shown.filter((name) => !flags.has(name))).toEqual([]);
  });

  it.each(defaults)('%s is %s by default', (key, value) => {
    expect(configOf(nested(key, parse(value)))).toEqual(plain);
  });

  const defaultsInHelp = FLAGS.flatMap(({ name, help }) => {
    const value = /\(default ([^):]+(?::\d+)?)\)$/.exec(help)?.[1];
    return value === undefined || value.includes(' ') || value === 'none' ? [] : [[name, value] as const];
  });

  it.each(defaultsInHelp)('--%s is %s by default, as its help says', (name, value) => {
    expect(configOf({ logLevel: 'info' }, [`--${name}=${value}`])).toEqual(plain);
  });
});

describe('how decisions are made', () => {
  const text = readFileSync(join(ROOT, 'docs', 'how-decisions-are-made.md'), 'utf8');
  const reasons = readFileSync(join(ROOT, 'src', 'domain', 'reasons.ts'), 'utf8');
  /** The members of a union of texts, as the source has them. */
  const membersOf = (type: string): readonly string[] => {
    const body = new RegExp(`type ${type} =([^;]+);`).exec(reasons)?.[1] ?? '';
    return [...body.matchAll(/'(\w+)'/g)].map(([, name = '']) => name);
  };

  it.each([
    ['UnremovableReason', 15],
    ['BlockingPodReason', 8],
  ])('lists every %s', (type, least) => {
    const members = membersOf(type);
    expect(members.length).toBeGreaterThan(least);
    expect(members.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });

  it('lists every verdict with its words on the page, and names only flags that exist', () => {
    expect(VERDICTS.filter((name) => !text.includes(`| \`${name}\` | ${labelOf(name)} |`))).toEqual([]);
    const named = [...new Set([...text.matchAll(/`--([a-z-]+)`/g)].map(([, name]) => name))].filter((name) => name !== 'json');
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !FLAGS.some((flag) => flag.name === name))).toEqual([]);
  });
});

describe('metrics in documents', () => {
  it('exist', async () => {
    const known = new Set((await catalogue()).map(({ name }) => name));
    const texts = DOCUMENTS.map((file) => readFileSync(join(ROOT, file), 'utf8'));
    const named = new Set(texts.flatMap((text) => text.match(/\b(aks|cluster)_autoscaler_[a-z_]+[a-z]\b/g) ?? []));
    expect(named.size).toBeGreaterThan(60);
    // The name of a recorded series has that of its metric between colons, without `_total`.
    const recorded = RECORDING_RULES.map(({ record }) => record.split(':')[1] ?? '');
    expect([...named].filter((name) => !known.has(name) && !known.has(familyOf(name)) && !recorded.includes(name))).toEqual([]);
  });
});
