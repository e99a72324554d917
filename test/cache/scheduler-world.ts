/** An agent scheduler in virtual time, and agents whose starts and outcomes are noted. */
import {
  replacedRows,
  type AgentPolicy,
  type CachingAgent,
  type CommitSummary,
  type Loaded,
  type RunContext,
} from '../../src/cache/agents/agent.ts';
import { AgentScheduler, type SchedulerDeps } from '../../src/cache/agents/agent-scheduler.ts';
import { Slots } from '../../src/cache/concurrency.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { FakeClock, settle } from '../support/fake-clock.ts';
import { NO_HOOKS } from './support.ts';

export const START = 1_000_000;
export const MINUTE = 60_000;
export const never = new AbortController().signal;

export const POLICY: AgentPolicy = {
  intervalMs: MINUTE,
  jitter: { kind: 'spread', fraction: 0 },
  errorIntervalMs: 10_000,
  maxErrorIntervalMs: 60_000,
  timeoutMs: 45_000,
  requestedRate: undefined,
};

export const SUMMARY: CommitSummary = replacedRows(1, 0);
export const DONE: Loaded = { commit: () => SUMMARY, error: undefined };

function agentOf(id: string, load: (context: RunContext) => Promise<Loaded>, over: Partial<CachingAgent> = {}): CachingAgent {
  const kind = id.split('/')[0] ?? id;
  return { id, kind, required: false, warm: false, order: 0, bucket: id, policy: POLICY, rest: undefined, load, ...over };
}

export function world(over: Partial<SchedulerDeps> = {}) {
  const clock = new FakeClock(START);
  const starts: { readonly id: string; readonly atMs: number }[] = [];
  const outcomes: string[] = [];
  const scheduler = new AgentScheduler({
    clock,
    random: () => 0.5,
    clusterId: 'c1',
    slots: new Slots(8),
    mayBeAdded: () => false,
    hooks: { ...NO_HOOKS, agentRun: (run) => void outcomes.push(`${run.id} ${run.outcome}`) },
    ...over,
  });
  const stop = new AbortController();
  const add = (
    id: string,
    load: (context: RunContext) => Promise<Loaded> = () => Promise.resolve(DONE),
    more: Partial<CachingAgent> = {},
  ) =>
    scheduler.add(
      agentOf(
        id,
        (context) => {
          starts.push({ id, atMs: clock.now() - START });
          return load(context);
        },
        more,
      ),
    );
  const status = (id: string) => {
    const found = scheduler.status().find((one) => one.id === id);
    if (found === undefined) throw new Error(`no ${id}`);
    return found;
  };
  const ids = (): readonly string[] => starts.map((one) => one.id);
  return { clock, scheduler, starts, outcomes, stop, add, status, ids, run: () => scheduler.run(stop.signal) };
}

/** A load that ends on request. */
export function gate() {
  const open: (() => void)[] = [];
  return {
    load: (): Promise<Loaded> => new Promise((resolve) => open.push(() => resolve(DONE))),
    async next(): Promise<void> {
      open.shift()?.();
      await settle();
    },
    get waiting(): number {
      return open.length;
    },
  };
}

export const failure = (): Promise<Loaded> => Promise.reject(new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'ARM is away.'));
