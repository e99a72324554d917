/** Why one node stays or is removed: the blocker and its rule, since when, when it is checked next, what it costs, who tainted it. */
import { podName } from '../../../domain/ids.ts';
import type { Node } from '../../../domain/node.ts';
import { stoppedInstances } from '../../../domain/node-group.ts';
import type { Blocker } from '../../../domain/plan.ts';
import { optionsOf } from '../../../domain/policy.ts';
import { CPU, MEMORY } from '../../../domain/resources.ts';
import { taintText } from '../../../domain/taints.ts';
import { defined } from '../../../lib/defined.ts';
import { finishAtOnce, type SlicedWork } from '../../../lib/slices.ts';
import { diskPrice, type NodePrice, nodePrice } from '../../expanders/node-price.ts';
import { waitedGroupsInSlices } from '../../scale-down/full-groups.ts';
import { RemovalAdviser } from '../removal-advice/removal-advice.ts';
import { describeRemovalAdvice, type RemovalAdvice } from '../advice/fix.ts';
import { explainNodes, type ExplainedNode } from '../unremovable-nodes.ts';
import { describeNodeHealth } from './node-health.ts';
import type { AnswerInput } from './pod-answer.ts';
import { describeStoppedNode } from './stopped-words.ts';
import { cordonWriter, type NamedWriter, taintWriter } from './taint-writers.ts';

export interface NodeAnswer {
  readonly kind: 'node';
  readonly name: string;
  /** `unknown`: removals were not decided. */
  readonly verdict: 'goes' | 'stays' | 'unknown';
  readonly sentence: string;
  readonly pool?: string;
  readonly vmSize?: string;
  readonly zone?: string;
  /** In the currency of the price table. */
  readonly perHour?: number;
  /** What the configuration takes off the list price. Absent if it takes nothing off, or the price is not a list price. */
  readonly discount?: NodePrice['discount'];
  /** Shares of allocatable that are requested, from 0 to 1. */
  readonly requested: { readonly cpu: number; readonly memory: number };
  /** The share that decides. Absent if it was not computed. */
  readonly utilization?: number;
  /** Below this share, the node is a candidate for removal. */
  readonly threshold: number;
  readonly reason?: string;
  readonly blocker?: Blocker;
  readonly unneededSince?: string;
  readonly removableAfterMs: number;
  readonly nextCheck?: string;
  readonly ready: boolean;
  /** Since when it is known to be stopped: deallocated instead of deleted, until its pool needs nodes. Absent if it is not. */
  readonly stoppedSince?: string;
  /** What is wrong with it: sick by its pool's rules, or left aside by AKS. Absent if nothing is. */
  readonly health?: string;
  readonly cordoned: boolean;
  /** Who cordoned it. Absent unless it is cordoned. */
  readonly cordonedBy?: NamedWriter;
  /** `by`: `autoscaler`, the component that such taints come from, the client that wrote the taints last, or `another writer`. */
  readonly taints: readonly (NamedWriter & { readonly taint: string })[];
  readonly pods: readonly string[];
  /** What was simulated to free it. Absent if it is removed, or belongs to no managed pool. */
  readonly advice?: RemovalAdvice & { readonly text: string };
}

/** undefined: the cluster has no such node, and no pool has stopped one of that name. */
export function answerNode(decided: AnswerInput, name: string): NodeAnswer | undefined {
  const { input, scaleDown, nodeWriters } = decided;
  const { observation, policy } = input;
  const node = observation.cluster.nodes.get(name);
  if (node === undefined) return answerStopped(decided, name);
  const explained = scaleDown === undefined ? undefined : explainNodes(scaleDown, observation).find((each) => each.node === name);
  const group = observation.cloud.groups.find(({ id }) => id === observation.cloud.groupOfNode.get(name));
  const pods = observation.cluster.podsByNode.get(name) ?? [];
  return {
    kind: 'node',
    name,
    ...decidedOn(explained),
    requested: { cpu: shareOf(node, pods, CPU), memory: shareOf(node, pods, MEMORY) },
    removableAfterMs: optionsOf(group, policy).unneededForMs,
    ready: node.readiness.ready,
    cordoned: node.unschedulable,
    threshold: optionsOf(group, policy).utilizationThreshold,
    taints: node.taints.map((taint) => ({ taint: taintText(taint), ...taintWriter(taint, { group, last: nodeWriters?.taints }) })),
    pods: pods.map(podName).sort(),
    ...defined({
      cordonedBy: node.unschedulable ? cordonWriter(nodeWriters?.cordon) : undefined,
      health: describeNodeHealth(name, { observation, state: input.state, policy }),
      pool: group?.id,
      vmSize: group?.vmSize,
      zone: node.labels['topology.kubernetes.io/zone'],
      ...(group === undefined ? {} : nodePrice(policy.scaleUp, group)),
      advice: explained?.verdict === 'stays' ? adviseOn(name, decided) : undefined,
    }),
  };
}

/** Plans do not see a stopped node, so nothing of it is decided. undefined: no pool has stopped it. */
function answerStopped({ input: { observation, policy } }: AnswerInput, name: string): NodeAnswer | undefined {
  const group = observation.cloud.groups.find((each) => stoppedInstances(each).some(({ node }) => node === name));
  const stopped = group?.stopped?.kind === 'stops' ? group.stopped : undefined;
  const instance = stopped?.instances.find(({ node }) => node === name);
  if (group === undefined || stopped === undefined || instance === undefined) return undefined;
  const cost = diskPrice(policy.scaleUp, stopped.diskSku);
  return {
    kind: 'node',
    name,
    verdict: 'stays',
    sentence: describeStoppedNode(instance, { ...stopped, cost }),
    requested: { cpu: 0, memory: 0 },
    removableAfterMs: optionsOf(group, policy).unneededForMs,
    ready: false,
    cordoned: false,
    threshold: optionsOf(group, policy).utilizationThreshold,
    taints: [],
    pods: [],
    pool: group.id,
    vmSize: group.vmSize,
    stoppedSince: new Date(instance.sinceMs).toISOString(),
  };
}

function adviseOn(name: string, decided: AnswerInput): NodeAnswer['advice'] {
  const advice = decided.adviseNode === undefined ? finishAtOnce(adviseNodeInSlices(decided, name)) : decided.adviseNode();
  return advice === undefined ? undefined : { ...advice, text: describeRemovalAdvice(advice) };
}

/** What frees a node that stays. undefined: it goes, or it belongs to no managed group. */
export function* adviseNodeInSlices(
  { input, scaleUp, scaleDown, mostTried }: AnswerInput,
  name: string,
): SlicedWork<RemovalAdvice | undefined> {
  if (scaleDown?.removals.some(({ node }) => node === name) === true) return undefined;
  const { observation, state, policy, names } = input;
  const full = yield* waitedGroupsInSlices(scaleUp, { observation, names });
  const adviser = new RemovalAdviser({ observation, state, policy, names, fullGroups: full }, { kept: scaleDown?.kept ?? [] });
  return yield* adviser.advise(name, mostTried);
}

type Decided = Pick<NodeAnswer, 'verdict' | 'sentence' | 'utilization' | 'reason' | 'blocker' | 'unneededSince' | 'nextCheck'>;

function decidedOn(explained: ExplainedNode | undefined): Decided {
  if (explained === undefined) return { verdict: 'unknown', sentence: 'Unknown: removals were not decided.' };
  const { verdict, utilization, reason, blocker, unneededSinceMs, recheckAtMs } = explained;
  const times = { unneededSince: isoOf(unneededSinceMs), nextCheck: isoOf(recheckAtMs) };
  return { verdict, sentence: sentenceOf(explained), ...defined({ utilization, reason, blocker, ...times }) };
}

function sentenceOf({ verdict, blocker, detail, reason, sentence }: ExplainedNode): string {
  if (verdict === 'goes') return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
  if (blocker?.reason === 'NotEnoughPdb') return `Not removed: PDB ${blocker.detail}.`;
  if (blocker !== undefined)
    return `Not removed: pod ${blocker.pod} blocks it, ${blocker.reason}${blocker.detail === '' ? '' : ` (${blocker.detail})`}.`;
  return `Not removed: ${detail ?? sentence.replace(/^(unremovable|not removed): /, '')}${detail === undefined || reason === undefined ? '' : ` (${reason})`}.`;
}

function shareOf(node: Node, pods: readonly { readonly shape: { readonly requests: Float64Array } }[], index: number): number {
  const offered = node.allocatable[index] ?? 0;
  const requested = pods.reduce((sum, { shape }) => sum + (shape.requests[index] ?? 0), 0);
  return offered === 0 ? 0 : Math.round((requested / offered) * 1000) / 1000;
}

/** Times before the epoch stand for an unknown history and are left out. */
function isoOf(ms: number | undefined): string | undefined {
  return ms === undefined || ms < 0 ? undefined : new Date(ms).toISOString();
}
