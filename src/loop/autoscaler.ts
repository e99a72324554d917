/**
 * The loop's lifetime: owns the state between loops, the snapshot, the drains under way and the trigger. Runs one loop at a
 * time, notifies listeners, and stops cleanly. The ring `loop/` holds order and effects. Must not know any adapter, HTTP, or
 * how a decision is made.
 */
import { Mutex } from 'async-mutex';
import { untilAborted } from '../lib/abort.ts';
import { asAutoscalerError, reactionTo, type AutoscalerError } from '../lib/errors.ts';
import type { LoopState, SavedMemory } from '../domain/loop-state.ts';
import type { Policy } from '../domain/policy.ts';
import { emptyLoopState } from '../planning/state/loop-state.ts';
import { nextRemovalTimerMs } from '../planning/scale-down/next-timer.ts';
import { afterClockShift } from '../planning/state/after-restart.ts';
import { isFirstLoop } from '../planning/state/unregistered.ts';
import { ClusterSnapshot } from '../scheduling/snapshot/cluster-snapshot.ts';
import { CapacityStatuses } from './capacity-objects/capacity-statuses.ts';
import { currentPolicy } from './deps/current-policy.ts';
import type { LoopDeps, LoopOptions } from './deps/loop-deps.ts';
import { DrainRunner } from './scale-down/drain-runner.ts';
import { RoomMaker } from './scale-down/room-maker.ts';
import { PreemptionResponder } from './scale-down/spot-preemption.ts';
import type { LoopListener, LoopReport, LoopTriggerCause } from '../domain/loop-report.ts';
import { runOnce } from './run-once.ts';
import { UnansweredIncreases } from './scale-up/unanswered-increases.ts';
import { LoopTrigger } from './trigger.ts';

export class Autoscaler {
  #deps: LoopDeps;
  #settings: LoopOptions;
  readonly #trigger: LoopTrigger;
  readonly #listeners = new Set<LoopListener>();
  /** Protects the state and the snapshot: never two loops at once. */
  readonly #oneLoop = new Mutex();
  /** Aborted when the loop may start nothing new. */
  readonly #stopping = new AbortController();
  readonly #runner: DrainRunner;
  readonly #responder: PreemptionResponder;
  readonly #rooms: RoomMaker;
  readonly #unanswered: UnansweredIncreases;
  readonly #statuses: CapacityStatuses;
  #snapshot: ClusterSnapshot;
  #state: LoopState;
  /** Of an earlier process, until the first observation. */
  #saved: SavedMemory | undefined;
  /** Groups whose backoffs end with the next loop. */
  #released: ReadonlySet<string> | 'all' | undefined;
  /** Wall clock minus monotonic clock at the start of the last loop. It changes only when the wall clock is set. */
  #wallOffsetMs: number;
  #loopId = 0;
  #running: Promise<AutoscalerError | undefined> = Promise.resolve(undefined);
  #unsubscribe: readonly (() => void)[] = [];

  constructor(deps: LoopDeps, settings: LoopOptions) {
    this.#deps = deps;
    this.#settings = settings;
    this.#trigger = new LoopTrigger(deps.clock, settings);
    this.#snapshot = new ClusterSnapshot({ names: deps.names });
    this.#state = emptyLoopState(deps.clock.now());
    this.#wallOffsetMs = wallOffsetMs(deps);
    const { cluster: reader, ...rest } = deps;
    this.#runner = new DrainRunner({ ...rest, reader, onEnd: () => this.#trigger.wake('cloud') });
    this.#responder = new PreemptionResponder({ ...rest, reader });
    this.#rooms = new RoomMaker({ ...rest, reader });
    this.#unanswered = new UnansweredIncreases({ ...deps, onRefusal: () => this.#trigger.wake('cloud') });
    const { capacityObjects: writer, clock, log } = deps;
    this.#statuses = new CapacityStatuses({ writer, clock, log });
  }

  /**
   * Runs loops in the background until `stop` or until the signal fires, which also aborts the calls under way. Resolves
   * after the last loop: with undefined after a request to stop, else with the error that demands an exit.
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
        this.#trigger.wakeIn(this.#nextTimerInMs(report));
        // Only one early loop follows a conflict. More of them would not resolve a conflict that lasts. A plan that ended early is
        // continued each time, since each of its loops requests nodes.
        hurried = report.replanSoon && !hurried;
        if (hurried || report.unfinished) this.#trigger.wake('cloud');
      } catch (thrown) {
        const error = asAutoscalerError(thrown);
        if (!until.aborted) return error;
      }
    }
    return undefined;
  }

  /** undefined: no timer of a removal runs. */
  #nextTimerInMs({ scaleDown: plan, state, observation }: LoopReport): number | undefined {
    if (plan === undefined || observation === undefined) return undefined;
    const atMs = nextRemovalTimerMs({ plan, state, rules: this.#deps.policy.scaleDown, nowMs: observation.nowMs });
    return atMs === undefined ? undefined : atMs - this.#deps.clock.now();
  }

  /** Runs one loop now, after the one under way. Never rejects: the report contains every failure. */
  runOnce(trigger: LoopTriggerCause, signal: AbortSignal): Promise<LoopReport> {
    return this.#oneLoop.runExclusive(async () => {
      this.#loopId += 1;
      this.#followWallClock();
      const report = await runOnce(
        {
          loopId: this.#loopId,
          trigger,
          state: this.#state,
          saved: this.#saved,
          released: this.#takeReleased(),
          snapshot: this.#snapshot,
          runner: this.#runner,
          responder: this.#responder,
          rooms: this.#rooms,
          unanswered: this.#unanswered,
          statuses: this.#statuses,
          deps: { ...this.#deps, policy: currentPolicy(this.#deps.policy, this.#deps, this.#deps.clock.now()) },
          settings: this.#settings,
          stopping: this.#stopping.signal,
        },
        signal,
      );
      this.#state = report.state;
      if (!isFirstLoop(this.#state)) this.#saved = undefined;
      // A failed step may have left a fork open, so the next loop starts with a new snapshot.
      if (report.failures.length > 0) this.#snapshot = new ClusterSnapshot({ names: this.#deps.names });
      await this.#notify(report);
      return report;
    });
  }

  #takeReleased(): ReadonlySet<string> | 'all' | undefined {
    const released = this.#released;
    this.#released = undefined;
    return released;
  }

  #followWallClock(): void {
    const offsetMs = wallOffsetMs(this.#deps);
    const shiftMs = offsetMs - this.#wallOffsetMs;
    const state = afterClockShift(this.#state, shiftMs);
    if (state === this.#state) return;
    this.#deps.log.warn({ shiftMs }, 'Wall clock was set; remembered times shifted with it');
    this.#wallOffsetMs = offsetMs;
    this.#state = state;
  }

  async #notify(report: LoopReport): Promise<void> {
    for (const listener of this.#listeners) {
      await this.#deps.turns.next();
      try {
        listener(report);
      } catch (thrown) {
        this.#deps.log.warn({ error: asAutoscalerError(thrown).message }, 'Loop listener failed');
      }
    }
  }

  /** Calls the listener after each loop. Returns a function that ends this. */
  onLoop(listener: LoopListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes effect with the next loop. Timers, back-offs and drains under way stay as they are. */
  reconfigure(policy: Policy, settings: LoopOptions): void {
    this.#deps = { ...this.#deps, policy };
    this.#settings = settings;
    this.#trigger.reconfigure(settings);
    this.#runner.reconfigure(policy);
    this.#responder.reconfigure(policy);
    this.#rooms.reconfigure(policy);
  }

  /**
   * An operator wants to know now: the backoffs of these groups, or of all, end with the next loop, which starts at once. Each group may
   * then be tried once; a further refusal makes it back off again.
   */
  releaseBackoffs(groups: ReadonlySet<string> | undefined): void {
    const known = this.#released;
    this.#released = groups === undefined || known === 'all' ? 'all' : new Set([...(known ?? []), ...groups]);
    this.#trigger.wake('cloud');
  }

  /** What an earlier process remembered. Call it before the first loop. */
  recall(memory: SavedMemory): void {
    this.#saved = memory;
  }

  get state(): LoopState {
    return this.#state;
  }

  /**
   * Starts nothing new, lets the loop under way end, undoes drains and sends pending events, until `deadline` fires. Never
   * rejects.
   */
  async stop(deadline: AbortSignal): Promise<void> {
    this.#stopping.abort();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    this.#unsubscribe = [];
    const { log, events } = this.#deps;
    const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['loop', () => untilAborted(Promise.all([this.#running, this.#oneLoop.waitForUnlock()]), deadline)],
      ['answers', () => this.#unanswered.stop(deadline)],
      ['drains', () => this.#runner.stop(deadline)],
      ['evacuations', () => this.#responder.stop(deadline)],
      ['rooms', () => this.#rooms.stop(deadline)],
      ['events', () => events.flush(deadline)],
    ];
    for (const [what, step] of steps) {
      try {
        await step();
      } catch (thrown) {
        log.warn({ what, error: asAutoscalerError(thrown).message }, 'Part of the loop did not stop cleanly');
      }
    }
  }
}

/** Later steps still run and may fail as a consequence: the error that demands an exit is picked. */
function exitError({ failures }: LoopReport): AutoscalerError | undefined {
  return failures.find(({ error }) => reactionTo(error) === 'exit')?.error;
}

function wallOffsetMs({ clock }: Pick<LoopDeps, 'clock'>): number {
  return clock.now() - clock.monotonic();
}
