/** The first line of a plan: what changes, what stays pending, and what it costs. */
import { counted, amount } from '../../../cli/text/text-layout.ts';

export interface PlanCounts {
  readonly nodesAdded: number;
  readonly poolsGrown: number;
  /** Pods that get one of the new nodes. */
  readonly podsHelped: number;
  /** Pods that fit on present or upcoming nodes. */
  readonly podsFitting: number;
  readonly podsPending: number;
  /** Pods that stay pending and never cause a scale-up, such as those that are held back by a scheduling gate. */
  readonly podsIgnored: number;
  readonly nodesRemoved: number;
  /** What new nodes cost and removed ones save. Absent if a price is unknown. */
  readonly perHour?: number;
  /** Of the prices. Absent if it is unknown. */
  readonly currency?: string;
}

/** Complete, with a full stop. */
export function summaryOf(counts: PlanCounts): string {
  const { nodesAdded, poolsGrown, podsFitting, podsPending, podsIgnored, nodesRemoved } = counts;
  const isIdle = nodesAdded + nodesRemoved === 0;
  const grown = nodesAdded === 0 ? 'no node added' : `+${counted(nodesAdded, 'node')} in ${counted(poolsGrown, 'pool')}`;
  const fitting = podsFitting === 0 ? [] : [`${verb(podsFitting, 'fits', 'fit')} on present or upcoming nodes`];
  const pending = podsPending === 0 ? 'no pod stays pending' : `${verb(podsPending, 'stays', 'stay')} pending`;
  const ignored = podsIgnored === 0 ? [] : [`${verb(podsIgnored, 'is', 'are')} ignored`];
  const removed = nodesRemoved === 0 ? 'nothing removed' : `${nodesAdded === 0 ? '' : 'then '}${counted(nodesRemoved, 'node')} removed`;
  const sentence = [grown, ...fitting, pending, ...ignored, removed].join(', ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}${isIdle ? '' : `; ${describeCost(counts)}`}.`;
}

function verb(count: number, one: string, many: string): string {
  return `${counted(count, 'pod')} ${count === 1 ? one : many}`;
}

function describeCost({ perHour, currency }: PlanCounts): string {
  if (perHour === undefined) return 'the cost is unknown: a price is missing';
  const value = Math.abs(perHour).toFixed(2) === '0.00' ? 0 : perHour;
  if (value === 0) return 'costs as much as before';
  const money = `${amount(Math.abs(value), 2)}${currency === undefined ? '' : ` ${currency}`}/h`;
  return value > 0 ? `costs ${money} more` : `saves ${money}`;
}
