/**
 * Events about nodes that Azure accepted and did not provide, in the Cluster Autoscaler's words. The operation and each
 * instance report the same failure within moments and in any order. Only the first source is recorded, plus instances that
 * fail later.
 */
import type { ErrorKind } from '../../lib/errors.ts';
import type { Observation } from '../../domain/observation.ts';
import type { EventRecorder } from '../../domain/ports/records.ts';
import type { LoopListener } from '../../domain/loop-report.ts';
import { STATUS_NAME } from '../../planning/explain/scale-up-events.ts';

/** Maximum number of messages per event. Instances of one increase fail with similar messages. */
const MAX_SOURCES = 3;
/** Shorter than the shortest back-off, so that the next increase is not taken for the same one. */
const SAME_INCREASE_MS = 4 * 60_000;

interface Failure {
  /** The group, and the class and code of the error. */
  readonly what: string;
  readonly nodes: number;
  readonly messages: readonly string[];
}

/** Instances that had failed before the first loop are ignored. */
export function failedInstances(events: Pick<EventRecorder, 'record'>, namespace: string): LoopListener {
  let known: ReadonlySet<string> | undefined;
  /** When each failure was last recorded, and from which source. */
  const recorded = new Map<string, { readonly source: 'instances' | 'operation'; readonly atMs: number }>();
  return ({ observation }) => {
    if (observation === undefined) return;
    const { nowMs } = observation;
    for (const [what, { atMs }] of recorded) if (nowMs - atMs >= SAME_INCREASE_MS) recorded.delete(what);
    const recordFailure = (source: 'instances' | 'operation', { what, nodes, messages }: Failure): void => {
      const before = recorded.get(what);
      if (before !== undefined && (source === 'operation' || before.source === 'operation')) return;
      recorded.set(what, { source, atMs: nowMs });
      const message = `Failed adding ${nodes} nodes to group ${what}; source errors: ${joinMessages(messages)}`;
      events.record({ subject: { kind: 'ConfigMap', namespace, name: STATUS_NAME }, type: 'Warning', reason: 'ScaleUpFailed', message });
    };
    const failed = failedInstancesIn(observation);
    for (const failure of newFailures(failed, known)) recordFailure('instances', failure);
    for (const failure of failedOperationsIn(observation)) recordFailure('operation', failure);
    known = new Set(failed.map(({ key }) => key));
  };
}

interface FailedInstance {
  readonly key: string;
  readonly what: string;
  readonly message: string;
}

/** Failed instances without a node. An instance that became a node was provided, whatever happened later. */
function failedInstancesIn({ cloud }: Observation): readonly FailedInstance[] {
  const joined = new Set(cloud.instanceOfNode.values());
  return cloud.groups.flatMap(({ id, instances = [] }) =>
    instances.flatMap(({ key, state, error }) =>
      state === 'failed' && error !== undefined && !joined.has(key)
        ? [{ key, what: groupAndCause(id, error), message: error.message }]
        : [],
    ),
  );
}

function newFailures(instances: readonly FailedInstance[], known: ReadonlySet<string> | undefined): readonly Failure[] {
  const failures = new Map<string, string[]>();
  for (const { key, what, message } of known === undefined ? [] : instances) {
    if (known?.has(key) === false) failures.set(what, [...(failures.get(what) ?? []), message]);
  }
  return [...failures].map(([what, messages]) => ({ what, nodes: messages.length, messages }));
}

function failedOperationsIn({ cloud }: Observation): readonly Failure[] {
  return cloud.events.flatMap((event) => {
    if (event.kind !== 'increase-failed') return [];
    const { group, requested, error } = event;
    return [{ what: groupAndCause(group, error), nodes: requested, messages: [error.message] }];
  });
}

/** Uses the two error classes of the Cluster Autoscaler. */
function groupAndCause(group: string, { detail, code }: { readonly detail: ErrorKind; readonly code: string }): string {
  const isLack = detail.kind === 'out-of-capacity' || detail.kind === 'quota';
  return `${group} due to ${isLack ? 'OutOfResource' : 'Other'}.${code}`;
}

function joinMessages(messages: readonly string[]): string {
  const distinct = [...new Set(messages)].sort();
  return `${distinct.slice(0, MAX_SOURCES).join('; ')}${distinct.length > MAX_SOURCES ? ' ...' : ''}`;
}
