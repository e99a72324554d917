/** The command says what it found, for people and for programs, and its exit code says whether something is new. */
import { describe, expect, it } from 'vitest';
import { ARGUED } from './argued.ts';
import { wireCommand } from './command.ts';
import { aSet, cliYaml, DATE, getSet, goYaml, recordingsIn } from './synthetic.ts';

const NEW_STATE = getSet(aSet({}, { provisioningState: 'Levitating' }));
const WHAT = 'unknown provisioning state of a scale set: Levitating';

describe('the command', () => {
  it('exits with 1 for a difference that is not argued, and names it', async () => {
    const { code, out } = await wireCommand(['--recordings', recordingsIn({ 'a.yaml': cliYaml([NEW_STATE]) })], []);
    expect(code).toBe(1);
    expect(out).toContain('1 recorded answers in 1 files: 1 judged');
    expect(out).toContain(WHAT);
    expect(out).toContain('a.yaml#0');
  });

  it('exits with 0 where every difference is argued, by patterns', async () => {
    const folder = recordingsIn({ 'a.yaml': cliYaml([NEW_STATE]) });
    const everything = { route: '*', what: '*', reason: 'a test', date: '2026-11-23' };
    expect(await wireCommand(['--recordings', folder], [everything])).toMatchObject({ code: 0 });
    expect(await wireCommand(['--recordings', folder], [{ ...everything, route: 'listVms *' }])).toMatchObject({ code: 1 });
    expect(await wireCommand(['--recordings', folder], [{ ...everything, what: 'another' }])).toMatchObject({ code: 1 });
  });

  it('leaves out answers of before a day', async () => {
    const folder = recordingsIn({ 'a.yaml': goYaml([NEW_STATE, { ...NEW_STATE, headers: { Date: 'Fri, 03 Jan 2025 01:00:00 GMT' } }]) });
    const { out } = await wireCommand(['--recordings', folder, '--since', '2026-01-01', '--json'], []);
    const result = JSON.parse(out) as { readonly old: number; readonly judged: number };
    expect({ DATE, old: result.old, judged: result.judged }).toEqual({ DATE, old: 1, judged: 1 });
  });

  it('reports a broken file as a finding', async () => {
    const { code, out } = await wireCommand(['--recordings', recordingsIn({ 'a.json': '{' })], []);
    expect(code).toBe(1);
    expect(out).toContain('cannot be read: ');
  });

  it.each([
    ['no folder', []],
    ['an unknown option', ['--recording', '.']],
    ['a date that is none', ['--recordings', '.', '--since', 'soon']],
    ['a folder that does not exist', ['--recordings', '/nowhere/at/all']],
  ])('exits with 2 for %s', async (_title, argv) => {
    const { code, err } = await wireCommand(argv, []);
    expect(code).toBe(2);
    expect(err).toMatch(/^wire: /);
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
