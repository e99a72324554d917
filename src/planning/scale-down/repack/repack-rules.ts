/**
 * Why a group is not repacked now: one ordered list of rules, the first that applies is the reason. A further reason, such as a schedule, is one
 * more rule here.
 */
import { describeBlock } from '../../../domain/group-blocks.ts';
import { isWhole, type NodeGroup } from '../../../domain/node-group.ts';
import { optionsOf, type Policy } from '../../../domain/policy.ts';
import { outageOfPool } from '../../scale-up/groups/zone-outages.ts';
import { groupCooldownEndMs } from '../cooldown.ts';
import type { ScaleDownContext } from '../plan-context.ts';

/** `code`: a closed set, for programs. `detail`: a part of a sentence. */
export interface RepackRefusal {
  readonly code: 'off' | 'atomic' | 'blocked' | 'target-unconfirmed' | 'cooling-down' | 'zone-down';
  readonly detail: string;
}

type Rule = (group: NodeGroup, context: ScaleDownContext) => RepackRefusal | undefined;

const ON: Rule = (group, { policy }) =>
  // guard: a pool is repacked only where that is turned on
  optionsOf(group, policy).repack ? undefined : { code: 'off', detail: 'repacking is off for it (repack: true turns it on)' };

const REPLACES: Rule = ({ options }) =>
  // guard: sick nodes are replaced only where that is turned on
  options.sickNodes === undefined ? { code: 'off', detail: 'sick nodes are not replaced in it (sickNodes turns it on)' } : undefined;

const RULES: readonly Rule[] = [
  (group) => (isWhole(group) ? { code: 'atomic', detail: 'its nodes come and go together' } : undefined),
  ({ blocks }) => {
    const block = blocks.change ?? blocks.removal;
    return block === undefined ? undefined : { code: 'blocked', detail: describeBlock(block) };
  },
  ({ target }) =>
    target.known && target.confirmed
      ? undefined
      : { code: 'target-unconfirmed', detail: 'its target size is not confirmed since its last change' },
  (group, context) => {
    const untilMs = groupCooldownEndMs(group, context);
    return untilMs === undefined ? undefined : { code: 'cooling-down', detail: `it cools down until ${new Date(untilMs).toISOString()}` };
  },
  (group, context) => {
    // guard: nothing is repacked in a pool while one of its zones is down
    const cause = outageOfPool(group, context);
    return cause === undefined ? undefined : { code: 'zone-down', detail: `${cause}, and its pods may need the nodes that work` };
  },
];

/** undefined: the group may be repacked. */
export function reasonAgainstRepack(group: NodeGroup, context: ScaleDownContext): RepackRefusal | undefined {
  return firstReason([ON, ...RULES], group, context);
}

/** The same for its sick nodes. */
export function reasonAgainstReplacement(group: NodeGroup, context: ScaleDownContext): RepackRefusal | undefined {
  return firstReason([REPLACES, ...RULES], group, context);
}

function firstReason(rules: readonly Rule[], group: NodeGroup, context: ScaleDownContext): RepackRefusal | undefined {
  for (const rule of rules) {
    const reason = rule(group, context);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

/** Whether any group may ever be repacked: without one, no loop spends time on it. */
export function repacksAny(groups: Iterable<NodeGroup>, policy: Policy): boolean {
  for (const group of groups) if (optionsOf(group, policy).repack) return true;
  return false;
}

/** The same for sick nodes. */
export function replacesAny(groups: Iterable<NodeGroup>): boolean {
  for (const { options } of groups) if (options.sickNodes !== undefined) return true;
  return false;
}
