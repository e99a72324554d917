/** The planner's "fits" is kube-scheduler's, where its profile spreads pods that have no constraints of their own. */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { profilesWithDefaults } from '../../src/config/sources/scheduler-config.ts';
import { constraintsOfProfiles, spreadDefaultsOf } from '../../src/config/schema/spread-defaults.ts';
import { askPlanner, disagreements, type ParityObject } from '../differential/parity-case.ts';
import { nodeObject, ZONE } from '../differential/random-cluster.ts';
import { givenBinaries } from './given.ts';
import { CLUSTERS, LIMIT_MS, SEED } from './parity/agreement.ts';
import { throughJson, type Question } from './parity/random-cases.ts';
import { RealScheduler } from './parity/real-scheduler.ts';

const PLUGINS = [
  {
    name: 'PodTopologySpread',
    args: {
      defaultingType: 'List',
      defaultConstraints: [
        { topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule' },
        { topologyKey: 'kubernetes.io/hostname', maxSkew: 2, whenUnsatisfiable: 'DoNotSchedule', nodeTaintsPolicy: 'Honor' },
        { topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' },
      ],
    },
  },
];

/** What the planner reads is the scheduler's own file. */
function defaults() {
  const profiles = profilesWithDefaults(JSON.stringify({ kind: 'KubeSchedulerConfiguration', profiles: [{ pluginConfig: PLUGINS }] }));
  const found = typeof profiles === 'string' ? profiles : constraintsOfProfiles(profiles);
  if (typeof found === 'string') throw new Error(found);
  return spreadDefaultsOf(found);
}

const labels = fc.constantFrom({ app: 'a' }, { app: 'a', tier: 'x' }, { app: 'b', tier: 'x' }, { app: 'c' });
const owner = fc.constantFrom(undefined, 'ReplicaSet', 'StatefulSet', 'ReplicationController', 'Job');
const own = fc.constantFrom(undefined, undefined, undefined, 'ScheduleAnyway', 'DoNotSchedule');
const story = fc.record({
  nodes: fc.array(fc.constantFrom('we-1', 'we-2', 'we-3'), { minLength: 3, maxLength: 4 }),
  tainted: fc.option(fc.nat(3), { nil: undefined }),
  bound: fc.array(fc.record({ labels, on: fc.nat(3) }), { minLength: 3, maxLength: 8 }),
  services: fc.uniqueArray(fc.constantFrom('a', 'tier', 'all', 'none'), { maxLength: 2 }),
  workloads: fc.boolean(),
  pending: fc.array(fc.record({ labels, owner, own }), { minLength: 8, maxLength: 8 }),
});

const SELECTORS: Readonly<Record<string, unknown>> = { a: { app: 'a' }, tier: { tier: 'x' }, all: {}, none: undefined };
const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'none' }] } };
const object = (kind: string, name: string, spec: unknown): ParityObject => ({ kind, metadata: { name, namespace: 'default' }, spec });

/** `w`: the name of its workloads. One that is deleted lasts a while. */
function questionOf(given: typeof story extends fc.Arbitrary<infer Value> ? Value : never, w: string): Question {
  const allocatable = { cpu: '8', memory: '16Gi', pods: '110' };
  const nodes = given.nodes.map((zone, at) => {
    const taints = at === given.tainted ? [{ key: 'k', value: 'v', effect: 'NoSchedule' as const }] : [];
    return throughJson(nodeObject(`n-${at}`, { labels: { [ZONE]: zone }, taints, unschedulable: false, allocatable }));
  });
  const services = given.services.map((name) => object('Service', name, { selector: SELECTORS[name], ports: [{ port: 80 }] }));
  const selector = { matchLabels: { app: 'a' } };
  const workloads = [
    object('ReplicaSet', w, { selector, template }),
    object('StatefulSet', w, { selector, template, serviceName: w }),
    object('ReplicationController', w, { selector: { app: 'a' }, template }),
  ];
  const spec = { containers: [{ name: 'c', image: 'none' }] };
  const bound = given.bound.map(({ labels: of, on }, at): ParityObject => ({
    kind: 'Pod',
    metadata: { name: `bound-${at}`, namespace: 'default', labels: of },
    spec: { ...spec, nodeName: `n-${on % given.nodes.length}` },
    status: { phase: 'Running' },
  }));
  const pods = given.pending.map(({ labels: of, owner: kind, own: when }, at): ParityObject => {
    const ownerReferences =
      kind === undefined ? {} : { ownerReferences: [{ apiVersion: apiOfOwner(kind), kind, name: w, uid: `w-${kind}`, controller: true }] };
    const constraint = { topologyKey: ZONE, maxSkew: 1, whenUnsatisfiable: when, labelSelector: { matchLabels: of } };
    const spread = when === undefined ? {} : { topologySpreadConstraints: [constraint] };
    return {
      kind: 'Pod',
      metadata: { name: `p-${at}`, namespace: 'default', labels: of, ...ownerReferences },
      spec: { ...spec, ...spread },
    };
  });
  return { cluster: [...services, ...(given.workloads ? workloads : []), ...nodes, ...bound], pods };
}

function apiOfOwner(kind: string): string {
  return kind === 'ReplicationController' ? 'v1' : kind === 'Job' ? 'batch/v1' : 'apps/v1';
}

describe('kube-scheduler and the planner agree on pods that a profile spreads by default', () => {
  let scheduler: RealScheduler | undefined;
  let attempts = 0;
  beforeAll(async () => {
    scheduler = await RealScheduler.start(givenBinaries(), PLUGINS);
  });
  afterAll(async () => {
    await scheduler?.stop();
  });

  it(
    'of Services and workloads of all kinds, beside pods with constraints of their own',
    async () => {
      const wrong: string[] = [];
      let [asked, bites] = [0, 0];
      attempts += 1;
      for (const [at, given] of fc.sample(story, { seed: SEED, numRuns: Math.ceil(CLUSTERS / 8) }).entries()) {
        const question = questionOf(given, `w-${attempts}-${at}`);
        const answers = await scheduler?.ask(question.cluster, question.pods);
        expect(answers?.invalid).toEqual([]);
        for (const { pod, verdict } of answers?.asked ?? []) {
          const cluster = answers?.cluster ?? [];
          asked += 1;
          const found = disagreements(cluster, verdict.nodes, askPlanner(cluster, pod, defaults()));
          wrong.push(...found.map((each) => `${JSON.stringify(pod.metadata)}: ${each}`));
          if (disagreements(cluster, verdict.nodes, askPlanner(cluster, pod)).length > 0) bites += 1;
        }
      }
      expect(wrong).toEqual([]);
      // The rule matters for some of them, and not for all.
      expect(bites).toBeGreaterThan(asked / 20);
      expect(bites).toBeLessThan(asked);
    },
    LIMIT_MS,
  );
});
