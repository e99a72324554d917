/** The command says what it found, for people and for programs, and its exit code says whether something is new. */
import { describe, expect, it } from 'vitest';
import { ARGUED } from './argued.ts';
import { wireCommand } from './command.ts';
import type { Finding } from './finding.ts';
import { reportOf } from './report.ts';
import type { WireResult } from './wire.ts';
import { aSet, cliYaml, DATE, getSet, goYaml, recordingsIn } from './synthetic.ts';

/** Without the world, which other tests compare with. */
const NOTHING = { argued: [], examples: () => Promise.resolve([]) };

const NEW_STATE = getSet(aSet({}, { provisioningState: 'Levitating' }));
const WHAT = 'unknown provisioning state of a scale set: Levitating';

describe('the command', () => {
  it('exits with 1 for a difference that is not argued, and names it', async () => {
    const { code, out } = await wireCommand(['--recordings', recordingsIn({ 'a.yaml': cliYaml([NEW_STATE]) })], NOTHING);
    expect(code).toBe(1);
    expect(out).toContain('1 recorded answers in 1 files: 1 judged');
    expect(out).toContain(WHAT);
    expect(out).toContain('a.yaml#0');
  });

  it('exits with 0 where every difference is argued, by patterns', async () => {
    const folder = recordingsIn({ 'a.yaml': cliYaml([NEW_STATE]) });
    const everything = { route: '*', what: '*', reason: 'a test', date: '2026-11-23' };
    expect(await wireCommand(['--recordings', folder], { ...NOTHING, argued: [everything] })).toMatchObject({ code: 0 });
    expect(await wireCommand(['--recordings', folder], { ...NOTHING, argued: [{ ...everything, route: 'listVms *' }] })).toMatchObject({
      code: 1,
    });
    expect(await wireCommand(['--recordings', folder], { ...NOTHING, argued: [{ ...everything, what: 'another' }] })).toMatchObject({
      code: 1,
    });
  });

  it('leaves out answers of before a day', async () => {
    const folder = recordingsIn({ 'a.yaml': goYaml([NEW_STATE, { ...NEW_STATE, headers: { Date: 'Fri, 03 Jan 2025 01:00:00 GMT' } }]) });
    const { out } = await wireCommand(['--recordings', folder, '--since', '2026-01-01', '--json'], NOTHING);
    const { recordings } = JSON.parse(out) as WireResult;
    expect({ DATE, old: recordings?.old, judged: recordings?.judged }).toEqual({ DATE, old: 1, judged: 1 });
  });

  it('reports a broken file as a finding', async () => {
    const { code, out } = await wireCommand(['--recordings', recordingsIn({ 'a.json': '{' })], NOTHING);
    expect(code).toBe(1);
    expect(out).toContain('cannot be read: ');
  });

  it.each([
    ['no folder', []],
    ['an unknown option', ['--recording', '.']],
    ['a date that is none', ['--recordings', '.', '--since', 'soon']],
    ['a folder that does not exist', ['--recordings', '/nowhere/at/all']],
  ])('exits with 2 for %s', async (_title, argv) => {
    const { code, err } = await wireCommand(argv, NOTHING);
    expect(code).toBe(2);
    expect(err).toMatch(/^wire: /);
  });
});

describe('the table', () => {
  const recordings = { files: 1, interactions: 3, skipped: 0, old: 0, judged: 3, operations: [], notCompared: [] };
  const result: WireResult = { recordings, documents: undefined, findings: [], argued: [] };
  const aFinding = (more: Partial<Finding>): Finding => ({
    weight: 'form',
    route: 'getVm 200',
    what: 'x',
    count: 1,
    of: 2,
    example: 'a#0',
    ...more,
  });

  it('shows what differs alike on many routes as one row, and what the daemon misreads first', () => {
    const findings = [aFinding({ weight: 'daemon', what: 'a zone is no number' }), aFinding({}), aFinding({ route: 'listVms 200' })];
    const lines = reportOf({ ...result, findings }).split('\n');
    expect(lines.findIndex((line) => line.includes('a zone is no number'))).toBeLessThan(
      lines.findIndex((line) => line.startsWith('The world')),
    );
    expect(lines).toContain('getVm 200 and 1 more  2 of 4   x           a#0');
    expect(lines).toContain('3 differences, and 0 more that are argued.');
  });

  it('shows durations and what was not compared', () => {
    const times = { verb: 'PUT x', count: 3, medianSeconds: 20, longestSeconds: 40, words: ['InProgress'], headers: ['location'] };
    const text = reportOf({ ...result, recordings: { ...recordings, operations: [times], notCompared: ['getSubnet 200'] } });
    expect(text).toMatch(/PUT x +3 +20 s +40 s +location +InProgress\n/);
    expect(text).toContain('Without an example of the world: getSubnet 200.');
  });
});

describe('the argued differences', () => {
  it('have a reason and a day', () => {
    for (const { route, what, reason, date } of ARGUED) {
      expect(
        [route, what].every((each) => each !== ''),
        what,
      ).toBe(true);
      expect(reason.length, what).toBeGreaterThan(20);
      expect(date).toMatch(/^20\d\d-\d\d-\d\d$/);
    }
  });
});
