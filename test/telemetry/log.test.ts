import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { FakeClock } from '../support/fake-clock.ts';

function aLog() {
  const clock = new FakeClock(0);
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }, clock);
  return { clock, lines, log, messages: () => lines.map(({ msg }) => msg) };
}

describe('repeated trouble', () => {
  it('an hour of the same trouble every ten seconds is a line per minute that counts the others', async () => {
    const { clock, lines, log } = aLog();
    for (let tick = 0; tick < 360; tick++) {
      log.child({ loopId: tick }).warn({ kind: 'unavailable', error: `attempt ${tick}` }, 'Azure cannot be read');
      await clock.advance(10_000);
    }
    expect(lines).toHaveLength(60);
    expect(lines[0]).not.toHaveProperty('repeated');
    expect(lines.slice(1).map(({ repeated }) => repeated)).toEqual(Array.from({ length: 59 }, () => 5));
  });

  it.each([
    { name: 'another message', facts: { kind: 'auth' }, msg: 'other' },
    { name: 'another kind', facts: { kind: 'throttled' }, msg: 'trouble' },
    { name: 'another code', facts: { kind: 'auth', code: 'X' }, msg: 'trouble' },
    { name: 'another group', facts: { kind: 'auth', nodeGroup: 'b' }, msg: 'trouble' },
    { name: 'another node', facts: { kind: 'auth', node: 'n' }, msg: 'trouble' },
  ])('$name is another cause', ({ facts, msg }) => {
    const { lines, log } = aLog();
    log.warn({ kind: 'auth' }, 'trouble');
    log.warn(facts, msg);
    expect(lines).toHaveLength(2);
  });

  it('an error and a warning are two causes; what changed the world is never folded', () => {
    const { messages, log } = aLog();
    for (const _ of [1, 2]) {
      log.error({}, 'a');
      log.warn({}, 'a');
      log.info({}, 'b');
      log.warn('plain');
    }
    expect(messages()).toEqual(['a', 'a', 'b', 'plain', 'b']);
  });

  it.each(['note', 'problem', 'pool', 'name'])('what differs only by %s is logged for each', (fact) => {
    const { lines, log } = aLog();
    for (const value of ['one', 'two', 'one']) log.warn({ [fact]: value }, 'something deserves a look');
    expect(lines).toHaveLength(2);
  });

  it('remembers no more than it needs: causes of long ago are forgotten', async () => {
    const { clock, lines, log } = aLog();
    for (let index = 0; index < 5_000; index++) {
      log.warn({ node: `node-${index}` }, 'gone');
      await clock.advance(1_000);
    }
    log.warn({ node: 'node-0' }, 'gone');
    expect(lines).toHaveLength(5_001);
    expect(lines.at(-1)).not.toHaveProperty('repeated');
  });
});

describe('errors in lines', () => {
  it('an expected error is logged with its message, without a stack', () => {
    const { lines, log } = aLog();
    const cause = new Error('socket');
    log.warn(
      { err: new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Nobody answers.', { cause, code: 'ECONNREFUSED' }) },
      'x',
    );
    expect(lines[0]?.['err']).toEqual({ kind: 'unavailable', message: 'Nobody answers.', code: 'ECONNREFUSED' });
  });

  it('a bug shows where it is', () => {
    const { lines, log } = aLog();
    log.error({ err: new AutoscalerError({ kind: 'bug' }, 'Unexpected failure: x', { cause: new TypeError('x') }) }, 'x');
    expect(lines[0]?.['err']).toMatchObject({ kind: 'bug', stack: expect.stringContaining('log.test.ts') });
  });
});
