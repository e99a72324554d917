/** The fields that admission and defaulting add to new objects, as far as schedulers, autoscalers and kubectl read them. */
import { stableHash } from '../../../../src/lib/random.ts';
import { accessDefaults } from './admission.ts';
import type { ContainerSpec, KubeObject, ObjectDraft, PodObject, PodSpec, PodToleration } from './objects.ts';
import { isRecord, sameJson } from './patches.ts';
import type { ResourceType } from './resource-types.ts';

export type PriorityOf = (className: string) => number | undefined;

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** Adds the defaults of the kind to a draft. `priorityOf` reads the PriorityClasses. */
export function withDefaults(type: ResourceType, draft: ObjectDraft, priorityOf: PriorityOf): ObjectDraft {
  if (type.custom !== undefined) return type.subresources.includes('status') ? withoutStatus(draft) : draft;
  switch (type.storage) {
    case 'pods':
      return podDefaults(draft, priorityOf);
    case 'namespaces':
      return {
        ...draft,
        metadata: { ...draft.metadata, labels: { 'kubernetes.io/metadata.name': draft.metadata.name ?? '', ...draft.metadata.labels } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      };
    case 'deployments':
      return { ...draft, spec: deploymentSpec(fieldsOf(draft.spec)), status: {} };
    case 'replicasets':
    case 'statefulsets':
      return { ...draft, spec: { replicas: 1, ...fieldsOf(draft.spec) }, status: { replicas: 0 } };
    case 'daemonsets':
      return { ...draft, spec: { revisionHistoryLimit: 10, updateStrategy: ROLLING_ONE, ...fieldsOf(draft.spec) }, status: {} };
    case 'services':
      return { ...draft, spec: serviceSpec(fieldsOf(draft.spec), draft.metadata), status: { loadBalancer: {} } };
    case 'persistentvolumeclaims':
      return { ...draft, spec: { volumeMode: 'Filesystem', ...fieldsOf(draft.spec) }, status: { phase: 'Pending' } };
    case 'persistentvolumes':
      // The volume controller's first step, done at once.
      return {
        ...draft,
        spec: { volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain', ...fieldsOf(draft.spec) },
        status: { phase: 'Available' },
      };
    case 'storageclasses':
      return { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate', ...draft };
    case 'nodes':
      return { ...draft, spec: fieldsOf(draft.spec), status: fieldsOf(draft.status) };
    case 'poddisruptionbudgets':
      return { ...draft, spec: fieldsOf(draft.spec), status: {} };
    case 'secrets':
      return secretDefaults(draft);
    case 'rolebindings':
    case 'clusterrolebindings':
      return accessDefaults(draft);
    default:
      return type.subresources.includes('status') ? { ...draft, status: {} } : draft;
  }
}

function withoutStatus({ status: _written, ...draft }: ObjectDraft): ObjectDraft {
  return draft;
}

/** `stringData` is stored as bytes and never shown as text. */
function secretDefaults({ stringData, ...draft }: ObjectDraft): ObjectDraft {
  const written = Object.entries(fieldsOf(stringData)).map(([key, value]) => [key, Buffer.from(String(value)).toString('base64')] as const);
  const isEmpty = written.length === 0 && draft['data'] === undefined;
  return { type: 'Opaque', ...draft, ...(isEmpty ? {} : { data: { ...fieldsOf(draft['data']), ...Object.fromEntries(written) } }) };
}

const ROLLING_ONE = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } };

function deploymentSpec(spec: Fields): Fields {
  const strategy = fieldsOf(spec['strategy']);
  const rolling = { maxSurge: '25%', maxUnavailable: '25%', ...fieldsOf(strategy['rollingUpdate']) };
  return {
    replicas: 1,
    revisionHistoryLimit: 10,
    progressDeadlineSeconds: 600,
    ...spec,
    strategy: strategy['type'] === 'Recreate' ? { type: 'Recreate' } : { type: 'RollingUpdate', rollingUpdate: rolling },
  };
}

function serviceSpec(spec: Fields, metadata: ObjectDraft['metadata']): Fields {
  const hash = stableHash(`${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  const clusterIP = `10.0.${(hash >>> 8) % 250}.${(hash % 250) + 2}`;
  return { type: 'ClusterIP', sessionAffinity: 'None', clusterIP, ...spec };
}

const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';

/** By default a pod stays 300 s on a node that becomes not-ready or unreachable. */
function defaultTolerations(own: readonly PodToleration[]): readonly PodToleration[] {
  const missing = [NOT_READY, UNREACHABLE].filter(
    (key) =>
      !own.some(
        (toleration) =>
          (toleration.key === key || toleration.key === undefined || toleration.key === '') &&
          (toleration.effect === undefined || toleration.effect === 'NoExecute'),
      ),
  );
  return [...own, ...missing.map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }) as const)];
}

function containerDefaults(container: ContainerSpec): ContainerSpec {
  const limits = container.resources?.limits;
  const requests = { ...limits, ...container.resources?.requests };
  const resources = { ...container.resources, ...(Object.keys(requests).length === 0 ? {} : { requests }) };
  return {
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    imagePullPolicy: 'IfNotPresent',
    ...container,
    resources,
  };
}

interface FilledPod {
  readonly spec: PodSpec;
  readonly status: PodObject['status'];
}

/** By the given spec: the pods of one controller share its template's, and so one filled spec. */
const filledPods = new WeakMap<object, FilledPod>();

function podDefaults(draft: ObjectDraft, priorityOf: PriorityOf): ObjectDraft {
  const given = fieldsOf(draft.spec) as Partial<PodSpec>;
  const priority = priorityOf(given.priorityClassName ?? '') ?? 0;
  const known = filledPods.get(given);
  // A class may have changed, and a given priority wins over its class.
  if (known !== undefined && known.spec.priority === (given.priority ?? priority)) return { ...draft, ...known };
  const filled = filledPod(given, priority);
  filledPods.set(given, filled);
  return { ...draft, ...filled };
}

function filledPod(given: Partial<PodSpec>, priority: number): FilledPod {
  const containers = sameOr(given.containers, (given.containers ?? []).map(containerDefaults));
  const spec: PodSpec = {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    securityContext: {},
    serviceAccountName: 'default',
    enableServiceLinks: true,
    preemptionPolicy: 'PreemptLowerPriority',
    priority,
    ...given,
    containers,
    ...(given.initContainers === undefined ? {} : { initContainers: given.initContainers.map(containerDefaults) }),
    tolerations: sameOr(given.tolerations, defaultTolerations(given.tolerations ?? [])),
  };
  return { spec, status: { phase: 'Pending', qosClass: qosClass(containers) } };
}

/** An update that fills nothing keeps what the pods of a controller share. */
function sameOr<Value>(given: Value | undefined, filled: Value): Value {
  return given !== undefined && sameJson(given, filled) ? given : filled;
}

function qosClass(containers: readonly ContainerSpec[]): string {
  const amounts = containers.map(({ resources }) => ({ requests: resources?.requests ?? {}, limits: resources?.limits ?? {} }));
  if (amounts.every(({ requests, limits }) => Object.keys({ ...requests, ...limits }).length === 0)) return 'BestEffort';
  const guaranteed = amounts.every(({ requests, limits }) =>
    ['cpu', 'memory'].every((name) => limits[name] !== undefined && String(limits[name]) === String(requests[name])),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** Whether the object's kind has a status that only `/status` may write. */
export function keepsStatusApart(type: ResourceType): boolean {
  return type.subresources.includes('status');
}

/** The fields of an object that are neither identity nor status. */
export function contentOf(object: KubeObject | ObjectDraft): Fields {
  const { metadata: _metadata, status: _status, apiVersion: _apiVersion, kind: _kind, ...content } = object;
  return content;
}
