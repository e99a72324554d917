/** A pod of the API as a recorder sees it. Names of containers, images, commands and environments are dropped here. */
import { defined } from '../../../src/lib/defined.ts';
import type { ObservedOwner, ObservedPod } from '../../lab/recordings/observed.ts';
import type { LoadPod } from '../../lab/loads/load.ts';
import { timeOf, type ConditionJson, type MetadataJson, type PodJson } from '../../../src/kubernetes/api/core-json.ts';
import { Interner } from '../../../src/kubernetes/watch/interner.ts';
import { templateOf } from './pod-template.ts';

interface ContainerStateJson {
  readonly running?: { readonly startedAt?: string | null } | null;
  readonly terminated?: { readonly startedAt?: string | null; readonly finishedAt?: string | null } | null;
}

interface StatusJson {
  readonly phase?: string;
  readonly reason?: string;
  readonly conditions?: readonly ConditionJson[];
  readonly containerStatuses?: readonly { readonly state?: ContainerStateJson; readonly lastState?: ContainerStateJson }[] | null;
}

/** Reasons of pods that the cluster ended, where it sets no condition. */
const ENDED_BY_CLUSTER: ReadonlySet<string> = new Set(['Evicted', 'NodeLost', 'NodeShutdown', 'Shutdown', 'Terminated', 'Preempting']);
const MIRROR = 'kubernetes.io/config.mirror';
const HASH_LABELS = ['pod-template-hash', 'rollouts-pod-template-hash', 'controller-revision-hash'] as const;
/** A CronJob adds the minute of the run to the name of each Job. */
const MINUTE = /-\d{8}$/;

/** Everything that the pods of one recording share. */
export class PodReader {
  readonly #templates = new Interner<LoadPod>();

  /** undefined: a static pod. */
  read(json: PodJson): ObservedPod | undefined {
    const { metadata = {}, spec = {} } = json;
    const kind = controllerOf(metadata)?.kind;
    if (metadata.annotations?.[MIRROR] !== undefined || kind === 'Node') return undefined;
    const role = roleOf(kind, spec.restartPolicy);
    const template = templateOf(json, role);
    return {
      ...namesOf(metadata),
      ...stateOf(json),
      role,
      pod: this.#templates.of(JSON.stringify(template), () => template),
      ...defined({ owner: ownerOf(metadata), revision: hashOf(metadata) }),
    };
  }
}

function namesOf({ uid, namespace = 'default', name = '' }: MetadataJson): Pick<ObservedPod, 'uid' | 'namespace' | 'name'> {
  return { uid: uid ?? `${namespace}/${name}`, namespace, name };
}

type State = Pick<ObservedPod, 'createdAtMs' | 'startedAtMs' | 'endedAtMs' | 'phase' | 'isLeaving' | 'isDisrupted'>;

function stateOf({ metadata = {}, status: json = {} }: PodJson): State {
  const status = json as StatusJson;
  return {
    createdAtMs: timeOf(metadata.creationTimestamp) ?? 0,
    phase: phaseOf(status.phase),
    isLeaving: metadata.deletionTimestamp !== undefined,
    isDisrupted: isDisrupted(status),
    ...timesOf(status),
  };
}

function controllerOf({ ownerReferences = [] }: MetadataJson) {
  return ownerReferences.find(({ controller }) => controller === true);
}

function roleOf(kind: string | undefined, restartPolicy: string | undefined): ObservedPod['role'] {
  if (kind === 'DaemonSet') return 'daemon';
  const isSteady = (restartPolicy ?? 'Always') === 'Always';
  return kind !== undefined && kind !== 'Job' && isSteady ? 'replica' : 'run';
}

function hashOf({ labels = {} }: MetadataJson): string | undefined {
  return HASH_LABELS.map((label) => labels[label]).find((hash) => hash !== undefined);
}

/** The name of a Deployment's ReplicaSet is the Deployment's with the hash of the template. */
function ownerOf(metadata: MetadataJson): ObservedOwner | undefined {
  const owner = controllerOf(metadata);
  if (owner === undefined) return undefined;
  const { kind = '', name = '', uid = name } = owner;
  const hash = hashOf(metadata);
  if (kind === 'ReplicaSet' && hash !== undefined && name.endsWith(`-${hash}`))
    return { kind: 'Deployment', name: name.slice(0, -hash.length - 1), uid };
  return { kind, name: kind === 'Job' ? name.replace(MINUTE, '') : name, uid };
}

function phaseOf(phase: string | undefined): ObservedPod['phase'] {
  if (phase === 'Succeeded') return 'succeeded';
  if (phase === 'Failed') return 'failed';
  return phase === 'Pending' || phase === undefined ? 'pending' : 'running';
}

function isDisrupted({ reason = '', conditions = [] }: StatusJson): boolean {
  return ENDED_BY_CLUSTER.has(reason) || conditions.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
}

function timesOf({ phase, containerStatuses }: StatusJson): Pick<ObservedPod, 'startedAtMs' | 'endedAtMs'> {
  const states = (containerStatuses ?? []).flatMap(({ state, lastState }) => [state, lastState].filter((each) => each !== undefined));
  const started = states.flatMap(({ running, terminated }) => timeOf(running?.startedAt ?? terminated?.startedAt) ?? []);
  const ended = states.flatMap(({ terminated }) => timeOf(terminated?.finishedAt) ?? []);
  const isOver = phase === 'Succeeded' || phase === 'Failed';
  return {
    ...(started.length === 0 ? {} : { startedAtMs: Math.min(...started) }),
    ...(!isOver || ended.length === 0 ? {} : { endedAtMs: Math.max(...ended) }),
  };
}
