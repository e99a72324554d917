/** What people see of a pause: events, metrics, the status, the page's row, and `explain`. */
import { describe, expect, it } from 'vitest';
import { poolDocuments } from '../../../src/api/documents/pools.ts';
import { NO_BLOCKS, type GroupBlocks } from '../../../src/domain/group-blocks.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import { NO_PAUSES, type Pause, type Pauses } from '../../../src/domain/ports/pauses.ts';
import { pauseEvents } from '../../../src/observers/events/pauses.ts';
import { publishObservation } from '../../../src/observers/metrics/loop-metrics.ts';
import { describeStatus } from '../../../src/observers/status/status-document.ts';
import { answerPool } from '../../../src/planning/explain/answers/pool-answer.ts';
import { poolParts } from '../../../src/tools/explain/pool-text.ts';
import { coloursOf } from '../../../src/cli/text/colours.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { documentInput } from '../../api/support.ts';
import { valueOf } from '../../loop/support.ts';
import { aCluster, aGroup, aNode, anObservation, START_MS } from '../../support/builders.ts';
import { aLoopReport } from '../../support/loop-report.ts';
import { aPolicy } from '../../support/policy.ts';
import { silentLog } from '../../support/silent-log.ts';
import { aState } from '../../support/state.ts';

const NODES = aCluster({ nodes: [aNode({ name: 'n' })] });
const HOUR = 3_600_000;
const UNTIL = new Date(START_MS + HOUR).toISOString().replace('.000Z', 'Z');
const pause = (more: Partial<Pause> = {}): Pause => ({
  pool: 'gpu',
  direction: 'both',
  untilMs: START_MS + HOUR,
  by: 'ann',
  reason: 'upgrade',
  problem: undefined,
  ...more,
});

describe('events about pauses', () => {
  function follower() {
    const seen: string[] = [];
    let current = NO_PAUSES;
    const events = {
      record: ({ type, reason, message }: { type: string; reason: string; message: string }) =>
        void seen.push(`${type} ${reason} ${message}`),
    };
    const listener = pauseEvents({
      events,
      log: silentLog(),
      metrics: createMetrics().config,
      namespace: 'kube-system',
      pauses: { current: () => current },
    });
    return (pauses: Partial<Pauses>, { nowMs = START_MS, without = [] as readonly string[] } = {}): readonly string[] => {
      current = { ...NO_PAUSES, ...pauses };
      const observation = anObservation([], aCluster(), { nowMs });
      listener(aLoopReport({ observation: { ...observation, cloud: { ...observation.cloud, pausesWithoutGroup: without } } }));
      return seen.splice(0);
    };
  }

  it('come once when one begins, when it changes, and when it ends by its time or by its entry', () => {
    const see = follower();
    expect(see({ pauses: [pause()] })).toEqual([`Normal NodeGroupPaused Changes of pool gpu are paused until ${UNTIL} by ann: upgrade`]);
    expect(see({ pauses: [pause()] })).toEqual([]);
    expect(see({ pauses: [pause({ direction: 'scale-up', by: undefined })] })).toEqual([
      `Normal NodeGroupPaused Changes of pool gpu are paused (increases) until ${UNTIL}: upgrade`,
    ]);
    expect(see({ pauses: [pause()] }, { nowMs: START_MS + HOUR })).toEqual(['Normal NodeGroupResumed The pause of pool gpu has ended']);
    expect(see({ pauses: [pause({ pool: undefined, direction: 'scale-down' })] })[0]).toContain('every pool are paused (removals) until');
    expect(see({})).toEqual(['Normal NodeGroupResumed The pause of every pool has ended']);
  });

  it('do not say that a pause has ended while its pool is not known, or its entry cannot be read', () => {
    const see = follower();
    see({ pauses: [pause()] });
    expect(see({ pauses: [pause()] }, { without: ['gpu'] })).toEqual([expect.stringContaining('PauseWithoutGroup')]);
    expect(see({ pauses: [pause()] })).toEqual([expect.stringContaining('NodeGroupPaused')]);
    expect(see({ unreadable: [{ pool: 'gpu', problem: 'x' }] })).toEqual([expect.stringContaining('PauseInvalid')]);
  });

  it('warn of entries that cannot be read, that are read in part, and that name no group', () => {
    const see = follower();
    const odd = { pauses: [pause({ problem: 'x' })], unreadable: [{ pool: undefined, problem: 'it has no "until="' }] };
    const expected = [
      'Warning PauseInvalid Pause "gpu": x; until it is corrected, both directions are paused',
      'Warning PauseInvalid Pause "_cluster": it has no "until="; until it is corrected, no node is removed, and increases go on',
      'Warning PauseWithoutGroup Pause "gpu" names no node group and has no effect',
    ];
    expect(see(odd, { without: ['gpu'] })).toEqual(expected);
    expect(see(odd, { without: ['gpu'] })).toEqual([]);
  });
});

const block = { code: 'paused', direction: 'both', untilMs: START_MS + HOUR, by: 'ann', reason: 'upgrade' } as const;
const unreadable = { code: 'pause-unreadable', entry: 'a', problem: 'it has no "until="' } as const;
const ROWS: readonly (readonly [string, Partial<GroupBlocks>, { readonly up: number; readonly down: number }, string])[] = [
  ['both directions', { change: block }, { up: 1, down: 1 }, `paused until ${UNTIL} by ann: upgrade`],
  [
    'increases',
    { increase: { ...block, direction: 'scale-up' } },
    { up: 1, down: 0 },
    `increases are paused until ${UNTIL} by ann: upgrade`,
  ],
  [
    'removals',
    { removal: { ...block, direction: 'scale-down' } },
    { up: 0, down: 1 },
    `removals are paused until ${UNTIL} by ann: upgrade`,
  ],
  [
    'removals by an entry without an end',
    { removal: unreadable },
    { up: 0, down: 1 },
    'removals wait, since the pause "a" cannot be read: it has no "until="',
  ],
];

describe.each(ROWS)('a pool with a pause of %s', (_, blocks, counts, sentence) => {
  const group = aGroup({ id: 'a', target: 0, blocks: { ...NO_BLOCKS, ...blocks } });

  it('has its end as a metric for each direction', async () => {
    const metrics = createMetrics();
    publishObservation(anObservation([group], NODES), aState(), metrics);
    for (const [direction, is] of [['scale-up', counts.up] as const, ['scale-down', counts.down] as const]) {
      const end = is === 0 ? 0 : blocks.removal?.code === 'pause-unreadable' ? Number.POSITIVE_INFINITY : block.untilMs / 1000;
      expect(await valueOf(metrics.cluster.groupPausedUntil, { node_group: 'a', direction })).toBe(end);
    }
  });

  it('says so in the status, on the page and in the answer of explain', async () => {
    const observation = anObservation([group], NODES);
    const { document } = describeStatus({ observation, state: aState(), scaleDown: undefined, policy: aPolicy(), before: new Map() });
    expect(document['nodeGroups']).toMatchObject([{ name: 'a', paused: sentence }]);
    const input = await documentInput({ groups: [group], nodes: [aNode({ name: 'n' })] });
    const capitalised = `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
    expect(poolDocuments(input)).toMatchObject([{ name: 'a', state: 'paused', sentence: capitalised }]);
    const answer = answerPool(input.pods, 'a');
    expect(answer?.paused).toBe(sentence);
    if (answer === undefined) return;
    expect(poolParts(answer, { nowMs: START_MS, width: 400, all: true, colours: coloursOf({ env: {} }, 'never') }).join('\n')).toContain(
      sentence,
    );
  });
});

it('a pool that is not paused has no word of it', async () => {
  const metrics = createMetrics();
  const group = aGroup({ id: 'a', target: 0 });
  publishObservation(anObservation([group], NODES), aState(), metrics);
  expect(await valueOf(metrics.cluster.groupPausedUntil, { node_group: 'a', direction: 'scale-up' })).toBe(0);
  const input = await documentInput({ groups: [group], nodes: [aNode({ name: 'n' })] });
  expect(poolDocuments(input)).toMatchObject([{ state: 'at-rest' }]);
  expect(answerPool(input.pods, nodeGroupId('a'))).not.toHaveProperty('paused');
});

it('entries that are wrong are counted among the findings', async () => {
  const { config: metrics } = createMetrics();
  const pauses = {
    current: () => ({ pauses: [pause({ problem: 'x' }), pause({ pool: 'c' })], unreadable: [{ pool: 'b', problem: 'y' }] }),
  };
  const observation = anObservation([], NODES);
  const cloud = { ...observation.cloud, pausesWithoutGroup: ['c', 'b'] };
  const listener = pauseEvents({ events: { record: () => undefined }, log: silentLog(), metrics, namespace: 'kube-system', pauses });
  listener(aLoopReport({ observation: { ...observation, cloud } }));
  expect(await valueOf(metrics.findings, { kind: 'bad-pauses' })).toBe(2);
  expect(await valueOf(metrics.findings, { kind: 'pauses-without-group' })).toBe(2);
});
