/** Which changes would remove one reason why a pod does not fit a new node of a group. */
import type { NodeGroupId } from '../../../domain/ids.ts';
import { zonePart } from '../../../domain/node-template.ts';
import type { PodShape } from '../../../domain/pod.ts';
import { MISSING_LABEL, type FitReason, type LabelGap } from '../../../domain/reasons.ts';
import { isAttachResource } from '../../../domain/resources.ts';
import { blockingTaintOf } from '../../../domain/taints.ts';
import type { ClaimBlocker } from '../../../domain/volumes.ts';
import { POD_GROUP_LABEL } from '../../../domain/workloads.ts';
import { speakable } from '../amounts.ts';
import { isNodeNameKey, isPoolNameKey, isSettable, isZoneKey } from '../changes/label-keys.ts';
import { type CandidateInput, combine, NEW_POOL_EFFORT, type Remedies, type Remedy } from './remedy.ts';
import { repellingWorkloads } from './repelling-pods.ts';

export function remediesForFit(reason: FitReason, input: CandidateInput): Remedies {
  const { id } = input.group;
  switch (reason.kind) {
    case 'insufficient-resource':
      return remediesForResource(reason, input);
    case 'untolerated-taint': {
      const taint = blockingTaintOf(reason.taint);
      return taint === undefined ? undefined : [[[{ kind: 'tolerate', taint }, 3]]];
    }
    case 'node-selector-mismatch':
      return remediesForLabels(reason, input);
    case 'topology-spread':
      return remediesForSpread(reason, input);
    case 'pod-affinity':
      // The rule of a group of pods is not the pod's own.
      if (reason.rule === 'affinity' && input.shape.labels[POD_GROUP_LABEL] !== undefined) return undefined;
      return reason.rule === 'repelled'
        ? remediesForRepulsion(reason.topologyKey, input)
        : [[[{ kind: 'drop-pod-affinity', rule: reason.rule, topologyKey: reason.topologyKey }, 7]]];
    case 'host-port-taken':
      return [[[{ kind: 'drop-host-port', port: reason.port, protocol: reason.protocol }, 6]]];
    case 'unschedulable':
      return [[[{ kind: 'uncordon-template', group: id }, 2]]];
    case 'volume':
      return repairs(reason, input.shape.volumes.blockers) ?? remediesForVolume(input);
    case 'device':
      return repairs(reason, input.shape.devices.blockers) ?? remediesForDevices(input.shape);
    case 'node-features':
      return reason.unknown === true ? [[[{ kind: 'declare-features', group: id, features: reason.features }, 2]]] : undefined;
    // What the owner of the workload asks for.
    case 'on-demand-share':
      return undefined;
    case 'unsupported':
      // It is unknown what the pod asks for.
      return undefined;
  }
}

/** More workloads than these would have to change together. */
const MOST_REPELLING = 2;

/** Running pods that keep the pod away: by a rule that the pod itself has, too, or by their own. */
function remediesForRepulsion(topologyKey: string, { shape, observation }: CandidateInput): Remedies {
  const workloads = repellingWorkloads(observation.cluster, { shape, topologyKey, near: undefined });
  if (workloads.length === 0 || workloads.length > MOST_REPELLING) return undefined;
  return [workloads.map((workload): Remedy => [{ kind: 'drop-repulsion', workload, topologyKey }, 7])];
}

/** A claim that no node can serve must be repaired first. undefined: it is no such claim. */
function repairs({ message, detail }: Extract<FitReason, { kind: 'volume' | 'device' }>, blockers: readonly ClaimBlocker[] = []): Remedies {
  const blocker = blockers.find((each) => each.message === message && each.detail === detail);
  return blocker === undefined ? undefined : [[[{ kind: 'repair-claims', ...blocker }, 2]]];
}

/** Of devices that are too few on one node, fewer may be enough. */
function remediesForDevices({ devices }: PodShape): Remedies {
  const counts = devices.claims.flatMap(({ requests }) =>
    requests.flatMap(({ asks }) => asks.flatMap(({ count }) => (count === 'all' ? [] : count))),
  );
  const from = Math.max(0, ...counts);
  const fewer = [...new Set([from - 1, Math.floor(from / 2), 1])].filter((to) => to >= 1 && to < from);
  return fewer.length === 0
    ? undefined
    : fewer.map((to): readonly Remedy[] => [[{ kind: 'lower-device-count', from, to }, 7 + (from - to) / 100]]);
}

const REDUCIBLE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** The larger the part of a request that would have to be cut, the less likely it is that the pod can do without. */
function remediesForResource(reason: Extract<FitReason, { kind: 'insufficient-resource' }>, { group, names }: CandidateInput): Remedies {
  const { resource, requested, free, unknown } = reason;
  const { id, template } = group;
  if (unknown === true) return [[[{ kind: 'declare-resource', group: id, resource, amount: requested }, 2]]];
  // The node's own pods need their part, too.
  const ownPods = Math.max(0, (template?.allocatable[names.indexOf(resource)] ?? 0) - free);
  const offers = { [resource]: isAttachResource(resource) ? requested : speakable(resource, requested + ownPods, 'up') };
  // Of several pools, the new one is like the one that lacks least.
  const lacking = 1 - Math.max(0, free) / requested;
  const larger: Remedy = [{ kind: 'add-pool', like: id, offers }, NEW_POOL_EFFORT + lacking / 4];
  const to = speakable(resource, free, 'down');
  if (!REDUCIBLE.has(resource) || to <= 0) return [[larger]];
  return [[[{ kind: 'lower-request', resource, from: requested, to }, 3 + 8 * (1 - to / requested)]], [larger]];
}

function remediesForLabels(
  { gaps = [], unknown }: Extract<FitReason, { kind: 'node-selector-mismatch' }>,
  { group }: CandidateInput,
): Remedies {
  if (gaps.length === 0) return undefined;
  const perGap = gaps.map((gap): Remedies => {
    if (unknown !== undefined) return [[[{ kind: 'declare-label', group: group.id, key: gap.key, value: gap.values[0] ?? 'true' }, 2]]];
    return remediesForGap(gap, group.id);
  });
  return combine(perGap);
}

function remediesForGap({ key, operator, values }: LabelGap, group: NodeGroupId): Remedies {
  const dropped: Remedy = [{ kind: 'drop-label-rule', key }, isPoolNameKey(key) || isNodeNameKey(key) ? 8 : 6];
  const [value] = values;
  if (isZoneKey(key) && operator === 'In' && value !== undefined)
    return [[[{ kind: 'add-pool', like: group, offers: {}, zone: value }, NEW_POOL_EFFORT]], [dropped]];
  const canBeSet = isSettable(key) && (operator === 'In' || operator === 'Exists');
  return canBeSet ? [[[{ kind: 'label-pool', group, key, value: value ?? 'true' }, 4]], [dropped]] : [[dropped]];
}

/** Skews that are tried, above the present one. */
const SKEW_STEPS = [1, 2, 4, 8];

function remediesForSpread(
  { topologyKey, detail }: Extract<FitReason, { kind: 'topology-spread' }>,
  { group, shape }: CandidateInput,
): Remedies {
  if (detail === MISSING_LABEL)
    return isSettable(topologyKey) ? [[[{ kind: 'label-pool', group: group.id, key: topologyKey, value: group.id }, 4]]] : undefined;
  const from = shape.topologySpread.find((rule) => rule.topologyKey === topologyKey)?.maxSkew ?? 1;
  return SKEW_STEPS.map((step) => [[{ kind: 'raise-max-skew', topologyKey, from, to: from + step }, 4 + step / 10]]);
}

/** A volume that is in one zone needs a pool there. */
function remediesForVolume({ group, shape }: CandidateInput): Remedies {
  const zones = new Set(
    shape.volumes.places.flatMap((place) =>
      (place.kind === 'zone-labels' ? [place.requirements] : place.terms.map(({ expressions }) => expressions))
        .flat()
        .flatMap(({ key, operator, values }) => (isZoneKey(key) && operator === 'In' ? values : [])),
    ),
  );
  if (zones.size === 0) return undefined;
  return [...zones].sort().map((zone) => [[{ kind: 'add-pool', like: group.id, offers: {}, zone: zoneNameOf(zone) }, NEW_POOL_EFFORT]]);
}

function zoneNameOf(zone: string): string {
  return zone.includes('-') ? zone : zonePart(zone);
}
