/** What a pod asks of a node's resources, by the documented sum of containers, init containers, sidecars and overhead. */
import { cpuMillis, wholeUnits } from '../../../domain/quantity.ts';
import type { ContainerSpec, PodObject, PodSpec, Quantities } from '../objects.ts';

/** Millicores, bytes, ones; by resource name. */
export type Amounts = ReadonlyMap<string, number>;

export function parseAmounts(quantities: Quantities | undefined): Amounts {
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
const cache = new WeakMap<PodSpec, Amounts>();

function requestOf({ resources }: { readonly resources?: ContainerSpec['resources'] | undefined }): Amounts {
  return parseAmounts({ ...resources?.limits, ...resources?.requests });
}

/** What the pod states for itself as a whole takes the place of its containers' sum (documented: pod-level resources). */
function withPodLevel(sum: Amounts, spec: PodSpec): Amounts {
  const stated = [...requestOf({ resources: spec['resources'] as ContainerSpec['resources'] })].filter(
    ([name]) => name === 'cpu' || name === 'memory' || name.startsWith('hugepages-'),
  );
  return new Map([...sum, ...stated]);
}

/** Init containers run one after the other beside the sidecars that were started before them. */
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
  const known = cache.get(pod.spec);
  if (known !== undefined) return known;
  const requests = compute(pod.spec);
  cache.set(pod.spec, requests);
  return requests;
}
