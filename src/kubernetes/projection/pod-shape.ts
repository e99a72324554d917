/**
 * The fields of a pod that scheduling reads, interned in two steps. The fingerprint is cheap and made per object, from
 * raw pieces of JSON. The key is made once per fingerprint, from the projected content. So pods with different JSON but
 * equal meaning share one shape, for example a running pod whose status repeats its resources.
 */
import { hash } from 'node:crypto';
import { describeClaimRef, type DeviceClaimRef } from '../../domain/devices.ts';
import { AutoscalerError } from '../../lib/errors.ts';
import type { Labels, NodeSelectorTerm } from '../../domain/labels.ts';
import {
  DEVICE_CLAIMS,
  NAMED_DEVICES,
  NO_REQUIREMENTS,
  type HostPort,
  type PodShape,
  type PreferredTerm,
  type UnsupportedRequirement,
} from '../../domain/pod.ts';
import { attachResource, noResources, plus, PODS, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { AZURE_DISK_DRIVER } from '../../domain/volumes.ts';
import type { ContainerJson, ContainerStatusJson, PodJson, PodSpecJson } from '../api/core-json.ts';
import { WeakInterner } from '../watch/interner.ts';
import { containerSizes, effectiveRequest, requestsOf } from './pod-requests.ts';
import { disksOf, loneDisksOf, placesPod } from './pod-volumes.ts';
import { BY_CLASS } from './devices.ts';
import { affinityTerms, nodeSelectorTerm, spreadConstraints, toleration } from './selectors.ts';
import { compareBy } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { withoutDefaults } from '../../lib/json.ts';

/** Which parts of pods are read that require nothing. If absent, they are not. */
export interface SoftOptions {
  /** Whether a pod has spread constraints that are all soft. */
  readonly spread?: boolean;
  /** The node affinity and the spread that it prefers. */
  readonly affinity?: boolean;
  /** What each container requests. */
  readonly containers?: boolean;
}

/** Gives each pod its shape, and keeps the shapes seen. */
export class Shapes {
  readonly #byFingerprint = new WeakInterner<PodShape>();
  readonly #byKey = new WeakInterner<PodShape>();
  readonly #names: ResourceNames;
  readonly #soft: SoftOptions;

  constructor(names: ResourceNames, soft: SoftOptions = {}) {
    this.#names = names;
    this.#soft = soft;
  }

  of(pod: PodJson): PodShape {
    // Of a fixed length: the text has 1 to 2 kB, and pods with labels of their own, as in StatefulSets, have a text each.
    return this.#byFingerprint.of(hash('sha256', fingerprint(pod), 'base64'), () => {
      const shape = projectShape(pod, this.#names, this.#soft);
      // The table has keys of shapes that are gone. A pod that waits for its own node has a shape of its own, and a text of 1 to 2 kB.
      return this.#byKey.of(hash('sha256', shape.key, 'base64'), () => shape);
    });
  }

  get count(): number {
    return this.#byKey.size;
  }
}

/**
 * A bound pod of a DaemonSet without the name of its node. The controller pins each pod to its node by name, so that every one would have a
 * shape of its own: with eight DaemonSets, 40,000 shapes of 6 kB on 5,000 nodes. Such a pod never moves, and nothing reads its affinity to
 * nodes. A pod that waits keeps the name: its node is found by it.
 */
export function withoutOwnNode(pod: PodJson): PodJson {
  const { nodeAffinity, ...others } = pod.spec?.affinity ?? {};
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const isPinned = terms.some(({ matchFields = [] }) => matchFields.some(({ key }) => key === 'metadata.name'));
  return isPinned ? { ...pod, spec: { ...pod.spec, affinity: others } } : pod;
}

/** Everything below reads only what the fingerprint contains. */
function fingerprint({ metadata, spec, status }: PodJson): string {
  return JSON.stringify([metadata?.namespace, metadata?.labels, specPart(spec ?? {}), podStatusPart(status ?? {})]);
}

function specPart(spec: PodSpecJson): readonly unknown[] {
  return [
    spec.nodeSelector,
    spec.affinity,
    spec.tolerations,
    spec.topologySpreadConstraints,
    spec.priority,
    spec.schedulerName,
    spec.hostNetwork,
    spec.hostUsers,
    spec.overhead,
    spec.resources,
    spec.resourceClaims,
    spec.workloadRef,
    spec.schedulingGroup,
    spec.containers?.map((container) => containerPart(container, spec.hostNetwork)),
    spec.initContainers?.map((container) => containerPart(container, spec.hostNetwork)),
    spec.volumes?.filter(placesPod),
  ];
}

function podStatusPart(status: NonNullable<PodJson['status']>): readonly unknown[] {
  return [
    status.containerStatuses?.map(statusPart),
    status.initContainerStatuses?.map(statusPart),
    status.allocatedResources,
    status.resources === undefined ? undefined : (status.resources?.requests ?? {}),
    status.conditions?.find(({ type }) => type === 'PodResizePending')?.reason,
  ];
}

function containerPart(container: ContainerJson, hostNetwork: boolean | undefined): readonly unknown[] {
  const ports = container.ports?.filter(({ hostPort }) => hostPort !== undefined || hostNetwork === true);
  const options = hasMountOptions(container) || undefined;
  return [container.name, container.restartPolicy, container.restartPolicyRules ?? undefined, container.resources, ports, options];
}

function statusPart(status: ContainerStatusJson): readonly unknown[] {
  const actual = status.resources ?? undefined;
  return [status.name, status.allocatedResources, actual === undefined ? undefined : (actual.requests ?? {})];
}

/** Keys leave these out: the memory of earlier versions, which had no such parts in their shapes, has hashes of keys. */
const NOT_IN_KEYS = { ownSpread: false, preferred: [], softSpread: [], nodeFeatures: [], loneDisks: [], deviceClaims: [] } as const;

/** Projects without interning. */
export function projectShape(pod: PodJson, names: ResourceNames, soft: SoftOptions = {}): PodShape {
  const spec = pod.spec ?? {};
  const namespace = pod.metadata?.namespace ?? 'default';
  const labels = sortedLabels(pod.metadata?.labels);
  const { requests, broken } = requestsOrNone(pod, names);
  const content = {
    namespace,
    labels,
    nodeSelector: sortedLabels(spec.nodeSelector),
    nodeAffinity: nodeAffinity(spec),
    tolerations: (spec.tolerations ?? []).map(toleration),
    hostPorts: hostPorts(spec),
    topologySpread: spreadConstraints(spec.topologySpreadConstraints ?? [], labels),
    ...softRules(spec, labels, soft),
    podAffinity: affinityTerms(spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, { namespace, labels }),
    podAntiAffinity: affinityTerms(spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, { namespace, labels }),
    priority: spec.priority,
    schedulerName: spec.schedulerName ?? 'default-scheduler',
    unsupported: [...broken, ...unsupportedOf(spec)],
    nodeFeatures: nodeFeatures(spec),
    loneDisks: loneDisksOf(spec.volumes ?? []),
    deviceClaims: deviceClaims(spec),
    gang: gangOf(spec),
    containers: containersOf(pod, names, broken.length === 0 ? soft : {}),
  };
  // Resources by name, so that the key is the same in a replay, where names may get other indexes.
  const byName = Object.entries(names.toRecord(requests)).sort(compareBy(([key]) => key));
  return { ...NO_REQUIREMENTS, key: JSON.stringify([withoutDefaults(content, NOT_IN_KEYS), byName]), ...content, requests };
}

/** An unreadable quantity is not zero: the pod is reported as unsupported instead. */
function requestsOrNone(
  pod: PodJson,
  names: ResourceNames,
): { readonly requests: Resources; readonly broken: readonly UnsupportedRequirement[] } {
  try {
    return { requests: withDisks(effectiveRequest(pod, names), pod, names), broken: [] };
  } catch (thrown) {
    if (!(thrown instanceof AutoscalerError) || thrown.kind !== 'config') throw thrown;
    const requests = noResources();
    requests[PODS] = 1;
    return { requests, broken: [{ feature: 'quantity', detail: thrown.message }] };
  }
}

function withDisks(requests: Resources, { spec = {} }: PodJson, names: ResourceNames): Resources {
  const disks = disksOf(spec.volumes ?? []).length;
  return disks === 0 ? requests : plus(requests, names.fromRecord({ [attachResource(AZURE_DISK_DRIVER)]: disks }));
}

function containersOf(pod: PodJson, names: ResourceNames, { containers }: SoftOptions): PodShape['containers'] {
  return containers === true ? containerSizes(pod, names) : undefined;
}

function softRules(
  spec: PodSpecJson,
  labels: Labels,
  { spread, affinity }: SoftOptions,
): Pick<PodShape, 'ownSpread' | 'preferred' | 'softSpread'> {
  const constraints = spec.topologySpreadConstraints ?? [];
  return {
    ownSpread: spread === true && constraints.length > 0,
    preferred: affinity === true ? preferred(spec) : [],
    softSpread: affinity === true ? spreadConstraints(constraints, labels, true) : [],
  };
}

function preferred({ affinity }: PodSpecJson): readonly PreferredTerm[] {
  const terms = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return terms.map(({ weight = 0, preference = {} }) => ({ weight, term: nodeSelectorTerm(preference) }));
}

function nodeAffinity(spec: PodSpecJson): readonly NodeSelectorTerm[] | undefined {
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined || required === null) return undefined;
  return (required.nodeSelectorTerms ?? []).map(nodeSelectorTerm);
}

/**
 * Ports of containers and sidecars; ordinary init containers have ended when the pod runs. With host networking every
 * port is a host port. The API server sets that in pods, but not in the templates of DaemonSets and Deployments.
 */
function hostPorts(spec: PodSpecJson): readonly HostPort[] {
  const lasting = [...(spec.containers ?? []), ...(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')];
  return lasting
    .flatMap((container) => container.ports ?? [])
    .map((port) => ({ ...port, hostPort: port.hostPort ?? (spec.hostNetwork === true ? port.containerPort : undefined) ?? 0 }))
    .filter(({ hostPort }) => hostPort > 0)
    .map(({ hostPort, protocol, hostIP }) => ({
      port: hostPort,
      protocol: protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP',
      hostIp: hostIP === undefined || hostIP === '' ? '0.0.0.0' : hostIP,
    }));
}

function unsupportedOf(spec: PodSpecJson): readonly UnsupportedRequirement[] {
  // A placeholder until the claims are evaluated.
  const claims = deviceClaims(spec).map((ref) => ({ feature: DEVICE_CLAIMS, detail: describeClaimRef(ref) }));
  return [...claims, ...devicesByName(spec)];
}

/** Devices of a class by its own name, which no device plugin reports. */
function devicesByName({ containers = [], initContainers }: PodSpecJson): readonly UnsupportedRequirement[] {
  const asked = [...containers, ...(initContainers ?? [])].flatMap(({ resources }) => Object.keys(requestsOf(resources)));
  return [...new Set(asked)]
    .filter((name) => name.startsWith(BY_CLASS))
    .map((name) => ({
      feature: NAMED_DEVICES,
      detail: `${name}, which stands for devices of class ${name.slice(BY_CLASS.length)}`,
    }));
}

/** The group that the pod names: with its replica, since each replica of a group of a Workload starts by itself. */
function gangOf({ workloadRef, schedulingGroup }: PodSpecJson): string | undefined {
  const group = schedulingGroup ?? undefined;
  if (group !== undefined) return `pod group ${group.podGroupName ?? ''}`;
  const workload = workloadRef ?? undefined;
  if (workload === undefined) return undefined;
  const { name = '', podGroup, podGroupReplicaKey } = workload;
  return `workload ${[name, podGroup, podGroupReplicaKey].filter((part) => (part ?? '') !== '').join('/')}`;
}

/**
 * Features that a kubelet must declare for a pod that uses them. A pod does not say so: kube-scheduler infers it from these fields
 * (`component-helpers/nodedeclaredfeatures`, 1.37: its other features restrict updates of pods alone). If the API server does not know a
 * feature, no such pods exist.
 */
const NODE_FEATURES: readonly { readonly name: string; readonly isUsed: (spec: PodSpecJson) => boolean }[] = [
  {
    name: 'RestartAllContainersOnContainerExits',
    isUsed: (spec) =>
      allContainers(spec).some(({ restartPolicyRules }) =>
        (restartPolicyRules ?? []).some(({ action }) => action === 'RestartAllContainers'),
      ),
  },
  { name: 'UserNamespacesHostNetworkSupport', isUsed: ({ hostNetwork, hostUsers }) => hostNetwork === true && hostUsers === false },
  { name: 'VolumeBindMountOptions', isUsed: (spec) => allContainers(spec).some(hasMountOptions) },
];

function nodeFeatures(spec: PodSpecJson): readonly string[] {
  return NODE_FEATURES.filter(({ isUsed }) => isUsed(spec)).map(({ name }) => name);
}

function allContainers({ containers = [], initContainers }: PodSpecJson): readonly ContainerJson[] {
  return [...containers, ...(initContainers ?? [])];
}

function hasMountOptions({ volumeMounts }: ContainerJson): boolean {
  return (volumeMounts ?? []).some(({ bindMountOptions }) => (bindMountOptions ?? []).length > 0);
}

function deviceClaims({ resourceClaims = [] }: PodSpecJson): readonly DeviceClaimRef[] {
  return resourceClaims.map(({ name = '', resourceClaimName, resourceClaimTemplateName }) => ({
    name,
    ...defined({ claim: resourceClaimName, template: resourceClaimTemplateName }),
  }));
}

function sortedLabels(labels: Labels | undefined): Labels {
  return Object.fromEntries(Object.entries(labels ?? {}).sort(compareBy(([key]) => key)));
}
