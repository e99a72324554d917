/**
 * The effective request of a pod, as the scheduler computes it (Kubernetes documentation: init containers, sidecar
 * containers, pod overhead, pod-level resources, in-place resize).
 */
import type { ContainerSizes, Size } from '../../domain/pod.ts';
import { CPU, MEMORY, PODS, largest, noResources, plus, type ResourceNames, type Resources } from '../../domain/resources.ts';
import type { ContainerJson, ContainerStatusJson, PodJson, Quantities, ResourcesJson } from '../api/core-json.ts';

/** Includes one in `pods`. @throws AutoscalerError `config` on an invalid quantity. */
export function effectiveRequest(pod: PodJson, names: ResourceNames): Resources {
  const { running, starting } = partsOf(pod, names);
  const total = withPodLevel(largest(running, starting), pod, names);
  const withOverhead = plus(total, names.parse(pod.spec?.overhead ?? {}));
  withOverhead[PODS] = 1;
  return withOverhead;
}

/** undefined: the pod requests as a whole, whatever its containers do. @throws AutoscalerError `config` on an invalid quantity. */
export function containerSizes(pod: PodJson, names: ResourceNames): ContainerSizes | undefined {
  const { resources, containers = [] } = pod.spec ?? {};
  if (Object.keys(requestsOf(resources)).length > 0) return undefined;
  const { running, starting, each } = partsOf(pod, names);
  return {
    running: containers.map(({ name = '', resources: own }, index) => {
      const limits = names.parse(own?.limits ?? {});
      const limitOf = (at: number): number => ((limits[at] ?? 0) === 0 ? Number.MAX_SAFE_INTEGER : (limits[at] ?? 0));
      return { name, requests: sizeOf(each[index]), limits: { cpu: limitOf(CPU), memory: limitOf(MEMORY) } };
    }),
    starting: sizeOf(largest(starting, running).map((amount, index) => amount - (running[index] ?? 0))),
  };
}

function sizeOf(resources: Resources | undefined): Size {
  return { cpu: resources?.[CPU] ?? 0, memory: resources?.[MEMORY] ?? 0 };
}

interface PartialRequests {
  /** All that runs at once. */
  readonly running: Resources;
  /** The most that runs before. */
  readonly starting: Resources;
  /** By container. */
  readonly each: readonly Resources[];
}

function partsOf(pod: PodJson, names: ResourceNames): PartialRequests {
  const spec = pod.spec ?? {};
  const infeasible = isResizeInfeasible(pod);
  const requestOf = (container: ContainerJson, statuses: readonly ContainerStatusJson[] | undefined): Resources =>
    containerRequest({ container, status: statuses?.find((status) => status.name === container.name), infeasible, names });

  const each = (spec.containers ?? []).map((container) => requestOf(container, pod.status?.containerStatuses));
  let running = each.reduce(plus, noResources());
  let sidecars = noResources();
  let starting = noResources();
  for (const container of spec.initContainers ?? []) {
    const lasts = container.restartPolicy === 'Always';
    const request = requestOf(container, lasts ? pod.status?.initContainerStatuses : undefined);
    if (lasts) {
      running = plus(running, request);
      sidecars = plus(sidecars, request);
      starting = largest(starting, sidecars);
    } else {
      // Sidecars that were started before it run beside this init container.
      starting = largest(starting, plus(sidecars, request));
    }
  }
  return { running, starting, each };
}

/** A limit without a request is a request of the same size: the API server sets it in pods, but not in templates. */
export function requestsOf(resources: ResourcesJson | undefined): Quantities {
  return { ...resources?.limits, ...resources?.requests };
}

interface ContainerRequest {
  readonly container: ContainerJson;
  readonly status: ContainerStatusJson | undefined;
  readonly infeasible: boolean;
  readonly names: ResourceNames;
}

function containerRequest({ container, status, infeasible, names }: ContainerRequest): Resources {
  const actual = status?.resources ?? undefined;
  const wanted = names.parse(requestsOf(container.resources));
  return actual === undefined ? wanted : resized({ wanted, actual, allocated: status?.allocatedResources, infeasible, names });
}

interface Resizing {
  readonly wanted: Resources;
  readonly actual: ResourcesJson;
  readonly allocated: Quantities | undefined;
  readonly infeasible: boolean;
  readonly names: ResourceNames;
}

/**
 * During an in-place resize the largest of wanted, allocated and actual counts. A refused resize does not count. Since 1.37 the scheduler
 * compares the sums of all containers, which is never more.
 */
function resized({ wanted, actual, allocated, infeasible, names }: Resizing): Resources {
  const held = largest(names.parse(allocated ?? {}), names.parse(actual.requests ?? {}));
  return infeasible ? held : largest(wanted, held);
}

function isResizeInfeasible(pod: PodJson): boolean {
  return (pod.status?.conditions ?? []).find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
}

/**
 * For these resources the pod-level number replaces the sum of the containers. A pod-level limit is a request only for
 * resources that no container requests, as the API server sets it. Pods are resized as a whole too.
 */
function withPodLevel(total: Resources, pod: PodJson, names: ResourceNames): Resources {
  const { resources, containers = [], initContainers = [] } = pod.spec ?? {};
  const asked = new Set([...containers, ...initContainers].flatMap((container) => Object.keys(requestsOf(container.resources))));
  const limits = Object.entries(resources?.limits ?? {}).filter(([name]) => !asked.has(name));
  const ofPod = Object.entries({ ...Object.fromEntries(limits), ...resources?.requests }).filter(
    ([name]) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'),
  );
  if (ofPod.length === 0) return total;
  const wanted = names.parse(Object.fromEntries(ofPod));
  const actual = pod.status?.resources ?? undefined;
  const allocated = pod.status?.allocatedResources;
  const level = actual === undefined ? wanted : resized({ wanted, actual, allocated, infeasible: isResizeInfeasible(pod), names });
  const result = plus(total, new Float64Array(level.length));
  for (const [name] of ofPod) {
    const index = names.indexOf(name);
    result[index] = level[index] ?? 0;
  }
  return result;
}
