/** A state with every field that a state can have, nested ones too: TypeScript demands a new field here. */
import { nodeGroupId } from '../../src/domain/ids.ts';
import type { BrokenPromise, LoopState } from '../../src/domain/loop-state.ts';
import { keyOf, START_MS } from './builders.ts';

/** The value with no field left out, at any depth. */
export type Full<Value> = Value extends string | number | boolean | undefined
  ? Value
  : Value extends ReadonlyMap<infer Key, infer Entry>
    ? ReadonlyMap<Key, Full<Entry>>
    : Value extends readonly (infer Entry)[]
      ? readonly Full<Entry>[]
      : { readonly [Name in keyof Value]-?: Full<NonNullable<Value[Name]>> };

const GROUP = nodeGroupId('g');
const PAST_MS = START_MS - 60_000;
const END_MS = START_MS + 60_000;

const PROMISE: Full<BrokenPromise> = {
  difference: {
    node: 'n',
    resources: [{ resource: 'cpu', promised: 2, offered: 1, pod: 'a/b', uses: 1 }],
    labels: [{ key: 'k', promised: 'v', found: 'w' }],
    taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }],
    ports: [{ port: 80, protocol: 'SCTP', hostIp: '0.0.0.0' }],
    features: ['F'],
    devices: [{ driver: 'd', promised: 2, offered: 1 }],
    drivers: ['e'],
    zones: { missing: ['r-1'], found: 'r-2' },
  },
  nodes: ['n'],
  template: 't',
  model: 'm',
  classes: ['c'],
  sinceMs: PAST_MS,
  untilMs: END_MS,
  reportedAtMs: PAST_MS,
};

/** Every time in it is within a minute of the start of test time, and every other number is below a million. */
export const FULL_STATE: Full<LoopState> = {
  evictions: new Map([['u', { vmSize: 's', zone: '1', sinceMs: PAST_MS }]]),
  stopped: { searched: ['u'], explained: ['v'], estimateFrom: 3 },
  unneededSince: new Map([['n', PAST_MS]]),
  unremovable: new Map([
    [
      'n',
      {
        reason: 'BlockedByPod' as const,
        untilMs: END_MS,
        blocker: { pod: 'a/b', reason: 'NotEnoughPdb' as const, detail: 'd', untilMs: END_MS },
        detail: 'x',
      },
    ],
  ]),
  backoffs: new Map([
    [
      GROUP,
      {
        untilMs: END_MS,
        durationMs: 7,
        lastFailureMs: PAST_MS,
        cause: 'x',
        kind: 'quota' as const,
        message: 'no',
        correlationId: 'id',
        refused: true as const,
      },
    ],
  ]),
  stockouts: [
    {
      scope: { vmSize: 's', family: { name: 'f', vcpus: 4 }, zone: '1', priority: 'Spot', quota: 'q' },
      code: 'x',
      sinceMs: PAST_MS,
      untilMs: END_MS,
    },
  ],
  increases: new Map([
    [
      GROUP,
      [
        {
          nodes: 3,
          acceptedAtMs: PAST_MS,
          joinedAtMs: PAST_MS,
          readyAtMs: PAST_MS,
          incomplete: true as const,
          pods: [{ class: 'c', count: 1, uids: ['u'], firstAskedAtMs: PAST_MS + 1 }],
          planned: ['p'],
          started: 2,
          by: 'us',
          coming: { nodes: 3, expectedByMs: END_MS },
          isOver: false,
          podsGoneSinceMs: PAST_MS,
          followed: {
            id: '1/g',
            to: 4,
            answeredAtMs: PAST_MS,
            instances: new Map([[keyOf('n'), { createdAtMs: PAST_MS, registeredAtMs: PAST_MS, readyAtMs: PAST_MS }]]),
            failed: false,
            request: { uid: 'r', failure: 'x' },
          },
        },
      ],
    ],
  ]),
  knowsAccepted: true,
  readyTimes: new Map([[GROUP, [90_000]]]),
  startTimes: new Map([[GROUP, [40_000]]]),
  broken: new Map([[GROUP, PROMISE]]),
  brokenZones: new Map([[GROUP, PROMISE]]),
  deleting: new Map([['n', { group: GROUP, instance: keyOf('n'), sinceMs: PAST_MS, sentAtMs: PAST_MS }]]),
  lastScaleUpMs: PAST_MS,
  lastScaleDownMs: PAST_MS,
  lastScaleDownFailureMs: PAST_MS,
  groupTimes: new Map([[GROUP, { scaleUpMs: PAST_MS, scaleDownMs: PAST_MS, scaleDownFailureMs: PAST_MS, nodeCameMs: PAST_MS }]]),
  requests: {
    served: true,
    retries: new Map([['r', { durationMs: 60_000, untilMs: END_MS }]]),
  },
  removals: [PAST_MS],
  emptyRemovals: [PAST_MS],
  budgetedRemovals: [{ group: GROUP, cause: 'empty', startedAtMs: PAST_MS }],
  unregisteredSince: new Map([[keyOf('n'), PAST_MS]]),
  heldGroups: new Map([
    [GROUP, { kind: 'frozen' as const, reason: { code: 'pool-state', state: 'Upgrading' } as const, sinceMs: PAST_MS }],
  ]),
  deletionTaints: new Map([['n', { sinceMs: PAST_MS, text: 'x' }]]),
  repacks: {
    running: [
      {
        set: {
          remove: [{ node: 'n', group: GROUP, condition: 'XIDErrors=True' }],
          add: { group: GROUP, nodes: 1 },
          saved: { nodes: 1, cpuMillis: 4_000, perHour: 0.2 },
          pods: 3,
          disruption: 3.5,
          score: 7,
        },
        stage: 'draining',
        sinceMs: PAST_MS,
        stageSinceMs: PAST_MS,
        before: ['m'],
      },
    ],
    closures: new Map([['n', { untilMs: END_MS, durationMs: 7 }]]),
    begunMs: [PAST_MS],
    moved: [{ owner: 'o', pods: 2, atMs: PAST_MS }],
    search: { atMs: PAST_MS, why: 'w', saved: { nodes: 1, cpuMillis: 4_000, perHour: 0.2 } },
    replaced: new Map([[GROUP, { sinceMs: PAST_MS, image: 'i', again: 'n', closure: { untilMs: END_MS, durationMs: 7 } }]]),
    left: new Map([['n', 'w']]),
    rooms: new Map([['n', { closure: { untilMs: END_MS, durationMs: 7 }, added: GROUP, failed: { why: 'f', untilMs: END_MS }, why: 'w' }]]),
  },
  targets: new Map([[GROUP, 5]]),
};

/** Every number of a value that is a time, wherever it stands. */
export function timesIn(value: unknown): readonly number[] {
  if (value instanceof Map) return [...value.values()].flatMap(timesIn);
  if (Array.isArray(value)) return value.flatMap(timesIn);
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(timesIn);
  return typeof value === 'number' && value > 1_000_000 ? [value] : [];
}
