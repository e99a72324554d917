/**
 * Capacity writes that were sent and are not answered: the loop goes on without them, and a later one takes in what became of them. Must not
 * know why a group is increased.
 */
import type { AnsweredRecord, IncreaseRecord } from '../../domain/loop-report.ts';
import type { AnsweredIncrease } from '../../domain/outcome.ts';
import { untilAborted } from '../../lib/abort.ts';
import type { Clock } from '../../lib/clock.ts';
import { asAutoscalerError } from '../../lib/errors.ts';

interface SentWrite extends Pick<AnsweredRecord, 'loopId' | 'startedAtMs'> {
  readonly sent: IncreaseRecord;
  readonly answer: Promise<AnsweredIncrease>;
  /** Called with the answer. */
  readonly publish: (record: AnsweredRecord) => void;
}

interface UnansweredDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Called when a write was not accepted: its pods may need another group. */
  readonly onRefusal: () => void;
}

export class UnansweredIncreases {
  readonly #deps: UnansweredDeps;
  readonly #open = new Set<Promise<void>>();
  #answered: AnsweredRecord[] = [];

  constructor(deps: UnansweredDeps) {
    this.#deps = deps;
  }

  follow(write: SentWrite): void {
    const ended = this.#untilAnswered(write).finally(() => this.#open.delete(ended));
    this.#open.add(ended);
  }

  async #untilAnswered({ sent, loopId, startedAtMs, answer, publish }: SentWrite): Promise<void> {
    const { group } = sent.increase;
    const outcome = await answer.catch((thrown: unknown) => ({ kind: 'failed', group, error: asAutoscalerError(thrown) }) as const);
    const record = { increase: sent.increase, outcome, atMs: this.#deps.clock.now(), sentAtMs: sent.atMs, loopId, startedAtMs };
    this.#answered.push(record);
    publish(record);
    // guard: pods of a write that was refused late wait for no regular loop
    if (outcome.kind !== 'accepted') this.#deps.onRefusal();
  }

  /** The writes that were answered since the last call. */
  collect(): readonly AnsweredRecord[] {
    const answered = this.#answered;
    this.#answered = [];
    return answered;
  }

  /** Waits for all answers, until `deadline` fires. Never rejects. */
  async stop(deadline: AbortSignal): Promise<void> {
    await untilAborted(Promise.all(this.#open), deadline);
  }
}
