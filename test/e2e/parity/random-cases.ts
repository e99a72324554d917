/** Random clusters that a real API server takes: what it would refuse is put right, and what is left it may refuse. */
import * as fc from 'fast-check';
import type { ParityCluster, ParityObject } from '../../differential/parity-case.ts';
import {
  NAMESPACES,
  nodeDraft,
  nodeObject,
  podDraft,
  podObject,
  type NodeDraft,
  type PodDraft,
} from '../../differential/random-cluster.ts';
import type { AffinityTerm, ContainerSpec, PodObject, PodSpec, SpreadConstraint } from '../../../world/simulator/cluster/store/objects.ts';

export interface Question {
  readonly cluster: ParityCluster;
  readonly pods: readonly ParityObject[];
  /** Asked last. If absent, none. */
  readonly gang?: GangDraft;
}

/** Copies of one pod that start together. */
export interface GangDraft {
  /** Which pods of the question may be copied. The first that some node lets in is; if there is none, the first. */
  readonly members: readonly ParityObject[];
  readonly size: number;
  readonly minCount: number;
}

const story = fc.record({
  nodes: fc.array(nodeDraft, { minLength: 1, maxLength: 5 }),
  bound: fc.array(fc.record({ draft: podDraft, on: fc.nat(4) }), { maxLength: 8 }),
  pending: fc.array(podDraft, { minLength: 12, maxLength: 12 }),
});

/** `count` clusters with a dozen pending pods each; equal seeds give equal questions. */
export function randomQuestions(seed: number, count: number): readonly Question[] {
  return fc.sample(story, { seed, numRuns: count }).map(({ nodes, bound, pending }) => ({
    cluster: [
      ...[...NAMESPACES].map(([name, labels]) => ({ kind: 'Namespace', metadata: { name, labels } })),
      ...nodes.map((draft, at) => throughJson(nodeObject(`n-${at}`, validNode(draft)))),
      ...bound.map(({ draft, on }, at) => throughJson(podObject(`bound-${at}`, validPod(draft), `n-${on % nodes.length}`))),
    ],
    pods: pending.map((draft, at) => throughJson(podObject(`p-${at}`, validPod(draft)))),
  }));
}

/** As it goes over the wire. */
export function throughJson(object: unknown): ParityObject {
  return JSON.parse(JSON.stringify(object)) as ParityObject;
}

/** Every container has an image, and its own name. */
export function withImages(pod: PodObject): PodObject {
  return {
    ...pod,
    spec: { ...pod.spec, containers: pod.spec.containers.map((each, at) => ({ ...each, name: `c-${at}`, image: 'none' })) },
  };
}

/** One taint of each key and effect. */
export function validNode(draft: NodeDraft): NodeDraft {
  return { ...draft, taints: [...new Map(draft.taints.map((taint) => [`${taint.key} ${taint.effect}`, taint])).values()] };
}

export function validPod(draft: PodDraft): PodDraft {
  const { spec } = draft;
  const seen = new Set<string>();
  const container = (each: ContainerSpec, name: string, keepsPorts: boolean): ContainerSpec => {
    const ports = (each.ports ?? []).filter(({ hostPort, containerPort, protocol = 'TCP', hostIP = '' }) => {
      const key = `${spec.hostNetwork === true ? containerPort : hostPort} ${protocol} ${hostIP}`;
      return !keepsPorts || (!seen.has(key) && seen.add(key));
    });
    return { ...each, name, image: 'none', ...(each.ports === undefined ? {} : { ports }), resources: whole(each.resources?.requests) };
  };
  const affinity = spec.affinity;
  const valid: PodSpec = {
    ...spec,
    containers: spec.containers.map((each, at) => container(each, `c-${at}`, true)),
    ...(spec.initContainers === undefined
      ? {}
      : { initContainers: spec.initContainers.map((each, at) => container(each, `i-${at}`, each.restartPolicy === 'Always')) }),
    ...(affinity === undefined
      ? {}
      : {
          affinity: {
            ...affinity,
            ...termsOf('podAffinity', affinity.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
            ...termsOf('podAntiAffinity', affinity.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
          },
        }),
    ...(spec.topologySpreadConstraints === undefined ? {} : { topologySpreadConstraints: validSpread(spec.topologySpreadConstraints) }),
    ...podLevel(spec),
  };
  return { ...draft, spec: valid };
}

/** What cannot be shared is limited to what is asked for, and huge pages come with a share of the CPU. */
function whole(requests: Readonly<Record<string, string | number>> = {}): NonNullable<ContainerSpec['resources']> {
  const limits = Object.fromEntries(Object.entries(requests).filter(([name]) => name.startsWith('hugepages-') || name.includes('/')));
  const huge = Object.keys(requests).some((name) => name.startsWith('hugepages-'));
  return { requests: huge ? { cpu: '100m', ...requests } : requests, limits };
}

/** Pods as a whole may ask for CPU, memory and huge pages, and for no less than their containers do. */
function podLevel(spec: PodSpec): Partial<PodSpec> {
  const asked = (spec['resources'] as { readonly requests?: Readonly<Record<string, string>> } | undefined)?.requests;
  if (asked === undefined) return {};
  const kept = Object.fromEntries(Object.entries(asked).filter(([name]) => /^(cpu|memory|hugepages-.*)$/.test(name)));
  return { resources: whole(kept) };
}

function termsOf(kind: 'podAffinity' | 'podAntiAffinity', terms: readonly AffinityTerm[] | undefined): Readonly<Record<string, unknown>> {
  if (terms === undefined) return {};
  const valid = terms.map(({ matchLabelKeys, mismatchLabelKeys, ...rest }) => {
    if (rest.labelSelector === undefined) return rest;
    if (matchLabelKeys !== undefined) return { ...rest, matchLabelKeys };
    return mismatchLabelKeys === undefined ? rest : { ...rest, mismatchLabelKeys };
  });
  return { [kind]: { requiredDuringSchedulingIgnoredDuringExecution: valid } };
}

function validSpread(constraints: readonly SpreadConstraint[]): readonly SpreadConstraint[] {
  const once = new Map(constraints.map((each) => [`${each.topologyKey} ${each.whenUnsatisfiable}`, each]));
  return [...once.values()].map(({ minDomains, matchLabelKeys, ...rest }) => ({
    ...rest,
    ...(minDomains === undefined || rest.whenUnsatisfiable !== 'DoNotSchedule' ? {} : { minDomains }),
    ...(matchLabelKeys === undefined || rest.labelSelector === undefined ? {} : { matchLabelKeys }),
  }));
}
