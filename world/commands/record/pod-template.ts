/** The part of a pod that decides where it runs and whether it can be moved, and nothing that only its containers need. Pure. */
import type { LoadContainer, LoadPod } from '../../lab/loads/load.ts';
import { DO_NOT_DISRUPT_ANNOTATION, protectionOf } from '../../../src/domain/annotations.ts';
import type { ContainerJson, PodJson, PodSpecJson, TolerationJson, VolumeJson } from '../../../src/kubernetes/api/core-json.ts';
import { requestsOf } from '../../../src/kubernetes/projection/pod-requests.ts';
import { localVolumes } from '../../../src/kubernetes/projection/pod-volumes.ts';
import { type Json, mapped } from '../../lab/recordings/json-maps.ts';

/** Labels that controllers give to each pod or each template. The cluster that runs the load sets its own. */
const OWN_LABELS =
  /^(?:(?:rollouts-)?pod-template-hash|controller-revision-hash|pod-template-generation|controller-uid|job-name|batch\.kubernetes\.io\/.*|statefulset\.kubernetes\.io\/pod-name|apps\.kubernetes\.io\/pod-index)$/;
/** The only annotations that are recorded: whether an autoscaler may move the pod. */
const ANNOTATIONS = ['cluster-autoscaler.kubernetes.io/safe-to-evict', DO_NOT_DISRUPT_ANNOTATION] as const;
const ANSWERS: ReadonlySet<string> = new Set(['true', 'false']);
const USUAL_GRACE_SECONDS = 30;

export function templateOf({ metadata = {}, spec = {} }: PodJson, role: 'replica' | 'run' | 'daemon'): LoadPod {
  const { priority = 0, terminationGracePeriodSeconds: grace = USUAL_GRACE_SECONDS } = spec;
  const { preemptionPolicy } = spec as { readonly preemptionPolicy?: string };
  const tolerations = tolerationsOf(spec, role);
  return {
    ...some('labels', own(metadata.labels)),
    ...some('annotations', answers(metadata.annotations)),
    containers: (spec.containers ?? []).map((container) => containerOf(container, spec.hostNetwork)),
    ...list(
      'initContainers',
      (spec.initContainers ?? []).map((container) => initContainerOf(container, spec.hostNetwork)),
    ),
    ...some('overhead', spec.overhead),
    ...some('nodeSelector', spec.nodeSelector),
    ...some('affinity', affinityOf(spec, role)),
    ...list(
      'topologySpreadConstraints',
      spec.topologySpreadConstraints?.map((each) => withoutOwnLabels({ ...each })),
    ),
    ...list('tolerations', tolerations),
    ...(priority === 0 ? {} : { priority }),
    ...(preemptionPolicy === 'Never' ? { preemptionPolicy } : {}),
    ...(spec.hostNetwork === true ? { hostNetwork: true } : {}),
    ...(grace === USUAL_GRACE_SECONDS ? {} : { terminationGracePeriodSeconds: grace }),
    ...list('volumes', volumesOf(spec.volumes ?? [], metadata.name ?? '')),
  };
}

function own(labels: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !OWN_LABELS.test(key)));
}

function answers(annotations: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ANNOTATIONS.flatMap((key) => (isAnswer(key, annotations[key]) ? [[key, annotations[key] ?? ''] as const] : [])),
  );
}

/** Other texts may be secrets. */
function isAnswer(key: string, value = ''): boolean {
  return ANSWERS.has(value) || (key === DO_NOT_DISRUPT_ANNOTATION && protectionOf(value, 0)?.protectedUntilMs !== undefined);
}

function initContainerOf(container: ContainerJson, hostNetwork: boolean | undefined): LoadContainer {
  return { ...containerOf(container, hostNetwork), ...(container.restartPolicy === 'Always' ? { isSidecar: true } : {}) };
}

function containerOf({ resources, ports }: ContainerJson, hostNetwork = false): LoadContainer {
  const hostPorts = (ports ?? []).flatMap(({ hostPort, containerPort, protocol }): NonNullable<LoadContainer['hostPorts']> => {
    const port = hostPort ?? (hostNetwork ? containerPort : undefined) ?? 0;
    return port > 0 ? [{ port, ...(protocol === 'UDP' || protocol === 'SCTP' ? { protocol } : {}) }] : [];
  });
  return { ...some('requests', requestsOf(resources)), ...list('hostPorts', hostPorts) };
}

/** Every DaemonSet pod names its node, which is no wish of the DaemonSet. */
function affinityOf({ affinity }: PodSpecJson, role: 'replica' | 'run' | 'daemon'): Json {
  const { nodeAffinity, ...rest } = (affinity ?? {}) as Readonly<Record<string, Json | undefined>>;
  const ofNodes = role === 'daemon' ? withoutFields(nodeAffinity) : nodeAffinity;
  return withoutOwnLabels({ ...rest, ...(ofNodes === undefined ? {} : { nodeAffinity: ofNodes }) });
}

interface NodeAffinityJson {
  readonly [field: string]: unknown;
  readonly requiredDuringSchedulingIgnoredDuringExecution?: { readonly nodeSelectorTerms?: readonly Json[] };
}

function withoutFields(affinity: Json | undefined): Json | undefined {
  if (affinity === undefined) return undefined;
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...rest } = affinity as NodeAffinityJson;
  const terms = (required?.nodeSelectorTerms ?? []).map((term) =>
    Object.fromEntries(Object.entries(term).filter(([field]) => field !== 'matchFields')),
  );
  // A term without requirements was only about the node.
  if (terms.length === 0 || terms.some((term) => Object.keys(term).length === 0)) return Object.keys(rest).length === 0 ? undefined : rest;
  return { ...rest, requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
}

/** The API server writes the values of `matchLabelKeys` into the selectors of each pod. */
function withoutOwnLabels(json: Json): Json {
  return mapped(json, (field, value) => {
    if (field === 'matchLabels') return own(value as Readonly<Record<string, string>>);
    if (field === 'matchExpressions')
      return (value as readonly { readonly key?: string }[]).filter(({ key = '' }) => !OWN_LABELS.test(key));
    return undefined;
  });
}

/** Without those that the API server and the DaemonSet controller add to every pod. */
function tolerationsOf({ tolerations = [] }: PodSpecJson, role: 'replica' | 'run' | 'daemon'): readonly Json[] {
  return tolerations.filter((each) => !isAdded(each, role)).map((each) => ({ ...each }));
}

function isAdded({ key = '', operator, effect, ...rest }: TolerationJson, role: 'replica' | 'run' | 'daemon'): boolean {
  if (!key.startsWith('node.kubernetes.io/') || operator !== 'Exists') return false;
  if (role === 'daemon') return true;
  const isUsual = 'tolerationSeconds' in rest && rest.tolerationSeconds === 300;
  return isUsual && effect === 'NoExecute' && /\/(?:not-ready|unreachable)$/.test(key);
}

/** Claims that were made for the pod are disks. Shared claims are not recorded: they are files, or a disk that others have. */
function volumesOf(volumes: readonly VolumeJson[], pod: string): NonNullable<LoadPod['volumes']> {
  const local = new Set(localVolumes(volumes).map(({ kind }) => kind));
  const disks = volumes.filter(
    ({ ephemeral, azureDisk, persistentVolumeClaim: claim }) =>
      ephemeral !== undefined || azureDisk !== undefined || (claim?.claimName ?? '').endsWith(`-${pod}`),
  );
  return [...[...local].toSorted().map((kind) => ({ kind })), ...disks.map(() => ({ kind: 'disk' as const }))];
}

/** The field, if it has entries. */
function some<Key extends string, Value extends object>(key: Key, value: Value | undefined): { readonly [Name in Key]?: Value } {
  return value === undefined || Object.keys(value).length === 0 ? {} : ({ [key]: value } as { readonly [Name in Key]: Value });
}

function list<Key extends string, Item>(key: Key, items: readonly Item[] | undefined): { readonly [Name in Key]?: readonly Item[] } {
  return items === undefined || items.length === 0 ? {} : ({ [key]: items } as { readonly [Name in Key]: readonly Item[] });
}
