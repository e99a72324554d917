/**
 * Tells what Azure accepted and did not make, in the Cluster Autoscaler's words. A failure has several voices (the operation, each
 * machine), in any order and within moments: the first that speaks is told, and machines that failed only later.
 */
import type { ErrorKind } from '../../lib/errors.ts';
import type { Observation } from '../../domain/observation.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';

/** Messages that one event repeats; machines of one order fail with much the same. */
const MOST_SOURCES = 3;
/** Shorter than the shortest rest after a failure, so that the next order is not taken for the same one. */
const SAME_ORDER_MS = 4 * 60_000;

interface Failure {
  /** The group, and class and code of the error. */
  readonly what: string;
  readonly nodes: number;
  readonly messages: readonly string[];
}

/** Machines that had failed before the first look are old news. */
export function failedInstances(events: Pick<EventRecorder, 'record'>, namespace: string): LoopListener {
  let known: ReadonlySet<string> | undefined;
  /** When each was last told, and by which voice. */
  const told = new Map<string, { readonly voice: 'machines' | 'operation'; readonly atMs: number }>();
  return ({ observation }) => {
    if (observation === undefined) return;
    const { nowMs } = observation;
    for (const [what, { atMs }] of told) if (nowMs - atMs >= SAME_ORDER_MS) told.delete(what);
    const tell = (voice: 'machines' | 'operation', { what, nodes, messages }: Failure): void => {
      const before = told.get(what);
      if (before !== undefined && (voice === 'operation' || before.voice === 'operation')) return;
      told.set(what, { voice, atMs: nowMs });
      const message = `Failed adding ${nodes} nodes to group ${what}; source errors: ${sources(messages)}`;
      events.record({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type: 'Warning', reason: 'ScaleUpFailed', message });
    };
    const failed = machinesIn(observation);
    for (const failure of newFailures(failed, known)) tell('machines', failure);
    for (const failure of operationsIn(observation)) tell('operation', failure);
    known = new Set(failed.map(({ key }) => key));
  };
}

interface FailedMachine {
  readonly key: string;
  readonly what: string;
  readonly message: string;
}

/** One that is a node did come, whatever befell it since. */
function machinesIn({ cloud }: Observation): readonly FailedMachine[] {
  const joined = new Set(cloud.instanceOfNode.values());
  return cloud.groups.flatMap(({ id, instances = [] }) =>
    instances.flatMap(({ key, state, error }) =>
      state === 'failed' && error !== undefined && !joined.has(key) ? [{ key, what: named(id, error), message: error.message }] : [],
    ),
  );
}

function newFailures(machines: readonly FailedMachine[], known: ReadonlySet<string> | undefined): readonly Failure[] {
  const news = new Map<string, string[]>();
  for (const { key, what, message } of known === undefined ? [] : machines) {
    if (known?.has(key) === false) news.set(what, [...(news.get(what) ?? []), message]);
  }
  return [...news].map(([what, messages]) => ({ what, nodes: messages.length, messages }));
}

function operationsIn({ cloud }: Observation): readonly Failure[] {
  return cloud.events.flatMap((event) => {
    if (event.kind !== 'increase-failed') return [];
    const { group, requested, error } = event;
    return [{ what: named(group, error), nodes: requested, messages: [error.message] }];
  });
}

/** With the two classes of the Cluster Autoscaler. */
function named(group: string, { detail, code }: { readonly detail: ErrorKind; readonly code: string }): string {
  const isLack = detail.kind === 'out-of-capacity' || detail.kind === 'quota';
  return `${group} due to ${isLack ? 'OutOfResource' : 'Other'}.${code}`;
}

function sources(messages: readonly string[]): string {
  const distinct = [...new Set(messages)].sort();
  return `${distinct.slice(0, MOST_SOURCES).join('; ')}${distinct.length > MOST_SOURCES ? ' ...' : ''}`;
}
