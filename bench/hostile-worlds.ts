/**
 * Pending pods that make a plan long although there are no more of them: each of them is a workload of its own, or the pods of one workload
 * have labels of their own. The cluster is that of the mixed workload.
 */
import type { Observation } from '../src/domain/observation.ts';
import { aShape, type ShapeOptions } from '../test/support/builders.ts';
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
