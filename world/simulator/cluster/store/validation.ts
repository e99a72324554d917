/** The most common validation errors; not a full schema. */
import { isAccessObject, isPathSegment, problemOfAccess, problemOfAccessChange, type Problem } from './admission.ts';
import type {
  AffinityTerm,
  ContainerSpec,
  KubeObject,
  NodeSelectorTerm,
  ObjectDraft,
  ObjectSelector,
  OwnerReference,
  PodObject,
  PodSpec,
  ReplicatedObject,
  SpreadConstraint,
} from './objects.ts';
import { isRecord, sameJson } from './patches.ts';
import type { ResourceType } from './resource-types.ts';
import { selects } from './selectors.ts';
import { invalid, type Subject, type KubeStatus } from './status.ts';

const WORKLOADS = ['deployments', 'replicasets', 'daemonsets', 'statefulsets'];
const DNS_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

const QUANTITY = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+|[numkMGTPE]|[KMGTPE]i)?$/;

type Refused = { readonly ok: false; readonly refusal: KubeStatus };

function subjectOf(type: ResourceType, object: ObjectDraft | KubeObject): Subject & { readonly kind: string } {
  return { group: type.group, plural: type.plural, kind: type.kind, name: object.metadata.name ?? '' };
}

function of(subject: Subject & { readonly kind: string }, problem: Problem | undefined): Refused | undefined {
  return problem === undefined ? undefined : invalid(subject, ...problem);
}

/** The first problem of a new object; undefined if it is valid. */
export function refusalOfNew(type: ResourceType, draft: ObjectDraft): Refused | undefined {
  const name = draft.metadata.name ?? '';
  const subject = subjectOf(type, draft);
  if (name === '') return invalid(subject, 'metadata.name', 'Required value: name or generateName is required');
  if (isAccessObject(type))
    return isPathSegment(name) ? of(subject, problemOfAccess(type, draft)) : invalid(subject, 'metadata.name', `Invalid value: "${name}"`);
  if (!DNS_NAME.test(name) || name.length > 253) {
    return invalid(
      subject,
      'metadata.name',
      `Invalid value: "${name}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'`,
    );
  }
  const owner = problemOfOwners(draft.metadata.ownerReferences ?? []);
  if (owner !== undefined) return invalid(subject, ...owner);
  if (type.storage === 'pods') return of(subject, problemOfNewPod(draft.spec));
  if (WORKLOADS.includes(type.storage)) return refusalOfWorkload(subject, draft);
  return refusalOfBudget(type, subject, draft);
}

function problemOfNewPod(spec: unknown): Problem | undefined {
  if (!hasContainers(spec)) return ['spec.containers', 'Required value'];
  const problem = problemOfPod('spec', spec);
  const quantity = problem === undefined ? badQuantity(spec) : undefined;
  if (quantity === undefined) return problem;
  return ['spec.containers[].resources', `Invalid value: "${quantity}": quantities must match the regular expression ${QUANTITY.source}`];
}

/** As `ValidatePodDisruptionBudgetSpec` of k8s.io/kubernetes: of the two fields at most one. */
function refusalOfBudget(
  type: ResourceType,
  subject: Subject & { readonly kind: string },
  { spec }: { readonly spec?: unknown },
): Refused | undefined {
  if (type.storage !== 'poddisruptionbudgets' || !isRecord(spec)) return undefined;
  const selection = problemOfSelector('spec.selector', spec['selector'] as ObjectSelector | undefined);
  if (selection !== undefined) return invalid(subject, ...selection);
  if (spec['minAvailable'] === undefined || spec['maxUnavailable'] === undefined) return undefined;
  return invalid(subject, 'spec', `Invalid value: ${JSON.stringify(spec)}: minAvailable and maxUnavailable cannot be both set`);
}

function hasContainers(spec: unknown): boolean {
  return isRecord(spec) && Array.isArray(spec['containers']) && spec['containers'].length > 0;
}

function refusalOfWorkload(subject: Subject & { readonly kind: string }, draft: { readonly spec?: unknown }): Refused | undefined {
  const spec = isRecord(draft.spec) ? (draft.spec as Partial<ReplicatedObject['spec']>) : {};
  if (spec.selector === undefined) return invalid(subject, 'spec.selector', 'Required value');
  if (!hasContainers(spec.template?.spec)) return invalid(subject, 'spec.template.spec.containers', 'Required value');
  const selection = problemOfSelector('spec.selector', spec.selector) ?? problemOfPod('spec.template.spec', spec.template?.spec);
  if (selection !== undefined) return invalid(subject, ...selection);
  if (!selects(spec.selector, spec.template?.metadata?.labels)) {
    return invalid(subject, 'spec.template.metadata.labels', '`selector` does not match template `labels`');
  }
  const quantity = badQuantity(spec.template?.spec);
  if (quantity !== undefined)
    return invalid(subject, 'spec.template.spec.containers[].resources', `Invalid value: "${quantity}": not a quantity`);
  if ((spec.replicas ?? 0) < 0) return invalid(subject, 'spec.replicas', 'Invalid value: must be greater than or equal to 0');
  return undefined;
}

/** An invalid quantity would stop the scheduler later, so it is refused at once. */
function badQuantity(spec: unknown): string | undefined {
  const { containers = [], initContainers = [], overhead, resources: ofPod } = isRecord(spec) ? (spec as Partial<PodSpec>) : {};
  const whole = { resources: ofPod as PodSpec['containers'][number]['resources'] };
  const lists = [...containers, ...initContainers, whole].flatMap(({ resources }) => [resources?.requests, resources?.limits]);
  return [...lists, overhead]
    .flatMap((quantities) => Object.values(quantities ?? {}))
    .map(String)
    .find((text) => !QUANTITY.test(text));
}

/** The fields of a pod that an update must not change. Images and tolerations are among the others. */
function frozenPart(spec: PodSpec): unknown {
  const { containers, initContainers, tolerations: _added, schedulingGates: _lifted, activeDeadlineSeconds: _shortened, ...rest } = spec;
  const { terminationGracePeriodSeconds: _grace, nodeSelector: _narrowed, ...frozen } = rest;
  const withoutImage = (list: PodSpec['containers'] | undefined): unknown => list?.map(({ image: _image, ...container }) => container);
  return { ...frozen, containers: withoutImage(containers), initContainers: withoutImage(initContainers) };
}

/** The first problem of a changed object; undefined if it is valid. */
export function refusalOfChange(type: ResourceType, before: KubeObject, after: KubeObject): Refused | undefined {
  const subject = subjectOf(type, before);
  const owner = problemOfOwners(after.metadata.ownerReferences ?? []);
  if (owner !== undefined) return invalid(subject, ...owner);
  if (isAccessObject(type)) return of(subject, problemOfAccessChange(before, after) ?? problemOfAccess(type, after));
  if (type.storage === 'pods' && !sameJson(frozenPart(before.spec as PodSpec), frozenPart(after.spec as PodSpec))) {
    return invalid(subject, 'spec', 'Forbidden: pod updates may not change fields other than images, tolerations and scheduling gates');
  }
  if (type.storage === 'nodes') return of(subject, problemOfProviderId(before.spec, after.spec));
  if (isRecord(before.spec) && isRecord(after.spec) && WORKLOADS.includes(type.storage)) {
    if (!sameJson(before.spec['selector'], after.spec['selector'])) {
      return invalid(subject, 'spec.selector', 'Invalid value: field is immutable');
    }
    return refusalOfWorkload(subject, after);
  }
  return refusalOfBudget(type, subject, after);
}

function problemOfProviderId(before: unknown, after: unknown): Problem | undefined {
  const [known, next] = [before, after].map((spec) => (isRecord(spec) ? spec['providerID'] : undefined));
  if (known === undefined || known === next || !isRecord(after)) return undefined;
  return ['spec.providerID', 'Forbidden: node updates may not change providerID except from "" to valid'];
}

/** A status that the scheduler could not read is refused at once, too. */
export function refusalOfStatus(type: ResourceType, after: KubeObject): Refused | undefined {
  if (type.storage !== 'nodes' || !isRecord(after.status)) return undefined;
  const quantities = [after.status['allocatable'], after.status['capacity']].filter(isRecord).flatMap((record) => Object.values(record));
  const bad = quantities.find((text) => !(typeof text === 'number' || (typeof text === 'string' && QUANTITY.test(text))));
  return bad === undefined ? undefined : invalid(subjectOf(type, after), 'status', `Invalid value: ${JSON.stringify(bad)}: not a quantity`);
}

/**
 * The first problem of a pod's new size (v1.37.2, `pkg/apis/core/validation/validation.go`: `ValidatePodResize`). Resources of a whole pod and of
 * init containers are not resized here.
 */
export function refusalOfResize(type: ResourceType, current: KubeObject, next: KubeObject): Refused | undefined {
  return of(subjectOf(type, current), problemOfResize(current, next));
}

function problemOfResize(current: KubeObject, next: KubeObject): Problem | undefined {
  const [before, after] = [current, next].map((pod) => (pod as PodObject).spec.containers) as [Containers, Containers];
  if (
    !sameJson(
      before.map(({ name }) => name),
      after.map(({ name }) => name),
    )
  )
    return ['spec', 'Forbidden: containers may not be added, removed, renamed or reordered on resize'];
  if (qosOf(before) !== qosOf(after)) return ['spec', 'Invalid value: "": Pod QOS Class may not change as a result of resizing'];
  for (const [index, container] of after.entries()) {
    const [old, now] = [before[index]?.resources ?? {}, container.resources ?? {}];
    for (const kind of ['requests', 'limits'] as const) {
      const removed = Object.keys(old[kind] ?? {}).some((name) => now[kind]?.[name] === undefined);
      if (removed) return [`spec.containers[${index}].resources.${kind}`, `Forbidden: resource ${kind} cannot be removed`];
      const others = [old, now].map((resources) => Object.entries(resources[kind] ?? {}).filter(([name]) => !RESIZABLE.has(name)));
      if (!sameJson(others[0], others[1])) return ['spec', 'Forbidden: only cpu and memory resources are mutable'];
    }
  }
  return undefined;
}

type Containers = readonly ContainerSpec[];

const RESIZABLE = new Set(['cpu', 'memory']);

/** https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/ */
export function qosOf(containers: Containers): 'BestEffort' | 'Burstable' | 'Guaranteed' {
  const stated = containers.map(({ resources = {} }) => resources);
  const hasAny = stated.some(({ requests = {}, limits = {} }) =>
    [...RESIZABLE].some((name) => (requests[name] ?? limits[name]) !== undefined),
  );
  if (!hasAny) return 'BestEffort';
  const isGuaranteed = stated.every(({ requests = {}, limits = {} }) =>
    [...RESIZABLE].every((name) => limits[name] !== undefined && (requests[name] ?? limits[name]) === limits[name]),
  );
  return isGuaranteed ? 'Guaranteed' : 'Burstable';
}

/** As `ValidateOwnerReferences` of k8s.io/apimachinery. */
function problemOfOwners(owners: readonly Partial<OwnerReference>[]): Problem | undefined {
  for (const [index, owner] of owners.entries()) {
    const at = `metadata.ownerReferences[${index}]`;
    if ((owner.apiVersion ?? '') === '') return [`${at}.apiVersion`, 'Invalid value: "": version must not be empty'];
    const empty = (['kind', 'name', 'uid'] as const).find((field) => (owner[field] ?? '') === '');
    if (empty !== undefined) return [`${at}.${empty}`, 'Invalid value: "": must not be empty'];
  }
  const [first, second] = owners.filter(({ controller }) => controller === true);
  if (first === undefined || second === undefined) return undefined;
  const both = `Only one reference can have Controller set to true. Found "true" in references for ${first.name} and ${second.name}`;
  return ['metadata.ownerReferences', `Invalid value: ${JSON.stringify(owners)}: ${both}`];
}

const SELECTOR_OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'];
const NODE_OPERATORS = [...SELECTOR_OPERATORS, 'Gt', 'Lt'];

/** As `ValidateLabelSelector` of k8s.io/apimachinery. */
function problemOfSelector(path: string, selector: ObjectSelector | undefined, operators = SELECTOR_OPERATORS): Problem | undefined {
  for (const [index, { key, operator, values }] of (selector?.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    if (!operators.includes(operator)) return [`${at}.operator`, `Invalid value: "${operator}": not a valid selector operator`];
    if ((operator === 'In' || operator === 'NotIn') && (values ?? []).length === 0)
      return [`${at}.values`, "Required value: must be specified when `operator` is 'In' or 'NotIn'"];
    if ((key as string | undefined) === undefined || key === '') return [`${at}.key`, 'Invalid value: "": name part must be non-empty'];
  }
  return undefined;
}

/** What a scheduler could not read in a pod's spec, as `ValidatePodSpec` of k8s.io/kubernetes refuses it. */
function problemOfPod(path: string, spec: unknown): Problem | undefined {
  const { containers = [], affinity, topologySpreadConstraints = [] } = isRecord(spec) ? (spec as Partial<PodSpec>) : {};
  const unnamed = containers.findIndex(({ name }) => ((name as string | undefined) ?? '') === '');
  if (unnamed >= 0) return [`${path}.containers[${unnamed}].name`, 'Required value'];
  return problemOfNodeTerms(path, affinity) ?? problemOfSpread(path, topologySpreadConstraints) ?? problemOfPodTerms(path, affinity);
}

function problemOfNodeTerms(path: string, affinity: PodSpec['affinity']): Problem | undefined {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined) return undefined;
  const { nodeSelectorTerms: terms = [] } = required as { readonly nodeSelectorTerms?: readonly NodeSelectorTerm[] };
  const at = `${path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
  if (terms.length === 0) return [at, 'Required value: must have at least one node selector term'];
  return first(terms, (term, index) => problemOfSelector(`${at}[${index}]`, term, NODE_OPERATORS));
}

function problemOfSpread(path: string, constraints: readonly Partial<SpreadConstraint>[]): Problem | undefined {
  return first(constraints, ({ maxSkew = 0, topologyKey = '', whenUnsatisfiable = '', labelSelector }, index) => {
    const at = `${path}.topologySpreadConstraints[${index}]`;
    if (maxSkew <= 0) return [`${at}.maxSkew`, `Invalid value: ${maxSkew}: must be greater than zero`];
    if (topologyKey === '') return [`${at}.topologyKey`, 'Required value: can not be empty'];
    if (!['DoNotSchedule', 'ScheduleAnyway'].includes(whenUnsatisfiable))
      return [`${at}.whenUnsatisfiable`, `Unsupported value: "${whenUnsatisfiable}": supported values: "DoNotSchedule", "ScheduleAnyway"`];
    return problemOfSelector(`${at}.labelSelector`, labelSelector);
  });
}

function problemOfPodTerms(path: string, affinity: PodSpec['affinity']): Problem | undefined {
  return first(['podAffinity', 'podAntiAffinity'] as const, (kind) =>
    first(affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution ?? [], (term: Partial<AffinityTerm>, index) => {
      const at = `${path}.affinity.${kind}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`;
      if ((term.topologyKey ?? '') === '') return [`${at}.topologyKey`, 'Required value: can not be empty'];
      return problemOfSelector(`${at}.labelSelector`, term.labelSelector);
    }),
  );
}

function first<Item>(items: readonly Item[], find: (item: Item, index: number) => Problem | undefined): Problem | undefined {
  for (const [index, item] of items.entries()) {
    const problem = find(item, index);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
