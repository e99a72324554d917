/**
 * The sizes of a pod that is resized in place: what its spec wants, what its kubelet allocated, and what its containers have (KEP-1287,
 * "Container resource status"). The last two are in the status of its containers.
 */
import { cpuMillis, wholeUnits } from '../../../../src/domain/quantity.ts';
import { conditionOf, type ContainerSpec, type PodObject, type PodSpec, type Quantities } from '../store/objects.ts';
import { isRecord } from '../store/patches.ts';

export const RESIZE_PENDING = 'PodResizePending';
export const RESIZE_IN_PROGRESS = 'PodResizeInProgress';

type Resources = NonNullable<ContainerSpec['resources']>;

interface ContainerSize {
  readonly [field: string]: unknown;
  readonly name: string;
  readonly allocatedResources?: Quantities;
  readonly resources?: Resources;
}

/** What the kubelet adds to the status of a container with resources. */
export function sizeOf({ resources }: ContainerSpec): Pick<ContainerSize, 'allocatedResources' | 'resources'> {
  return resources === undefined
    ? {}
    : { ...(resources.requests === undefined ? {} : { allocatedResources: resources.requests }), resources };
}

export function containerSizes({ status }: PodObject): readonly ContainerSize[] {
  const statuses: unknown = status['containerStatuses'];
  return Array.isArray(statuses) ? statuses.filter(isContainerStatus) : [];
}

function isContainerStatus(value: unknown): value is ContainerSize {
  return isRecord(value) && typeof value['name'] === 'string';
}

export function isResizing(pod: PodObject): boolean {
  return conditionOf(pod, RESIZE_PENDING) !== undefined || conditionOf(pod, RESIZE_IN_PROGRESS) !== undefined;
}

/** The spec with what its kubelet allocated. */
export function allocatedSpec(pod: PodObject): PodSpec {
  return withRequests(pod, (wanted, { allocatedResources }) => allocatedResources ?? wanted);
}

/**
 * The spec as the scheduler counts it while the pod is resized: of each container the largest of the three, and without what was refused
 * (component-helpers v0.36.3, `resource/helpers.go`: `determineContainerReqs`).
 */
export function countedSpec(pod: PodObject): PodSpec {
  const isRefused = conditionOf(pod, RESIZE_PENDING)?.reason === 'Infeasible';
  return withRequests(pod, (wanted, { allocatedResources = {}, resources }) => {
    const held = largest(allocatedResources, resources?.requests ?? {});
    return isRefused ? held : largest(wanted, held);
  });
}

export function amountOf(name: string, quantity: string | number | undefined): number {
  return quantity === undefined ? 0 : name === 'cpu' ? cpuMillis(quantity) : wholeUnits(quantity);
}

function largest(left: Quantities, right: Quantities): Quantities {
  const larger = Object.entries(right).filter(([name, quantity]) => amountOf(name, quantity) > amountOf(name, left[name]));
  return { ...left, ...Object.fromEntries(larger) };
}

function withRequests(pod: PodObject, change: (wanted: Quantities, size: ContainerSize) => Quantities): PodSpec {
  const sizes = containerSizes(pod);
  const containers = pod.spec.containers.map((container) => {
    const size = sizes.find(({ name }) => name === container.name);
    const requests = size === undefined ? undefined : change(container.resources?.requests ?? {}, size);
    return requests === undefined ? container : { ...container, resources: { ...container.resources, requests } };
  });
  return { ...pod.spec, containers };
}
