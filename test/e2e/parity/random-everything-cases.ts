/**
 * All kinds of pods in one cluster: pods with rules about nodes and other pods, with volumes, priorities and resizes (`random-mixed-cases.ts`), of which many
 * claim devices too, by claims and by names (`random-device-cases.ts`). Copies of one of them start together, and are asked about as a whole.
 */
import type { ParityObject } from '../../differential/parity-case.ts';
import { servedPodGroups } from '../pod-group-api.ts';
import { STRANGERS_CLAIM } from './own-claims.ts';
import type { Question } from './random-cases.ts';
import { randomDeviceQuestions } from './random-device-cases.ts';
import { randomMixedQuestions } from './random-mixed-cases.ts';

type Json = Readonly<Record<string, unknown>>;

const CORDON = 'node.kubernetes.io/unschedulable';

interface PodSpec extends Json {
  readonly volumes?: readonly Json[];
  readonly tolerations?: readonly { readonly key?: string; readonly effect?: string }[];
  readonly resourceClaims?: readonly { readonly resourceClaimName?: string }[];
  readonly containers: readonly (Json & { readonly resources?: { readonly requests?: Json; readonly limits?: Json } })[];
}

interface NodeStatus extends Json {
  readonly allocatable: Json;
  readonly capacity: Json;
}

/** `count` clusters with a dozen pending pods each; equal seeds give equal questions. */
export function randomQuestionsAboutEverything(seed: number, count: number): readonly Question[] {
  const devices = randomDeviceQuestions(seed, count);
  return randomMixedQuestions(seed, count).map((mixed, at) => withGang(withDevices(mixed, devices[at] ?? { cluster: [], pods: [] }), at));
}

/** Two to five copies of a pod of the question without claims that are shared: those would choose their node. */
function withGang(question: Question, at: number): Question {
  const members = question.pods.filter(mayBeCopied);
  if (servedPodGroups() === undefined || members.length === 0) return question;
  const size = 2 + (at % 4);
  // Some fit nowhere.
  return {
    ...question,
    gang: { members: members.slice(0, at % 5 === 0 ? 1 : members.length), size, minCount: 1 + (Math.floor(at / 4) % size) },
  };
}

/** No claim is shared, and no cordon is tolerated: on a cordoned node no plan counts a pod as served. */
function mayBeCopied(pod: ParityObject): boolean {
  const { volumes = [], resourceClaims = [], tolerations = [] } = pod['spec'] as PodSpec;
  const toleratesCordon = tolerations.some(({ key = CORDON, effect = 'NoSchedule' }) => key === CORDON && effect === 'NoSchedule');
  return !toleratesCordon && volumes.length === 0 && resourceClaims.every(({ resourceClaimName }) => resourceClaimName === undefined);
}

/** Nodes of both have the same names. */
function withDevices(mixed: Question, devices: Question): Question {
  const nodes = new Map(devices.cluster.filter(({ kind }) => kind === 'Node').map((node) => [node.metadata.name, node]));
  return {
    cluster: [
      ...mixed.cluster.map((object) => (object.kind === 'Node' ? withOwnAmount(object, nodes.get(object.metadata.name)) : object)),
      ...devices.cluster.filter(({ kind }) => kind !== 'Node'),
    ],
    // Claims are of one namespace, and every third pod has none: most claims refuse most nodes.
    pods: mixed.pods.map((pod, at) => {
      const { namespace = 'default', annotations = {} } = pod.metadata as ParityObject['metadata'] & { readonly annotations?: Json };
      // At a pod whose claim of devices is another pod's, the scheduler does not even look.
      const isPlain = at % 3 === 0 || namespace !== 'default' || annotations[STRANGERS_CLAIM] !== undefined;
      return isPlain ? pod : withClaims(pod, devices.pods[at]);
    }),
  };
}

/** With what a device plugin reports. */
function withOwnAmount(node: ParityObject, other: ParityObject | undefined): ParityObject {
  const own = (other?.['status'] as NodeStatus | undefined)?.allocatable['example.com/gpu'];
  if (own === undefined) return node;
  const status = node['status'] as NodeStatus;
  const more = (amounts: Json): Json => ({ ...amounts, 'example.com/gpu': own });
  return { ...node, status: { ...status, allocatable: more(status.allocatable), capacity: more(status.capacity) } };
}

function withClaims(pod: ParityObject, other: ParityObject | undefined): ParityObject {
  if (other === undefined) return pod;
  const [spec, claiming] = [pod['spec'] as PodSpec, other['spec'] as PodSpec];
  const asked = claiming.containers[0]?.resources ?? {};
  const containers = spec.containers.map((container, at) => {
    if (at > 0) return container;
    const { requests, limits, ...rest } = container.resources ?? {};
    return { ...container, resources: { ...rest, requests: { ...requests, ...asked.requests }, limits: { ...limits, ...asked.limits } } };
  });
  return { ...pod, spec: { ...spec, containers, resourceClaims: claiming['resourceClaims'] } };
}
