/** What is said of nodes that are sick by the rules of their pool, or that AKS left aside at an upgrade: for answers, plans, events and counts. */
import type { NodeGroupId, NodeName } from '../../../domain/ids.ts';
import type { LoopState } from '../../../domain/loop-state.ts';
import type { Node } from '../../../domain/node.ts';
import type { NodeGroup } from '../../../domain/node-group.ts';
import type { Observation } from '../../../domain/observation.ts';
import { optionsOf, type Policy, type PriceSources } from '../../../domain/policy.ts';
import { defined } from '../../../lib/defined.ts';
import { priceOf } from '../../expanders/node-price.ts';
import { nodeListFacts } from '../../facts/node-list-facts.ts';
import { hasReimageTaint } from '../../state/deletions.ts';
import { reasonAgainstReimage } from '../../scale-down/repacked-nodes.ts';
import { cooldownEndMs } from '../../scale-down/cooldown.ts';
import { describeCondition, sickNodeOf, sickPools, type SickNode, type SickPool } from '../../facts/sick-nodes.ts';
import { formatPerHour } from '../amounts.ts';
import { STAGES } from '../repack-words.ts';
import { formatSpan } from '../spans.ts';

const MOST_NAMED = 3;

interface HealthInput {
  readonly observation: Observation;
  readonly state: Pick<LoopState, 'repacks' | 'lastScaleUpMs' | 'lastScaleDownMs' | 'lastScaleDownFailureMs'>;
  readonly policy: Policy;
  readonly currency?: string | undefined;
}

/** Nodes of one group that AKS left aside. */
export interface QuarantinedNodes {
  readonly group: NodeGroup;
  /** In the order of the view. */
  readonly nodes: readonly NodeName[];
  /** What they cost together, in the currency of the prices. undefined: the size has no price. */
  readonly perHour: number | undefined;
}

/** What is wrong with nodes of a pool. */
export interface PoolHealth {
  readonly group: NodeGroupId;
  /** A sentence without a full stop. */
  readonly sentence: string;
  readonly quarantined?: { readonly nodes: readonly NodeName[]; readonly perHour?: number };
  readonly sick?: readonly { readonly node: NodeName; readonly condition: string; readonly sentence: string }[];
}

/** Of managed groups, in their order; without those that have none. */
export function quarantinedNodes({ cluster, cloud }: Observation, prices: PriceSources): readonly QuarantinedNodes[] {
  const all = nodeListFacts(cluster.nodes).quarantined;
  if (all.length === 0) return [];
  return cloud.groups.flatMap((group) => {
    const nodes = all.filter(({ name }) => cloud.groupOfNode.get(name) === group.id).map(({ name }) => name);
    const price = priceOf(prices, group);
    return nodes.length === 0 ? [] : [{ group, nodes, perHour: price === undefined ? undefined : price * nodes.length }];
  });
}

/** undefined: nothing is known to be wrong with the node, beside its readiness. */
export function describeNodeHealth(name: NodeName, input: HealthInput): string | undefined {
  const { observation } = input;
  const aside = quarantinedNodes(observation, input.policy.scaleUp).find(({ nodes }) => nodes.includes(name));
  if (aside !== undefined) {
    const each = aside.perHour === undefined ? '' : ` It costs ${formatPerHour(aside.perHour / aside.nodes.length, input.currency)}.`;
    return `AKS quarantined it: its drain failed at an upgrade. It takes no pods and is not counted as capacity.${each}`;
  }
  const node = observation.cluster.nodes.get(name);
  if (node !== undefined && hasReimageTaint(node)) return `It ${describeReimage(node, input)}.`;
  const found = sickNodeOf(name, observation);
  return found === undefined ? undefined : `It ${describeSick(found.sick, found.pool, input)}.`;
}

/** `is being reimaged for 3 min; if it is not back well in 12 min, it is replaced`. */
function describeReimage(node: Node, { observation, policy }: HealthInput): string {
  const { cloud, nowMs } = observation;
  const group = cloud.groups.find(({ id }) => id === cloud.groupOfNode.get(node.name));
  const sinceMs = node.reimagedAtMs ?? nowMs;
  const leftMs = Math.max(0, sinceMs + optionsOf(group, policy).maxStartupMs - nowMs);
  return `is being reimaged for ${formatSpan(nowMs - sinceMs)}; if it is not back well in ${formatSpan(leftMs)}, it is replaced`;
}

/** `is sick: XIDErrors=True for 12 min; its replacement waits until its new nodes are ready`. */
function describeSick({ node, condition, dueAtMs }: SickNode, { group, rules, stopped }: SickPool, input: HealthInput): string {
  const { observation, state, policy } = input;
  const { nowMs } = observation;
  if (hasReimageTaint(node)) return describeReimage(node, input);
  const remedy = describeRemedy(reasonAgainstReimage({ node, group }, nowMs));
  const what = `${describeCondition(condition)} for ${formatSpan(Math.max(0, nowMs - condition.sinceMs))}`;
  const { running, left } = state.repacks;
  const own = running.find(({ set }) => set.remove.some((each) => each.node === node.name && each.condition !== undefined));
  if (own !== undefined) {
    const cooldownMs = own.stage === 'checked' ? cooldownEndMs(state, policy.scaleDown, nowMs) : undefined;
    const after = cooldownMs === undefined ? '' : `, after the cooldown of removals, ${formatSpan(cooldownMs - nowMs)} more`;
    return `is sick: ${what}; its replacement ${STAGES[own.stage]}${after}${remedy}`;
  }
  if (dueAtMs > nowMs) return `shows ${what}; it is sick by its pool's rules in ${formatSpan(dueAtMs - nowMs)}`;
  const why = stopped ?? left.get(node.name);
  return `is sick: ${what}; ${why === undefined ? `it is replaced by its pool's rules (maximum: ${rules.maximum})` : `not replaced now: ${why}`}${remedy}`;
}

/** Nothing is said where the rules do not ask for a reimage. */
function describeRemedy(against: string | undefined): string {
  if (against === '') return '';
  return against === undefined ? '; it is reimaged then, not deleted' : `; it is not reimaged: ${against}`;
}

/** Of managed groups, in their order; without those whose nodes are well. */
export function poolHealth(input: HealthInput): readonly PoolHealth[] {
  const { observation } = input;
  const aside = new Map(quarantinedNodes(observation, input.policy.scaleUp).map((each) => [each.group.id, each]));
  const sick = new Map(sickPools(observation).map((pool) => [pool.group.id, pool]));
  if (aside.size + sick.size === 0) return [];
  return observation.cloud.groups.flatMap(({ id }) => {
    const [left, pool] = [aside.get(id), sick.get(id)];
    const texts = [
      ...(left === undefined ? [] : [quarantineText(left, input.currency)]),
      ...(pool === undefined ? [] : [sickText(pool, input)]),
    ];
    if (texts.length === 0) return [];
    return [
      {
        group: id,
        sentence: texts.join('; '),
        ...defined({
          quarantined: left === undefined ? undefined : { nodes: left.nodes, ...defined({ perHour: left.perHour }) },
          sick: pool?.showing.map((one) => ({
            node: one.node.name,
            condition: describeCondition(one.condition),
            sentence: `${one.node.name} ${describeSick(one, pool, input)}`,
          })),
        }),
      },
    ];
  });
}

function quarantineText({ nodes, perHour }: QuarantinedNodes, currency: string | undefined): string {
  const cost = perHour === undefined ? '' : `, ${formatPerHour(perHour, currency)}`;
  return `${counted(nodes.length)} quarantined by AKS after a failed drain (${named(nodes)}): no capacity${cost}`;
}

function sickText(pool: SickPool, input: HealthInput): string {
  if (pool.stopped !== undefined) return pool.stopped;
  const shown = pool.showing.slice(0, MOST_NAMED).map((one) => `${one.node.name} ${describeSick(one, pool, input)}`);
  const more = pool.showing.length > MOST_NAMED ? [`and ${pool.showing.length - MOST_NAMED} others`] : [];
  return [...shown, ...more].join('; ');
}

function counted(nodes: number): string {
  return `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`;
}

function named(nodes: readonly NodeName[]): string {
  const more = nodes.length > MOST_NAMED ? `, and ${nodes.length - MOST_NAMED} others` : '';
  return `${nodes.slice(0, MOST_NAMED).join(', ')}${more}`;
}
