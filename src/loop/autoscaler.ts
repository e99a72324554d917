/**
 * The loop's lifetime: owns the state between loops, the snapshot, the drains under way and the trigger. Runs one loop at a
 * time, tells listeners, and ends cleanly. Knows no adapter, no policy and no HTTP.
 */
import { Mutex } from 'async-mutex';
import { asAutoscalerError, reactionTo, type AutoscalerError } from '../lib/errors.ts';
import type { LoopState } from '../domain/loop-state.ts';
import type { Policy } from '../domain/policy.ts';
import { emptyLoopState } from '../planning/state/loop-state.ts';
import { afterClockShift } from '../planning/state/after-restart.ts';
import { ClusterSnapshot } from '../scheduling/snapshot/cluster-snapshot.ts';
import { CapacityStatuses } from './capacity-objects/statuses.ts';
import type { LoopDeps, LoopSettings } from './deps/loop-deps.ts';
import { DrainRunner } from './scale-down/drain-runner.ts';
import { PreemptionResponder } from './scale-down/spot-preemption.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../domain/loop-report.ts';
import { runOnce } from './run-once.ts';
import { LoopTrigger } from './trigger.ts';
import { defined } from '../lib/defined.ts';

export class Autoscaler {
  #deps: LoopDeps;
  #settings: LoopSettings;
  readonly #trigger: LoopTrigger;
  readonly #listeners = new Set<LoopListener>();
  /** Protects the state and the snapshot: never two loops at once. */
  readonly #oneLoop = new Mutex();
  /** Aborted when the loop shall begin nothing new. */
  readonly #stopping = new AbortController();
  readonly #runner: DrainRunner;
  readonly #responder: PreemptionResponder;
  readonly #statuses: CapacityStatuses | undefined;
  #snapshot: ClusterSnapshot;
  #state: LoopState;
  /** Of the wall clock over the monotonic one when the last loop began. It moves only when the wall clock is set. */
  #wallOffsetMs: number;
  #loopId = 0;
  #running: Promise<AutoscalerError | undefined> = Promise.resolve(undefined);
  #unsubscribe: readonly (() => void)[] = [];

  constructor(deps: LoopDeps, settings: LoopSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#trigger = new LoopTrigger(deps.clock, settings);
    this.#snapshot = new ClusterSnapshot({ names: deps.names });
    this.#state = emptyLoopState(deps.clock.now());
    this.#wallOffsetMs = wallOffsetMs(deps);
    const { cluster: reader, ...rest } = deps;
    this.#runner = new DrainRunner({ ...rest, reader, onEnd: () => this.#trigger.wake('cloud') });
    this.#responder = new PreemptionResponder({ ...rest, reader });
    const { capacityObjects: writer, clock, log } = deps;
    this.#statuses = writer === undefined ? undefined : new CapacityStatuses({ writer, clock, log });
  }

  /**
   * Loops in the background until the signal fires (every call under way is aborted, too) or `stop`. The result resolves
   * when looping has ended: undefined when asked to, else the error that says exit.
   */
  start(signal: AbortSignal): Promise<AutoscalerError | undefined> {
    const { cluster, cloud } = this.#deps;
    this.#unsubscribe = [
      cluster.onUnschedulable(() => this.#trigger.wake('pods')),
      cluster.onPreemption(() => this.#trigger.wake('cloud')),
      cloud.onWake(() => this.#trigger.wake('cloud')),
    ];
    this.#running = this.#loop(signal);
    return this.#running;
  }

  async #loop(signal: AbortSignal): Promise<AutoscalerError | undefined> {
    const until = AbortSignal.any([signal, this.#stopping.signal]);
    let hurried = false;
    while (!until.aborted) {
      try {
        const cause = await this.#trigger.next(until);
        const report = await this.runOnce(cause, signal);
        if (report.outcome === 'exit') return exitError(report);
        // One hurried loop after a conflict; a group that is fought over for longer is not won by asking faster.
        hurried = report.unsettled && !hurried;
        if (hurried) this.#trigger.wake('cloud');
      } catch (thrown) {
        const error = asAutoscalerError(thrown);
        if (!until.aborted) return error;
      }
    }
    return undefined;
  }

  /** One loop now, after the one under way. Never rejects; the report says what failed. */
  runOnce(trigger: LoopTriggerCause, signal: AbortSignal): Promise<LoopReport> {
    return this.#oneLoop.runExclusive(async () => {
      this.#loopId += 1;
      this.#followWallClock();
      const report = await runOnce(
        {
          loopId: this.#loopId,
          trigger,
          state: this.#state,
          snapshot: this.#snapshot,
          runner: this.#runner,
          responder: this.#responder,
          statuses: this.#statuses,
          deps: withCurrentRules(this.#deps),
          settings: this.#settings,
          stopping: this.#stopping.signal,
        },
        signal,
      );
      this.#state = report.state;
      // A step that threw may have left a fork open: the next loop starts from a new model rather than from a guess.
      if (report.failures.length > 0) this.#snapshot = new ClusterSnapshot({ names: this.#deps.names });
      this.#tell(report);
      return report;
    });
  }

  #followWallClock(): void {
    const offsetMs = wallOffsetMs(this.#deps);
    const shiftMs = offsetMs - this.#wallOffsetMs;
    const state = afterClockShift(this.#state, shiftMs);
    if (state === this.#state) return;
    this.#deps.log.warn({ shiftMs }, 'the clock of the machine was set; what is remembered moves with it');
    this.#wallOffsetMs = offsetMs;
    this.#state = state;
  }

  #tell(report: LoopReport): void {
    for (const listener of this.#listeners) {
      try {
        listener(report);
      } catch (thrown) {
        this.#deps.log.warn({ error: asAutoscalerError(thrown).message }, 'a listener of the loop failed');
      }
    }
  }

  /** Called after each loop. Returns the way to stop. */
  onLoop(listener: LoopListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** From the next loop on. Timers, back-offs and drains under way stay as they are. */
  reconfigure(policy: Policy, settings: LoopSettings): void {
    this.#deps = { ...this.#deps, policy };
    this.#settings = settings;
    this.#trigger.reconfigure(settings);
    this.#runner.reconfigure(policy);
    this.#responder.reconfigure(policy);
  }

  get state(): LoopState {
    return this.#state;
  }

  /**
   * Begins nothing new, lets the loop under way end, undoes drains, sends what events there are; at most until `deadline`
   * fires. Does not reject.
   */
  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopping.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#unsubscribe = [];
    const { log, events } = this.#deps;
    const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['loop', () => unless(deadline, Promise.all([this.#running, this.#oneLoop.waitForUnlock()]))],
      ['drains', () => this.#runner.stop(deadline)],
      ['evacuations', () => this.#responder.stop(deadline)],
      ['events', () => events.flush(deadline)],
    ];
    for (const [what, step] of steps) {
      try {
        await step();
      } catch (thrown) {
        log.warn({ what, error: asAutoscalerError(thrown).message }, 'a part of the loop did not stop cleanly');
      }
    }
  }
}

/** Read once per loop, so that all of its plans and their record are made from the same rules and prices. */
function withCurrentRules(deps: LoopDeps): LoopDeps {
  const levels = deps.priorities?.current().levels;
  const listPrices = deps.prices?.current(deps.clock.now());
  if (levels === undefined && listPrices === undefined) return deps;
  const current = { ...defined({ priorities: levels, listPrices }) };
  return { ...deps, policy: { ...deps.policy, scaleUp: { ...deps.policy.scaleUp, ...current } } };
}

/** Steps go on after the one that says exit, and may fail for its sake. */
function exitError({ failures }: LoopReport): AutoscalerError | undefined {
  return failures.find(({ error }) => reactionTo(error) === 'exit')?.error;
}

/** The work's end or the signal's, whichever is first. */
function unless(signal: AbortSignal, work: Promise<unknown>): Promise<unknown> {
  const fired = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  return Promise.race([work, fired]);
}

function wallOffsetMs({ clock }: Pick<LoopDeps, 'clock'>): number {
  return clock.now() - clock.monotonic();
}
