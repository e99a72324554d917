/**
 * Reads of instances that are new or expected, singly or by one list. Sends no call itself.
 * Idea: single read.
 */
import type { InstanceKey } from '../../domain/ids.ts';
import type { InstanceLists } from './instance-lists.ts';
import type { Refresh } from './refresh.ts';

/** The most instances of one group that are read singly at once: in one loop, or for one look after an increase. */
export const READ_EACH_AT_MOST = 10;

export interface NewInstanceReadsDeps {
  readonly lists: Pick<InstanceLists, 'request' | 'waitMs'>;
  readonly reads: Pick<Refresh, 'requestInstance' | 'singleReadsLeft'>;
}

interface NewInstances {
  readonly keys: readonly InstanceKey[];
  /** Whether one list costs less than single reads, or shows more, if it need not wait. */
  readonly isListBetter: boolean;
}

/** Requests reads of these instances of a group. Returns whether all of them will be read; the others need a list that has to wait. */
export function requestNewInstances({ lists, reads }: NewInstanceReadsDeps, group: string, { keys, isListBetter }: NewInstances): boolean {
  if (isListBetter && lists.waitMs(group) === 0) {
    lists.request(group);
    return true;
  }
  // guard: in one loop ten instances of a group are read singly at most
  const each = keys.slice(0, Math.min(READ_EACH_AT_MOST, reads.singleReadsLeft(group)));
  for (const key of each) reads.requestInstance(key, group);
  return each.length === keys.length;
}
