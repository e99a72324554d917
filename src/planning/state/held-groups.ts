/**
 * How long each group has been kept from changing by one and the same state: an operation of AKS or of ours that does not end, a
 * deletion without effect. A state of minutes is normal; what lasts is reported with its age. Decides nothing else.
 * Idea: block.
 */
import { describeBlock, isSameReason } from '../../domain/group-blocks.ts';
import type { NodeGroupId } from '../../domain/ids.ts';
import type { HeldGroup, HoldReason, LoopState } from '../../domain/loop-state.ts';
import type { NodeGroup } from '../../domain/node-group.ts';
import type { Observation } from '../../domain/observation.ts';
import { instanceListFacts } from '../facts/instance-facts.ts';

/** Operations of AKS take minutes. */
const LASTING_MS = 600_000;

type Hold = Omit<HeldGroup, 'sinceMs'>;

/** Groups that are held now, and since when. If the state or its reason changes, the time starts again. */
export function trackHeldGroups({ heldGroups }: Pick<LoopState, 'heldGroups'>, { cloud, nowMs }: Observation): LoopState['heldGroups'] {
  const next = new Map<NodeGroupId, HeldGroup>();
  for (const group of cloud.groups) {
    const known = heldGroups.get(group.id);
    const now = holdOf(group, known);
    if (now !== undefined)
      next.set(group.id, { ...now, sinceMs: known?.kind === now.kind && isSameReason(known.reason, now.reason) ? known.sinceMs : nowMs });
  }
  return next;
}

/** The groups whose hold has lasted for ten minutes, and its age in milliseconds. */
export function lastingHolds(
  { heldGroups }: Pick<LoopState, 'heldGroups'>,
  nowMs: number,
): ReadonlyMap<NodeGroupId, HeldGroup & { readonly ageMs: number }> {
  const aged = [...heldGroups].map(([id, hold]) => [id, { ...hold, ageMs: nowMs - hold.sinceMs }] as const);
  return new Map(aged.filter(([, { ageMs }]) => ageMs >= LASTING_MS));
}

/** What is held, for how long and why, in one sentence without a full stop. */
export function describeHold({ kind, reason, ageMs }: HeldGroup & { readonly ageMs: number }): string {
  return `${SENTENCES[kind]} for ${Math.floor(ageMs / 60_000)} min: ${describeReason(reason)}`;
}

const SENTENCES: Readonly<Record<HeldGroup['kind'], string>> = {
  frozen: 'frozen',
  'not-increased': 'not increased',
  unconfirmed: 'waiting for the result of its last change',
  deleting: 'waiting for a deletion to end',
  creating: 'waiting for an instance to be created',
};

/** The reason as people read it, without a full stop. */
export function describeReason(reason: HoldReason): string {
  switch (reason.code) {
    case 'size-unconfirmed':
      return `Azure has not ended the change to ${reason.to} nodes`;
    case 'instance-exists':
      return `instance ${reason.instanceId} still exists`;
    case 'instance-not-ready':
      return `instance ${reason.instanceId} is not ready`;
    default:
      return describeBlock(reason);
  }
}

function holdOf(group: NodeGroup, known: HeldGroup | undefined): Hold | undefined {
  const { blocks, target } = group;
  const { change, increase } = blocks;
  // guard: a pause that a person asked for is not reported as a hold
  if (change !== undefined && change.code !== 'paused') return { kind: 'frozen', reason: change };
  if (increase !== undefined && increase.code !== 'paused') return { kind: 'not-increased', reason: increase };
  if (target.known && !target.confirmed) return { kind: 'unconfirmed', reason: { code: 'size-unconfirmed', to: target.value } };
  return changeOf(group, 'deleting', known) ?? changeOf(group, 'creating', known);
}

/** One instance counts as long as its change lasts. Changes of others that begin and end beside it are normal. */
function changeOf(group: NodeGroup, kind: 'deleting' | 'creating', known: HeldGroup | undefined): Hold | undefined {
  const code = kind === 'deleting' ? 'instance-exists' : 'instance-not-ready';
  const reasons = instanceListFacts(group)[kind].map(({ instanceId }): HoldReason => ({ code, instanceId }));
  const reason = reasons.find((each) => known !== undefined && isSameReason(each, known.reason)) ?? reasons[0];
  return reason === undefined ? undefined : { kind, reason };
}
