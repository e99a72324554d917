/**
 * VerticalPodAutoscalers (`autoscaling.k8s.io/v1`): API JSON to what their admission controller gives new pods (kubernetes/autoscaler,
 * `vertical-pod-autoscaler/pkg/admission-controller/resource/vpa/matcher.go`: `GetMatchingVPA`; `pkg/utils/vpa/capping.go`:
 * `getCappedRecommendationForContainer`; `pkg/utils/vpa/api.go`: `GetContainerResourcePolicy`, `Stronger`). Not read: LimitRanges, and the CPU that a
 * start-up boost adds.
 */
import { cpuMillis, wholeUnits } from '../../domain/quantity.ts';
import type { ContainerTarget, VerticalPodAutoscaler, VerticalPodAutoscalers } from '../../domain/workloads.ts';
import { compareBy, compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { timeOf, type ConditionJson, type ObjectJson, type Quantities } from '../api/core-json.ts';

interface ContainerPolicyJson {
  readonly containerName?: string;
  readonly mode?: string | null;
  readonly minAllowed?: Quantities | null;
  readonly maxAllowed?: Quantities | null;
  readonly controlledValues?: string | null;
}

export interface VerticalPodAutoscalerJson extends ObjectJson {
  readonly spec?: {
    readonly targetRef?: { readonly kind?: string; readonly name?: string } | null;
    readonly updatePolicy?: { readonly updateMode?: string | null } | null;
    readonly resourcePolicy?: { readonly containerPolicies?: readonly ContainerPolicyJson[] | null } | null;
  };
  readonly status?: {
    readonly conditions?: readonly ConditionJson[] | null;
    readonly recommendation?: {
      readonly containerRecommendations?: readonly { readonly containerName?: string; readonly target?: Quantities | null }[] | null;
    } | null;
  };
}

/** The policy of all containers without one of their own. */
const ALL = '*';

/** undefined: it gives nothing to new pods. A mode that is newer than this counts: only `Off` keeps new pods as they are. */
export function projectVerticalPodAutoscaler({
  metadata = {},
  spec = {},
  status = {},
}: VerticalPodAutoscalerJson): VerticalPodAutoscaler | undefined {
  const { kind, name } = spec.targetRef ?? {};
  if (kind === undefined || name === undefined || spec.updatePolicy?.updateMode === 'Off' || isUnsupported(status)) return undefined;
  return {
    namespace: metadata.namespace ?? 'default',
    name: metadata.name ?? '',
    createdAtMs: timeOf(metadata.creationTimestamp) ?? 0,
    target: { kind, name },
    containers: targetsOf(status, spec.resourcePolicy?.containerPolicies ?? []),
  };
}

type StatusJson = NonNullable<VerticalPodAutoscalerJson['status']>;

function isUnsupported({ conditions }: StatusJson): boolean {
  return (conditions ?? []).some(({ type, status }) => type === 'ConfigUnsupported' && status === 'True');
}

function targetsOf({ recommendation }: StatusJson, policies: readonly ContainerPolicyJson[]): VerticalPodAutoscaler['containers'] {
  const targets = (recommendation?.containerRecommendations ?? []).map(({ containerName = '', target }) => {
    const policy = policies.find((one) => one.containerName === containerName) ?? policies.find((one) => one.containerName === ALL);
    return [containerName, targetOf(target ?? {}, policy)] as const;
  });
  return Object.fromEntries(targets);
}

function targetOf(target: Quantities, policy: ContainerPolicyJson = {}): ContainerTarget {
  if (policy.mode === 'Off') return {};
  const amount = (resource: 'cpu' | 'memory'): number | undefined => {
    const [wanted, least, most] = [target, policy.minAllowed, policy.maxAllowed].map((amounts) => amountOf(resource, amounts?.[resource]));
    if (wanted === undefined) return undefined;
    const raised = Math.max(wanted, least ?? 0);
    return most === undefined || most === 0 ? raised : Math.min(raised, most);
  };
  return {
    ...defined({ cpu: amount('cpu'), memory: amount('memory') }),
    ...(policy.controlledValues === 'RequestsOnly' ? { withinLimit: true } : {}),
  };
}

function amountOf(resource: 'cpu' | 'memory', quantity: string | number | undefined): number | undefined {
  return quantity === undefined ? undefined : resource === 'cpu' ? cpuMillis(quantity) : wholeUnits(quantity);
}

/** Of several for one workload the oldest counts, then the first by name. */
export function byTarget(all: Iterable<VerticalPodAutoscaler | undefined>): VerticalPodAutoscalers {
  const found = [...all].filter((each) => each !== undefined);
  const weakestFirst = found.sort((left, right) => right.createdAtMs - left.createdAtMs || compareText(right.name, left.name));
  const strongest = new Map(weakestFirst.map((each) => [`${each.namespace}/${each.target.kind}/${each.target.name}`, each]));
  return new Map([...strongest].sort(compareBy(([key]) => key)));
}
