/**
 * Objects of `autoscaling.x-k8s.io`: API JSON to domain values. An invalid object keeps its error, which its status
 * will report.
 */
import {
  type CapacityBuffer,
  type CapacityKind,
  type CapacityObjectRef,
  type CapacityQuota,
  type CapacityStatus,
  type ObjectProblem,
  type PodTemplate,
  type ProvisioningRequest,
  type ScalableWorkload,
  type StatusCondition,
} from '../../domain/capacity-objects.ts';
import type { LabelSelector } from '../../domain/labels.ts';
import { MAX_CLUSTER_PODS, MAX_POD_SET_PODS, MAX_POD_SETS, MAX_REPLICAS, wholeNumberUpTo } from '../../domain/platform-limits.ts';
import { parseQuantity } from '../../domain/quantity.ts';
import { shownText } from '../../lib/shown-text.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import {
  timeOf,
  type LabelSelectorJson,
  type MetadataJson,
  type ObjectJson,
  type PodSpecJson,
  type Quantities,
  type RequirementJson,
} from '../api/core-json.ts';
import { quotaUseOf } from './resource-quotas.ts';
import { labelSelector } from './selectors.ts';
import type { Shapes } from './pod-shape.ts';
import { defined } from '../../lib/defined.ts';

interface StatusJson {
  readonly conditions?: readonly {
    readonly type?: string;
    readonly status?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly lastTransitionTime?: string | null;
    readonly observedGeneration?: number;
  }[];
  readonly used?: { readonly resources?: Quantities };
  readonly replicas?: number;
  readonly podTemplateRef?: { readonly name?: string } | null;
  readonly podTemplateGeneration?: number;
  readonly provisioningStrategy?: string;
}

interface PodTemplateSpecJson {
  readonly metadata?: MetadataJson;
  readonly spec?: PodSpecJson;
}

export interface QuotaJson extends ObjectJson {
  readonly spec?: { readonly selector?: LabelSelectorJson | null; readonly limits?: { readonly resources?: Quantities } };
  readonly status?: StatusJson;
}

export interface BufferJson extends ObjectJson {
  readonly spec?: {
    readonly provisioningStrategy?: string;
    readonly podTemplateRef?: { readonly name?: string };
    readonly scalableRef?: { readonly apiGroup?: string; readonly kind?: string; readonly name?: string };
    readonly replicas?: number;
    readonly percentage?: number;
    readonly limits?: Quantities;
  };
  readonly status?: StatusJson;
}

interface RequestJson extends ObjectJson {
  readonly spec?: {
    readonly provisioningClassName?: string;
    readonly podSets?: readonly { readonly podTemplateRef?: { readonly name?: string }; readonly count?: number }[];
    readonly parameters?: Readonly<Record<string, string>>;
  };
  readonly status?: StatusJson;
}

interface PodTemplateJson extends ObjectJson {
  readonly template?: PodTemplateSpecJson;
}

interface ScalableJson extends ObjectJson {
  readonly spec?: { readonly replicas?: number; readonly parallelism?: number; readonly template?: PodTemplateSpecJson };
}

const ACTIVE = 'buffer.x-k8s.io/active-capacity';
const MAX_SHOWN_VALUE_BYTES = 40;
const MOST_LIMITS = 20;
const LONGEST_RESOURCE = 63;
/** A whole number whose unit keeps it whole. Thousandths are refused even if they add up, as upstream does. */
const WHOLE = /^\+?\d+(?:\.\d+)?(?:[eE]\+?\d+|[kMGTPE]|[KMGTPE]i)?$/;
const SELECTING: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);
const LABEL_KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

export function projectQuota(json: QuotaJson): CapacityQuota {
  const { spec = {} } = json;
  const resources = spec.limits?.resources ?? {};
  const wrong = problemOfLimits(resources) ?? problemOfSelector(spec.selector ?? {});
  const selector: LabelSelector = wrong === undefined ? (labelSelector(spec.selector) ?? { requirements: [] }) : { requirements: [] };
  const limits = wrong === undefined ? Object.entries(resources).map(([name, text]) => [name, parseQuantity(text)] as const) : [];
  return {
    ...head('CapacityQuota', json),
    selector,
    limits: Object.fromEntries(limits),
    problem: wrong === undefined ? undefined : { reason: 'ValidationFailed', message: wrong },
  };
}

function problemOfLimits(resources: Quantities): string | undefined {
  const entries = Object.entries(resources);
  if (entries.length === 0) return 'spec.limits.resources: at least one limit is needed.';
  if (entries.length > MOST_LIMITS) return `spec.limits.resources: ${entries.length} limits are given, and ${MOST_LIMITS} are accepted.`;
  for (const [name, text] of entries) {
    if (name === '' || name.length > LONGEST_RESOURCE)
      return `spec.limits.resources: "${name.slice(0, LONGEST_RESOURCE)}" is not a name of 1 to ${LONGEST_RESOURCE} characters.`;
    if (!WHOLE.test(String(text)) || !Number.isInteger(parseQuantity(text)))
      return `spec.limits.resources.${name}: "${text}" is not a whole number of zero or more, such as 10, 2k or 32Gi.`;
  }
  return undefined;
}

/** The errors that the API's own selectors would report. An invalid selector selects nothing that its author meant. */
function problemOfSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelectorJson): string | undefined {
  for (const [key, value] of Object.entries(matchLabels)) {
    if (!LABEL_KEY.test(key)) return `spec.selector.matchLabels: "${key}" is not a label key.`;
    if (!LABEL_VALUE.test(value)) return `spec.selector.matchLabels.${key}: "${value}" is not a label value.`;
  }
  for (const expression of matchExpressions) {
    const problem = problemOfExpression(expression);
    if (problem !== undefined) return `spec.selector.matchExpressions: ${problem}.`;
  }
  return undefined;
}

function problemOfExpression({ key = '', operator = '', values = [] }: RequirementJson): string | undefined {
  if (!LABEL_KEY.test(key)) return `"${key}" is not a label key`;
  if (!SELECTING.has(operator)) return `"${operator}" is not In, NotIn, Exists or DoesNotExist`;
  const wantsValues = operator === 'In' || operator === 'NotIn';
  if (wantsValues !== values.length > 0) return `${operator} of ${key} takes ${wantsValues ? 'at least one value' : 'no values'}`;
  const bad = values.find((value) => !LABEL_VALUE.test(value));
  return bad === undefined ? undefined : `"${bad}" is not a label value`;
}

export function projectBuffer(json: BufferJson, names: ResourceNames): CapacityBuffer {
  const { spec = {} } = json;
  const { apiGroup = '', kind = '', name = '' } = spec.scalableRef ?? {};
  return {
    ...head('CapacityBuffer', json),
    strategy: spec.provisioningStrategy === undefined || spec.provisioningStrategy === '' ? ACTIVE : spec.provisioningStrategy,
    problem: problemOfBuffer(json),
    podTemplate: spec.podTemplateRef?.name,
    scalable: spec.scalableRef === undefined ? undefined : { apiGroup, kind, name },
    replicas: countOf(spec.replicas),
    percentage: countOf(spec.percentage),
    limits: limitsOf(spec.limits, names),
  };
}

function limitsOf(limits: Quantities | undefined, names: ResourceNames): Readonly<Record<string, number>> | undefined {
  if (limits === undefined) return undefined;
  try {
    const vector = names.parse(limits);
    // Names come from the quantities, not from the vector: a limit of zero is a limit.
    return Object.fromEntries(Object.keys(limits).map((name) => [name, vector[names.indexOf(name)] ?? 0]));
  } catch {
    return undefined;
  }
}

function problemOfBuffer({ spec = {} }: BufferJson): ObjectProblem | undefined {
  const { podTemplateRef, scalableRef, replicas, percentage, limits } = spec;
  const wrong = (message: string): ObjectProblem => ({ reason: 'error', message });
  if ((podTemplateRef === undefined) === (scalableRef === undefined))
    return wrong('exactly one of podTemplateRef and scalableRef must be given');
  if (podTemplateRef !== undefined && replicas === undefined && limits === undefined)
    return wrong('with podTemplateRef, replicas or limits must be given');
  for (const [name, text] of Object.entries(limits ?? {})) {
    const match = /^\d/.test(String(text));
    if (!match || !isQuantity(text)) return wrong(`limits: "${text}" of ${name} is not a quantity`);
  }
  for (const [name, value] of Object.entries({ replicas, percentage })) {
    const isCount = isAbsent(value) || countOf(value) !== undefined;
    if (!isCount) return wrong(`${name} is ${shownValue(value)}; it must be a whole number from 0 to ${MAX_CLUSTER_PODS}`);
  }
  return undefined;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** A number of pods, or a percentage. undefined: it is absent, or no number that a cluster can have. */
function countOf(value: unknown): number | undefined {
  return wholeNumberUpTo(value, MAX_CLUSTER_PODS);
}

/** The value as JSON, shortened. JSON has no NaN and no -0. */
function shownValue(value: unknown): string {
  return shownText(typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? 'absent'), MAX_SHOWN_VALUE_BYTES);
}

function isQuantity(text: string | number): boolean {
  try {
    return parseQuantity(text) >= 0;
  } catch {
    return false;
  }
}

export function projectRequest(json: RequestJson): ProvisioningRequest {
  const { spec = {} } = json;
  const { podSets = [] } = spec;
  const wrong = problemOfPodSets(podSets);
  return {
    ...head('ProvisioningRequest', json),
    className: spec.provisioningClassName ?? '',
    podSets:
      wrong === undefined ? podSets.map(({ podTemplateRef, count = 0 }) => ({ podTemplate: podTemplateRef?.name ?? '', count })) : [],
    parameters: spec.parameters ?? {},
    problem: wrong === undefined ? undefined : { reason: 'InvalidPodSets', message: `spec.podSets: ${wrong}.` },
  };
}

type PodSetsJson = NonNullable<NonNullable<RequestJson['spec']>['podSets']>;

function problemOfPodSets(podSets: PodSetsJson): string | undefined {
  // guard: a ProvisioningRequest has a limited number of pod sets
  if (podSets.length > MAX_POD_SETS) return `${podSets.length} pod sets are given, and ${MAX_POD_SETS} are accepted`;
  const wrong = podSets.find(({ count = 0 }) => wholeNumberUpTo(count, MAX_POD_SET_PODS) === undefined);
  if (wrong !== undefined) return `a count is ${shownValue(wrong.count)}; it must be a whole number from 1 to ${MAX_POD_SET_PODS}`;
  const pods = podSets.reduce((sum, { count = 0 }) => sum + count, 0);
  // guard: a ProvisioningRequest asks for no more pods than a cluster has
  return pods > MAX_CLUSTER_PODS ? `they ask for ${pods} pods, and a cluster has at most ${MAX_CLUSTER_PODS}` : undefined;
}

export function projectPodTemplate({ metadata = {}, template = {} }: PodTemplateJson, shapes: Shapes, names: ResourceNames): PodTemplate {
  const namespace = metadata.namespace ?? 'default';
  return {
    namespace,
    name: metadata.name ?? '',
    generation: metadata.generation ?? 0,
    shape: shapeOf(namespace, template, shapes),
    quotaUse: quotaUseOf(template.spec ?? {}, names),
    notAdmitted: undefined,
  };
}

export function projectScalable(
  type: { readonly kind: string; readonly apiGroup: string },
  json: ScalableJson,
  { shapes, names }: { readonly shapes: Shapes; readonly names: ResourceNames },
): ScalableWorkload {
  const { metadata = {}, spec = {} } = json;
  const namespace = metadata.namespace ?? 'default';
  const replicas = wholeNumberUpTo((type.kind === 'Job' ? spec.parallelism : spec.replicas) ?? 1, MAX_REPLICAS) ?? 0;
  return {
    ...type,
    namespace,
    name: metadata.name ?? '',
    replicas,
    shape: shapeOf(namespace, spec.template ?? {}, shapes),
    quotaUse: quotaUseOf(spec.template?.spec ?? {}, names),
    notAdmitted: undefined,
    admitted: false,
  };
}

function shapeOf(namespace: string, { metadata, spec = {} }: PodTemplateSpecJson, shapes: Shapes): PodTemplate['shape'] {
  return shapes.of({ metadata: { namespace, ...defined({ labels: metadata?.labels }) }, spec });
}

function head(
  kind: CapacityKind,
  json: ObjectJson & { readonly status?: StatusJson },
): { readonly ref: CapacityObjectRef; readonly status: CapacityStatus } {
  const { metadata = {}, status = {} } = json;
  return {
    ref: {
      kind,
      namespace: metadata.namespace ?? '',
      name: metadata.name ?? '',
      uid: metadata.uid ?? '',
      generation: metadata.generation ?? 0,
      version: metadata.resourceVersion ?? '',
      createdAtMs: timeOf(metadata.creationTimestamp) ?? 0,
    },
    status: statusOf(status),
  };
}

function statusOf(json: StatusJson): CapacityStatus {
  const used = json.used?.resources;
  return {
    conditions: (json.conditions ?? []).map((condition): StatusCondition => ({
      type: condition.type ?? '',
      status: condition.status === 'True' || condition.status === 'False' ? condition.status : 'Unknown',
      reason: condition.reason ?? '',
      message: condition.message ?? '',
      sinceMs: timeOf(condition.lastTransitionTime) ?? 0,
      ...defined({ observedGeneration: condition.observedGeneration }),
    })),
    ...(used === undefined ? {} : { used: Object.fromEntries(Object.entries(used).map(([name, text]) => [name, readable(text)])) }),
    ...defined({ replicas: json.replicas }),
    ...defined({ podTemplate: json.podTemplateRef?.name }),
    ...defined({ podTemplateGeneration: json.podTemplateGeneration, provisioningStrategy: json.provisioningStrategy }),
  };
}

/** An unreadable amount counts as wrong, so it is written again. */
function readable(text: string | number): number {
  return isQuantity(text) ? parseQuantity(text) : -1;
}
