/**
 * Which stockout of the region is tried next. One process a minute may try one, and the one that was tried least recently comes first, of
 * those that clusters with waiting pods want to try. Only the others' reports are known here, so the order is fair and no lock: a
 * process that waited for all turns asks out of turn. Must not know groups.
 */
import type { SharedHints } from '../../domain/ports/shared-hints.ts';
import type { Clock } from '../../lib/clock.ts';

const MINUTE = 60_000;
/** A wish is reported again after the first, and is over after the second. */
const REPORT_WISH_MS = 20_000;
const WISH_MS = 45_000;
/** A program that reports wishes without end delays a try by this much at most. */
const LONGEST_WAIT_MS = 10 * MINUTE;

interface Wish {
  readonly sinceMs: number;
  readonly atMs: number;
  readonly reportedMs: number;
}

interface StockoutTurnsDeps {
  readonly hints: SharedHints;
  readonly clock: Pick<Clock, 'now'>;
}

export class StockoutTurns {
  readonly #deps: StockoutTurnsDeps;
  readonly #wishes = new Map<string, Wish>();
  /** When this process had the right to try, by key. Others report theirs. */
  readonly #triedMs = new Map<string, number>();

  constructor(deps: StockoutTurnsDeps) {
    this.#deps = deps;
  }

  /** Whether this process may try one of these keys now. */
  mayTry(keys: readonly string[]): boolean {
    const { hints, clock } = this.#deps;
    const key = keys.find((each) => hints.mayTry(each));
    if (key === undefined) return false;
    this.#triedMs.set(key, clock.now());
    this.#wishes.delete(key);
    return true;
  }

  /** Pods are waiting that would use the size: asks for the right to try it when its turn comes. */
  want(key: string): void {
    const { hints } = this.#deps;
    this.#note(key);
    if (this.#isTurnOf(key)) hints.requestTry(key);
  }

  #note(key: string): void {
    const { hints, clock } = this.#deps;
    const nowMs = clock.now();
    for (const [other, { atMs }] of this.#wishes) if (nowMs - atMs >= WISH_MS) this.#wishes.delete(other);
    const known = this.#wishes.get(key);
    const isNews = known === undefined || nowMs - known.reportedMs >= REPORT_WISH_MS;
    if (isNews) hints.report('wanted', key, nowMs + WISH_MS);
    this.#wishes.set(key, { sinceMs: known?.sinceMs ?? nowMs, atMs: nowMs, reportedMs: isNews ? nowMs : known.reportedMs });
  }

  #isTurnOf(key: string): boolean {
    const nowMs = this.#deps.clock.now();
    const others = new Set([...this.#deps.hints.reported('wanted').map((hint) => hint.key), ...this.#wishes.keys()]);
    others.delete(key);
    const triedMs = this.#triedAtMs(key);
    // guard: the stockout that was tried least recently is tried next
    if ([...others].every((other) => this.#triedAtMs(other) >= triedMs)) return true;
    // Each of the others has had its minute.
    const waitedMs = nowMs - (this.#wishes.get(key)?.sinceMs ?? nowMs);
    // guard: a program that wants a try without end keeps no other from trying
    return waitedMs >= Math.min(LONGEST_WAIT_MS, (others.size + 1) * MINUTE);
  }

  #triedAtMs(key: string): number {
    const reported = this.#deps.hints.reported('tried').find((hint) => hint.key === key)?.atMs ?? 0;
    return Math.max(reported, this.#triedMs.get(key) ?? 0);
  }
}
