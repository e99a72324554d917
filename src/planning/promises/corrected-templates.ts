/**
 * Templates that real nodes disproved, corrected to what these nodes offered, and how a group is tried again afterwards. Must not
 * know how a broken promise is found.
 * Idea: broken promise.
 */
import type { BrokenPromise } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { NodeTemplate, StaticPod, TemplateDifference } from '../../domain/node-template.ts';
import type { Observation } from '../../domain/observation.ts';
import { attachResource, isAttachResource, minus, noResources, type ResourceNames, type Resources } from '../../domain/resources.ts';
import { attachLimit, withAttachLimits } from '../../scheduling/volumes/attachments.ts';
import { type GroupTemplate, makeTemplate } from '../scale-up/groups/template-node.ts';
import { podClass } from '../state/increases/pods-of-increases.ts';
import type { SkipReason } from '../../domain/reasons.ts';
import { isOfTemplate, phaseOfPromise, type Findings } from './broken-promise.ts';

/** The observation with corrected templates. Returns the observation itself if there are none. */
export function withCorrectedTemplates(observation: Observation, { broken, brokenZones }: Findings, names: ResourceNames): Observation {
  if (broken.size === 0 && brokenZones.size === 0) return observation;
  const { cloud, cluster, nowMs } = observation;
  const groups = cloud.groups.map((group) => {
    const inForce = (found: Findings['broken']): TemplateDifference | undefined => {
      const promise = found.get(group.id);
      return promise !== undefined && phaseOfPromise(promise, nowMs) === 'closed' && isOfTemplate(promise, group)
        ? promise.difference
        : undefined;
    };
    const [parts, zones] = [inForce(broken), inForce(brokenZones)];
    const { template } = group;
    if (template === undefined) return group;
    const present = (): GroupTemplate => makeTemplate(group, withAttachLimits(template, names), cluster, new Set());
    const corrected = parts === undefined ? template : correctedTemplate(template, parts, present().free, names);
    // guard: a zone in which no node came is not tried node after node
    const reachable = withoutMissedZones(corrected, zones);
    return reachable === template ? group : { ...group, template: reachable };
  });
  return { ...observation, cloud: { ...cloud, groups } };
}

function withoutMissedZones(template: NodeTemplate, difference: TemplateDifference | undefined): NodeTemplate {
  if (difference?.zones === undefined) return template;
  const { missing } = difference.zones;
  const zones = template.zones.filter((zone) => !missing.includes(zone));
  const corrected = { ...difference, ...template.corrected, zones: difference.zones };
  return zones.length === 0 ? template : { ...template, zones, corrected };
}

/** `free`: what the template promises now, with daemon and static pods taken off. */
function correctedTemplate(template: NodeTemplate, corrected: TemplateDifference, free: Resources, names: ResourceNames): NodeTemplate {
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
    attachLimits: { ...template.attachLimits, ...Object.fromEntries(slots) },
    declaredFeatures: template.declaredFeatures.filter((feature) => corrected.features?.includes(feature) !== true),
    missingDrivers: [...template.missingDrivers, ...(corrected.drivers ?? [])],
    allocatable: minus(template.allocatable, names.fromRecord(Object.fromEntries(short))),
    labels: Object.fromEntries([...Object.entries(template.labels).filter(([key]) => !keys.has(key)), ...found]),
    taints: [...template.taints, ...corrected.taints.filter(({ key }) => !template.taints.some((known) => known.key === key))],
    ...(corrected.ports.length === 0 ? {} : { staticPods: [...template.staticPods, portHolder(corrected)] }),
    corrected,
  };
}

/** Which of the devices would be missing is unknown, so a new node is expected to have none of them. */
function withoutDevices(template: NodeTemplate, { node, devices = [] }: TemplateDifference): NodeTemplate {
  const [first] = devices;
  if (first === undefined) return template;
  const { driver, promised, offered } = first;
  return {
    ...template,
    devicePools: [],
    devicesDeclared: false,
    devicesDoubted: `node ${node} has ${offered} of ${promised} devices of ${driver}`,
  };
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
