/**
 * Templates that real nodes disproved, corrected to what these nodes offered, and how a group is tried again afterwards. Must not
 * know how a broken promise is found.
 */
import type { BrokenPromise, LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { NodeTemplate, StaticPod, TemplateDifference } from '../../domain/node-template.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { Observation } from '../../domain/observation.ts';
import { attachResource, isAttachResource, minus, noResources, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { defined } from '../../lib/defined.ts';
import { attachLimit, withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import { makeTemplate } from '../scale-up/groups/template-node.ts';
import { templateHash } from '../state/accepted-increases.ts';
import { podClass } from '../state/increases/pods-of-increases.ts';
import type { SkipReason } from '../../domain/reasons.ts';

/** How long a template that a node disproved stays corrected, if nothing changes. */
export const CORRECTED_MS = 1_800_000;
/** Of one finding. */
export const MOST_CLASSES = 50;
/** After the correction has ended, one node at a time is requested for this long, unless a node proves the template before. */
export const TRIAL_MS = 1_800_000;

/** What nodes disproved of templates. */
type Findings = Pick<LoopState, 'broken' | 'brokenZones'>;

/** All of them, with their groups. */
export function disprovedTemplates({ broken, brokenZones }: Findings): readonly (readonly [NodeGroupId, BrokenPromise])[] {
  return [...broken, ...brokenZones];
}

/** What a new node of the group depends on besides its template. */
export function modelOf({ vmSize, priority }: Pick<NodeGroup, 'vmSize' | 'priority'>): string {
  return `${vmSize.toLowerCase()} ${priority}`;
}

/** Whether the group's template, as the cloud has it, is the one that was disproved. */
function isDisproved(broken: BrokenPromise, group: NodeGroup, nowMs: number): boolean {
  const { template } = group;
  return template !== undefined && nowMs < broken.untilMs && modelOf(group) === broken.model && templateHash(template) === broken.template;
}

/** The observation with corrected templates. Returns the observation itself if there are none. */
export function withCorrectedTemplates(observation: Observation, state: Findings, names: ResourceNames): Observation {
  // guard: a zone in which no node came is not tried node after node
  return withoutMissedZones(withoutDisprovedParts(observation, state, names), state);
}

function withoutDisprovedParts(observation: Observation, { broken }: Findings, names: ResourceNames): Observation {
  if (broken.size === 0) return observation;
  const { cloud, nowMs } = observation;
  const groups = cloud.groups.map((group) => {
    const promise = broken.get(group.id);
    if (promise === undefined || group.template === undefined || !isDisproved(promise, group, nowMs)) return group;
    const { free } = makeTemplate(group, withAttachLimits(group.template, names), observation.cluster.daemonSets, new Set());
    return { ...group, template: correctedTemplate(group.template, { free, names }, promise.difference) };
  });
  return { ...observation, cloud: { ...cloud, groups } };
}

function withoutMissedZones(observation: Observation, { brokenZones }: Findings): Observation {
  if (brokenZones === undefined || brokenZones.size === 0) return observation;
  const { cloud, nowMs } = observation;
  const groups = cloud.groups.map((group) => {
    const promise = brokenZones.get(group.id);
    const { template } = group;
    if (promise?.difference.zones === undefined || template === undefined || nowMs >= promise.untilMs) return group;
    const { missing } = promise.difference.zones;
    const zones = template.zones.filter((zone) => !missing.includes(zone));
    const corrected = { ...promise.difference, ...template.corrected, zones: promise.difference.zones };
    return zones.length === 0 ? group : { ...group, template: { ...template, zones, corrected } };
  });
  return { ...observation, cloud: { ...cloud, groups } };
}

interface PresentTemplate {
  /** What it promises now, with daemon and static pods taken off. */
  readonly free: Resources;
  readonly names: ResourceNames;
}

function correctedTemplate(template: NodeTemplate, { free, names }: PresentTemplate, corrected: TemplateDifference): NodeTemplate {
  const all = corrected.resources.map(({ resource, offered }) => {
    return [resource, Math.max(0, (free[names.indexOf(resource)] ?? 0) - offered)] as const;
  });
  const short = all.filter(([resource]) => !isAttachResource(resource));
  const slots = names.attachable.flatMap(({ driver }): readonly (readonly [string, number])[] => {
    const less = all.find(([resource]) => resource === attachResource(driver))?.[1];
    return less === undefined ? [] : [[driver, attachLimit(template.attachLimits, driver) - less]];
  });
  const keys = new Set(corrected.labels.map(({ key }) => key));
  const found = corrected.labels.flatMap(({ key, found: value }) => (value === undefined ? [] : [[key, value] as const]));
  return {
    ...withoutDevices(template, corrected),
    ...(slots.length === 0 ? {} : { attachLimits: { ...template.attachLimits, ...Object.fromEntries(slots) } }),
    ...defined({ declaredFeatures: template.declaredFeatures?.filter((feature) => corrected.features?.includes(feature) !== true) }),
    allocatable: minus(template.allocatable, names.fromRecord(Object.fromEntries(short))),
    labels: Object.fromEntries([...Object.entries(template.labels).filter(([key]) => !keys.has(key)), ...found]),
    taints: [...template.taints, ...corrected.taints.filter(({ key }) => !template.taints.some((known) => known.key === key))],
    ...(corrected.ports.length === 0 ? {} : { staticPods: [...(template.staticPods ?? []), portHolder(corrected)] }),
    corrected,
  };
}

/** Which of the devices would be missing is unknown, so a new node is expected to have none of them. */
function withoutDevices(template: NodeTemplate, { node, devices = [] }: TemplateDifference): NodeTemplate {
  const [first] = devices;
  if (first === undefined) return template;
  const { devicePools: _disproved, ...rest } = template;
  const { driver, promised, offered } = first;
  return { ...rest, devicesDoubted: `node ${node} has ${offered} of ${promised} devices of ${driver}` };
}

/** Stands for the pods outside the template whose host ports a new node does not have. */
function portHolder({ ports }: TemplateDifference): StaticPod {
  return { namespace: '', name: 'pods-outside-the-template', requests: noResources(), hostPorts: ports };
}

/** Why the group's template is tried again with one node. Only if a pod waits that the last node did not fit: other pods need no trial. */
export function trialReason(group: NodeGroup, state: Findings, { cluster }: Observation): SkipReason | undefined {
  const tried = openTrials(group, state).find(({ classes }) => cluster.pendingPods.some(({ shape }) => classes.includes(podClass(shape))));
  return tried === undefined ? undefined : { kind: 'trial', difference: tried.difference };
}

/** What is known of the group without correcting its template any more. */
function openTrials({ id, template }: NodeGroup, { broken, brokenZones }: Findings): readonly BrokenPromise[] {
  const parts = template?.corrected === undefined ? broken?.get(id) : undefined;
  const zones = template?.corrected?.zones === undefined ? brokenZones?.get(id) : undefined;
  return [parts, zones].filter((promise) => promise !== undefined);
}
