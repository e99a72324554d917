import { NO_VOLUME_RULES } from '../../../src/domain/volumes.ts';
import { describe, expect, it } from 'vitest';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { AcceptedIncrease, BrokenPromise, LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Pod } from '../../../src/domain/pod.ts';
import { finishAtOnce } from '../../../src/lib/slices.ts';
import { checkPromises } from '../../../src/planning/promises/check-promises.ts';
import { withCorrectedTemplates } from '../../../src/planning/promises/corrected-templates.ts';
import { planScaleUp } from '../../../src/planning/scale-up/plan.ts';
import { rememberAccepted } from '../../../src/planning/state/accepted-increases.ts';
import { aCluster, aGroup, anInstance, anObservation, aPod, aTemplate, resourceNames, START_MS } from '../../support/builders.ts';
import { aPolicy } from '../../support/policy.ts';
import { aState } from '../../support/state.ts';
import { FIRST_PLAN } from '../../../src/planning/scale-up/plan-input.ts';
import { toStored } from '../../../src/planning/state/increases/stored-increases.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HALF_HOUR = 30 * MINUTE;
const G = nodeGroupId('g');
const ZONES = ['r-1', 'r-2', 'r-3'];
const POLICY = aPolicy({ scaleUp: { enforceMinSize: false } });
const inZones = (...values: readonly string[]) => ({
  nodeAffinity: [{ expressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In' as const, values }], fields: [] }],
});
/** A zonal disk of the Azure disk driver. */
const inZone = { key: 'topology.disk.csi.azure.com/zone', operator: 'In' as const, values: ['r-1'] };
const disk = { ...NO_VOLUME_RULES, places: [{ kind: 'reachable' as const, terms: [{ expressions: [inZone], fields: [] }] }] };
const pinned = aPod({ name: 'pinned', shape: { cpu: '3', ...inZones('r-1') } });

interface World {
  /** Seconds after the first request, and the zones of the instances that Azure lists since then. */
  readonly arrivals: readonly (readonly [number, string])[];
  readonly at?: number;
  readonly pods?: readonly Pod[];
  readonly held?: BrokenPromise;
  readonly group?: Partial<NodeGroup>;
  readonly requested?: number;
  /** When nodes were last requested for the pods, seconds after the first request. */
  readonly again?: number;
}

/** The group had one node in zone 1 before. */
function check({ arrivals, at = 120, pods = [pinned], held, group = {}, requested = arrivals.length, again }: World) {
  const nowMs = START_MS + at * SECOND;
  const list = [[-3_600, 'r-1'] as const, ...arrivals].map(([seconds, zone], index) =>
    anInstance({ node: `g-${index}`, state: 'creating', zone, firstSeenMs: START_MS + seconds * SECOND }),
  );
  const own = aGroup({ id: 'g', target: 1 + requested, maxSize: 20, template: aTemplate({ zones: ZONES }), instances: list, ...group });
  const observation = { ...anObservation([own], aCluster({ pods })), nowMs };
  const state: LoopState = aState({
    accepted: toStored({ increases: acceptedFor(pods, again) }).accepted,
    awaited: new Map([[G, { group: G, nodes: requested, requestedAtMs: nowMs - MINUTE, expectedByMs: nowMs + 9 * MINUTE }]]),
    ...(held === undefined ? {} : { brokenZones: new Map([[G, held]]) }),
  });
  const next = finishAtOnce(checkPromises({ state, before: aState(), observation, policy: POLICY, names: resourceNames }));
  return { next, observation, found: next.brokenZones.get(G) };
}

function acceptedFor(pods: readonly Pod[], again: number | undefined): ReadonlyMap<typeof G, readonly AcceptedIncrease[]> {
  const increase = { group: G, nodes: 1, started: 0, pods, expectedByMs: START_MS, followed: undefined };
  const first = rememberAccepted(new Map(), increase, START_MS);
  return again === undefined ? first : rememberAccepted(first, increase, START_MS + again * SECOND);
}

const missedZones = (world: World): readonly string[] | undefined => check(world).found?.difference.zones?.missing;
const THREE = [
  [20, 'r-2'],
  [50, 'r-3'],
  [80, 'r-2'],
] as const;

describe('a zone is missed', () => {
  it.each<{ name: string; world: World; missing?: readonly string[] }>([
    { name: 'after as many nodes in others as the group has zones', world: { arrivals: THREE }, missing: ['r-1'] },
    { name: 'also if they were requested again for the same pods meanwhile', world: { arrivals: THREE, again: 60 }, missing: ['r-1'] },
    {
      name: 'also for pods whose disk is there (user-voice 19)',
      world: { arrivals: THREE, pods: [aPod({ shape: { cpu: '3', volumes: disk } })] },
      missing: ['r-1'],
    },
    { name: 'not before each zone had its turn', world: { arrivals: THREE.slice(0, 2) } },
    { name: 'not while the zone of a requested node is unknown', world: { arrivals: THREE, requested: 4 } },
    { name: 'not if one of the nodes came there', world: { arrivals: [...THREE, [85, 'r-1']] } },
    {
      name: 'not by nodes of the same request as one that came there',
      world: {
        arrivals: [
          [20, 'r-1'],
          [25, 'r-2'],
          [25, 'r-3'],
          [50, 'r-2'],
          [75, 'r-3'],
        ],
      },
    },
    {
      name: 'by as many nodes of later requests',
      world: {
        arrivals: [
          [20, 'r-1'],
          [85, 'r-2'],
          [100, 'r-3'],
          [110, 'r-2'],
        ],
      },
      missing: ['r-1'],
    },
    { name: 'not for pods that no longer wait', world: { arrivals: THREE, pods: [] } },
    { name: 'not for pods that may run in each zone', world: { arrivals: THREE, pods: [aPod({ cpu: '3' })] } },
    {
      name: 'not by nodes that came before the request',
      world: { arrivals: THREE.map(([seconds, zone]) => [seconds - 90, zone] as const) },
    },
    {
      name: 'together with others that would do',
      world: {
        arrivals: THREE.map(([seconds]) => [seconds, 'r-3'] as const),
        pods: [aPod({ shape: { cpu: '3', ...inZones('r-1', 'r-2') } })],
      },
      missing: ['r-1', 'r-2'],
    },
  ])('$name', ({ world, missing }) => expect(missedZones(world)).toEqual(missing));
});

describe('a missed zone', () => {
  const { found: held } = check({ arrivals: THREE });
  const later = (change: Partial<World> = {}): World => ({ arrivals: THREE, ...(held === undefined ? {} : { held }), ...change });
  const plan = (world: World) => {
    const { next, observation } = check(world);
    const corrected = withCorrectedTemplates(observation, next, resourceNames);
    return planScaleUp({
      ...FIRST_PLAN,
      observation: corrected,
      state: { ...next, increases: new Map() },
      policy: POLICY,
      names: resourceNames,
    });
  };
  const grows = (world: World): readonly string[] => plan(world).increases.map(({ from, to }) => `${from}->${to}`);

  it('is no part of the template for half an hour, so pods of this zone get no node and others do', () => {
    expect(grows(later())).toEqual([]);
    expect(grows(later({ at: 120 + HALF_HOUR / SECOND - 60 }))).toEqual([]);
    expect(grows(later({ pods: [aPod({ shape: { cpu: '3', ...inZones('r-1') } })] }))).toEqual([]);
    const others = Array.from({ length: 5 }, () => aPod({ cpu: '3' }));
    expect(plan(later({ pods: [pinned, ...others] })).increases).toHaveLength(1);
  });

  it('is tried with one node afterwards, and missed again if that comes in another zone', () => {
    const at = 120 + HALF_HOUR / SECOND + 60;
    const many = [pinned, ...Array.from({ length: 4 }, (_, index) => ({ ...pinned, uid: `p-${index}`, name: `p-${index}` }))];
    expect(grows(later({ at, pods: many }))).toEqual(['4->5']);
    expect(check(later({ at: at + 30, again: at, arrivals: [...THREE, [at + 20, 'r-3']] })).found?.sinceMs).toBe(
      START_MS + (at + 30) * SECOND,
    );
  });

  it.each<{ name: string; change: Partial<World> }>([
    { name: 'a node came there', change: { at: 300, arrivals: [...THREE, [200, 'r-1']] } },
    { name: 'the zones of the pool have changed', change: { group: { template: aTemplate({ zones: [...ZONES, 'r-4'] }) }, arrivals: [] } },
    { name: 'the pool has another size', change: { group: { vmSize: 'Standard_D8s_v5' }, arrivals: [] } },
    { name: 'an hour has passed', change: { at: 120 + (2 * HALF_HOUR) / SECOND, arrivals: [] } },
  ])('is forgotten if $name', ({ change }) => expect(missedZones(later(change))).toBeUndefined());
});
