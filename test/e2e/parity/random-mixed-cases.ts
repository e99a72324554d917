/**
 * Everything at once: pods with rules about nodes and other pods that mount volumes, too, those made for them alone among
 * them, of several priorities, beside pods that have ended or are being resized where they are.
 */
import * as fc from 'fast-check';
import type { ParityObject } from '../../differential/parity-case.ts';
import {
  NAMESPACES,
  nodeDraft,
  nodeObject,
  podDraft,
  podObject,
  ZONE,
  type NodeDraft,
  type PodDraft,
} from '../../differential/random-cluster.ts';
import { mounts, storageStory } from '../../differential/random-storage.ts';
import type { PodVolume } from '../../../world/simulator/cluster/store/objects.ts';
import { throughJson, validNode, validPod, type Question } from './random-cases.ts';
import { storageObjects } from './random-storage-cases.ts';
import { STRANGERS_CLAIM } from './own-claims.ts';
import { PRIORITIES } from './real-scheduler.ts';

/** Of a bound pod. */
const LIVES = ['runs', 'runs', 'succeeded', 'failed', 'holds-more', 'wants-more', 'asks-too-much'] as const;
type Life = (typeof LIVES)[number];

const pod = fc.record({
  draft: podDraft,
  // Most claims refuse most nodes: with many of them nothing else would be asked about.
  mounted: fc.oneof(
    { weight: 1, arbitrary: mounts.map((names) => names.slice(0, 0)) },
    { weight: 1, arbitrary: mounts.map((names) => names.slice(0, 1)) },
  ),
  priority: fc.constantFrom(undefined, ...Object.keys(PRIORITIES)),
  scratch: fc.constantFrom(...Array.from({ length: 8 }, () => undefined), 'wait', 'wait-1', 'now', 'strange'),
});
type Draft = typeof pod extends fc.Arbitrary<infer Value> ? Value : never;

const mixed = fc.record({
  story: storageStory,
  nodes: fc.array(nodeDraft, { minLength: 4, maxLength: 4 }),
  bound: fc.array(fc.record({ of: pod, on: fc.nat(3), life: fc.constantFrom(...LIVES) }), { maxLength: 6 }),
  pending: fc.array(pod, { minLength: 12, maxLength: 12 }),
});

/** `count` clusters with a dozen pending pods each; equal seeds give equal questions. */
export function randomMixedQuestions(seed: number, count: number): readonly Question[] {
  return fc.sample(mixed, { seed, numRuns: count }).map(({ story, nodes, bound, pending }) => ({
    cluster: [
      ...[...NAMESPACES].map(([name, labels]) => ({ kind: 'Namespace', metadata: { name, labels } })),
      ...storageObjects({ ...story, bound: [] }),
      ...story.nodes.map(({ zone }, at) => throughJson(nodeObject(`n-${at}`, placed(nodes[at], zone)))),
      ...bound.map(({ of, on, life }, at) =>
        living(podOf(`bound-${at}`, { ...of, scratch: undefined }, `n-${on % story.nodes.length}`), life),
      ),
    ],
    pods: pending.map((each, at) => podOf(`p-${at}`, each)),
  }));
}

/** The zone of the storage's story, and room enough that most questions are not about room. */
function placed(draft: NodeDraft | undefined, zone: string | undefined): NodeDraft {
  if (draft === undefined) throw new Error('A story of storage has no more than four nodes.');
  const { [ZONE]: _other, ...labels } = draft.labels;
  return validNode({ ...draft, labels: zone === undefined ? labels : { ...labels, [ZONE]: zone } });
}

function podOf(name: string, { draft, mounted, priority, scratch }: Draft, nodeName?: string): ParityObject {
  // Claims are of one namespace.
  const namespace = mounted.length > 0 ? 'default' : draft.namespace;
  const valid = validPod({ ...draft, namespace });
  const claims = mounted
    .filter((each) => each !== 'private')
    .map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  const own = scratch === undefined ? [] : [scratchOf(scratch === 'strange' ? 'wait' : scratch)];
  const full: PodDraft = {
    ...valid,
    spec: { ...valid.spec, volumes: [...claims, ...own], ...(priority === undefined ? {} : { priorityClassName: priority }) },
  };
  const object = throughJson(podObject(name, full, nodeName));
  return scratch === 'strange' ? { ...object, metadata: { ...object.metadata, annotations: { [STRANGERS_CLAIM]: 'yes' } } } : object;
}

/** A generic ephemeral volume. */
function scratchOf(storageClassName: string): PodVolume {
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } };
  return { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } };
}

/** With the kubelet's word on how it goes. */
function living(object: ParityObject, life: Life): ParityObject {
  if (life === 'runs') return object;
  if (life === 'succeeded' || life === 'failed') return { ...object, status: { phase: life === 'succeeded' ? 'Succeeded' : 'Failed' } };
  const { containers } = object['spec'] as { readonly containers: readonly { readonly name: string }[] };
  const held = life === 'holds-more' ? { cpu: '1200m', memory: '1Gi' } : { cpu: '50m', memory: '64Mi' };
  const containerStatuses = containers.map(({ name }) => ({
    name,
    image: 'none',
    imageID: 'none',
    ready: true,
    restartCount: 0,
    allocatedResources: held,
    resources: { requests: held },
  }));
  const infeasible = { type: 'PodResizePending', status: 'True', reason: 'Infeasible' };
  const conditions = life === 'asks-too-much' ? { conditions: [infeasible] } : {};
  return { ...object, status: { phase: 'Running', containerStatuses, ...conditions } };
}
