import { describe, expect, it } from 'vitest';
import { cacheHooks, reportAgents } from '../../../src/azure/view/cache-metrics.ts';
import { newAgentState, statusOf, type AgentStatus } from '../../../src/cache/agents/agent-state.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { FakeClock } from '../../support/fake-clock.ts';

function aHook(loggedOnce?: ReadonlySet<string>) {
  const clock = new FakeClock(0);
  const lines: Record<string, unknown>[] = [];
  const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }, clock);
  const hooks = cacheHooks(createMetrics().cache, log, clock, loggedOnce);
  const down = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'HTTP 503', { code: 'ServiceUnavailable' });
  return {
    clock,
    fail: (id: string, error = down) => hooks.agentRun({ id, kind: 'instances', outcome: 'failed', durationMs: 1, error }),
    succeed: (id: string) => hooks.agentRun({ id, kind: 'instances', outcome: 'succeeded', durationMs: 1, error: undefined }),
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

  it('that nothing needs are one line however long they fail, and one when they succeed again', async () => {
    const { clock, fail, succeed, told } = aHook(new Set(['instances']));
    for (let hour = 0; hour < 3; hour++) {
      fail('a');
      await clock.advance(3_600_000);
    }
    succeed('a');
    expect(told()).toEqual(['info instances unavailable', 'info instances undefined']);
  });

  it('are not reported if we stopped them ourselves', () => {
    const { fail, told } = aHook();
    fail('a', new AutoscalerError({ kind: 'cancelled' }, 'stopped'));
    expect(told()).toEqual([]);
  });
});

describe('calls that are left', () => {
  it('are shown beside readers of ARM, and not beside those of the public price list', () => {
    const policy = {
      intervalMs: 1,
      jitter: { kind: 'spread', fraction: 0 },
      errorIntervalMs: 1,
      maxErrorIntervalMs: 1,
      timeoutMs: 1,
      requestedRate: undefined,
    } as const;
    const statusIn = (bucket: string): AgentStatus => {
      const load = () => Promise.reject(new Error('it is not run'));
      const state = newAgentState(
        { id: bucket, kind: bucket, required: true, warm: false, order: 0, bucket, policy, rest: undefined, load },
        { phase: 0, enabled: true, nowMs: 0 },
      );
      return statusOf(state, { nowMs: 0, monotonicMs: 0, heldUntilMs: undefined });
    };
    const left = { policy: 'subscription-reads', remaining: 3, largest: 4 };
    const reports = reportAgents(['retail-prices', 'Skus'].map(statusIn), [], () => left);
    expect(reports.map(({ id, budget }) => [id, budget])).toEqual([
      ['retail-prices', undefined],
      ['Skus', left],
    ]);
  });
});
