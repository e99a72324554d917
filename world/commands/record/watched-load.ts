/**
 * Follows a live cluster with the daemon's watches and passes what it sees to a recorder. Reads only. Objects are reduced at the door:
 * memory grows with the pods that exist, not with those that existed.
 */
import type { Clock } from '../../../src/lib/clock.ts';
import { defined } from '../../../src/lib/defined.ts';
import type { Random } from '../../../src/lib/random.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';
import type { LoadRecorder } from '../../lab/recordings/load-recorder.ts';
import type { ObservedBudget, ObservedNode, ObservedPod, ObservedReplicas } from '../../lab/recordings/observed.ts';
import type { DisruptionBudgetJson, ObjectJson } from '../../../src/kubernetes/api/core-json.ts';
import type { Rest } from '../../../src/kubernetes/api/rest.ts';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';
import type { WorkloadJson } from '../../../src/kubernetes/projection/workloads.ts';
import { Table } from '../../../src/kubernetes/watch/object-table.ts';
import type { ReflectedTable } from '../../../src/kubernetes/watch/reflector-options.ts';
import { Reflector } from '../../../src/kubernetes/watch/reflector.ts';
import type { Log } from '../../../src/telemetry/log.ts';
import type { Metrics } from '../../../src/telemetry/metrics.ts';
import { publishedResources } from './faults/watched-faults.ts';
import { observedNode } from './seen-node.ts';
import { PodReader } from './seen-pod.ts';

interface WatchedLoadDeps {
  readonly rest: Rest;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A healthy watch delivers something about once a minute. */
const SILENT_MS = 180_000;

interface Watched {
  readonly reflector: Reflector;
  /** Without it, numbers come from pods, or budgets are missing. */
  readonly isOptional: boolean;
}

/** Runs the watches. */
export class WatchedLoad {
  readonly #deps: WatchedLoadDeps;
  readonly #watched: readonly Watched[];
  #gapSinceMs: number | undefined;

  constructor(recorder: LoadRecorder, deps: WatchedLoadDeps) {
    this.#deps = deps;
    const { clock } = deps;
    const now = (): number => clock.now();
    const watch = (resource: string, group: string, table: ReflectedTable, isOptional: boolean): Watched => ({
      reflector: new Reflector({ ...deps, resource, path: `${group}/${resource}`, table }),
      isOptional,
    });
    this.#watched = [
      watch('nodes', '/api/v1', nodesOf(recorder, now), false),
      watch('pods', '/api/v1', podsOf(recorder, now), false),
      watch('deployments', '/apis/apps/v1', replicasOf('Deployment', recorder, now), true),
      watch('statefulsets', '/apis/apps/v1', replicasOf('StatefulSet', recorder, now), true),
      watch('poddisruptionbudgets', '/apis/policy/v1', budgetsOf(recorder), true),
      ...publishedResources(recorder, now).map((published) => ({ reflector: new Reflector({ ...deps, ...published }), isOptional: true })),
    ];
  }

  /**
   * Resolves when the first picture is complete. @returns the optional resources that cannot be read. @throws AutoscalerError if pods or
   * nodes cannot be read.
   */
  async start(signal: AbortSignal): Promise<readonly string[]> {
    for (const { reflector } of this.#watched) reflector.start(signal);
    await Promise.all(this.#watched.map(({ reflector, isOptional }) => (isOptional ? reflector.answered : reflector.synced)));
    return this.#watched.flatMap(({ reflector }) => (reflector.version === 0 ? [reflector.resource] : []));
  }

  /** When nothing was seen, and it is over now; milliseconds since the epoch. undefined: no such time ended. */
  takeGap(): { readonly fromMs: number; readonly untilMs: number } | undefined {
    const { clock } = this.#deps;
    const needed = this.#watched.filter(({ isOptional }) => !isOptional);
    const heardMs = Math.min(...needed.map(({ reflector }) => reflector.lastHeardAt));
    const silentMs = clock.monotonic() - heardMs;
    if (silentMs > SILENT_MS) this.#gapSinceMs ??= clock.now() - silentMs;
    const fromMs = this.#gapSinceMs;
    if (fromMs === undefined || silentMs > SILENT_MS) return undefined;
    this.#gapSinceMs = undefined;
    return { fromMs, untilMs: clock.now() };
  }

  async ended(): Promise<void> {
    await Promise.all(this.#watched.map(({ reflector }) => reflector.ended()));
  }
}

const uidOf = ({ metadata }: ObjectJson): string => metadata?.uid ?? `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
const nameOf = ({ metadata }: ObjectJson): string => metadata?.name ?? '';

function nodesOf(recorder: LoadRecorder, now: () => number): Table<ObservedNode> {
  const shared = createNodeProjection(new ResourceNames(), () => undefined, {}, now);
  return new Table<ObservedNode>({
    keyOf: nameOf,
    project: (object) => observedNode(projectNode(object, shared)),
    onChange: (before, after) => {
      if (after !== undefined) recorder.seeNode(after, now());
      else if (before !== undefined) recorder.forgetNode(before.name, now());
    },
  });
}

/** Static pods stand in the table as null. */
function podsOf(recorder: LoadRecorder, now: () => number): Table<ObservedPod | null> {
  const reader = new PodReader();
  return new Table<ObservedPod | null>({
    keyOf: uidOf,
    project: (object) => reader.read(object) ?? null,
    onChange: (before, after) => {
      if (after !== undefined && after !== null) recorder.seePod(after, now());
      else if (before !== undefined && before !== null) recorder.forgetPod(before.uid, now());
    },
  });
}

/** A controller that is being deleted wants nothing. */
function replicasOf(kind: string, recorder: LoadRecorder, now: () => number): Table<ObservedReplicas> {
  return new Table<ObservedReplicas>({
    keyOf: uidOf,
    project: (object) => wantedReplicas(kind, object),
    onChange: (before, after) => {
      if (after !== undefined) recorder.setReplicas(after, now());
      else if (before !== undefined) recorder.removeReplicas(before, now());
    },
  });
}

export function wantedReplicas(kind: string, { metadata = {}, spec = {} }: WorkloadJson): ObservedReplicas {
  const replicas = metadata.deletionTimestamp === undefined ? (spec.replicas ?? 1) : 0;
  return { kind, namespace: metadata.namespace ?? 'default', name: metadata.name ?? '', replicas };
}

function budgetsOf(recorder: LoadRecorder): Table<ObservedBudget> {
  return new Table<ObservedBudget>({
    keyOf: uidOf,
    project: observedBudget,
    onChange: (before, after) => {
      if (after !== undefined) recorder.setBudget(after);
      else if (before !== undefined) recorder.removeBudget(before);
    },
  });
}

export function observedBudget({ metadata = {}, spec = {} }: DisruptionBudgetJson): ObservedBudget {
  const { minAvailable, maxUnavailable, selector } = spec;
  const isWhole = (selector?.matchExpressions ?? []).length === 0;
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name ?? '',
    ...(selector?.matchLabels !== undefined && isWhole ? { matchLabels: selector.matchLabels } : {}),
    budget: defined({ minAvailable, maxUnavailable }),
  };
}
