/**
 * Groups of pods that start together: API JSON to domain values. A `PodGroup` is of `scheduling.k8s.io` `v1alpha2` (Kubernetes 1.36,
 * `k8s.io/api` v0.36.3, `scheduling/v1alpha2/types.go`), `v1alpha3` or `v1beta1` (1.37, v0.37.0). In 1.35 (`v1alpha1`) the policy was
 * written in the groups of a `Workload` alone.
 */
import { MAX_CLUSTER_PODS, wholeNumberUpTo } from '../../domain/platform-limits.ts';
import { podGroupKey, type PodGroup } from '../../domain/workloads.ts';
import type { ObjectJson } from '../api/core-json.ts';

/** With the key that the shapes of its pods lead to. */
export type KeyedPodGroup = readonly [key: string, group: PodGroup];

interface PolicyJson {
  readonly basic?: object | null;
  readonly gang?: { readonly minCount?: number } | null;
}

interface PodGroupJson extends ObjectJson {
  readonly spec?: {
    readonly schedulingPolicy?: PolicyJson;
    /** At most one in 1.36 and 1.37. */
    readonly schedulingConstraints?: { readonly topology?: readonly { readonly key?: string }[] | null } | null;
    /** `Pod` or `PodGroup` in 1.36; an object with `single` or `all` from 1.37 on. */
    readonly disruptionMode?: string | { readonly single?: object | null; readonly all?: object | null } | null;
  };
}

interface WorkloadJson extends ObjectJson {
  readonly spec?: { readonly podGroups?: readonly { readonly name?: string; readonly policy?: PolicyJson }[] };
}

export function projectPodGroup(json: PodGroupJson): readonly KeyedPodGroup[] {
  const { namespace, name } = namesOf(json);
  const group: PodGroup = {
    kind: 'PodGroup',
    namespace,
    name,
    uid: json.metadata?.uid ?? '',
    minCount: minimumOf(json.spec?.schedulingPolicy),
    topologyKey: (json.spec?.schedulingConstraints?.topology?.[0]?.key ?? '') || undefined,
    disruptedAsWhole: isDisruptedAsWhole(json.spec),
  };
  return [[podGroupKey(namespace, `pod group ${name}`), group]];
}

function isDisruptedAsWhole({ disruptionMode }: NonNullable<PodGroupJson['spec']> = {}): boolean {
  const mode = disruptionMode ?? undefined;
  return typeof mode === 'object' ? (mode.all ?? undefined) !== undefined : mode === 'PodGroup';
}

/** What a group of a Workload cannot say. */
const ANYWHERE = { topologyKey: undefined, disruptedAsWhole: false } as const;

export function projectWorkloadGroups(json: WorkloadJson): readonly KeyedPodGroup[] {
  const { namespace, name } = namesOf(json);
  return (json.spec?.podGroups ?? []).map(({ name: group = '', policy }) => [
    podGroupKey(namespace, `workload ${name}/${group}`),
    { kind: 'Workload', namespace, name, uid: json.metadata?.uid ?? '', minCount: minimumOf(policy), ...ANYWHERE },
  ]);
}

function namesOf({ metadata = {} }: ObjectJson): { readonly namespace: string; readonly name: string } {
  return { namespace: metadata.namespace ?? 'default', name: metadata.name ?? '' };
}

/** The API server refuses a minimum below 1. A number that cannot be read counts as 1, so that no pod waits in vain. */
function minimumOf(policy: PolicyJson | undefined): PodGroup['minCount'] {
  const gang = policy?.gang ?? undefined;
  return gang === undefined ? undefined : Math.max(1, wholeNumberUpTo(gang.minCount, MAX_CLUSTER_PODS) ?? 1);
}
