/**
 * Pending pods that make a plan long although there are no more of them: each of them is a workload of its own, or the pods of one workload
 * have labels of their own. The cluster is that of the mixed workload.
 */
import type { Observation } from '../src/domain/observation.ts';
import type { Pod } from '../src/domain/pod.ts';
import { aPod, aShape, type ShapeOptions, START_MS } from '../test/support/builders.ts';
import { type MixedSize, observationOf } from './mixed-world.ts';

const APP = 'app';
const apartFrom = (value: string) => ({
  topologyKey: 'kubernetes.io/hostname',
  selector: { requirements: [{ key: APP, operator: 'In' as const, values: [value] }] },
  namespaces: [],
  namespaceSelector: undefined,
});

export const HOSTILE_WORKLOADS: Readonly<Record<string, (at: number) => ShapeOptions>> = {
  'a StatefulSet whose pods keep off each other': (at) => ({
    cpu: '500m',
    labels: { [APP]: 'db', pod: `db-${at}` },
    podAntiAffinity: [apartFrom('db')],
  }),
  'a Job of its own size for each pod': (at) => ({
    cpu: `${100 + (at % 3_000)}m`,
    memory: `${256 + 64 * Math.floor(at / 3_000)}Mi`,
    labels: { job: `job-${at}` },
  }),
  'a Job for each pod, which keeps off its own kind': (at) => ({
    cpu: `${250 + (at % 40) * 50}m`,
    labels: { [APP]: `job-${at}` },
    podAntiAffinity: [apartFrom(`job-${at}`)],
  }),
  'a Job for each pod, larger than any node': (at) => ({ cpu: `${500_000 + at}m`, labels: { job: `job-${at}` } }),
};

export function hostileObservation(size: MixedSize, shapeOf: (at: number) => ShapeOptions): Observation {
  return observationOf(
    size,
    Array.from({ length: size.pods }, (_, at) => aShape(shapeOf(at))),
  );
}

/** Of one team: twenty thousand pods, each a workload of its own, that no node and no template can hold. */
export const HOPELESS_KINDS: Readonly<Record<string, (at: number) => ShapeOptions>> = {
  'with a label that no node has': (at) => ({ cpu: '500m', nodeSelector: { team: `x-${at}` } }),
  'larger than any node': (at) => ({ cpu: `${500_000 + at}m` }),
  'near pods that do not exist': (at) => ({
    cpu: `${500 + at}m`,
    labels: { [APP]: `job-${at}` },
    podAffinity: [{ ...apartFrom(`none-${at}`), topologyKey: 'topology.kubernetes.io/zone' }],
  }),
};

/** The pods of one team, and a younger pod of another team that needs a new node. */
export function hopelessObservation(
  size: MixedSize,
  shapeOf: (at: number) => ShapeOptions,
): { readonly observation: Observation; readonly other: Pod } {
  const observation = observationOf(size, []);
  const older = { namespace: 'team-a', createdAtMs: START_MS - 600_000 };
  const pods = Array.from({ length: size.pods }, (_, at) =>
    aPod({ ...older, name: `noise-${at}`, shape: { namespace: older.namespace, ...shapeOf(at) } }),
  );
  const other = aPod({ name: 'web', namespace: 'team-b', createdAtMs: START_MS - 60_000, shape: { namespace: 'team-b', cpu: '3' } });
  return { observation: { ...observation, cluster: { ...observation.cluster, pendingPods: [...pods, other] } }, other };
}
