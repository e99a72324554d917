/** Lines that several answers share: what pools wait for, and how far increases have come. */
import type { RememberedIncrease } from '../../planning/explain/answers/accepted.ts';
import type { GroupWait } from '../../planning/explain/answers/group-waits.ts';
import type { Colours } from '../../cli/text/colours.ts';
import { formatMoment, formatSpan } from '../../planning/explain/spans.ts';

/** How an answer is shown. */
export interface TextLook {
  /** The time of the decision, milliseconds since the epoch. */
  readonly nowMs: number;
  /** Every pool and name, uncut. */
  readonly all: boolean;
  /** Of a line, in characters. */
  readonly width: number;
  readonly colours: Colours;
  /** Of the prices. Absent if it is not known. */
  readonly currency?: string;
}

export type Fact = readonly [name: string, value: string];

export function increaseRuleInput(increases: readonly RememberedIncrease[], nowMs: number): readonly Fact[] {
  return increases.map(({ group, nodes, acceptedAt, stage, since, expectedBy, pendingPods }) => {
    const come = stage === 'accepted' ? 'none is known to have joined yet' : `${stage} since ${formatMoment(Date.parse(since), nowMs)}`;
    const until = expectedBy === undefined ? '' : `, expected by ${formatMoment(Date.parse(expectedBy), nowMs)}`;
    const left = `${pendingPods} of its pods ${pendingPods === 1 ? 'is' : 'are'} still pending`;
    return ['Before', `${formatMoment(Date.parse(acceptedAt), nowMs)}: ${group} +${nodes}, ${come}${until}; ${left}`];
  });
}

export function waitFacts(waits: readonly GroupWait[], nowMs: number): readonly Fact[] {
  return waits.flatMap((wait): readonly Fact[] => {
    const { group, until, cause, message, correlationId, backoffMs, nextBackoffMs } = wait;
    const retry = until === undefined ? 'unknown' : formatMoment(Date.parse(until), nowMs);
    const times = backoffMs === undefined ? '' : `; it backs off ${formatSpan(backoffMs)}`;
    const next = nextBackoffMs === undefined ? '' : `, then ${formatSpan(nextBackoffMs)}`;
    const request = correlationId === undefined ? '' : `, correlation id ${correlationId}`;
    return [
      ['Next try', `${retry}: ${group}${times}${next}`],
      ['Azure', `${cause}${request}${message === undefined ? '' : `: ${message}`}`],
    ];
  });
}
