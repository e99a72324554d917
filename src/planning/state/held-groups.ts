/**
 * How long each group has been kept from changing by one and the same state: an operation of AKS or of ours that does not end, a
 * deletion without effect. A state of minutes is normal; what lasts is reported with its age. Decides nothing else.
 * Idea: held group.
 */
import type { NodeGroupId } from '../../domain/ids.ts';
import type { HeldGroup, LoopState } from '../../domain/loop-state.ts';
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
    if (now !== undefined) next.set(group.id, { ...now, sinceMs: known !== undefined && isSame(known, now) ? known.sinceMs : nowMs });
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
  return `${SENTENCES[kind]} for ${Math.floor(ageMs / 60_000)} min: ${reason}`;
}

const SENTENCES: Readonly<Record<HeldGroup['kind'], string>> = {
  frozen: 'frozen',
  'not-increased': 'not increased',
  unconfirmed: 'waiting for the result of its last change',
  deleting: 'waiting for a deletion to end',
  creating: 'waiting for an instance to be created',
};

function holdOf(group: NodeGroup, known: HeldGroup | undefined): Hold | undefined {
  const { frozen, growthHeld, target } = group;
  if (frozen !== undefined) return { kind: 'frozen', reason: frozen };
  if (growthHeld !== undefined) return { kind: 'not-increased', reason: growthHeld };
  if (target.known && !target.confirmed) return { kind: 'unconfirmed', reason: `Azure has not ended the change to ${target.value} nodes` };
  return changeOf(group, 'deleting', known) ?? changeOf(group, 'creating', known);
}

/** One instance counts as long as its change lasts. Changes of others that begin and end beside it are normal. */
function changeOf(group: NodeGroup, kind: 'deleting' | 'creating', known: HeldGroup | undefined): Hold | undefined {
  const changing = instanceListFacts(group)[kind];
  const reasons = changing.map(({ instanceId }) =>
    kind === 'deleting' ? `instance ${instanceId} still exists` : `instance ${instanceId} is not ready`,
  );
  const reason = reasons.find((text) => text === known?.reason) ?? reasons[0];
  return reason === undefined ? undefined : { kind, reason };
}

/** Numbers in a reason may be times that pass. The size of a change and the id of an instance are not. */
function isSame(before: Hold, now: Hold): boolean {
  const comparable = ({ kind, reason }: Hold): string =>
    kind === 'frozen' || kind === 'not-increased' ? reason.replaceAll(/\d+/g, '#') : reason;
  return before.kind === now.kind && comparable(before) === comparable(now);
}
