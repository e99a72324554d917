import { describe, expect, it } from 'vitest';
import { NameHasher } from '../../../lab/recordings/name-hasher.ts';
import { aNode, at, begin, forget, jobPod, LARGE, replica, see, Session, SMALL, want, type Step } from './observations.ts';

/** Three replicas at the start. */
const WEB = [see(replica('a'), replica('b'), replica('c')), begin];

/** Three pods are replaced one after another, three minutes each, with a fourth in between. */
const ROLLOUT: readonly Step[] = [
  see(...['a', 'b', 'c'].map((uid) => replica(uid, { revision: '1' }))),
  begin,
  ...[100, 460, 820].flatMap((seconds, index) => [
    seconds,
    see(replica('def'.charAt(index), { revision: '2', pod: LARGE, createdAtMs: at(seconds) })),
    seconds + 180,
    see(replica('abc'.charAt(index), { revision: '1', isLeaving: true })),
  ]),
  4000,
];

/** A long story has several parts. */
type Row = readonly [what: string, story: readonly (Step | readonly Step[])[], events: readonly string[]];

describe('a recorder of replicas', () => {
  const removed = { kind: 'Deployment', namespace: 'shop', name: 'web' } as const;
  const evicted = { isLeaving: true, isDisrupted: true };

  it.each<Row>([
    ['a load that is constant has one event', [...WEB, 3600], ['0 web=3']],
    [
      'a controller that states its number is believed at once',
      [want(3), ...WEB, 60, want(5), 70, want(4), 80],
      ['0 web=3', '60 web=5', '70 web=4'],
    ],
    ['a number without a pod waits for the first pod, whose template it needs', [begin, want(2), 60, see(replica('a')), 70], ['0 web=2']],
    [
      'more pods that stay are more load from when they came',
      [...WEB, 100, see(replica('d')), 150, see(replica('e')), 400],
      ['0 web=3', '100 web=4', '150 web=5'],
    ],
    [
      'pods that are evicted and come again are no new load',
      [
        ...WEB,
        100,
        see(replica('a', evicted), replica('b', evicted)),
        130,
        forget('a', 'b'),
        see(replica('d', { phase: 'pending' }), replica('e', { phase: 'pending' })),
        4000,
      ],
      ['0 web=3'],
    ],
    [
      'a node that is lost with its pods is no fall of the load',
      [...WEB, 100, forget('a', 'b'), 160, see(replica('d'), replica('e')), 4000],
      ['0 web=3'],
    ],
    ['a rollout does not double the load, however long it takes', ROLLOUT, ['0 web=3', '100 web 2']],
    ['a rollout beside a stated number keeps the number', [want(3), ...ROLLOUT], ['0 web=3', '100 web 2']],
    [
      'a workload that had no pods for a while comes back with another template',
      [want(3), ...WEB, 50, want(0), forget('a', 'b', 'c'), 500, want(1), see(replica('d', { pod: LARGE })), 600],
      ['0 web=3', '50 web=0', '500 web 2', '500 web=1'],
    ],
    ['fewer pods that stay away are less load from when they left', [...WEB, 100, forget('a', 'b'), 4000], ['0 web=3', '100 web=1']],
    [
      'a Deployment that is deleted wants nothing',
      [want(3), ...WEB, 50, ({ recorder }) => recorder.removeReplicas(removed, at(50)), 60, forget('a', 'b', 'c'), 100],
      ['0 web=3', '50 web=0'],
    ],
    ['pods that have ended do not count', [...WEB, 10, see(replica('a', { phase: 'failed' })), 400], ['0 web=3', '10 web=2']],
    [
      'pods of a DaemonSet follow the nodes',
      [see(replica('a', { role: 'daemon', owner: { kind: 'DaemonSet', name: 'agent', uid: 'x' } })), begin, 300],
      [],
    ],
  ])('%s', (_what, story, events) => {
    expect(new Session().play(story.flat()).end().events()).toEqual(events);
  });

  it('describes a workload once, and before its first event', () => {
    const session = new Session().play([...WEB, 50]).end();
    const kinds = session.lines.map(({ kind }) => kind);
    expect(kinds).toEqual(['workload', 'replicas', 'end']);
    expect(session.lines[0]).toEqual({
      kind: 'workload',
      workload: { id: 'w1', kind: 'Deployment', namespace: 'shop', name: 'web', pod: SMALL },
    });
  });
});

describe('a recorder of runs', () => {
  const running = (uid: string, fromSeconds: number) => jobPod(uid, { phase: 'running', startedAtMs: at(fromSeconds) });
  const done = (uid: string, fromSeconds: number, untilSeconds: number) =>
    jobPod(uid, { phase: 'succeeded', startedAtMs: at(fromSeconds), endedAtMs: at(untilSeconds) });
  const created = (uid: string, seconds: number) => jobPod(uid, { createdAtMs: at(seconds) });

  it.each<Row>([
    [
      'a run arrives when its pod is created, and runs from its start, however long it waited',
      [
        [begin, 60, see(created('a', 60)), 260, see({ ...running('a', 260), createdAtMs: at(60) })],
        [560, see({ ...done('a', 260, 560), createdAtMs: at(60) }), 600, forget('a'), 2000],
      ],
      ['60 sums for 300'],
    ],
    [
      'a run of which only the end was seen has its own times',
      [begin, 300, see({ ...done('a', 100, 290), createdAtMs: at(90) }), 400],
      ['90 sums for 190'],
    ],
    [
      'a run that is there at the start has its rest',
      [see({ ...running('a', -500), createdAtMs: at(-600) }), begin, 100, see(done('a', -500, 100)), 200],
      ['0 sums for 100'],
    ],
    ['a run that ended before the start is no load', [see(done('a', -500, -100)), begin, 100, see(done('a', -500, -100)), forget('a')], []],
    ['a run that goes on at the end has run until then', [begin, see(running('a', 0)), 500], ['0 sums for 500']],
    [
      'an ended pod that stays in the cluster counts once',
      [begin, see(running('a', 0)), 50, see(done('a', 0, 50)), 90, see(done('a', 0, 50)), forget('a')],
      ['0 sums for 50'],
    ],
    [
      'an evicted pod that comes again is one run, from its first arrival',
      [
        [begin, see(running('a', 0)), 100, see({ ...running('a', 0), isLeaving: true, isDisrupted: true }), see(created('b', 100))],
        [130, forget('a'), 300, see({ ...running('b', 300), createdAtMs: at(100) }), 900, see(done('b', 300, 900)), 2000],
      ],
      ['0 sums for 600'],
    ],
    [
      'a pod that is deleted and comes again before it is gone is one run',
      [
        [begin, see(running('a', 0)), 100, see({ ...running('a', 0), isLeaving: true }), see(created('b', 100))],
        [130, forget('a'), 200, see(done('b', 150, 200)), 2000],
      ],
      ['0 sums for 50'],
    ],
    [
      'a pod that is lost with its node and comes again is one run',
      [begin, see(running('a', 0)), 100, forget('a'), see(created('b', 100)), 200, see(done('b', 150, 200)), 2000],
      ['0 sums for 50'],
    ],
    ['a lost pod that does not come again ran until then', [begin, see(running('a', 0)), 100, forget('a'), 2000], ['0 sums for 100']],
    [
      'a pod that fails by itself is load, and so is the next try',
      [begin, see({ ...done('a', 0, 40), phase: 'failed' }), 50, see(done('b', 50, 80)), 2000],
      ['0 sums for 40', '0 sums for 30'],
    ],
    [
      'a restart of the container goes on with the run',
      [begin, see(running('a', 0)), 100, see(running('a', 100)), 150, see(done('a', 100, 150)), 200],
      ['0 sums for 150'],
    ],
  ])('%s', (_what, story, events) => {
    expect(new Session().play(story.flat()).end().events()).toEqual(events);
  });

  it('counts pods that were deleted before they started', () => {
    const session = new Session().play([begin, see(created('a', 0)), 10, forget('a'), 2000]).end();
    expect(session.events()).toEqual([]);
    expect(session.recorder.counts).toMatchObject({ neverStarted: 1, runs: 0 });
  });

  it('takes runs of one template for one workload, and pods without a controller for another', () => {
    const other = { owner: { kind: 'Job', name: 'sums-2', uid: 'other' } };
    const { owner: _, ...bare } = done('c', 0, 10);
    const session = new Session().play([begin, see(done('a', 0, 10), { ...done('b', 0, 20), ...other }, bare), 60]).end();
    const workloads = session.lines.flatMap((line) => (line.kind === 'workload' ? [`${line.workload.kind} ${line.workload.name}`] : []));
    expect(workloads).toEqual(['Job sums', 'Pod sums-c']);
  });
});

describe('a recorder of nodes', () => {
  const spot = { pool: 'cheap', isSpot: true };

  it('does not end before its last event, although the clock of the API server is ahead', () => {
    const session = new Session().begin().pass(60);
    session.play([see(jobPod('a', { createdAtMs: at(63), startedAtMs: at(64), phase: 'running' }))]);
    expect(session.end().lines.slice(-2)).toMatchObject([
      { kind: 'run', atMs: 63_000 },
      { kind: 'end', atMs: 63_000 },
    ]);
  });

  it('begins with what is there when the first picture is complete, at zero', () => {
    const session = new Session().play([see(replica('a')), (opened) => opened.begin(7), 20]);
    expect(session.events()).toEqual(['0 web=1']);
  });

  it('has the pools of the nodes at the start, with their zones and numbers', () => {
    const session = new Session();
    for (const [index, zone] of ['2', '1', '1'].entries()) session.recorder.seeNode(aNode(`n${index + 1}`, { zone }), at(0));
    session.recorder.seeNode(aNode('n4', { ...spot, mode: 'System' }), at(0));
    session.begin().end();
    const pool = { vmSize: 'Standard_D4s_v5', max: 1000, limitsUnknown: true };
    expect(session.lines).toEqual([
      { kind: 'start-pool', pool: { ...pool, name: 'general', count: 3, min: 0, priority: 'Regular', zones: ['1', '2'] } },
      { kind: 'start-pool', pool: { ...pool, name: 'cheap', count: 1, min: 1, priority: 'Spot', mode: 'System' } },
      { kind: 'end', atMs: 0 },
    ]);
  });

  it.each([
    { what: 'a Spot node that vanishes was evicted', last: spot, events: ['20 cheap lost 1'] },
    { what: 'a Spot node that an autoscaler drained was removed', last: { ...spot, isLeaving: true }, events: [] },
    {
      what: 'a Spot node that was announced and drained was evicted',
      last: { ...spot, isLeaving: true, isPreempted: true },
      events: ['20 cheap lost 1'],
    },
    { what: 'a node that is not Spot was not evicted', last: { pool: 'cheap' }, events: [] },
  ])('$what', ({ last, events }) => {
    const session = new Session();
    session.recorder.seeNode(aNode('n1', { pool: 'cheap', isSpot: 'isSpot' in last }), at(0));
    session.begin();
    session.recorder.seeNode(aNode('n1', last), at(10));
    session.recorder.forgetNode('n1', at(20));
    expect(session.take().events()).toEqual(events);
  });

  it('makes evictions of one moment one event, and a pool that appears another', () => {
    const session = new Session().begin();
    for (const name of ['n1', 'n2']) session.recorder.seeNode(aNode(name, spot), at(5));
    for (const name of ['n1', 'n2']) session.recorder.forgetNode(name, at(9));
    expect(session.take().events()).toEqual(['9 cheap lost 2']);
    expect(session.lines.filter(({ kind }) => kind === 'pool')).toHaveLength(1);
  });

  it('prefers what Azure reports of a pool, and adds the size of its nodes', () => {
    const session = new Session();
    const size = { vcpus: 4, memoryGiB: 16 };
    const pool = { name: 'general', vmSize: 'standard_d4s_v5', count: 0, min: 2, max: 7 };
    session.recorder.seeNode(aNode('n1', { size }), at(0));
    session.recorder.setPools([pool], at(0));
    session.begin();
    session.recorder.setPools([{ ...pool, max: 9, count: 5 }], at(3600));
    expect(session.take().lines).toEqual([
      { kind: 'start-pool', pool: { ...pool, size, count: 1 } },
      { kind: 'pool', atMs: 3_600_000, pool: { ...pool, max: 9, count: 5 } },
    ]);
  });
});

describe('a recorder of names', () => {
  const pod = {
    ...SMALL,
    labels: { app: 'billing', team: 'red' },
    nodeSelector: { 'kubernetes.azure.com/mode': 'user', 'acme.io/disk': 'fast' },
    tolerations: [{ key: 'acme.io/only', operator: 'Equal', value: 'red', effect: 'NoSchedule' }],
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'billing' } }, namespaces: ['shop'] },
        ],
      },
    },
  };

  it('keeps only labels that a selector reads', () => {
    const session = new Session().play([see(replica('a', { pod }), replica('b', { pod: { ...SMALL, labels: { tier: 'x' } } })), begin]);
    session.recorder.setBudget({ namespace: 'shop', name: 'b', matchLabels: { team: 'red' }, budget: { maxUnavailable: 1 } });
    session.play([see(replica('c', { pod, owner: { kind: 'StatefulSet', name: 'db', uid: 'db' } })), 200]);
    const written = session.lines.flatMap((line) => (line.kind === 'workload' ? [line.workload] : []));
    expect(written.map(({ pod: { labels }, budget }) => ({ labels, budget }))).toEqual([
      { labels: { app: 'billing' }, budget: undefined },
      { labels: { app: 'billing', team: 'red' }, budget: { maxUnavailable: 1 } },
    ]);
  });

  it('hashes every name that is not known to Kubernetes or AKS, so that selectors still match', () => {
    const session = new Session({ hasher: new NameHasher('salt') }).play([see(replica('a', { pod }))]);
    session.recorder.seeNode(
      aNode('n1', { pool: 'bills', labels: { 'acme.io/disk': 'fast' }, taints: ['acme.io/only=red:NoSchedule'] }),
      at(0),
    );
    session.begin().end();
    expect(JSON.stringify(session.lines)).not.toMatch(/billing|shop|web|acme|"red"|fast|bills|disk/);
    const [workload, pool] = session.lines;
    if (pool?.kind !== 'start-pool' || workload?.kind !== 'workload') throw new Error('other lines were expected');
    const { labels, nodeSelector, tolerations, affinity } = workload.workload.pod;
    expect(nodeSelector).toEqual({ 'kubernetes.azure.com/mode': 'user', ...pool.pool.labels });
    const [taint] = tolerations ?? [];
    expect(pool.pool.taints).toEqual([`${String(taint?.['key'])}=${String(taint?.['value'])}:NoSchedule`]);
    expect(JSON.stringify(affinity)).toContain(JSON.stringify({ matchLabels: labels }));
    expect(JSON.stringify(affinity)).toContain('"topologyKey":"kubernetes.io/hostname"');
    expect(JSON.stringify(affinity)).toContain(`"namespaces":["${workload.workload.namespace}"]`);
  });
});
