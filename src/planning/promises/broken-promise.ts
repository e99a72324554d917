/**
 * The closure of a template that a real node disproved: while it lasts, the template is corrected to what the node offered. Then one node at
 * a time is requested, until one proves the template. Must not know how a broken promise is found, nor how a template is corrected.
 * Idea: broken promise, closure.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { BrokenPromise, LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { NodeTemplate, TemplateDifference } from '../../domain/node-template.ts';
import { phaseOf } from '../../lib/closure.ts';
import { compareText } from '../../lib/comparison.ts';
import { stableHash } from '../../lib/random.ts';

/** How long a template that a node disproved stays corrected, if nothing changes. */
const CORRECTED_MS = 1_800_000;
/** After the correction has ended, one node at a time is requested for this long, unless a node proves the template before. */
const TRIAL_MS = 1_800_000;
/** Of one finding. */
const MOST_CLASSES = 50;

/** What nodes disproved of templates. The zones of a template and its other parts are disproved apart from each other. */
export type Findings = Pick<LoopState, 'broken' | 'brokenZones'>;

/** All of them, with their groups. */
export function disprovedTemplates({ broken, brokenZones }: Findings): readonly (readonly [NodeGroupId, BrokenPromise])[] {
  return [...broken, ...brokenZones];
}

/** What the template of the group promised, and a node did not keep. */
export function promiseBroken(
  group: NodeGroup,
  { difference, nodes, classes, reportedAtMs }: Pick<BrokenPromise, 'difference' | 'nodes' | 'classes' | 'reportedAtMs'>,
  nowMs: number,
): BrokenPromise {
  return {
    difference,
    nodes,
    ...fingerprintFor(difference, group),
    classes: classesOf(classes),
    sinceMs: nowMs,
    untilMs: nowMs + CORRECTED_MS,
    reportedAtMs,
  };
}

/** Each once, at most those that are remembered. */
export function classesOf(...lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())].slice(0, MOST_CLASSES);
}

/**
 * A hash of what a template says about the next node. Equal in every process: resources have indexes of their own in each, so their
 * amounts are hashed in order of size. Devices are only counted: their names and pools differ on every node of a group.
 */
export function templateHash(template: NodeTemplate): string {
  const { labels, taints, allocatable, zones, customDaemons, staticPods, attachLimits, declaredFeatures } = template;
  const amounts = (of: Float64Array): readonly number[] => [...of].filter((amount) => amount !== 0).sort((left, right) => left - right);
  const daemons = [...customDaemons, ...staticPods].map((pod) => [pod.namespace, pod.name, amounts(pod.requests), pod.hostPorts]);
  const offers = [byName(attachLimits), declaredFeatures.toSorted(compareText), byName(devicesByDriver(template))];
  return stableHash(JSON.stringify([byName(labels), taints, amounts(allocatable), zones, daemons, ...offers])).toString(36);
}

function byName<Value>(record: Readonly<Record<string, Value>>): readonly (readonly [string, Value])[] {
  return Object.entries(record).sort(([left], [right]) => compareText(left, right));
}

function devicesByDriver({ devicePools }: NodeTemplate): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { driver, devices } of devicePools) counts[driver] = (counts[driver] ?? 0) + devices.length;
  return counts;
}

/** What the finding depends on: what the template says of its subject, and what a new node depends on besides its template. */
function fingerprintFor(
  { zones }: Pick<TemplateDifference, 'zones'>,
  { template, vmSize, priority }: NodeGroup,
): Pick<BrokenPromise, 'template' | 'model'> {
  const said = zones === undefined ? template && templateHash(template) : template?.zones.join();
  return { template: said ?? '', model: `${vmSize.toLowerCase()} ${priority}` };
}

/** Whether the group's template, as the cloud has it, is the one that was disproved. */
export function isOfTemplate({ difference, template, model }: BrokenPromise, group: NodeGroup): boolean {
  const now = fingerprintFor(difference, group);
  return now.model === model && now.template === template;
}

/** `closed`: the template is corrected. `probed`: one node at a time is requested. `over`: it is forgotten. */
export function phaseOfPromise(promise: BrokenPromise, nowMs: number): ReturnType<typeof phaseOf> {
  return phaseOf(promise, TRIAL_MS, nowMs);
}
