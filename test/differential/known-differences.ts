/** Where the planner and kube-scheduler are known not to agree, and why that is left so. Everything else is a fault. */
import type { ParityCase, ParityObject, PlannersAnswer } from './parity-case.ts';

type Given = Pick<ParityCase, 'cluster' | 'pod' | 'scheduler' | 'message' | 'minor'>;

export interface KnownDifference {
  readonly name: string;
  /** Why it is so, and why it harms nobody. */
  readonly why: string;
  /** Whether it alone is why these nodes are judged differently. */
  explains(given: Given, planner: PlannersAnswer): boolean;
}

const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: 'a claim whose chosen node is gone',
    why:
      'kube-scheduler refuses every other node as long as the claim carries the name of the node that was chosen for it. The provisioner ' +
      'takes that name away when the node is gone, so the planner looks past it: a new node would be refused by the same claim, and be for nothing.',
    explains: ({ cluster, pod, scheduler }, { reasons }) => {
      const nodes = new Set(cluster.filter(({ kind }) => kind === 'Node').map(({ metadata }) => metadata.name));
      const mounted = claimsOf(pod);
      const waitsForTheGone = cluster.some(({ kind, metadata }) => {
        const { annotations = {} } = metadata as { readonly annotations?: Readonly<Record<string, string>> };
        const chosen = annotations['volume.kubernetes.io/selected-node'];
        const isMounted = mounted.includes(`${metadata.namespace ?? 'default'}/${metadata.name}`);
        return kind === 'PersistentVolumeClaim' && isMounted && chosen !== undefined && !nodes.has(chosen);
      });
      return waitsForTheGone && scheduler.length === 0 && [...reasons.values()].some((refusals) => refusals.length === 0);
    },
  },
  {
    name: 'a namespace selector that only excludes',
    why:
      'kube-scheduler 1.34 to 1.36 lets such a selector in a rule of the pending pod mean every namespace, which is a regression that was ' +
      'mended later (kubernetes/kubernetes pull 141563, and in patches of these versions). The planner goes by what the API documents, and ' +
      'by what schedulers before and after do.',
    explains: ({ pod }) => {
      const { podAffinity = {}, podAntiAffinity = {} } = specOf(pod).affinity ?? {};
      const terms = [podAffinity, podAntiAffinity].flatMap((rules) => rules.requiredDuringSchedulingIgnoredDuringExecution ?? []);
      return terms.some(({ namespaceSelector: { matchLabels = {}, matchExpressions = [] } = {} }) => {
        const excludes = matchExpressions.every(({ operator }) => operator === 'NotIn' || operator === 'DoesNotExist');
        return matchExpressions.length > 0 && excludes && Object.keys(matchLabels).length === 0;
      });
    },
  },
  {
    name: 'devices of a pool that is not published as a whole, in 1.34',
    why:
      'Up to 1.34 kube-scheduler waits for the rest of a pool only if a claim asks for all devices; from 1.35 on it waits always. The planner does as ' +
      'the newer ones, whatever the version: a driver publishes its pool within seconds, and a node that is requested meanwhile is not needed.',
    explains: ({ cluster, scheduler, minor }, { reasons }) =>
      minor === '1.34' &&
      [...reasons].every(([name, refusals]) => {
        const isLetIn = scheduler.includes(name);
        if (isLetIn === (refusals.length === 0)) return true;
        return (
          isLetIn &&
          refusals.every((refusal) => 'detail' in refusal && refusal.detail.endsWith('not complete')) &&
          hasPartOfAPool(cluster, name)
        );
      }),
  },
  {
    name: 'several containers of a pod that are resized at once, from 1.37 on',
    why:
      'Up to 1.36 kube-scheduler adds what each container has or wants, whichever is more; from 1.37 on it takes the larger one of the two sums ' +
      '(component-helpers 0.37, resource/helpers.go, AggregateContainerRequests), and of an infeasible resize nothing for a container without a ' +
      'status, such as an init container. The planner adds with any version: while a pod is resized it ' +
      'counts no less than any scheduler, and may request a node for a pod that 1.37 then places on a present one.',
    explains: ({ cluster, scheduler, minor = '' }, { reasons }) =>
      minor.localeCompare('1.37', 'en', { numeric: true }) >= 0 &&
      [...reasons].every(([name, refusals]) => {
        const isLetIn = scheduler.includes(name);
        if (isLetIn === (refusals.length === 0)) return true;
        return isLetIn && refusals.every(({ kind }) => kind === 'insufficient-resource') && hasResizedPod(cluster, name);
      }),
  },
  {
    name: 'several devices of one request that differ from each other, up to 1.36',
    why:
      'Up to 1.36 kube-scheduler compares a device only with the last one of each request (dynamic-resource-allocation 0.36.3, constraint.go), so a request for ' +
      'three devices with different models gets A, B and A. From 1.37 on all differ, as the API says. The planner does as the newer ones with any version: at ' +
      'worst it says of a pod that is placed a moment later that nothing helps.',
    explains: ({ cluster, scheduler, minor = '' }, { reasons }) =>
      minor.localeCompare('1.37', 'en', { numeric: true }) < 0 &&
      cluster.some((object) => JSON.stringify(object['spec'] ?? {}).includes('"distinctAttribute"')) &&
      [...reasons].every(([name, refusals]) => {
        const isLetIn = scheduler.includes(name);
        return isLetIn === (refusals.length === 0) || (isLetIn && refusals.every(({ kind }) => kind === 'device'));
      }),
  },
];

/** Whether a pod on the node has several containers, those of its start included, one of which has other requests than it wants. */
function hasResizedPod(cluster: readonly ParityObject[], node: string): boolean {
  return cluster.some((object) => {
    const {
      nodeName,
      containers = [],
      initContainers = [],
    } = (object['spec'] ?? {}) as {
      readonly nodeName?: string;
      readonly containers?: readonly Requesting[];
      readonly initContainers?: readonly Requesting[];
    };
    const { containerStatuses = [] } = (object['status'] ?? {}) as { readonly containerStatuses?: readonly Requesting[] };
    const held = new Map(containerStatuses.map(({ name, resources }) => [name, resources?.requests]));
    const differs = ({ name, resources }: Requesting): boolean =>
      held.get(name) !== undefined && JSON.stringify(held.get(name)) !== JSON.stringify(resources?.requests);
    return nodeName === node && containers.length + initContainers.length > 1 && containers.some(differs);
  });
}

interface Requesting {
  readonly name: string;
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> };
}

/** Whether fewer slices of a pool are there than each of them says. */
function hasPartOfAPool(cluster: readonly ParityObject[], node: string): boolean {
  const slices = cluster.filter(({ kind }) => kind === 'ResourceSlice').map((object) => object['spec'] as SliceFields);
  return slices.some(({ nodeName, driver, pool }) => {
    const others = slices.filter(
      (each) => each.driver === driver && each.pool.name === pool.name && each.pool.generation === pool.generation,
    );
    return nodeName === node && others.length < pool.resourceSliceCount;
  });
}

interface SliceFields {
  readonly nodeName?: string;
  readonly driver: string;
  readonly pool: { readonly name: string; readonly generation: number; readonly resourceSliceCount: number };
}

/** The known difference that this is a case of, if it is one. */
export function knownDifference(given: Given, planner: PlannersAnswer): KnownDifference | undefined {
  return KNOWN_DIFFERENCES.find((difference) => difference.explains(given, planner));
}

interface PlaceRules {
  readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly {
    readonly namespaceSelector?: { readonly matchLabels?: object; readonly matchExpressions?: readonly { readonly operator: string }[] };
  }[];
}

interface PodFields {
  readonly affinity?: { readonly podAffinity?: PlaceRules; readonly podAntiAffinity?: PlaceRules };
  readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[];
}

function specOf(object: ParityObject): PodFields {
  return object['spec'] ?? {};
}

/** With the namespace. */
function claimsOf(pod: ParityObject): readonly string[] {
  const names = (specOf(pod).volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
  return names.map((name) => `${pod.metadata.namespace ?? 'default'}/${name}`);
}
