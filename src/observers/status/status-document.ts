/**
 * The status that people read with kubectl: a projection of one loop onto the structure of the Cluster Autoscaler's status
 * document. Pure. Must not know where the document is stored.
 */
import { blockTexts, describePauses } from '../../domain/group-blocks.ts';
import type { Backoff, LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import type { ScaleDownPlan } from '../../domain/plan.ts';
import type { Policy } from '../../domain/policy.ts';
import type { StatusValue } from '../../domain/ports/records.ts';
import { describeSchedule } from '../../planning/explain/schedule-text.ts';
import { isGroupHealthy, clusterProblem, reasonNotToAct } from '../../planning/state/cluster-health.ts';
import { describeHold, lastingHolds } from '../../planning/state/held-groups.ts';
import { countNodes, type NodeCounts } from '../../planning/state/node-counts.ts';
import { inFlight, inFlightByGroup } from '../../planning/state/increases/increase-records.ts';

export type StatusMap = { readonly [key: string]: StatusValue };

/** When each condition took its present value, by condition. */
export type Transitions = ReadonlyMap<string, { readonly status: string; readonly sinceMs: number }>;

interface StatusInput {
  readonly observation: Observation;
  readonly state: LoopState;
  /** undefined if the loop did not plan removals. */
  readonly scaleDown: ScaleDownPlan | undefined;
  readonly policy: Policy;
  readonly before: Transitions;
}

export interface Described {
  readonly document: StatusMap;
  readonly transitions: Transitions;
}

const MESSAGE_LIMIT = 500;
const CUT = '<truncated>';

/** The status before the first loop has completed, and while the cluster is empty. */
export function initialStatus(nowMs: number, message = 'no loop has completed yet'): StatusMap {
  return { time: goTime(nowMs), autoscalerStatus: 'Initializing', message };
}

/** Describes the whole document. `lastTransitionTime` changes only with the status that it belongs to. */
export function describeStatus(input: StatusInput): Described {
  const { observation, state, policy } = input;
  const counts = countNodes({ observation, state, policy });
  const transitions = new Map<string, { readonly status: string; readonly sinceMs: number }>();
  const condition: Stamp = (name, status, more = {}) => {
    const known = input.before.get(name);
    const sinceMs = known?.status === status ? known.sinceMs : observation.nowMs;
    transitions.set(name, { status, sinceMs });
    return { status, ...more, lastProbeTime: rfc3339(observation.nowMs), lastTransitionTime: rfc3339(sinceMs) };
  };
  const candidates = candidatesByGroup(input);
  const all = [...candidates.values()].reduce((sum, count) => sum + count, 0);
  const unfit = clusterProblem(observation, state, policy);
  if (unfit?.kind === 'empty') return { document: initialStatus(observation.nowMs, unfit.detail), transitions: input.before };
  const health = unfit === undefined ? 'Healthy' : 'Unhealthy';
  const blocked = reasonNotToAct(observation, state, policy);
  const document = {
    time: goTime(observation.nowMs),
    autoscalerStatus: 'Running',
    message: blocked === undefined ? 'may act' : cut(`does not act: ${blocked}`),
    clusterWide: {
      health: condition('health', health, { nodeCounts: plainCounts(counts.total) }),
      scaleUp: condition('scaleUp', inFlightByGroup(state).size > 0 ? 'InProgress' : 'NoActivity'),
      scaleDown: condition('scaleDown', ...scaleDownOf(all)),
    },
    nodeGroups: observation.cloud.groups.map((group) =>
      describeGroup(group, { input, condition, counts: counts.byGroup.get(group.id), candidates: candidates.get(group.id) ?? 0 }),
    ),
  };
  return { document, transitions };
}

type Stamp = (name: string, status: string, more?: StatusMap) => StatusMap;

interface GroupInput {
  readonly input: StatusInput;
  readonly condition: Stamp;
  readonly counts: NodeCounts | undefined;
  readonly candidates: number;
}

function describeGroup(group: NodeGroup, details: GroupInput): StatusMap {
  const { frozen, deletionsWait } = blockTexts(group.blocks);
  const { input, condition, counts, candidates } = details;
  const healthy = counts === undefined || isGroupHealthy(counts, input.policy);
  const sizes = {
    ...(counts === undefined ? {} : { nodeCounts: plainCounts(counts) }),
    // If the target is unknown, the key is absent.
    ...(group.target.known ? { cloudProviderTarget: group.target.value } : {}),
    minSize: group.minSize,
    maxSize: group.maxSize,
  };
  return {
    name: group.id,
    // An addition to the Cluster Autoscaler's structure, whose readers ignore unknown keys.
    ...(frozen === undefined ? {} : { frozen: cut(frozen) }),
    ...(deletionsWait === undefined ? {} : { deletionsWait: cut(deletionsWait) }),
    ...pausedOf(group),
    ...scheduledOf(group, input),
    ...aksCountOf(group),
    ...heldFor(group, input),
    health: condition(`health/${group.id}`, healthy ? 'Healthy' : 'Unhealthy', sizes),
    scaleUp: condition(`scaleUp/${group.id}`, ...scaleUpOf(group, healthy, input)),
    scaleDown: condition(`scaleDown/${group.id}`, ...scaleDownOf(candidates)),
  };
}

function pausedOf({ blocks }: NodeGroup): StatusMap {
  const paused = describePauses(blocks);
  return paused === undefined ? {} : { paused: cut(paused) };
}

function scheduledOf({ schedule }: NodeGroup, { observation }: StatusInput): StatusMap {
  const says = describeSchedule(schedule, observation.nowMs);
  return says.length === 0 ? {} : { schedule: cut(says.join('; ')) };
}

/** A warning for the people who run `az aks` commands. */
function aksCountOf({ aksCount, target }: NodeGroup): StatusMap {
  if (aksCount === undefined || !target.known) return {};
  return { aksCount: `AKS counts ${aksCount}, the size is ${target.value}: the next AKS operation on this pool sets it to ${aksCount}` };
}

/** What has kept the group from changing for long, and for how long. */
function heldFor({ id }: NodeGroup, { state, observation }: StatusInput): StatusMap {
  const hold = lastingHolds(state, observation.nowMs).get(id);
  return hold === undefined ? {} : { held: cut(describeHold(hold)) };
}

/** In the Cluster Autoscaler's order of precedence. */
function scaleUpOf(group: NodeGroup, healthy: boolean, { state, observation }: StatusInput): [string, StatusMap?] {
  if (inFlight(state, group.id) !== undefined) return ['InProgress'];
  if (!healthy) return ['Unhealthy'];
  const backoff = state.backoffs.get(group.id);
  if (backoff === undefined || backoff.untilMs <= observation.nowMs) return ['NoActivity'];
  const why = backoff.message === undefined ? '' : `: ${backoff.message}`;
  const request = backoff.correlationId === undefined ? '' : `, correlation id ${backoff.correlationId}`;
  const errorMessage = cut(
    `the last scale-up failed (${classOf(backoff)}${backoff.cause}${request}); the group backs off until ${rfc3339(backoff.untilMs)}${why}`,
  );
  return ['Backoff', { backoffInfo: { errorCode: backoff.cause, errorMessage } }];
}

/** The class of the error as a prefix, unless the code already contains it. */
function classOf({ kind, cause }: Backoff): string {
  return kind === undefined || kind === cause ? '' : `${kind}: `;
}

function scaleDownOf(candidates: number): [string, StatusMap?] {
  return candidates > 0 ? ['CandidatesPresent', { candidates }] : ['NoCandidates'];
}

function candidatesByGroup({ scaleDown, observation }: StatusInput): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const node of scaleDown?.unneeded.keys() ?? []) {
    const group = observation.cloud.groupOfNode.get(node) ?? '';
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
  return counts;
}

function plainCounts(counts: NodeCounts): StatusMap {
  const { registered, ready, notStarted, suspended, beingDeleted, unready, resourceUnready } = counts;
  const deleting = beingDeleted === 0 ? {} : { beingDeleted };
  return {
    registered: { total: registered, ready, notStarted, suspended, ...deleting, unready: { total: unready, resourceUnready } },
    longUnregistered: counts.longUnregistered,
    unregistered: counts.unregistered,
  };
}

function cut(text: string): string {
  return text.length <= MESSAGE_LIMIT ? text : `${text.slice(0, MESSAGE_LIMIT - CUT.length)}${CUT}`;
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Formats a time as Go prints it, since readers of the status parse that: `2026-01-02 03:04:05.678 +0000 UTC`, without trailing zeros. */
export function goTime(ms: number): string {
  const [day = '', time = ''] = new Date(ms).toISOString().replace('Z', '').split('T');
  return `${day} ${time.replace(/\.?0+$/, '')} +0000 UTC`;
}
