/** Runs the steps of one loop: measures each, and turns an exception into a classified and counted failure. */
import { asAutoscalerError, reactionTo, type AutoscalerError, type Reaction } from '../lib/errors.ts';
import type { LoopDeps } from './deps/loop-deps.ts';
import type { StepFailure, StepName } from '../domain/loop-report.ts';

type StepOutcome<Value> = { readonly value: Value } | { readonly error: AutoscalerError };

export class Steps {
  readonly #deps: Pick<LoopDeps, 'clock' | 'log' | 'metrics'>;
  readonly #failures: StepFailure[] = [];
  readonly #stepMs: Partial<Record<StepName, number>> = {};

  constructor(deps: Pick<LoopDeps, 'clock' | 'log' | 'metrics'>) {
    this.#deps = deps;
  }

  /** Returns the step's value or its failure. Never throws. */
  async run<Value>(step: StepName, action: () => Value | Promise<Value>): Promise<StepOutcome<Value>> {
    const startMs = this.#deps.clock.monotonic();
    try {
      return { value: await action() };
    } catch (thrown) {
      const error = asAutoscalerError(thrown);
      this.#fail(step, error);
      return { error };
    } finally {
      const ms = this.#deps.clock.monotonic() - startMs;
      this.#stepMs[step] = (this.#stepMs[step] ?? 0) + ms;
      this.#deps.metrics.loop.duration.observe({ step }, ms / 1000);
    }
  }

  #fail(step: StepName, error: AutoscalerError): void {
    this.#failures.push({ step, error });
    this.#deps.metrics.loop.stepFailures.inc({ step, kind: error.kind });
    if (error.kind === 'cancelled') return;
    const stack = error.kind === 'bug' ? { stack: error.cause instanceof Error ? error.cause.stack : error.stack } : {};
    this.#deps.log.error(
      { step, kind: error.kind, error: error.message, code: error.code, ...error.context, ...stack },
      'Loop step failed',
    );
  }

  get failures(): readonly StepFailure[] {
    return this.#failures;
  }

  get stepMs(): Readonly<Partial<Record<StepName, number>>> {
    return this.#stepMs;
  }

  reactions(): ReadonlySet<Reaction> {
    return new Set(this.#failures.map(({ error }) => reactionTo(error)));
  }
}
