/** The page of differing defaults is complete: it is found by comparing, not by remembering. */
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { compareDefaults, differingDefaultsDocument, readUpstream } from '../../docs/differing-defaults.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');

describe('the comparison of defaults', () => {
  const upstream = readUpstream(ROOT);
  const withDefault = (name: string, value: string) => ({ ...upstream, defaults: { ...upstream.defaults, [name]: value } });

  it.each([
    ['scan-interval', '15s'],
    ['max-graceful-termination-sec', '601'],
    ['cores-total', '0:320001'],
    ['expander', 'random'],
    ['skip-nodes-with-system-pods', 'false'],
  ])('finds another default of --%s', (name, value) => {
    expect(compareDefaults(upstream).same).toContain(name);
    expect(compareDefaults(withDefault(name, value)).different).toContain(name);
  });

  it('takes another spelling of the same value for the same', () => {
    expect(compareDefaults(withDefault('scan-interval', '10000ms')).same).toContain('scan-interval');
  });

  it('sorts every flag, and refuses one that is not known here', () => {
    const { same, different, retired, unset } = compareDefaults(upstream);
    expect([...same, ...different, ...retired, ...unset].sort()).toEqual(Object.keys(upstream.defaults).sort());
    expect(() => compareDefaults(withDefault('new-flag', '1'))).toThrow('--new-flag is not known');
  });

  it('the page gives a reason for each', () => {
    const rows = differingDefaultsDocument(ROOT)
      .split('\n')
      .filter((line) => line.startsWith('| `--'));
    expect(rows).toHaveLength(compareDefaults(upstream).different.length);
    for (const row of rows) expect(row.split(' | ').at(-1)?.length).toBeGreaterThan(20);
  });
});
