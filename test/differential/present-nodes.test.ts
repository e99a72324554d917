import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PodObject, PodSpec } from '../../world/simulator/cluster/store/objects.ts';
import { scheduleOne } from '../../world/simulator/cluster/scheduler/placement.ts';
import { addUsage } from '../../world/simulator/cluster/scheduler/node-filters.ts';
import { ClusterSnapshot } from '../../src/scheduling/snapshot/cluster-snapshot.ts';
import { aCluster, resourceNames } from '../support/builders.ts';
import { plannersNode, plannersPod, roomWith, toyReasons } from './both-sides.ts';
import { nodeDraft, nodeObject, NAMESPACES, podDraft, podObject, ZONE, type NodeDraft, type PodDraft } from './random-cluster.ts';
import { casesOf } from '../support/property-runs.ts';

interface Story {
  readonly nodes: readonly NodeDraft[];
  readonly bound: readonly { readonly draft: PodDraft; readonly on: number }[];
  readonly pending: readonly PodDraft[];
}

const story: fc.Arbitrary<Story> = fc.record({
  nodes: fc.array(nodeDraft, { minLength: 1, maxLength: 5 }),
  bound: fc.array(fc.record({ draft: podDraft, on: fc.nat(4) }), { maxLength: 6 }),
  pending: fc.array(podDraft, { minLength: 1, maxLength: 6 }),
});

/** Every (pod, node) pair that the two judge differently while the toy scheduler binds one pod after the other. */
function disagreements({ nodes, bound, pending }: Story, seen: { some: number; none: number }): readonly string[] {
  const nodeObjects = nodes.map((draft, at) => nodeObject(`n-${at}`, draft));
  const residents = bound.map(({ draft, on }, at) => podObject(`bound-${at}`, draft, `n-${on % nodes.length}`));
  const room = roomWith(nodeObjects, residents);
  const cluster = aCluster({ nodes: nodeObjects.map(plannersNode), pods: residents.map(plannersPod) });
  const snapshot = new ClusterSnapshot({ names: resourceNames });
  snapshot.sync({ ...cluster, namespaces: NAMESPACES });
  const found: string[] = [];
  pending.forEach((draft, at) => {
    const object = podObject(`p-${at}`, draft);
    const pod = plannersPod(object);
    for (const seat of room.nodes) {
      const name = seat.node.metadata.name;
      const ours = snapshot.check(pod, name);
      const toys = toyReasons(object, seat, room);
      if ((ours.length === 0) !== (toys.length === 0)) {
        found.push(`${object.metadata.name} on ${name}: planner ${JSON.stringify(ours)}, scheduler ${JSON.stringify(toys)}`);
      }
    }
    const place = snapshot.findNode(pod);
    const decision = scheduleOne(object, room);
    if (place !== undefined && decision.kind !== 'bind') found.push(`${object.metadata.name}: planner finds ${place}, scheduler none`);
    seen[decision.kind === 'bind' ? 'some' : 'none'] += 1;
    if (decision.kind !== 'bind') return;
    const node = decision.usage.node.metadata.name;
    const landed: PodObject = podObject(`p-${at}`, draft, node);
    addUsage(decision.usage, landed);
    snapshot.addPod(plannersPod(landed), node);
  });
  return found;
}

describe('the planner and the toy scheduler about present nodes', () => {
  it('agree on every pod and node of random clusters, pod after pod', () => {
    const bound = { some: 0, none: 0 };
    fc.assert(
      fc.property(story, (given) => {
        expect(disagreements(given, bound)).toEqual([]);
      }),
      casesOf(4, 500),
    );
    // The worlds are neither so tight nor so wide that agreeing would be easy.
    expect(Math.min(bound.some, bound.none)).toBeGreaterThan(330);
  });
});

const NODE: NodeDraft = {
  labels: {},
  taints: [],
  unschedulable: false,
  allocatable: { cpu: '2', memory: '4Gi', pods: '110', 'hugepages-2Mi': '64Mi' },
};
const POD: PodDraft = { namespace: 'default', labels: { app: 'x' }, spec: { containers: [{ name: 'c' }] }, terminating: false };
const ports = (containerPort: number, hostPort?: number) => [{ containerPort, ...(hostPort === undefined ? {} : { hostPort }) }];
const nearX: PodSpec = {
  containers: [{ name: 'c' }],
  affinity: {
    podAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: ZONE, labelSelector: { matchLabels: { app: 'x' } } }],
    },
  },
};

interface Row {
  readonly name: string;
  readonly nodes?: readonly NodeDraft[];
  /** On the first node. */
  readonly resident?: PodSpec;
  readonly pod: PodSpec;
  readonly lands: boolean;
}

/** Cases that the two once judged differently; by the Kubernetes documentation, this is the right answer. */
const ROWS: readonly Row[] = [
  {
    name: 'pod-level huge pages count though no container asks for them',
    pod: { containers: [{ name: 'c' }], resources: { requests: { 'hugepages-2Mi': '128Mi' } } },
    lands: false,
  },
  {
    name: "a pod-level CPU request replaces the sum of the containers'",
    pod: { containers: [{ name: 'c', resources: { requests: { cpu: '3' } } }], resources: { requests: { cpu: '1' } } },
    lands: true,
  },
  {
    name: "a sidecar's host port is taken as long as the pod runs",
    resident: { containers: [{ name: 'c' }], initContainers: [{ name: 's', restartPolicy: 'Always', ports: ports(80, 80) }] },
    pod: { containers: [{ name: 'c', ports: ports(80, 80) }] },
    lands: false,
  },
  {
    name: "an init container's host port is free again",
    resident: { containers: [{ name: 'c' }], initContainers: [{ name: 's', ports: ports(80, 80) }] },
    pod: { containers: [{ name: 'c', ports: ports(80, 80) }] },
    lands: true,
  },
  {
    name: "on the host's network a container port is a host port",
    resident: { containers: [{ name: 'c', ports: ports(80) }], hostNetwork: true },
    pod: { containers: [{ name: 'c', ports: ports(80, 80) }] },
    lands: false,
  },
  {
    name: 'a first pod that wants to be near its like starts the group, its like in no domain notwithstanding',
    nodes: [
      { ...NODE, labels: {} },
      { ...NODE, labels: { [ZONE]: 'we-1' } },
    ],
    resident: { containers: [{ name: 'c' }] },
    pod: nearX,
    lands: true,
  },
];

describe('cases that one of the two got wrong', () => {
  it.each(ROWS)('$name', ({ nodes = [NODE], resident, pod, lands }) => {
    const bound = { some: 0, none: 0 };
    const residents = resident === undefined ? [] : [{ draft: { ...POD, spec: resident }, on: 0 }];
    expect(disagreements({ nodes, bound: residents, pending: [{ ...POD, spec: pod }] }, bound)).toEqual([]);
    expect(bound).toEqual(lands ? { some: 1, none: 0 } : { some: 0, none: 1 });
  });
});
