/** Where a plan may be interrupted: often enough, whatever pods are pending, and without a trace if it is abandoned there. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finishAtOnce, type SlicedWork } from '../../../src/lib/slices.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { planScaleUpInSlices } from '../../../src/planning/scale-up/plan.ts';
import { ClusterSnapshot } from '../../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aGroup, aNode, aPod, aShape, aTemplate, resourceNames, type ShapeOptions } from '../../support/builders.ts';
import { anyBurst } from './random-burst.ts';
import { inputFor } from './world.ts';

const HOST = 'kubernetes.io/hostname';
const ZONE = 'topology.kubernetes.io/zone';
const PODS = 800;
const POOLS = 12;
/** Of the shapes of all pods, in one step: a few walks over the pods, and never one for each pool. */
const READS_PER_STEP = 15 * PODS;

const labelled = (value: string) => ({ requirements: [{ key: 'app', operator: 'In', values: [value] }] }) as const;
/** A rule may be about pods of any kind, as far as their labels show. */
const withoutLabel = (key: string) => ({ requirements: [{ key, operator: 'DoesNotExist', values: [] }] }) as const;
const withLabel = (key: string) => ({ requirements: [{ key, operator: 'Exists', values: [] }] }) as const;
const term = (value: string, topologyKey = HOST) => ({
  topologyKey,
  selector: labelled(value),
  namespaces: [],
  namespaceSelector: undefined,
});

const OWN_LABEL = 'a workload for each pod, which keeps off pods with a label of its own';

const KINDS: Readonly<Record<string, (at: number) => ShapeOptions>> = {
  'a Job for each pod': (at) => ({ cpu: `${100 + at}m` }),
  'a Job for each pod, which keeps off its own kind': (at) => ({ podAntiAffinity: [term(`job-${at}`)] }),
  'a Job for each pod, which spreads over zones': (at) => ({
    topologySpread: [
      {
        topologyKey: ZONE,
        maxSkew: 1,
        minDomains: 1,
        selector: labelled(`job-${at}`),
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Ignore',
      },
    ],
  }),
  'a Job for each pod, which spreads over hosts and tolerates a taint of its own': (at) => ({
    cpu: '4',
    tolerations: [{ key: `taint-${at}`, operator: 'Exists', value: '', effect: undefined }],
    topologySpread: [
      {
        topologyKey: HOST,
        maxSkew: 1,
        minDomains: 1,
        selector: labelled(`job-${at}`),
        nodeAffinityPolicy: 'Honor',
        nodeTaintsPolicy: 'Honor',
      },
    ],
  }),
  'a workload for each pod, near pods that do not exist': (at) => ({ podAffinity: [term(`absent-${at}`, ZONE)] }),
  [OWN_LABEL]: (at) => ({
    labels: { app: `job-${at}`, [`own-${at}`]: '1' },
    podAntiAffinity: [{ ...term(''), selector: withLabel(`own-${at}`) }],
  }),
  'pods that are larger than any node': (at) => ({ cpu: `${500 + at}` }),
  'a StatefulSet that keeps off its own kind': (at) => ({ labels: { app: 'db', pod: `db-${at}` }, podAntiAffinity: [term('db')] }),
};

/** Counts what is read of shapes. */
function watched(options: ShapeOptions, reads: { count: number }): Pod {
  const shape = aShape(options);
  return aPod({
    shape: new Proxy(shape, {
      get(target, name) {
        // Sorting reads it.
        if (name !== 'priority') reads.count += 1;
        return Reflect.get(target, name);
      },
    }),
  });
}

/** Per pod. */
function allReads(count: number, kind: (at: number) => ShapeOptions): number {
  const reads = { count: 0 };
  const pods = Array.from({ length: count }, (_each, at) => watched(kind(at), reads));
  finishAtOnce(planScaleUpInSlices(inputFor({ groups: [aGroup({ id: 'pool', maxSize: 1_000, target: 0 })], pods })));
  return reads.count / count;
}

function mostReadsPerStep(work: SlicedWork<unknown>, reads: { count: number }): number {
  let most = 0;
  for (let done = false; !done; most = Math.max(most, reads.count)) {
    reads.count = 0;
    done = work.next().done === true;
  }
  return most;
}

describe('a plan in slices', () => {
  it.each(Object.entries(KINDS))('reads few pods between two places where it may be interrupted: %s', (_, kind) => {
    const reads = { count: 0 };
    const pods = Array.from({ length: PODS }, (_each, at) => watched({ labels: { app: `job-${at}` }, ...kind(at) }, reads));
    const groups = Array.from({ length: POOLS }, (_each, at) =>
      aGroup({ id: `pool${at}`, maxSize: 1_000, target: 0, template: aTemplate({ cpu: '16', labels: { [ZONE]: `we-${at % 3}` } }) }),
    );
    const input = inputFor({ groups, pods, nodes: [aNode({ cpu: '2' })] });
    expect(mostReadsPerStep(planScaleUpInSlices(input), reads)).toBeLessThanOrEqual(READS_PER_STEP);
  });

  it('compares no pod with all rules that require another label', () => {
    const kind = KINDS[OWN_LABEL] ?? (() => ({}));
    expect(allReads(400, kind)).toBeLessThan(1.5 * allReads(100, kind));
  });

  it('reads few present pods between two such places, however many rules may be about each', () => {
    const RULES = 200;
    const reads = { count: 0 };
    const present = Array.from({ length: 200 }, (_, at) => ({ ...watched({ labels: { app: `bound-${at}` } }, reads), nodeName: 'node-1' }));
    const pods = Array.from({ length: RULES }, (_, at) =>
      aPod({ shape: aShape({ podAntiAffinity: [{ ...term(''), selector: withoutLabel(`other-${at}`) }] }) }),
    );
    const nodes = [aNode({ name: 'node-1', cpu: '2' })];
    const input = inputFor({ groups: [aGroup({ id: 'pool', target: 0 })], pods: [...present, ...pods], nodes });
    expect(mostReadsPerStep(planScaleUpInSlices(input), reads)).toBeLessThanOrEqual(25 * RULES);
  });

  it('leaves no trace in the snapshot if it is abandoned', () => {
    fc.assert(
      fc.property(anyBurst, fc.nat({ max: 60 }), ({ world }, steps) => {
        const input = inputFor(world);
        const snapshot = new ClusterSnapshot({ names: resourceNames });
        snapshot.sync(input.observation.cluster);
        const abandoned = planScaleUpInSlices({ ...input, snapshot });
        for (let step = 0; step <= steps; step++) abandoned.next();
        abandoned.return(undefined as never);
        const after = finishAtOnce(planScaleUpInSlices({ ...input, snapshot }));
        expect(after).toEqual(finishAtOnce(planScaleUpInSlices(input)));
      }),
      { numRuns: 40, seed: 18 },
    );
  });
});
