/** The tables of `npm run versus`. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CASES } from '../bench/versus/cases.ts';
import { renderVersus } from '../bench/versus/report.ts';

const RESULT = {
  contestant: 'x',
  firstWriteSeconds: 0.44,
  doneSeconds: undefined,
  armCalls: 12,
  armCallsPerMinute: 2.04,
  refusedWrites: 1,
  lostUpdates: 2,
  surplusNodes: 3,
  cpuSecondsPerMinute: 0.2334,
  memoryMiB: 99.6,
  failed: false,
};

describe('the side-by-side', () => {
  it('has a row per program, and says never and ended', () => {
    const results = [RESULT, { ...RESULT, contestant: 'y', failed: true }];
    const lines = renderVersus([{ scene: { name: 'no stock', what: 'Nothing is left.' }, results }]).split('\n');
    expect(lines).toContain('### No stock');
    expect(lines).toContain('| x | 0.4 s | never | 12 | 1 | 2 | 3 |');
    expect(lines).toContain('| y | ended | ended | 12 | 1 | 2 | 3 |');
  });

  it('has what rest costs', () => {
    expect(renderVersus([{ scene: { name: 'idle', what: 'Rest.' }, results: [RESULT] }])).toContain('| x | 2.0 | 233 | 100 |');
  });

  it('compares nothing without another program, and says what it needs', () => {
    const told = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', join('bench', 'versus', 'main.ts')], {
      encoding: 'utf8',
    });
    expect(told).toContain('nothing was compared');
    expect(told).toContain('npm run versus -- --rival cluster-autoscaler=PATH');
    const page = readFileSync(join('docs', 'comparison.md'), 'utf8');
    for (const line of told.split('\n').filter((text) => /^ {2}(git|cd) /.test(text))) expect(page).toContain(line.trim());
    expect(told).toContain('go build -tags azure');
  });

  it.each(CASES)('is what the comparison shows: $name', (scene) => {
    const page = readFileSync(join('docs', 'comparison.md'), 'utf8');
    expect(page).toContain(renderVersus([{ scene, results: [] }]).trimEnd());
  });
});
