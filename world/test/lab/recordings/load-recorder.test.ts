import { describe, expect, it } from 'vitest';
import { NameHasher } from '../../../lab/recordings/name-hasher.ts';
import { aNode, at, jobPod, LARGE, replica, Session, SMALL } from './observations.ts';

const NEW = ['d', 'e', 'f'];

/** Three replicas at the start; what happens later is the row's. */
function web(session: Session = new Session()): Session {
  return session.see(['a', 'b', 'c'].map((uid) => replica(uid))).begin();
}

describe('a recorder of replicas', () => {
  it.each<{ readonly what: string; readonly story: (session: Session) => Session; readonly events: readonly string[] }>([
    { what: 'a load that is constant has one event', story: (session) => web(session).pass(3600), events: ['0 web=3'] },
    {
      what: 'a controller that states its number is believed at once',
      story: (session) => web(session.want(3)).pass(60).want(5).pass(70).want(4).pass(80),
      events: ['0 web=3', '60 web=5', '70 web=4'],
    },
    {
      what: 'a number without a pod waits for the first pod, whose template it needs',
      story: (session) =>
        session
          .begin()
          .want(2)
          .pass(60)
          .see([replica('a')])
          .pass(70),
      events: ['0 web=2'],
    },
    {
      what: 'more pods that stay are more load from when they came',
      story: (session) =>
        web(session)
          .pass(100)
          .see([replica('d')])
          .pass(150)
          .see([replica('e')])
          .pass(400),
      events: ['0 web=3', '100 web=4', '150 web=5'],
    },
    {
      what: 'pods that are evicted and come again are no new load',
      story: (session) =>
        web(session)
          .pass(100)
          .see([replica('a', { isLeaving: true, isDisrupted: true }), replica('b', { isLeaving: true, isDisrupted: true })])
          .pass(130)
          .forget(['a', 'b'])
          .see([replica('d', { phase: 'pending' }), replica('e', { phase: 'pending' })])
          .pass(4000),
      events: ['0 web=3'],
    },
    {
      what: 'a node that is lost with its pods is no fall of the load',
      story: (session) =>
        web(session)
          .pass(100)
          .forget(['a', 'b'])
          .pass(160)
          .see([replica('d'), replica('e')])
          .pass(4000),
      events: ['0 web=3'],
    },
    {
      what: 'a rollout does not double the load, however long it takes',
      story: rollout,
      events: ['0 web=3', '100 web 2'],
    },
    {
      what: 'a rollout beside a stated number keeps the number',
      story: (session) => rollout(session.want(3)),
      events: ['0 web=3', '100 web 2'],
    },
    {
      what: 'a workload that had no pods for a while comes back with another template',
      story: (session) =>
        web(session.want(3))
          .pass(50)
          .want(0)
          .forget(['a', 'b', 'c'])
          .pass(500)
          .want(1)
          .see([replica('d', { pod: LARGE })])
          .pass(600),
      events: ['0 web=3', '50 web=0', '500 web 2', '500 web=1'],
    },
    {
      what: 'fewer pods that stay away are less load from when they left',
      story: (session) => web(session).pass(100).forget(['a', 'b']).pass(4000),
      events: ['0 web=3', '100 web=1'],
    },
    {
      what: 'a Deployment that is deleted wants nothing',
      story: (session) => {
        web(session.want(3)).pass(50).recorder.removeReplicas({ kind: 'Deployment', namespace: 'shop', name: 'web' }, at(50));
        return session.pass(60).forget(['a', 'b', 'c']).pass(100);
      },
      events: ['0 web=3', '50 web=0'],
    },
    {
      what: 'pods that have ended do not count',
      story: (session) =>
        web(session)
          .pass(10)
          .see([replica('a', { phase: 'failed' })])
          .pass(400),
      events: ['0 web=3', '10 web=2'],
    },
    {
      what: 'pods of a DaemonSet follow the nodes',
      story: (session) =>
        session
          .see([replica('a', { role: 'daemon', owner: { kind: 'DaemonSet', name: 'agent', uid: 'x' } })])
          .begin()
          .pass(300),
      events: [],
    },
  ])('$what', ({ story, events }) => {
    expect(story(new Session()).end().events()).toEqual(events);
  });

  it('describes a workload once, and before its first event', () => {
    const session = web().pass(50).end();
    const kinds = session.lines.map(({ kind }) => kind);
    expect(kinds).toEqual(['workload', 'replicas', 'end']);
    expect(session.lines[0]).toEqual({
      kind: 'workload',
      workload: { id: 'w1', kind: 'Deployment', namespace: 'shop', name: 'web', pod: SMALL },
    });
  });
});

/** Three pods are replaced one after another, three minutes each, with a fourth in between. */
function rollout(session: Session): Session {
  const before = { revision: '1' };
  const after = { revision: '2', pod: LARGE };
  session.see(['a', 'b', 'c'].map((uid) => replica(uid, before))).begin();
  ['a', 'b', 'c'].forEach((uid, index) => {
    const seconds = 100 + index * 360;
    session.pass(seconds).see([replica(NEW[index] ?? '', { ...after, createdAtMs: at(seconds) })]);
    session.pass(seconds + 180).see([replica(uid, { ...before, isLeaving: true })]);
  });
  return session.pass(4000);
}

describe('a recorder of runs', () => {
  const running = (uid: string, fromSeconds: number) => jobPod(uid, { phase: 'running', startedAtMs: at(fromSeconds) });
  const done = (uid: string, fromSeconds: number, untilSeconds: number) =>
    jobPod(uid, { phase: 'succeeded', startedAtMs: at(fromSeconds), endedAtMs: at(untilSeconds) });
  const created = (uid: string, seconds: number) => jobPod(uid, { createdAtMs: at(seconds) });

  it.each<{ readonly what: string; readonly story: (session: Session) => Session; readonly events: readonly string[] }>([
    {
      what: 'a run arrives when its pod is created, and runs from its start, however long it waited',
      story: (session) =>
        session
          .begin()
          .pass(60)
          .see([created('a', 60)])
          .pass(260)
          .see([{ ...running('a', 260), createdAtMs: at(60) }])
          .pass(560)
          .see([{ ...done('a', 260, 560), createdAtMs: at(60) }])
          .pass(600)
          .forget(['a'])
          .pass(2000),
      events: ['60 sums for 300'],
    },
    {
      what: 'a run of which only the end was seen has its own times',
      story: (session) =>
        session
          .begin()
          .pass(300)
          .see([{ ...done('a', 100, 290), createdAtMs: at(90) }])
          .pass(400),
      events: ['90 sums for 190'],
    },
    {
      what: 'a run that is there at the start has its rest',
      story: (session) =>
        session
          .see([{ ...running('a', -500), createdAtMs: at(-600) }])
          .begin()
          .pass(100)
          .see([done('a', -500, 100)])
          .pass(200),
      events: ['0 sums for 100'],
    },
    {
      what: 'a run that ended before the start is no load',
      story: (session) =>
        session
          .see([done('a', -500, -100)])
          .begin()
          .pass(100)
          .see([done('a', -500, -100)])
          .forget(['a']),
      events: [],
    },
    {
      what: 'a run that goes on at the end has run until then',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(500),
      events: ['0 sums for 500'],
    },
    {
      what: 'an ended pod that stays in the cluster counts once',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(50)
          .see([done('a', 0, 50)])
          .pass(90)
          .see([done('a', 0, 50)])
          .forget(['a']),
      events: ['0 sums for 50'],
    },
    {
      what: 'an evicted pod that comes again is one run, from its first arrival',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(100)
          .see([{ ...running('a', 0), isLeaving: true, isDisrupted: true }])
          .see([created('b', 100)])
          .pass(130)
          .forget(['a'])
          .pass(300)
          .see([{ ...running('b', 300), createdAtMs: at(100) }])
          .pass(900)
          .see([done('b', 300, 900)])
          .pass(2000),
      events: ['0 sums for 600'],
    },
    {
      what: 'a pod that is deleted and comes again before it is gone is one run',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(100)
          .see([{ ...running('a', 0), isLeaving: true }])
          .see([created('b', 100)])
          .pass(130)
          .forget(['a'])
          .pass(200)
          .see([done('b', 150, 200)])
          .pass(2000),
      events: ['0 sums for 50'],
    },
    {
      what: 'a pod that is lost with its node and comes again is one run',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(100)
          .forget(['a'])
          .see([created('b', 100)])
          .pass(200)
          .see([done('b', 150, 200)])
          .pass(2000),
      events: ['0 sums for 50'],
    },
    {
      what: 'a lost pod that does not come again ran until then',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(100)
          .forget(['a'])
          .pass(2000),
      events: ['0 sums for 100'],
    },
    {
      what: 'a pod that fails by itself is load, and so is the next try',
      story: (session) =>
        session
          .begin()
          .see([jobPod('a', { phase: 'failed', startedAtMs: at(0), endedAtMs: at(0) + 40_000 })])
          .pass(50)
          .see([done('b', 50, 80)])
          .pass(2000),
      events: ['0 sums for 40', '0 sums for 30'],
    },
    {
      what: 'a restart of the container goes on with the run',
      story: (session) =>
        session
          .begin()
          .see([running('a', 0)])
          .pass(100)
          .see([running('a', 100)])
          .pass(150)
          .see([done('a', 100, 150)])
          .pass(200),
      events: ['0 sums for 150'],
    },
  ])('$what', ({ story, events }) => {
    expect(story(new Session()).end().events()).toEqual(events);
  });

  it('counts pods that were deleted before they started', () => {
    const session = new Session()
      .begin()
      .see([created('a', 0)])
      .pass(10)
      .forget(['a'])
      .pass(2000)
      .end();
    expect(session.events()).toEqual([]);
    expect(session.recorder.counts).toMatchObject({ neverStarted: 1, runs: 0 });
  });

  it('takes runs of one template for one workload, and pods without a controller for another', () => {
    const other = { owner: { kind: 'Job', name: 'sums-2', uid: 'other' } };
    const { owner: _, ...bare } = done('c', 0, 10);
    const session = new Session()
      .begin()
      .see([done('a', 0, 10), { ...done('b', 0, 20), ...other }, bare])
      .pass(60)
      .end();
    const workloads = session.lines.flatMap((line) => (line.kind === 'workload' ? [`${line.workload.kind} ${line.workload.name}`] : []));
    expect(workloads).toEqual(['Job sums', 'Pod sums-c']);
  });
});

describe('a recorder of nodes', () => {
  const spot = { pool: 'cheap', isSpot: true };

  it('does not end before its last event, although the clock of the API server is ahead', () => {
    const session = new Session().begin().pass(60);
    session.see([jobPod('a', { createdAtMs: at(63), startedAtMs: at(64), phase: 'running' })]);
    expect(session.end().lines.slice(-2)).toMatchObject([
      { kind: 'run', atMs: 63_000 },
      { kind: 'end', atMs: 63_000 },
    ]);
  });

  it('begins with what is there when the first picture is complete, at zero', () => {
    expect(
      new Session()
        .see([replica('a')])
        .begin(7)
        .pass(20)
        .events(),
    ).toEqual(['0 web=1']);
  });

  it('has the pools of the nodes at the start, with their zones and numbers', () => {
    const session = new Session();
    for (const [name, zone] of [
      ['n1', '2'],
      ['n2', '1'],
      ['n3', '1'],
    ] as const)
      session.recorder.seeNode(aNode(name, { zone }), at(0));
    session.recorder.seeNode(aNode('n4', { ...spot, mode: 'System' }), at(0));
    session.begin().end();
    expect(session.lines).toEqual([
      {
        kind: 'start-pool',
        pool: {
          name: 'general',
          vmSize: 'Standard_D4s_v5',
          count: 3,
          min: 0,
          max: 1000,
          limitsUnknown: true,
          priority: 'Regular',
          zones: ['1', '2'],
        },
      },
      {
        kind: 'start-pool',
        pool: {
          name: 'cheap',
          vmSize: 'Standard_D4s_v5',
          count: 1,
          min: 1,
          max: 1000,
          limitsUnknown: true,
          priority: 'Spot',
          mode: 'System',
        },
      },
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
    session.recorder.seeNode(aNode('n1', { pool: 'cheap', isSpot: last !== undefined && 'isSpot' in last }), at(0));
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
    const session = new Session().see([replica('a', { pod }), replica('b', { pod: { ...SMALL, labels: { tier: 'x' } } })]).begin();
    session.recorder.setBudget({ namespace: 'shop', name: 'b', matchLabels: { team: 'red' }, budget: { maxUnavailable: 1 } });
    session.see([replica('c', { pod, owner: { kind: 'StatefulSet', name: 'db', uid: 'db' } })]).pass(200);
    const written = session.lines.flatMap((line) => (line.kind === 'workload' ? [line.workload] : []));
    expect(written.map(({ pod: { labels }, budget }) => ({ labels, budget }))).toEqual([
      { labels: { app: 'billing' }, budget: undefined },
      { labels: { app: 'billing', team: 'red' }, budget: { maxUnavailable: 1 } },
    ]);
  });

  it('hashes every name that is not known to Kubernetes or AKS, so that selectors still match', () => {
    const session = new Session({ hasher: new NameHasher('salt') }).see([replica('a', { pod })]);
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
