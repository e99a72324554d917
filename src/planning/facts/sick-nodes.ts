/**
 * Which nodes are sick by the rules of their groups, and whether so many are that none of the group is replaced: then the cause is hardly the nodes.
 * Must not know how one is replaced.
 * Idea: health.
 */
import type { NodeName } from '../../domain/ids.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Node, NodeCondition } from '../../domain/node.ts';
import type { Observation } from '../../domain/observation.ts';
import { conditionText, type SickNodeRules } from '../../domain/repack.ts';
import { compareText } from '../../lib/comparison.ts';
import { nodeListFacts } from './node-list-facts.ts';
import { membershipFacts } from './instance-facts.ts';

/** A node that shows a condition of its group's rules. */
export interface SickNode {
  readonly node: Node;
  readonly condition: NodeCondition;
  /** From when on it has lasted for as long as the rule says, milliseconds since the epoch. */
  readonly dueAtMs: number;
}

/** A group that replaces sick nodes and has some. */
export interface SickPool {
  readonly group: NodeGroup;
  readonly rules: SickNodeRules;
  /** Whose condition has lasted longest first. */
  readonly showing: readonly SickNode[];
  /** Its registered nodes. */
  readonly nodes: number;
  /** Why none is replaced, as a sentence without a full stop: too many are sick. undefined: they may be. */
  readonly stopped: string | undefined;
}

type Seen = Pick<Observation, 'cluster' | 'cloud'>;

const known = new WeakMap<Seen['cloud'], { readonly nodes: Seen['cluster']['nodes']; readonly pools: readonly SickPool[] }>();

/** In the order of the view. Empty unless a group has rules and a node shows such a condition. */
export function sickPools({ cluster: { nodes }, cloud }: Seen): readonly SickPool[] {
  const found = known.get(cloud);
  if (found?.nodes === nodes) return found.pools;
  const shown = nodeListFacts(nodes).withConditions;
  const pools = shown.length === 0 ? [] : cloud.groups.flatMap((group) => sickPoolOf(group, shown, cloud));
  known.set(cloud, { nodes, pools });
  return pools;
}

function sickPoolOf(group: NodeGroup, shown: readonly Node[], cloud: Seen['cloud']): readonly SickPool[] {
  const rules = group.options.sickNodes;
  if (rules === undefined) return [];
  const showing = shown
    .filter(({ name }) => cloud.groupOfNode.get(name) === group.id)
    .flatMap((node) => sicknessOf(node, rules) ?? [])
    .sort((left, right) => left.dueAtMs - right.dueAtMs || compareText(left.node.name, right.node.name));
  if (showing.length === 0) return [];
  const nodes = membershipFacts(cloud).nodesByGroup.get(group.id)?.length ?? 0;
  return [{ group, rules, showing, nodes, stopped: breakerOf(group, rules, { sick: showing.length, nodes }) }];
}

/** The condition that is due first. */
function sicknessOf(node: Node, rules: SickNodeRules): SickNode | undefined {
  let first: SickNode | undefined;
  for (const condition of node.conditions) {
    const rule = rules.conditions.find(({ type, status }) => type === condition.type && status === condition.status);
    const dueAtMs = rule === undefined ? Infinity : condition.sinceMs + rule.forMs;
    if (dueAtMs < (first?.dueAtMs ?? Infinity)) first = { node, condition, dueAtMs };
  }
  return first;
}

/** Nodes whose condition is younger than its rule count, too: a cause that all nodes share shows on all within minutes. */
function breakerOf(
  { id }: NodeGroup,
  { breakerPercent }: SickNodeRules,
  { sick, nodes }: { readonly sick: number; readonly nodes: number },
): string | undefined {
  const most = Math.ceil((breakerPercent * nodes) / 100);
  // guard: if too many nodes of a group are sick, none of them is replaced
  if (sick <= most) return undefined;
  return `${sick} of ${nodes} nodes of pool ${id} are sick, more than ${most} (${breakerPercent} %): none of them is replaced`;
}

/** What a node of a group with rules shows. undefined: it is well, or nothing is known of it. */
export function sickNodeOf(name: NodeName, seen: Seen): { readonly pool: SickPool; readonly sick: SickNode } | undefined {
  for (const pool of sickPools(seen)) {
    const sick = pool.showing.find(({ node }) => node.name === name);
    if (sick !== undefined) return { pool, sick };
  }
  return undefined;
}

/** `XIDErrors=True (XidPresent)`. */
export function describeCondition(condition: NodeCondition): string {
  return condition.reason === '' ? conditionText(condition) : `${conditionText(condition)} (${condition.reason})`;
}
