import type { PriorityLevel } from '../domain/policy.ts';

/** What stands where the user edits the order of node groups while the daemon runs. */
export interface PriorityRulesView {
  /** The last good rules; undefined: there are none, or there never were good ones. */
  readonly levels: readonly PriorityLevel[] | undefined;
  /** What is wrong with what stands there now; undefined: nothing. */
  readonly problem: string | undefined;
}

/** Rules of the priority expander that go before those of the configuration. Answers from memory; never throws. */
export interface PriorityRulesReader {
  current(): PriorityRulesView;
}
