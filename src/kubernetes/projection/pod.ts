/** V1 Pod JSON to a domain Pod. Fields that no decision reads are dropped here. Must not know what the fields decide. */
import { parseDurationMs } from '../../lib/duration.ts';
import { DO_NOT_DISRUPT_ANNOTATION, protectionOf, type Protection } from '../../domain/do-not-disrupt.ts';
import { MIN_ON_DEMAND_ANNOTATION, NAMED_CLAIM, onDemandShareOf } from '../../domain/pod.ts';
import type { Controller, LocalVolume, Pod, PodPhase, SafeToEvict } from '../../domain/pod.ts';
import type { ResourceNames } from '../../domain/resources.ts';
import { timeOf, type ConditionJson, type ContainerStatusJson, type MetadataJson, type PodJson } from '../api/core-json.ts';
import { Interner, StringInterner, WeakInterner } from '../watch/interner.ts';
import { claimsOf, disksOf, localVolumes } from './pod-volumes.ts';
import { effectiveRequest } from './pod-requests.ts';
import { Shapes, withoutOwnNode, type SoftOptions } from './pod-shape.ts';
import { defined } from '../../lib/defined.ts';

const PREFIX = 'cluster-autoscaler.kubernetes.io/';
const PHASES: ReadonlySet<string> = new Set(['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown']);
const NONE: readonly never[] = [];
/** As Kubernetes reads it: a plain integer without leading zeros. Anything else counts as absent. */
const DELETION_COST = /^(?:0|-?[1-9]\d{0,9})$/;
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
  readonly volumes: Interner<readonly LocalVolume[]>;
}

export function createPodProjection(names: ResourceNames, soft: SoftOptions = {}): PodProjection {
  return {
    soft,
    names,
    shapes: new Shapes(names, soft),
    strings: new StringInterner(),
    messages: new StringInterner(MOST_MESSAGES),
    controllers: new WeakInterner(),
    volumes: new Interner(),
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
    ...schedulingOf(nodeName, status.conditions, shared.messages),
    mirror: annotations['kubernetes.io/config.mirror'] !== undefined,
    daemonSet,
    safeToEvict: safeToEvict(annotations[`${PREFIX}safe-to-evict`]),
    safeToEvictVolumes: listOf(annotations[`${PREFIX}safe-to-evict-local-volumes`]),
    localVolumes: volumesOf(json, shared.volumes),
    scaleUpDelayMs: scaleUpDelayMs(annotations),
    ready: conditionOf(status.conditions, 'Ready')?.status === 'True',
    ...protection(annotations[DO_NOT_DISRUPT_ANNOTATION], status.startTime, shared.strings),
    ...disruptionAnnotations(annotations),
    ...claimsAndDisks(json),
    ...madeClaims(json),
    ...consumptionOf(annotations),
    ...defined({ minOnDemand: onDemandShareOf(annotations[MIN_ON_DEMAND_ANNOTATION]) }),
    ...defined({ restartedAtMs: lastRestartMs(status.containerStatuses) }),
    ...pendingResize(json, shared),
  };
}

/** undefined: no container was restarted. */
function lastRestartMs(containers: readonly ContainerStatusJson[] = []): number | undefined {
  const times = containers.flatMap(({ restartCount = 0, state, lastState }) =>
    restartCount > 0 ? (timeOf(state?.running?.startedAt) ?? timeOf(lastState?.terminated?.finishedAt) ?? []) : [],
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

/** The condition of Kubernetes 1.33 and later; `k8s.io/api` v0.36.3, `core/v1/types.go`: `PodResizePending`. */
function pendingResize({ spec = {}, status = {} }: PodJson, { names, messages }: PodProjection): Pick<Pod, 'resize'> {
  const pending = conditionOf(status.conditions, 'PodResizePending');
  if (pending?.status !== 'True' || (spec.nodeName ?? '') === '') return {};
  const kind = pending.reason === 'Infeasible' ? 'infeasible' : 'deferred';
  return { resize: { kind, message: messages.of(pending.message ?? ''), wanted: effectiveRequest({ spec }, names) } };
}

function claimsAndDisks({ metadata = {}, spec = {} }: PodJson): Pick<Pod, 'claims' | 'disks'> {
  const claims = claimsOf(spec.volumes ?? NONE, metadata.name ?? '');
  const disks = disksOf(spec.volumes ?? NONE);
  return { ...(claims.length === 0 ? {} : { claims }), ...(disks.length === 0 ? {} : { disks }) };
}

/** A claim that turned out not to be needed has no name. */
function madeClaims({ status = {} }: PodJson): Pick<Pod, 'madeClaims'> {
  const made = (status.resourceClaimStatuses ?? []).flatMap(({ name, resourceClaimName }) =>
    name === undefined || resourceClaimName === undefined ? [] : [[name, resourceClaimName] as const],
  );
  const named = status.extendedResourceClaimStatus?.resourceClaimName;
  const all = named === undefined ? made : [...made, [NAMED_CLAIM, named] as const];
  return all.length === 0 ? {} : { madeClaims: Object.fromEntries(all) };
}

/** The second name is from earlier versions. */
function consumptionOf(annotations: Readonly<Record<string, string>>): Pick<Pod, 'consumes'> {
  const consumes = annotations['autoscaling.x-k8s.io/consume-provisioning-request'] ?? annotations[`${PREFIX}consume-provisioning-request`];
  return consumes === undefined || consumes === '' ? {} : { consumes };
}

/** Only pods with a value other than `true` have more than the one field. */
function protection(
  value: string | undefined,
  startTime: string | null | undefined,
  strings: StringInterner,
): Protection & Pick<Pod, 'doNotDisrupt'> {
  const found = protectionOf(value, timeOf(startTime));
  if (found?.protectedBy === undefined) return { doNotDisrupt: found !== undefined };
  return { doNotDisrupt: true, ...found, protectedBy: strings.of(found.protectedBy) };
}

/** Only pods with such annotations have the fields. */
function disruptionAnnotations(annotations: Readonly<Record<string, string>>): Pick<Pod, 'daemonEviction' | 'deletionCost'> {
  const eviction = annotations[`${PREFIX}enable-ds-eviction`];
  const cost = annotations['controller.kubernetes.io/pod-deletion-cost'];
  return {
    // Any other value opts out, as in the Cluster Autoscaler.
    ...(eviction === undefined ? {} : { daemonEviction: eviction === 'true' }),
    ...(cost === undefined || !DELETION_COST.test(cost) ? {} : { deletionCost: Number(cost) }),
  };
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

/** Spaces are part of the values, as in the Cluster Autoscaler. */
function listOf(text: string | undefined): readonly string[] {
  return text === undefined || text === '' ? NONE : text.split(',');
}

function optional(text: string | undefined, strings: StringInterner): string | undefined {
  return text === undefined || text === '' ? undefined : strings.of(text);
}

function controllerOf(metadata: MetadataJson, known: WeakInterner<Controller>): Controller | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return undefined;
  const { apiVersion, kind = '', name = '', uid = '' } = owner;
  return known.of(`${uid} ${apiVersion ?? ''} ${kind} ${name}`, () => ({ kind, name, uid, ...defined({ apiVersion }) }));
}

function conditionOf(conditions: readonly ConditionJson[] | undefined, type: string): ConditionJson | undefined {
  return conditions?.find((condition) => condition.type === type);
}

function schedulingOf(
  nodeName: string | undefined,
  conditions: readonly ConditionJson[] | undefined,
  messages: StringInterner,
): Pick<Pod, 'unschedulable' | 'unseen'> {
  if (nodeName !== undefined) return { unschedulable: undefined };
  return { unschedulable: unschedulable(conditions, messages), ...(isUnseen(conditions) ? { unseen: true } : {}) };
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

function safeToEvict(text: string | undefined): SafeToEvict | undefined {
  return text === 'true' || text === 'false' || text === 'on-completion' ? text : undefined;
}

function volumesOf(json: PodJson, known: Interner<readonly LocalVolume[]>): readonly LocalVolume[] {
  const volumes = json.spec?.volumes;
  if (volumes === undefined || volumes.length === 0) return NONE;
  const local = localVolumes(volumes);
  if (local.length === 0) return NONE;
  return known.of(local.map(({ kind, name }) => `${kind} ${name}`).join(','), () => local);
}

/** A text that is not a duration counts as absent, as in the Cluster Autoscaler. */
function scaleUpDelayMs(annotations: Readonly<Record<string, string>>): number | undefined {
  const text = annotations[`${PREFIX}pod-scale-up-delay`];
  return text === undefined ? undefined : parseDurationMs(text);
}
