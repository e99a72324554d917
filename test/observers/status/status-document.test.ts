import { describe, expect, it } from 'vitest';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { nodeGroupId } from '../../../src/domain/ids.ts';
import type { LoopState } from '../../../src/domain/loop-state.ts';
import type { NodeGroup } from '../../../src/domain/node-group.ts';
import type { Node } from '../../../src/domain/node.ts';
import { describeStatus, goTime, type Transitions } from '../../../src/observers/status/status-document.ts';
import { StatusPublisher } from '../../../src/observers/status/status-publisher.ts';
import type { AutoscalerStatus } from '../../../src/domain/ports/records.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { aCluster, aGroup, anInstance, aNode, anObservation, START_MS } from '../../support/builders.ts';
import { aLoopReport, aScaleDownPlan } from '../../support/loop-report.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aPolicy } from '../../support/policy.ts';
import { aBackoff, aState } from '../../support/state.ts';

const MINUTE = 60_000;
const A = nodeGroupId('a');
const unready = { ready: false, sinceMs: START_MS, reason: 'KubeletNotReady' };

interface Scene {
  readonly nodes?: readonly Node[];
  readonly groups?: readonly NodeGroup[];
  readonly state?: Partial<LoopState>;
  readonly unneeded?: readonly string[];
  readonly nowMs?: number;
  readonly before?: Transitions;
}

function described({ nodes = [], groups = [aGroup({ id: 'a' })], state = {}, unneeded = [], nowMs = START_MS, before = new Map() }: Scene) {
  const observation = anObservation(groups, aCluster({ nodes }), { nowMs });
  const scaleDown = aScaleDownPlan({ unneeded: new Map(unneeded.map((name) => [name, nowMs])) });
  return describeStatus({ observation, state: aState(state), scaleDown, policy: aPolicy(), before });
}

describe('the status document', () => {
  it('counts nodes by state, of each group and of the cluster', () => {
    const nodes = [
      aNode({ name: 'a-0' }),
      aNode({ name: 'a-1', readiness: unready }),
      aNode({ name: 'a-2', readiness: unready, createdAtMs: START_MS - MINUTE }),
      aNode({ name: 'a-3', taints: [{ key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }] }),
      aNode({ name: 'a-4', readiness: unready }),
      aNode({ name: 'foreign' }),
    ];
    const instances = [
      ...[0, 1, 2, 3].map((index) => anInstance({ node: `a-${index}` })),
      anInstance({ node: 'a-4', state: 'deallocated' }),
      anInstance({ node: 'coming', state: 'creating', firstSeenMs: START_MS - MINUTE }),
      anInstance({ node: 'lost', firstSeenMs: START_MS - 20 * MINUTE }),
      anInstance({ node: 'broken', state: 'failed' }),
    ];
    const { document } = described({ nodes, groups: [aGroup({ id: 'a', target: 7, instances })] });
    const registered = { total: 5, ready: 1, notStarted: 1, suspended: 1, beingDeleted: 1, unready: { total: 1, resourceUnready: 0 } };
    const counts = { registered, longUnregistered: 1, unregistered: 1 };
    expect(document).toMatchObject({
      autoscalerStatus: 'Running',
      message: 'may act',
      clusterWide: { health: { status: 'Healthy', nodeCounts: { registered: { total: 6, ready: 2 } } } },
      nodeGroups: [{ name: 'a', health: { status: 'Healthy', nodeCounts: counts, cloudProviderTarget: 7, minSize: 0, maxSize: 10 } }],
    });
  });

  it('says in one line why nothing may be done', () => {
    const nodes = Array.from({ length: 10 }, (_, at) =>
      aNode({ name: `a-${at}`, readiness: { ready: at < 5, sinceMs: START_MS - 58 * MINUTE, reason: '' } }),
    );
    const groups = [aGroup({ id: 'a', target: 10, instances: nodes.map(({ name }) => anInstance({ node: name })) })];
    const { document } = described({ nodes, groups });
    expect(document).toMatchObject({
      message: 'does not act: 5 of 10 nodes are not ready',
      clusterWide: { health: { status: 'Unhealthy' } },
    });
  });

  it('warns where AKS counts other nodes than the size, and nowhere else', () => {
    const groups = [aGroup({ id: 'a', target: 10, aksCount: 1 }), aGroup({ id: 'b' })];
    const { nodeGroups } = described({ groups }).document as { nodeGroups: readonly { readonly aksCount?: string }[] };
    expect(nodeGroups.map(({ aksCount }) => aksCount)).toEqual([
      'AKS counts 1, the size is 10: the next AKS operation on this pool sets it to 1',
      undefined,
    ]);
  });

  it('says why deletions of a group wait, and nothing of others', () => {
    const groups = [aGroup({ id: 'a', deletionsWait: 'few writes are left' }), aGroup({ id: 'b' })];
    const { nodeGroups } = described({ groups }).document as { nodeGroups: readonly { readonly deletionsWait?: string }[] };
    expect(nodeGroups.map(({ deletionsWait }) => deletionsWait)).toEqual(['few writes are left', undefined]);
  });

  it('says why a group is frozen, and nothing of others', () => {
    const groups = [aGroup({ id: 'a', frozen: 'AKS is upgrading its agent pool' }), aGroup({ id: 'b' })];
    const { nodeGroups } = described({ groups }).document as { nodeGroups: readonly { readonly frozen?: string }[] };
    expect(nodeGroups.map(({ frozen }) => frozen)).toEqual(['AKS is upgrading its agent pool', undefined]);
  });

  it('leaves out what is zero or not known', () => {
    const { document } = described({ groups: [aGroup({ id: 'a', target: { known: false, reason: 'never read' } })] });
    const text = JSON.stringify(document);
    expect(text).not.toContain('cloudProviderTarget');
    expect(text).not.toContain('beingDeleted');
    expect(text).not.toContain('candidates');
  });

  const resting = new Map([
    [A, aBackoff({ untilMs: START_MS + MINUTE, durationMs: MINUTE, lastFailureMs: START_MS, cause: 'AllocationFailed' })],
  ]);
  const rested = new Map([
    [A, aBackoff({ untilMs: START_MS, durationMs: MINUTE, lastFailureMs: START_MS - MINUTE, cause: 'AllocationFailed' })],
  ]);
  const growing = new Map([[A, { group: A, nodes: 2, requestedAtMs: START_MS, expectedByMs: START_MS + MINUTE }]]);
  const bad = Array.from({ length: 4 }, (_, index) => aNode({ name: `a-${index}`, readiness: unready }));

  it.each([
    ['nothing happens', {}, 'NoActivity'],
    ['a failure', { state: { backoffs: resting } }, 'Backoff'],
    ['a rest that is over', { state: { backoffs: rested } }, 'NoActivity'],
    ['nodes on their way, and a failure', { state: { awaited: growing, backoffs: resting } }, 'InProgress'],
    ['a sick group', { nodes: bad, groups: [aGroup({ id: 'a', target: 4 })], state: { backoffs: resting } }, 'Unhealthy'],
  ] as const)('scale-up after %s is %s', (_what, scene, status) => {
    expect(described(scene).document).toMatchObject({ nodeGroups: [{ scaleUp: { status } }] });
  });

  it('says why a group rests, and not at any length', () => {
    const long = new Map([
      [A, aBackoff({ untilMs: START_MS + MINUTE, durationMs: MINUTE, lastFailureMs: START_MS, cause: 'c', message: 'x'.repeat(600) })],
    ]);
    const text = JSON.stringify(described({ state: { backoffs: long } }).document);
    const message = /"errorMessage":"([^"]*)"/.exec(text)?.[1] ?? '';
    expect(message).toHaveLength(500);
    expect(message).toMatch(/<truncated>$/);
    expect(described({ state: { backoffs: resting } }).document).toMatchObject({
      nodeGroups: [
        {
          scaleUp: {
            backoffInfo: { errorCode: 'AllocationFailed', errorMessage: expect.stringContaining('backs off until 2026-11-21T00:01:00Z') },
          },
        },
      ],
    });
  });

  it('says the class of the failure beside its code, and what Azure said', () => {
    const classed = new Map([[A, { ...resting.get(A)!, kind: 'out-of-capacity' as const, message: 'No stock.' }]]);
    const text = JSON.stringify(described({ state: { backoffs: classed } }).document);
    expect(text).toContain('"errorCode":"AllocationFailed"');
    expect(text).toContain(
      'the last scale-up failed (out-of-capacity: AllocationFailed); the group backs off until 2026-11-21T00:01:00Z: No stock."',
    );
  });

  it('a transition is remembered for as long as the status stays', () => {
    const groups = [aGroup({ id: 'a', target: 1 })];
    const nodes = [aNode({ name: 'a-0' })];
    const first = described({ nodes, groups });
    const later = described({ nodes, groups, nowMs: START_MS + MINUTE, before: first.transitions });
    const changed = described({ nodes, groups, nowMs: START_MS + 2 * MINUTE, before: later.transitions, unneeded: ['a-0'] });
    expect(later.document).toMatchObject({
      nodeGroups: [
        { scaleDown: { status: 'NoCandidates', lastProbeTime: '2026-11-21T00:01:00Z', lastTransitionTime: '2026-11-21T00:00:00Z' } },
      ],
    });
    expect(changed.document).toMatchObject({
      clusterWide: { scaleDown: { status: 'CandidatesPresent', candidates: 1, lastTransitionTime: '2026-11-21T00:02:00Z' } },
      nodeGroups: [{ health: { lastTransitionTime: '2026-11-21T00:00:00Z' }, scaleDown: { status: 'CandidatesPresent', candidates: 1 } }],
    });
  });

  it.each([
    [START_MS, '2026-11-21 00:00:00 +0000 UTC'],
    [START_MS + 670, '2026-11-21 00:00:00.67 +0000 UTC'],
    [START_MS + 10_005, '2026-11-21 00:00:10.005 +0000 UTC'],
  ])('%i is printed as %s', (ms, text) => expect(goTime(ms)).toBe(text));
});

describe('publishing the status', () => {
  function aPublisher(outcomes: readonly ('fail' | 'ok')[] = []) {
    const clock = new FakeClock(START_MS);
    const written: AutoscalerStatus[] = [];
    const lines: string[] = [];
    const left = [...outcomes];
    const writer = {
      write: async (status: AutoscalerStatus) => {
        if (left.shift() === 'fail') throw new AutoscalerError({ kind: 'kube-api', status: 500 }, 'The API server is ill.');
        written.push(status);
      },
      remove: async () => void written.splice(0),
    };
    const publisher = new StatusPublisher({
      writer,
      policy: aPolicy(),
      clock,
      log: createLog('warn', { write: (line) => void lines.push(line) }),
    });
    const signal = new AbortController().signal;
    const loop = async (afterMs: number, target = 1, frozen?: string): Promise<void> => {
      await clock.advance(afterMs);
      const observation = anObservation([aGroup({ id: 'a', target, frozen })], aCluster(), { nowMs: clock.now() });
      publisher.loopEnded(aLoopReport({ observation }), signal);
      await publisher.settled();
    };
    return {
      publisher,
      clock,
      written,
      lines,
      signal,
      loop,
      targets: () => written.map((status) => JSON.stringify(status.document).match(/cloudProviderTarget":(\d+)/)?.[1]),
    };
  }

  it('begins as Initializing and gives way to the first loop at once', async () => {
    const { publisher, written, signal, loop } = aPublisher();
    publisher.begin(signal);
    await publisher.settled();
    await loop(500);
    expect(written.map(({ document }) => document['autoscalerStatus'])).toEqual(['Initializing', 'Running']);
  });

  it('is taken away at the end, by who has written it', async () => {
    const { publisher, written, signal, loop } = aPublisher();
    written.push({ atMs: 0, document: {} });
    await publisher.end(signal);
    expect(written).toHaveLength(1);
    await loop(500);
    await publisher.end(signal);
    expect(written).toEqual([]);
  });

  it('writes news at most every ten seconds, and no news once a minute', async () => {
    const { loop, targets, written } = aPublisher();
    await loop(0, 1);
    await loop(1_000, 2);
    await loop(8_500, 3);
    for (let count = 0; count < 13; count++) await loop(10_000, 3);
    expect(targets()).toEqual(['1', '3', '3', '3']);
    expect(written.map(({ atMs }) => (atMs - START_MS) / 1000)).toEqual([0, 9.5, 69.5, 129.5]);
  });

  it('a longer freeze is no news', async () => {
    const { loop, written } = aPublisher();
    for (let count = 0; count < 5; count++) await loop(10_000, 1, `not read for ${count}0 seconds`);
    expect(written).toHaveLength(1);
  });

  it('gives way to a first loop that ends while the first write is under way', async () => {
    const { publisher, written, signal, clock } = aPublisher();
    publisher.begin(signal);
    const observation = anObservation([aGroup({ id: 'a' })], aCluster(), { nowMs: clock.now() });
    publisher.loopEnded(aLoopReport({ observation }), signal);
    await publisher.settled();
    expect(written.map(({ document }) => document['autoscalerStatus'])).toEqual(['Initializing', 'Running']);
  });

  it('a write that fails is one warning and is made again after the next loop', async () => {
    const { loop, targets, lines } = aPublisher(['fail']);
    await loop(0, 1);
    await loop(100, 1);
    expect(targets()).toEqual(['1']);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('The API server is ill.');
  });

  it('who no longer leads writes nothing', async () => {
    const { publisher, written } = aPublisher();
    publisher.begin(AbortSignal.abort());
    await publisher.settled();
    expect(written).toEqual([]);
  });
});
