/** Where a plan may be interrupted: often enough, whatever pods are pending, and without a trace if it is abandoned there. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finishAtOnce } from '../../../src/lib/slices.ts';
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
const term = (value: string, topologyKey = HOST) => ({
  topologyKey,
  selector: labelled(value),
  namespaces: [],
  namespaceSelector: undefined,
});

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
  'a workload for each pod, near pods that do not exist': (at) => ({ podAffinity: [term(`absent-${at}`, ZONE)] }),
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

describe('a plan in slices', () => {
  it.each(Object.entries(KINDS))('reads few pods between two places where it may be interrupted: %s', (_, kind) => {
    const reads = { count: 0 };
    const pods = Array.from({ length: PODS }, (_each, at) => watched({ labels: { app: `job-${at}` }, ...kind(at) }, reads));
    const groups = Array.from({ length: POOLS }, (_each, at) =>
      aGroup({ id: `pool${at}`, maxSize: 1_000, target: 0, template: aTemplate({ cpu: '16', labels: { [ZONE]: `we-${at % 3}` } }) }),
    );
    const input = inputFor({ groups, pods, nodes: [aNode({ cpu: '2' })] });
    const work = planScaleUpInSlices(input);
    let most = 0;
    for (let done = false; !done; most = Math.max(most, reads.count)) {
      reads.count = 0;
      done = work.next().done === true;
    }
    expect(most).toBeLessThanOrEqual(READS_PER_STEP);
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
