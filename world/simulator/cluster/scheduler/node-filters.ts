/** The filters on a single node. Each returns its reasons in kube-scheduler's words. */
import { cpuMillis, wholeUnits } from '../../../../src/domain/quantity.ts';
import { countedSpec, isResizing } from '../base/pod-sizes.ts';
import type {
  ContainerSpec,
  PodObject,
  PodSpec,
  Quantities,
  NodeTaint,
  PodToleration,
  NodeObject,
  NodeSelectorTerm,
} from '../store/objects.ts';
import { satisfies } from '../store/selectors.ts';

// A pod's requests: the documented sum of containers, init containers, sidecars and overhead.

/** Millicores, bytes, counts; by resource name. */
export type Amounts = ReadonlyMap<string, number>;

function parseAmounts(quantities: Quantities | undefined): Amounts {
  return new Map(Object.entries(quantities ?? {}).map(([name, text]) => [name, name === 'cpu' ? cpuMillis(text) : wholeUnits(text)]));
}

function added(left: Amounts, right: Amounts): Amounts {
  const sum = new Map(left);
  for (const [name, amount] of right) sum.set(name, (sum.get(name) ?? 0) + amount);
  return sum;
}

function larger(left: Amounts, right: Amounts): Amounts {
  const result = new Map(left);
  for (const [name, amount] of right) result.set(name, Math.max(result.get(name) ?? 0, amount));
  return result;
}

const NONE: Amounts = new Map();
/**
 * By the containers, which a binding does not copy: all pods of one controller share them. The other fields that a request depends on are
 * compared.
 */
const known = new WeakMap<PodSpec['containers'], { readonly spec: PodSpec; readonly amounts: Amounts }>();

function requestOf({ resources }: { readonly resources?: ContainerSpec['resources'] | undefined }): Amounts {
  return parseAmounts({ ...resources?.limits, ...resources?.requests });
}

/** Pod-level resources replace the sum of the containers, as documented. */
function withPodLevel(sum: Amounts, spec: PodSpec): Amounts {
  const stated = [...requestOf({ resources: spec['resources'] as ContainerSpec['resources'] })].filter(
    ([name]) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'),
  );
  return new Map([...sum, ...stated]);
}

/** Init containers run one after the other, beside the sidecars that started before them. */
function compute(spec: PodSpec): Amounts {
  let sidecars = NONE;
  let starting = NONE;
  for (const container of spec.initContainers ?? []) {
    const request = requestOf(container);
    if (container.restartPolicy === 'Always') sidecars = added(sidecars, request);
    starting = larger(starting, container.restartPolicy === 'Always' ? sidecars : added(sidecars, request));
  }
  const running = spec.containers.map(requestOf).reduce(added, sidecars);
  return added(withPodLevel(larger(running, starting), spec), parseAmounts(spec.overhead));
}

/** The effective request of a pod. */
export function requestsOf(pod: PodObject): Amounts {
  const spec = isResizing(pod) ? countedSpec(pod) : pod.spec;
  const found = known.get(spec.containers);
  if (found !== undefined && REQUEST_FIELDS.every((field) => found.spec[field] === spec[field])) return found.amounts;
  const amounts = compute(spec);
  known.set(spec.containers, { spec, amounts });
  return amounts;
}

/** With the containers, all that {@link compute} reads. */
const REQUEST_FIELDS = ['initContainers', 'overhead', 'resources'] as const;

// Taints and tolerations in the API's form.

export function toleratesTaint(toleration: PodToleration, taint: NodeTaint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  const isExists = toleration.operator === 'Exists';
  if (toleration.key === undefined || toleration.key === '') return isExists;
  if (toleration.key !== taint.key) return false;
  if (toleration.operator === 'Lt' || toleration.operator === 'Gt') return compares(toleration, taint);
  return isExists || (toleration.value ?? '') === (taint.value ?? '');
}

/** Compares whole numbers only, as in KEP-5471. */
function compares({ operator, value: bound = '' }: PodToleration, { value = '' }: NodeTaint): boolean {
  if (![bound, value].every((text) => /^-?\d{1,18}$/.test(text))) return false;
  return operator === 'Lt' ? BigInt(value) < BigInt(bound) : BigInt(value) > BigInt(bound);
}

/** The first taint that refuses a pod. PreferNoSchedule refuses none. */
export function firstUntolerated(taints: readonly NodeTaint[], tolerations: readonly PodToleration[]): NodeTaint | undefined {
  return taints.find(
    (taint) => taint.effect !== 'PreferNoSchedule' && !tolerations.some((toleration) => toleratesTaint(toleration, taint)),
  );
}

/** The number of soft taints that the pod does not tolerate; fewer is better. */
export function untoleratedPreferences(taints: readonly NodeTaint[], tolerations: readonly PodToleration[]): number {
  return taints.filter(
    (taint) => taint.effect === 'PreferNoSchedule' && !tolerations.some((toleration) => toleratesTaint(toleration, taint)),
  ).length;
}

interface UsedPort {
  readonly port: number;
  readonly protocol: string;
  readonly hostIp: string;
}

/** A node and its usage during one pass of the scheduler. */
export interface NodeUsage {
  readonly node: NodeObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly allocatable: Amounts;
  readonly used: Map<string, number>;
  readonly pods: PodObject[];
  /** Those of its pods that may refuse others: with required anti-affinity. */
  readonly guards: PodObject[];
  /** Grows with each pod that is added. */
  revision: number;
}

/** The usage of a node by pods that hold resources: finished ones do not, terminating ones do. */
export function usageOf(node: NodeObject, pods: readonly PodObject[]): NodeUsage {
  const usage: NodeUsage = {
    node,
    labels: node.metadata.labels ?? {},
    allocatable: parseAmounts(node.status.allocatable),
    used: new Map(),
    pods: [],
    guards: [],
    revision: 0,
  };
  for (const pod of pods) if (pod.status.phase !== 'Succeeded' && pod.status.phase !== 'Failed') addUsage(usage, pod);
  return usage;
}

/** Adds a pod to the usage. */
export function addUsage(usage: NodeUsage, pod: PodObject): void {
  usage.pods.push(pod);
  usage.revision += 1;
  if (pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined) usage.guards.push(pod);
  for (const [name, amount] of requestsOf(pod)) usage.used.set(name, (usage.used.get(name) ?? 0) + amount);
}

/** What is added to it does not show in the other. */
export function copyOfUsage(usage: NodeUsage): NodeUsage {
  return { ...usage, used: new Map(usage.used), pods: [...usage.pods], guards: [...usage.guards] };
}

export function matchesTerm(term: NodeSelectorTerm, node: NodeObject): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  // A term without requirements matches nothing, as documented. An empty label selector matches everything.
  if (matchExpressions.length + matchFields.length === 0) return false;
  return satisfies(matchExpressions, node.metadata.labels ?? {}) && satisfies(matchFields, { 'metadata.name': node.metadata.name });
}

/** `nodeSelector` and required node affinity. */
export function matchesNodeSelection(spec: PodSpec, node: NodeObject): boolean {
  const labels = node.metadata.labels ?? {};
  if (!Object.entries(spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value)) return false;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms === undefined || terms.some((term) => matchesTerm(term, node));
}

function taintReason(pod: PodObject, { node }: NodeUsage): string | undefined {
  const taint = firstUntolerated(node.spec.taints ?? [], pod.spec.tolerations ?? []);
  return taint === undefined ? undefined : `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
}

/** The ports of the node that a pod takes. */
export function hostPortsOf({ spec }: PodObject): readonly UsedPort[] {
  const known = portsOf.get(spec);
  if (known !== undefined) return known;
  const ports = findHostPorts(spec);
  portsOf.set(spec, ports);
  return ports;
}

const portsOf = new WeakMap<PodSpec, readonly UsedPort[]>();

function findHostPorts(spec: PodSpec): readonly UsedPort[] {
  // Sidecars run as long as the pod and hold their ports as long.
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...spec.containers, ...sidecars]
    .flatMap((container) => container.ports ?? [])
    .flatMap(({ hostPort, containerPort, protocol, hostIP }) => {
      const port = hostPort ?? (spec.hostNetwork === true ? containerPort : 0);
      return port === 0 ? [] : [{ port, protocol: protocol ?? 'TCP', hostIp: hostIP ?? '0.0.0.0' }];
    });
}

function portsConflict(left: UsedPort, right: UsedPort): boolean {
  const sameAddress = left.hostIp === right.hostIp || left.hostIp === '0.0.0.0' || right.hostIp === '0.0.0.0';
  return left.port === right.port && left.protocol === right.protocol && sameAddress;
}

function hasFreePorts(pod: PodObject, usage: NodeUsage): boolean {
  const wanted = hostPortsOf(pod);
  return wanted.length === 0 || !usage.pods.flatMap(hostPortsOf).some((used) => wanted.some((port) => portsConflict(port, used)));
}

function resourceReasons(pod: PodObject, usage: NodeUsage): readonly string[] {
  const reasons = usage.pods.length + 1 > (usage.allocatable.get('pods') ?? 0) ? ['Too many pods'] : [];
  const short = [...requestsOf(pod)].filter(
    ([name, amount]) => amount > 0 && amount > (usage.allocatable.get(name) ?? 0) - (usage.used.get(name) ?? 0),
  );
  return [...reasons, ...short.map(([name]) => `Insufficient ${name}`)];
}

/** Filters run in the order of kube-scheduler. The first one that refuses the node ends the check. */
export function nodeReasons(pod: PodObject, usage: NodeUsage): readonly string[] {
  const toleratesCordon =
    firstUntolerated([{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }], pod.spec.tolerations ?? []) === undefined;
  if (usage.node.spec.unschedulable === true && !toleratesCordon) return ['node(s) were unschedulable'];
  const taint = taintReason(pod, usage);
  if (taint !== undefined) return [taint];
  if (!matchesNodeSelection(pod.spec, usage.node)) return ["node(s) didn't match Pod's node affinity/selector"];
  return roomReasons(pod, usage);
}

/** The reasons that depend on the pods of the node. Of a node that accepted an equal pod, no others can refuse it. */
export function roomReasons(pod: PodObject, usage: NodeUsage): readonly string[] {
  if (!hasFreePorts(pod, usage)) return ["node(s) didn't have free ports for the requested pod ports"];
  const short = resourceReasons(pod, usage);
  // No driver of this world publishes devices, so a claim is never allocated.
  const claims = pod.spec['resourceClaims'];
  return short.length === 0 && Array.isArray(claims) && claims.length > 0 ? ['cannot allocate all claims'] : short;
}
