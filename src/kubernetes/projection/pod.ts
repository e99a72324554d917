/** V1 Pod JSON to a domain Pod. Fields that no decision reads are dropped here. Must not know what the fields decide. */
import {
  NAMED_CLAIM,
  NO_MOUNTS,
  USUAL_STATUS,
  type Controller,
  type PendingResize,
  type Pod,
  type PodMounts,
  type PodPhase,
  type RareStatus,
} from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { timeOf, type ConditionJson, type ContainerStatusJson, type MetadataJson, type PodJson } from '../api/core-json.ts';
import { Interner, StringInterner, WeakInterner } from '../watch/interner.ts';
import { AnnotationReader } from './pod-annotations.ts';
import { claimsOf, disksOf, localVolumes } from './pod-volumes.ts';
import { effectiveRequest } from './pod-requests.ts';
import { Shapes, withoutOwnNode, type SoftOptions } from './pod-shape.ts';

const PREFIX = 'cluster-autoscaler.kubernetes.io/';
const PHASES: ReadonlySet<string> = new Set(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']);
const NONE_MADE = USUAL_STATUS.madeClaims;
/** The default that the API server sets. */
const DEFAULT_GRACE_SECONDS = 30;

/** A kilobyte each. Far more than one state of a cluster has. */
const MOST_MESSAGES = 2_000;

/** Everything that the pods of one reader share. */
export interface PodProjection {
  readonly soft: SoftOptions;
  readonly names: ResourceNames;
  readonly shapes: Shapes;
  readonly strings: StringInterner;
  /** Why pods are unschedulable: each text names numbers of nodes, so that new ones come for as long as the cluster lives. */
  readonly messages: StringInterner;
  readonly controllers: WeakInterner<Controller>;
  readonly mounts: Interner<PodMounts>;
  readonly annotations: AnnotationReader;
}

export function createPodProjection(names: ResourceNames, soft: SoftOptions = {}): PodProjection {
  return {
    soft,
    names,
    shapes: new Shapes(names, soft),
    strings: new StringInterner(),
    messages: new StringInterner(MOST_MESSAGES),
    controllers: new WeakInterner(),
    mounts: new Interner(),
    annotations: new AnnotationReader(),
  };
}

export function projectPod(json: PodJson, shared: PodProjection): Pod {
  const { metadata = {}, spec = {}, status = {} } = json;
  const annotations = metadata.annotations ?? {};
  const controller = controllerOf(metadata, shared.controllers);
  const daemonSet = isDaemon(controller, annotations);
  const nodeName = optional(spec.nodeName, shared.strings);
  const shape = shared.shapes.of(daemonSet && nodeName !== undefined ? withoutOwnNode(json) : json);
  return {
    // Without a uid the name is the next best: pods are compared by it.
    uid: metadata.uid ?? `${shape.namespace}/${metadata.name ?? ''}`,
    namespace: shape.namespace,
    name: metadata.name ?? '',
    shape,
    nodeName,
    nominatedNodeName: optional(status.nominatedNodeName, shared.strings),
    phase: phaseOf(status.phase),
    createdAtMs: timeOf(metadata.creationTimestamp) ?? 0,
    deletionAtMs: timeOf(metadata.deletionTimestamp),
    terminationGraceMs: (spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000,
    restartPolicy: restartPolicyOf(spec.restartPolicy),
    controller,
    unschedulable: nodeName === undefined ? unschedulable(status.conditions, shared.messages) : undefined,
    origin: 'cluster',
    mirror: annotations['kubernetes.io/config.mirror'] !== undefined,
    daemonSet,
    ready: conditionOf(status.conditions, 'Ready')?.status === 'True',
    annotations: shared.annotations.of(annotations, status.startTime),
    mounts: mountsOf(json, shared.mounts),
    status: statusOf(json, shared),
  };
}

function statusOf(json: PodJson, shared: PodProjection): RareStatus {
  const { conditions, containerStatuses } = json.status ?? {};
  const status = {
    unseen: (json.spec?.nodeName ?? '') === '' && isUnseen(conditions),
    restartedAtMs: lastRestartMs(containerStatuses),
    resize: pendingResize(json, shared),
    madeClaims: madeClaims(json),
    heldDevices: undefined,
  };
  const isUsual = !status.unseen && status.restartedAtMs === undefined && status.resize === undefined && status.madeClaims === NONE_MADE;
  return isUsual ? USUAL_STATUS : status;
}

/** undefined: no container was restarted. */
function lastRestartMs(containers: readonly ContainerStatusJson[] = []): number | undefined {
  const times = containers.flatMap(({ restartCount = 0, state, lastState }) =>
    restartCount > 0 ? (timeOf(state?.running?.startedAt) ?? timeOf(lastState?.terminated?.finishedAt) ?? []) : [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The condition of Kubernetes 1.33 and later; `k8s.io/api` v0.36.3, `core/v1/types.go`: `PodResizePending`. */
function pendingResize({ spec = {}, status = {} }: PodJson, { names, messages }: PodProjection): PendingResize | undefined {
  const pending = conditionOf(status.conditions, 'PodResizePending');
  if (pending?.status !== 'True' || (spec.nodeName ?? '') === '') return undefined;
  const kind = pending.reason === 'Infeasible' ? 'infeasible' : 'deferred';
  return { kind, message: messages.of(pending.message ?? ''), wanted: effectiveRequest({ spec }, names) };
}

/** Claims are mostly of one pod: only mounts without them are shared. */
function mountsOf({ metadata = {}, spec = {} }: PodJson, known: Interner<PodMounts>): PodMounts {
  const { volumes = [] } = spec;
  if (volumes.length === 0) return NO_MOUNTS;
  const found = localVolumes(volumes);
  const key = found.map(({ kind, name }) => `${kind} ${name}`).join(',');
  const local = found.length === 0 ? NO_MOUNTS : known.of(key, () => ({ ...NO_MOUNTS, localVolumes: found }));
  const claims = claimsOf(volumes, metadata.name ?? '');
  const disks = disksOf(volumes);
  return claims.length + disks.length === 0 ? local : { ...local, claims, disks };
}

/** A claim that turned out not to be needed has no name. */
function madeClaims({ status = {} }: PodJson): RareStatus['madeClaims'] {
  const made = (status.resourceClaimStatuses ?? []).flatMap(({ name, resourceClaimName }) =>
    name === undefined || resourceClaimName === undefined ? [] : [[name, resourceClaimName] as const],
  );
  const named = status.extendedResourceClaimStatus?.resourceClaimName;
  const all = named === undefined ? made : [...made, [NAMED_CLAIM, named] as const];
  return all.length === 0 ? NONE_MADE : Object.fromEntries(all);
}

function phaseOf(text = ''): PodPhase {
  return PHASES.has(text) ? (text as PodPhase) : 'Unknown';
}

function restartPolicyOf(text: string | undefined): Pod['restartPolicy'] {
  return text === 'Never' || text === 'OnFailure' ? text : 'Always';
}

/** A DaemonSet of any API group. */
function isDaemon(controller: Controller | undefined, annotations: Readonly<Record<string, string>>): boolean {
  return controller?.kind === 'DaemonSet' || annotations[`${PREFIX}daemonset-pod`] === 'true';
}

function optional(text: string | undefined, strings: StringInterner): string | undefined {
  return text === undefined || text === '' ? undefined : strings.of(text);
}

function controllerOf(metadata: MetadataJson, known: WeakInterner<Controller>): Controller | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  const { apiVersion = '', kind = '', name = '', uid = '' } = owner;
  return known.of(`${uid} ${apiVersion} ${kind} ${name}`, () => ({ kind, apiVersion, name, uid }));
}

function conditionOf(conditions: readonly ConditionJson[] | undefined, type: string): ConditionJson | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** `SchedulingGated` and other reasons are not "unschedulable": no scheduler has tried to place such a pod. */
function unschedulable(conditions: readonly ConditionJson[] | undefined, messages: StringInterner): Pod['unschedulable'] {
  const scheduled = conditionOf(conditions, 'PodScheduled');
  if (scheduled?.status !== 'False' || scheduled.reason !== 'Unschedulable') return undefined;
  return { sinceMs: timeOf(scheduled.lastTransitionTime) ?? 0, message: messages.of(scheduled.message ?? '') };
}

/** A scheduler that has tried a pod writes the condition, whatever the result. */
function isUnseen(conditions: readonly ConditionJson[] | undefined): boolean {
  const scheduled = conditionOf(conditions, 'PodScheduled');
  return scheduled === undefined || (scheduled.status === 'False' && (scheduled.reason ?? '') === '');
}
