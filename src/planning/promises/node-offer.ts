/**
 * What a node offers when it holds just what runs on every node of its group, and where that is less than its template promised.
 * Must not know why it is asked, nor what follows from it.
 * Idea: broken promise.
 */
import { type DevicePool, NO_DEVICE_RULES } from '../../domain/devices.ts';
import { NO_VOLUME_RULES } from '../../domain/volumes.ts';
import type { Node } from '../../domain/node.ts';
import type { TemplateDifference } from '../../domain/node-template.ts';
import type { Pod, PodShape } from '../../domain/pod.ts';
import type { FitReason } from '../../domain/reasons.ts';
import { isAttachResource, type ResourceNames } from '../../domain/resources.ts';
import { claimsFor } from '../../scheduling/devices/named-claims.ts';
import type { Taint } from '../../domain/taints.ts';
import { podName } from '../../domain/ids.ts';
import { isOlderThanNode } from '../../domain/workloads.ts';
import { compareBy, compareText } from '../../lib/comparison.ts';
import { defined } from '../../lib/defined.ts';
import { staticRefusals } from '../../scheduling/snapshot/node-only-fit.ts';
import { cannotAllocate } from '../../scheduling/predicates/devices.ts';
import { withAttachSlots } from '../../scheduling/volumes/attachments.ts';
import { missingDevices, roomBeside, roomRefusals, type NodeRoom } from '../scale-up/groups/node-room.ts';
import { cameWith, type IsEverywhere } from './pods-on-every-node.ts';
import { ZONE_LABELS, type GroupTemplate } from '../scale-up/groups/template-node.ts';

export interface NodeOffer extends NodeRoom {
  readonly node: Node;
  /** The pods that every node of the group has. */
  readonly pods: readonly Pod[];
}

interface OfferContext {
  readonly isEverywhere: IsEverywhere;
  readonly names: ResourceNames;
}

/** With every attach slot that the storage drivers of the node report. */
export function offerOf(node: Node, pods: readonly Pod[], { isEverywhere, names }: OfferContext): NodeOffer {
  const isOwn = (pod: Pod): boolean => runsOnEveryNode(pod, node) || isEverywhere(pod, node);
  // guard: pods that took the room break no promise
  const own = pods.filter((pod) => isOwn(pod) && pod.phase !== 'Succeeded' && pod.phase !== 'Failed');
  return { node, pods: own, ...roomBeside(own, withAttachSlots(node, names)) };
}

/**
 * Daemon and static pods, pods with the node's name in theirs or pinned to it by name, and pods without an owner that tolerate every taint
 * and came with the node. A pod that is older than its node says nothing about the next node.
 * Other pods without an owner are scheduled like any other: workflow tools create them by the hundred.
 */
function runsOnEveryNode(pod: Pod, node: Node): boolean {
  // guard: a pod that waited for any node corrects no template
  if (isOlderThanNode(pod, node)) return false;
  const { daemonSet, mirror, controller, name, shape } = pod;
  if (daemonSet || mirror || name.includes(node.name)) return true;
  // guard: a pod that came long after its node corrects no template
  if (controller === undefined && toleratesEverything(shape) && cameWith(pod, node)) return true;
  return (shape.nodeAffinity ?? []).some(({ fields }) =>
    fields.some((field) => field.key === 'metadata.name' && field.operator === 'In' && field.values.includes(node.name)),
  );
}

function toleratesEverything({ tolerations }: PodShape): boolean {
  return tolerations.some(({ key, operator, effect }) => key === '' && operator === 'Exists' && effect === undefined);
}

/**
 * Why pods of the shape would not run on the node. Empty if they would. In which of its zones a group adds a node is not part of its
 * promise, and neither is the place of a volume, since its driver labels the node later.
 */
export function refusalsOf(shape: PodShape, offer: NodeOffer, template: GroupTemplate, names: ResourceNames): readonly FitReason[] {
  const { node } = offer;
  const plain = { ...shape, volumes: { ...NO_VOLUME_RULES, drivers: shape.volumes.drivers }, devices: NO_DEVICE_RULES };
  const variants = [node, ...template.variants.map((variant) => inZoneOf(node, variant))];
  const byNode = variants.map((variant) => staticRefusals(plain, variant));
  // As if none of the node's devices were in use.
  const missing = missingDevices(
    claimsFor(shape.devices.claims, () => node),
    template.common.poolsOf(node, node.devices.pools),
  );
  return [
    ...(byNode.some((refusals) => refusals.length === 0) ? [] : (byNode[0] ?? [])),
    ...roomRefusals(shape, offer, names),
    ...(missing === undefined ? [] : [cannotAllocate(missing)]),
  ];
}

function inZoneOf(node: Node, variant: Node): Node {
  const zones = Object.fromEntries(ZONE_LABELS.map((key) => [key, variant.labels[key] ?? '']));
  return { ...node, labels: { ...node.labels, ...zones } };
}

/** Where the node offers less than the template, in the kinds of things that the reasons are about. */
export function differenceOf(
  offer: NodeOffer,
  template: GroupTemplate,
  names: ResourceNames,
  reasons: readonly FitReason[],
): TemplateDifference {
  const { node, ports } = offer;
  const isAbout = (kind: FitReason['kind']): boolean => reasons.some((reason) => reason.kind === kind);
  // Slots without a known limit are unlimited: only those that a pod lacks are worth a word.
  const isNeeded = ({ resource }: { readonly resource: string }): boolean =>
    !isAttachResource(resource) || reasons.some((reason) => reason.kind === 'insufficient-resource' && reason.resource === resource);
  const features = isAbout('node-features') ? missingFeatures(node, template) : [];
  const devices = isAbout('device') ? fewerDevices(node, template) : [];
  const drivers = isAbout('volume') ? moreMissing(node, template) : [];
  const taken = ports.filter((port) => !template.ports.some((known) => known.port === port.port && known.protocol === port.protocol));
  return {
    node: node.name,
    resources: isAbout('insufficient-resource') ? shortResources(offer, template, names).filter(isNeeded) : [],
    labels: isAbout('node-selector-mismatch') ? differentLabels(node, template) : [],
    taints: isAbout('untolerated-taint') ? moreTaints(node, template) : [],
    ports: isAbout('host-port-taken') ? taken : [],
    ...(features.length === 0 ? {} : { features }),
    ...(devices.length === 0 ? {} : { devices }),
    ...(drivers.length === 0 ? {} : { drivers }),
  };
}

function missingFeatures({ declaredFeatures }: Node, { template }: GroupTemplate): readonly string[] {
  return template.declaredFeatures.filter((feature) => !declaredFeatures.includes(feature));
}

function moreMissing({ missingDrivers }: Node, { template }: GroupTemplate): readonly string[] {
  return missingDrivers.filter((driver) => !template.missingDrivers.includes(driver));
}

function fewerDevices({ devices }: Node, { template }: GroupTemplate): NonNullable<TemplateDifference['devices']> {
  const drivers = [...new Set(template.devicePools.map(({ driver }) => driver))].sort();
  return drivers
    .map((driver) => ({ driver, promised: countDevices(template.devicePools, driver), offered: countDevices(devices.pools, driver) }))
    .filter(({ promised, offered }) => offered < promised);
}

function countDevices(pools: readonly DevicePool[], driver: string): number {
  return pools.reduce((sum, pool) => (pool.driver === driver ? sum + pool.devices.length : sum), 0);
}

function moreTaints({ taints }: Node, { template }: GroupTemplate): readonly Taint[] {
  return taints.filter((taint) => taint.effect !== 'PreferNoSchedule' && !template.taints.some((known) => isSame(known, taint)));
}

function isSame(left: Taint, right: Taint): boolean {
  return left.key === right.key && left.value === right.value && left.effect === right.effect;
}

/** The largest share of what was promised first. */
function shortResources(offer: NodeOffer, template: GroupTemplate, names: ResourceNames): TemplateDifference['resources'] {
  const others = offer.pods.filter((pod) => !template.daemonPods.some((known) => isKnownAs(pod, known)));
  const short = [...template.free].flatMap((promised, index) => {
    const resource = names.nameOf(index);
    const offered = Math.max(0, offer.free[index] ?? 0);
    if (promised <= offered) return [];
    const uses = ({ shape }: Pod): number => shape.requests[index] ?? 0;
    const largest = others.toSorted((left, right) => uses(right) - uses(left) || compareText(left.name, right.name))[0];
    const user = largest === undefined || uses(largest) === 0 ? {} : { pod: podName(largest), uses: uses(largest) };
    return [{ resource, promised, offered, ...user }];
  });
  return short.sort(
    (left, right) => left.offered / left.promised - right.offered / right.promised || compareText(left.resource, right.resource),
  );
}

/** Pods of the template have the names of their owners, or their own without the node's name. */
function isKnownAs({ namespace, name }: Pod, known: Pod): boolean {
  return namespace === known.namespace && (name === known.name || name.startsWith(`${known.name}-`));
}

function differentLabels({ labels }: Node, { template }: GroupTemplate): TemplateDifference['labels'] {
  const promised = Object.entries(template.labels).filter(([key, value]) => !isZoneLabel(key) && labels[key] !== value);
  return promised.map(([key, value]) => ({ key, promised: value, ...defined({ found: labels[key] }) })).sort(compareBy(({ key }) => key));
}

function isZoneLabel(key: string): boolean {
  return ZONE_LABELS.includes(key);
}

/** Whether a part of the difference is still there. */
export function persists(difference: TemplateDifference, offer: NodeOffer, names: ResourceNames): boolean {
  const { resources, labels, taints, ports, features = [], devices = [], drivers = [] } = difference;
  const { node, free } = offer;
  return (
    resources.some(({ resource, offered }) => (free[names.indexOf(resource)] ?? 0) <= offered) ||
    labels.some(({ key, promised }) => node.labels[key] !== promised) ||
    taints.some((taint) => node.taints.some((known) => isSame(known, taint))) ||
    ports.some((port) => offer.ports.some((known) => known.port === port.port && known.protocol === port.protocol)) ||
    features.some((feature) => !node.declaredFeatures.includes(feature)) ||
    drivers.some((driver) => node.missingDrivers.includes(driver)) ||
    devices.some(({ driver, offered }) => countDevices(node.devices.pools, driver) <= offered)
  );
}
