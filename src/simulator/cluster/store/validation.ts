/** The most common validation errors; not a full schema. */
import { isAccessObject, isPathSegment, problemOfAccess, problemOfAccessChange, type Problem } from './admission.ts';
import type { KubeObject, ObjectDraft, PodSpec, ReplicatedObject } from './objects.ts';
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
  if (type.storage === 'pods' && !hasContainers(draft.spec)) return invalid(subject, 'spec.containers', 'Required value');
  const quantity = type.storage === 'pods' ? badQuantity(draft.spec) : undefined;
  if (quantity !== undefined)
    return invalid(
      subject,
      'spec.containers[].resources',
      `Invalid value: "${quantity}": quantities must match the regular expression ${QUANTITY.source}`,
    );
  if (WORKLOADS.includes(type.storage)) return refusalOfWorkload(subject, draft);
  return refusalOfBudget(type, subject, draft);
}

/** As `ValidatePodDisruptionBudgetSpec` of k8s.io/kubernetes: of the two fields at most one. */
function refusalOfBudget(
  type: ResourceType,
  subject: Subject & { readonly kind: string },
  { spec }: { readonly spec?: unknown },
): Refused | undefined {
  if (type.storage !== 'poddisruptionbudgets' || !isRecord(spec)) return undefined;
  if (spec['minAvailable'] === undefined || spec['maxUnavailable'] === undefined) return undefined;
  return invalid(subject, 'spec', `Invalid value: ${JSON.stringify(spec)}: minAvailable and maxUnavailable cannot be both set`);
}

function hasContainers(spec: unknown): boolean {
  return isRecord(spec) && Array.isArray(spec['containers']) && spec['containers'].length > 0;
}

function refusalOfWorkload(subject: Subject & { readonly kind: string }, draft: ObjectDraft): Refused | undefined {
  const spec = isRecord(draft.spec) ? (draft.spec as Partial<ReplicatedObject['spec']>) : {};
  if (spec.selector === undefined) return invalid(subject, 'spec.selector', 'Required value');
  if (!hasContainers(spec.template?.spec)) return invalid(subject, 'spec.template.spec.containers', 'Required value');
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
  const { containers = [], initContainers = [], overhead } = isRecord(spec) ? (spec as Partial<PodSpec>) : {};
  const lists = [...containers, ...initContainers].flatMap(({ resources }) => [resources?.requests, resources?.limits]);
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
  if (isAccessObject(type)) return of(subject, problemOfAccessChange(before, after) ?? problemOfAccess(type, after));
  if (type.storage === 'pods' && !sameJson(frozenPart(before.spec as PodSpec), frozenPart(after.spec as PodSpec))) {
    return invalid(subject, 'spec', 'Forbidden: pod updates may not change fields other than images, tolerations and scheduling gates');
  }
  if (type.storage === 'nodes' && isRecord(before.spec) && isRecord(after.spec)) {
    const id = before.spec['providerID'];
    if (id !== undefined && id !== after.spec['providerID']) {
      return invalid(subject, 'spec.providerID', 'Forbidden: node updates may not change providerID except from "" to valid');
    }
  }
  if (
    isRecord(before.spec) &&
    isRecord(after.spec) &&
    ['deployments', 'replicasets', 'daemonsets', 'statefulsets'].includes(type.storage)
  ) {
    if (!sameJson(before.spec['selector'], after.spec['selector'])) {
      return invalid(subject, 'spec.selector', 'Invalid value: field is immutable');
    }
  }
  return refusalOfBudget(type, subject, after);
}

/** A status that the scheduler could not read is refused at once, too. */
export function refusalOfStatus(type: ResourceType, after: KubeObject): Refused | undefined {
  if (type.storage !== 'nodes' || !isRecord(after.status)) return undefined;
  const quantities = [after.status['allocatable'], after.status['capacity']].filter(isRecord).flatMap((record) => Object.values(record));
  const bad = quantities.find((text) => !(typeof text === 'number' || (typeof text === 'string' && QUANTITY.test(text))));
  return bad === undefined ? undefined : invalid(subjectOf(type, after), 'status', `Invalid value: ${JSON.stringify(bad)}: not a quantity`);
}
