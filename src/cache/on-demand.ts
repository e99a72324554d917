/**
 * Reads of one row out of turn. One read per key runs, one is queued; many rows of one scope become one list. It must not
 * know what a read is: the adapter says how to read a key and a scope.
 */
import { AutoscalerError } from '../domain/errors.ts';
import type { Clock } from '../domain/clock.ts';
import type { CacheHooks } from './hooks.ts';
import type { Slots } from './slots.ts';

const todo = (): never => {
  throw new AutoscalerError({ kind: 'bug' }, 'signature published first; body follows');
};

export interface OnDemandParts {
  /** Table name, for metrics. */
  readonly name: string;
  readonly clock: Clock;
  /** Shared with the agent scheduler; reads out of turn go first. */
  readonly slots: Slots;
  /** One GET, handed to `table.observe` or, on 404, to `table.observeGone`. Stamps itself. */
  readonly readOne: (key: string, signal: AbortSignal) => Promise<void>;
  /** One list of the scope that takes part in no slot itself, for example `scheduler.runNow(agentId, signal)`. */
  readonly readScope: (scope: string, signal: AbortSignal) => Promise<void>;
  /** The table's `confirmedAfter`. */
  readonly confirmedAfter: (key: string, seq: number, signal: AbortSignal) => Promise<void>;
  /** Default 30 000. */
  readonly timeoutMs?: number;
  /** More queued keys of one scope than this become one list. Default 10. */
  readonly listAbove?: number;
  readonly hooks?: CacheHooks;
}

export class OnDemand {
  constructor(_parts: OnDemandParts) {}
  /** Asks for a read begun after this call; does not wait and never throws. */
  request(_key: string, _scope: string): void {
    return todo();
  }
  /** Waits for a read begun after this call; rejects with its failure. The signal ends the wait, not the read others wait for. */
  refresh(_key: string, _scope: string, _signal: AbortSignal): Promise<void> {
    return todo();
  }
  /** True when a read of the key begun after `seq` was accepted within `timeoutMs` (default 30 000). */
  confirmed(_key: string, _seq: number, _options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<boolean> {
    return todo();
  }
  /** Aborts what runs, drops what is queued. */
  stop(): void {
    return todo();
  }
}
