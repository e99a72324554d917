/** Whose cordon it is when answers are lost and others write meanwhile. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createNodeTainter } from '../../../src/kubernetes/writes/taints.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import type { Taint } from '../../../src/domain/taints.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { json, refusal, startScriptedApi, until, type ScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;
const mark: Taint = { key: 'gone', value: '1', effect: 'NoSchedule' };

interface Spec {
  readonly unschedulable?: boolean;
  readonly taints?: readonly object[];
}

/** What meets one request of the tainter, in turn. `meanwhile` happens to the node after it, before the next. */
interface Turn {
  /** `lost`: written, but the answer is lost; `dropped`: neither; a number: refused with this status. */
  readonly with: 'ok' | 'lost' | 'dropped' | number;
  readonly meanwhile?: (spec: Spec) => Spec;
}

let api: ScriptedApi;
let clock: FakeClock;
beforeEach(async () => {
  api = await startScriptedApi();
  clock = new FakeClock(START_MS);
});
afterEach(() => api.stop());

const ok: Turn = { with: 'ok' };
const byAPerson = (spec: Spec): Spec => ({ ...spec, unschedulable: true });

async function taintThrough(turns: readonly Turn[], first: Spec = {}): Promise<{ readonly ours: boolean; readonly spec: Spec }> {
  let spec = first;
  let turn = 0;
  api.answer((request, response) => {
    const { with: how, meanwhile } = turns[turn++] ?? ok;
    if (request.method === 'PUT' && (how === 'ok' || how === 'lost')) spec = request.body['spec'] as Spec;
    const shown = spec;
    spec = meanwhile?.(spec) ?? spec;
    if (typeof how === 'number') refusal(response, how, 'Refused');
    else if (how === 'ok') json(response, 200, { metadata: { name: 'n' }, spec: shown });
    else response.destroy();
  });
  const retry = { clock, random: seededRandom(1), range: { firstMs: 50, maxMs: 1_000 }, attempts: 6 };
  let result: { readonly uncordonLater: boolean } | undefined;
  const tainting = createNodeTainter({ rest: api.rest, retry })
    .taint('n', mark, { cordon: true }, signal)
    .then((done) => (result = done));
  await until(
    () => result !== undefined,
    () => clock.advance(100),
  );
  await tainting;
  return { ours: result?.uncordonLater === true, spec };
}

describe('a cordon', () => {
  it.each<[string, readonly Turn[], Spec, boolean]>([
    ['is ours when we set it', [ok, ok], {}, true],
    ['is not ours when it was there', [ok, ok], { unschedulable: true }, false],
    ['is ours when the answer to our write was lost', [ok, { with: 'lost' }], {}, true],
    ['is ours when the write itself was lost', [ok, { with: 'dropped' }], {}, true],
    ['is ours when the answer was lost and the next read failed', [ok, { with: 'lost' }, { with: 500 }], {}, true],
    ['is ours when the answer was lost and the connection stayed away', [ok, { with: 'lost' }, { with: 'dropped' }], {}, true],
    ['is ours when a 500 hid our write', [ok, { with: 500 }], {}, true],
    ['is not ours when a person set it after our write was lost', [ok, { with: 'dropped', meanwhile: byAPerson }], {}, false],
    ['is not ours when a person was first (409)', [ok, { with: 409, meanwhile: byAPerson }], {}, false],
    [
      'is not ours when a person was first while our first write was lost',
      [ok, { with: 'dropped' }, ok, { with: 409, meanwhile: byAPerson }],
      {},
      false,
    ],
    ['is not ours when a person set it while we were throttled', [ok, { with: 429, meanwhile: byAPerson }], {}, false],
  ])('%s', async (_what, turns, first, ours) => {
    const outcome = await taintThrough(turns, first);
    expect(outcome.ours).toBe(ours);
    expect(outcome.spec).toEqual({ unschedulable: true, taints: [mark] });
  });

  it('is given up with the last attempt, and the failure says that the write may have happened', async () => {
    api.answer((request, response) => (request.method === 'GET' ? json(response, 200, {}) : response.destroy()));
    const retry = { clock, random: seededRandom(1), range: { firstMs: 50, maxMs: 1_000 }, attempts: 2 };
    let error: unknown;
    createNodeTainter({ rest: api.rest, retry })
      .taint('n', mark, { cordon: true }, signal)
      .catch((thrown: unknown) => (error = thrown));
    await until(
      () => error !== undefined,
      () => clock.advance(100),
    );
    expect(error).toMatchObject({ detail: { kind: 'unavailable', effect: 'unknown' } });
    expect(api.received.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET', 'PUT']);
  });
});
