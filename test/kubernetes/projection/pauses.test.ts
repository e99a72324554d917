import { describe, expect, it } from 'vitest';
import { CLUSTER_KEY } from '../../../src/domain/ports/pauses.ts';
import { pauseText, projectPauses } from '../../../src/kubernetes/projection/pauses.ts';

const UNTIL = '2026-07-01T06:00:00Z';
const untilMs = Date.parse(UNTIL);
const whole = { pool: 'gpu', direction: 'both', untilMs, by: undefined, reason: undefined, problem: undefined };

describe('an entry about a pause', () => {
  it.each([
    ['the end alone', `until=${UNTIL}`, {}],
    [
      'each field',
      `until=${UNTIL} direction=scale-down by=ann reason=move of the database`,
      { direction: 'scale-down', by: 'ann', reason: 'move of the database' },
    ],
    ['one line per field', `until=${UNTIL}\ndirection=scale-up\nreason=upgrade\n`, { direction: 'scale-up', reason: 'upgrade' }],
    ['another zone', 'until=2026-07-01T08:00:00+02:00', {}],
    ['no seconds', 'until=2026-07-01T06:00Z', {}],
    ['a reason with fields in it', `until=${UNTIL} reason=until=never direction=up`, { reason: 'until=never direction=up' }],
    ['an empty reason', `until=${UNTIL} reason= `, {}],
    ['control characters in the reason', `until=${UNTIL} reason=a\u001b[31mb\u202e\nc`, { reason: 'a [31mb c' }],
    ['a name with an equals sign', `until=${UNTIL} by=a=b`, { by: 'a=b' }],
  ])('reads %s', (_, text, more) => {
    expect(projectPauses({ gpu: text })).toEqual({ pauses: [{ ...whole, ...more }], unreadable: [] });
  });

  it.each([
    ['a direction that does not exist', `until=${UNTIL} direction=up`, 'direction is "up"; it must be scale-up, scale-down or both'],
    [
      'a field that does not exist',
      `until=${UNTIL} direktion=scale-up`,
      '"direktion=scale-up" is not understood; the fields are until, direction, by and reason',
    ],
    ['a word', `until=${UNTIL} scale-up`, '"scale-up" is not understood; the fields are until, direction, by and reason'],
    ['a field twice', `until=${UNTIL} direction=scale-up direction=scale-down`, '"direction" is there twice'],
  ])('with an end and %s pauses both directions until then', (_, text, problem) => {
    expect(projectPauses({ gpu: text })).toEqual({ pauses: [{ ...whole, problem }], unreadable: [] });
  });

  it.each([
    ['nothing', '', 'it has no "until="'],
    ['a span', 'for=2h', 'it has no "until="'],
    ['JSON', `{"until":"${UNTIL}"}`, 'it has no "until="'],
    ['a span as the end', 'until=2h', 'until is "2h"; it must be a time such as 2026-07-01T06:00:00Z'],
    ['no zone', 'until=2026-07-01T06:00:00', 'until is "2026-07-01T06:00:00"; it must be a time such as 2026-07-01T06:00:00Z'],
    [
      'a day that does not exist',
      'until=2026-02-30T06:00:00Z',
      'until is "2026-02-30T06:00:00Z"; it must be a time such as 2026-07-01T06:00:00Z',
    ],
    [
      'a month that does not exist',
      'until=2026-13-01T06:00:00Z',
      'until is "2026-13-01T06:00:00Z"; it must be a time such as 2026-07-01T06:00:00Z',
    ],
    [
      'an hour that does not exist',
      'until=2026-07-01T25:00:00Z',
      'until is "2026-07-01T25:00:00Z"; it must be a time such as 2026-07-01T06:00:00Z',
    ],
    ['a reason before the end', `reason=x until=${UNTIL}`, 'it has no "until="'],
  ])('of %s has no end', (_, text, problem) => {
    expect(projectPauses({ gpu: text })).toEqual({ pauses: [], unreadable: [{ pool: 'gpu', problem }] });
  });

  it('is read beside others, whatever they are, and one name means every pool', () => {
    const read = projectPauses({ bad: 'x', [CLUSTER_KEY]: `until=${UNTIL}`, cluster: `until=${UNTIL}` });
    expect(read.unreadable.map(({ pool }) => pool)).toEqual(['bad']);
    expect(read.pauses.map(({ pool }) => pool)).toEqual([undefined, 'cluster']);
  });

  it('that is written is read as the same pause, and long words are cut', () => {
    const pause = { direction: 'scale-up', untilMs, by: 'ann@laptop', reason: 'until=never' } as const;
    expect(pauseText(pause)).toBe(`until=${UNTIL} direction=scale-up by=ann@laptop reason=until=never`);
    expect(projectPauses({ gpu: pauseText(pause) }).pauses).toEqual([{ ...whole, ...pause }]);
    const [long] = projectPauses({ gpu: pauseText({ ...pause, by: 'two words', reason: 'x'.repeat(1_000) }) }).pauses;
    expect([long?.by, long?.reason?.length]).toEqual(['two_words', 200]);
  });
});
