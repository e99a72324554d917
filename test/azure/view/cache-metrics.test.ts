import { describe, expect, it } from 'vitest';
import { cacheHooks } from '../../../src/azure/view/cache-metrics.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function aHook() {
  const clock = new FakeClock(0);
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }, clock);
  const hooks = cacheHooks(createMetrics().cache, log, clock);
  const down = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'HTTP 503', { code: 'ServiceUnavailable' });
  return {
    clock,
    fail: (id: string, error = down) => hooks.agentRun?.({ id, kind: 'instances', outcome: 'failed', durationMs: 1, error }),
    succeed: (id: string) => hooks.agentRun?.({ id, kind: 'instances', outcome: 'succeeded', durationMs: 1 }),
    told: () => lines.map(({ level, what, kind }) => `${String(level)} ${String(what)} ${String(kind)}`),
  };
}

describe('reads of Azure that fail', () => {
  it('are reported once a minute however many agents fail, and once when all succeed again', async () => {
    const { clock, fail, succeed, told } = aHook();
    for (let minute = 0; minute < 3; minute++) {
      for (const id of ['a', 'b', 'c']) fail(id);
      await clock.advance(61_000);
    }
    expect(told()).toEqual(Array.from({ length: 3 }, () => 'warn instances unavailable'));
    succeed('a');
    succeed('b');
    expect(told()).toHaveLength(3);
    succeed('c');
    succeed('c');
    expect(told().slice(3)).toEqual(['info instances undefined']);
  });

  it('are not reported if we stopped them ourselves', () => {
    const { fail, told } = aHook();
    fail('a', new AutoscalerError({ kind: 'cancelled' }, 'stopped'));
    expect(told()).toEqual([]);
  });
});
