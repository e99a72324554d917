/**
 * The API server's wrong answers, on the wire. Whatever is answered: the reader lives and notices later changes, the other nodes and
 * pods are seen, and an object that cannot be read neither offers room nor lets its node be removed.
 */
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterView } from '../../src/domain/observation.ts';
import { ResourceNames } from '../../src/domain/resources.ts';
import { WatchedClusterReader } from '../../src/kubernetes/views/cluster-reader.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { drainContext, drainRulesOf } from '../../src/scheduling/drainability/drain-rule.ts';
import { checkNodeDrain } from '../../src/scheduling/drainability/drainability.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { json, refusal, startScriptedApi, until, type Received, type ScriptedApi } from '../kubernetes/scripted-api.ts';
import { START_MS } from '../support/builders.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aPolicy } from '../support/policy.ts';

type Json = Record<string, unknown>;
type Objects = Record<string, unknown[]>;

const NODES = '/api/v1/nodes';
const PODS = '/api/v1/pods';
const LIED = 'lied-1';

const meta = (name: string, more: Json = {}): Json => ({ name, namespace: 'default', uid: `uid-${name}`, resourceVersion: '5', ...more });
const owned = { ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'rs', controller: true }] };

function node(name: string, change: Json = {}): Json {
  const allocatable = { cpu: '4', memory: '16Gi', pods: '110' };
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(START_MS).toISOString() }];
  const status = { allocatable, capacity: allocatable, conditions };
  return { metadata: { name, uid: `uid-${name}`, resourceVersion: '5' }, spec: { providerID: `azure:///${name}` }, status, ...change };
}

function pod(name: string, nodeName: string | undefined, change: Json = {}): Json {
  const spec = { nodeName, containers: [{ name: 'app', resources: { requests: { cpu: '1', memory: '1Gi' } } }] };
  const unschedulable = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
  const status = nodeName === undefined ? { phase: 'Pending', conditions: unschedulable } : { phase: 'Running' };
  return { metadata: meta(name, owned), spec, status, ...change };
}

/** One pod on each node, and one that waits. */
function truth(): Objects {
  return {
    [NODES]: [node('good-1'), node(LIED)],
    [PODS]: [pod('web-1', 'good-1'), pod('web-2', LIED), pod('waiting', undefined)],
    '/api/v1/namespaces': [{ metadata: { name: 'default', uid: 'ns', resourceVersion: '5', labels: {} } }],
  };
}

const open: { readonly api: ScriptedApi; readonly reader: WatchedClusterReader }[] = [];
afterEach(async () => {
  for (const { api, reader } of open.splice(0)) {
    await reader.close();
    await api.stop();
  }
});

/** Answers a request itself, or returns false. */
type Answer = (request: Received, response: ServerResponse, world: Objects) => boolean;

interface Row {
  /** Other objects than there are. */
  readonly objects?: (world: Objects) => void;
  readonly answer?: Answer;
  /** Bytes that the stream of pods brings after the first picture. */
  readonly stream?: readonly string[];
  /** What is true of the view besides. */
  readonly holds?: (view: ClusterView) => void;
  readonly told?: RegExp;
}

/** JSON nested a hundred thousand deep. */
const DEEP = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
const line = (type: string, object: unknown): string => `${JSON.stringify({ type, object }).replace('"@deep"', DEEP)}\n`;
const END = line('BOOKMARK', { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } });
const isWatch = ({ query }: Received): boolean => query.get('watch') === 'true';
const isWatchList = ({ query }: Received): boolean => query.get('sendInitialEvents') === 'true';

function begin(response: ServerResponse, ...lines: readonly string[]): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  for (const text of lines) response.write(text);
}

async function watched(row: Row) {
  const api = await startScriptedApi();
  const clock = new FakeClock(START_MS);
  const lines: string[] = [];
  const world = truth();
  row.objects?.(world);
  const streams = new Map<string, ServerResponse>();
  api.answer((request, response) => {
    if (row.answer?.(request, response, world) === true) return;
    const objects = world[request.path] ?? [];
    if (!isWatch(request)) return json(response, 200, { metadata: { resourceVersion: '9' }, items: objects });
    begin(response, ...(isWatchList(request) ? [...objects.map((object) => line('ADDED', object)), END] : []));
    streams.set(request.path, response);
  });
  const reader = new WatchedClusterReader({
    rest: api.rest,
    metrics: api.metrics,
    clock,
    random: seededRandom(1),
    log: createLog('debug', { write: (text) => void lines.push(text) }),
    names: new ResourceNames(),
    tuning: { initialSilenceMs: 40 },
  });
  open.push({ api, reader });
  let started = false;
  void reader.start(new AbortController().signal).then(() => (started = true));
  await until(
    () => started,
    () => clock.advance(1_000),
  );
  return { api, clock, reader, lines, world, streams, view: () => reader.observe(clock.now()) };
}

/** How the pods of a node count in a drain. */
function drainOf(view: ClusterView, name: string) {
  return checkNodeDrain(view.podsByNode.get(name) ?? [], drainContext(view, drainRulesOf(aPolicy()), START_MS));
}

const nodes =
  (change: (world: Objects) => unknown[]): ((world: Objects) => void) =>
  (world) =>
    void (world[NODES] = [node('good-1'), ...change(world)]);
const pods =
  (...change: readonly unknown[]): ((world: Objects) => void) =>
  (world) =>
    void (world[PODS] = [pod('web-1', 'good-1'), pod('waiting', undefined), ...change]);
const status = (change: Json): Json => ({ status: { ...(node(LIED)['status'] as Json), ...change } });

/** The lied node is known, offers no room and is not removed. */
const isClosed = ({ nodes: all }: ClusterView): void => {
  expect(all.get(LIED)).toMatchObject({ scaleDownDisabled: true, readiness: { ready: false } });
  expect([...(all.get(LIED)?.allocatable ?? [])].every((amount) => amount === 0)).toBe(true);
};
const isUsual = ({ nodes: all }: ClusterView): void =>
  expect(all.get(LIED)).toMatchObject({ scaleDownDisabled: false, readiness: { ready: true } });
/** The pod on the lied node keeps it from being removed. */
const blocks = (view: ClusterView): void => expect(drainOf(view, LIED).blocker).toBeDefined();
/** The pod is not counted as a smaller one than it may be. */
const isUnsupported = (view: ClusterView): void => {
  const [read] = view.podsByNode.get(LIED) ?? [];
  expect(read?.shape.unsupported).toMatchObject([{ feature: 'quantity' }]);
};

const container = (change: Json): Json => ({ name: 'app', ...change });
const withSpec = (change: Json): Json => pod('web-2', LIED, { spec: { ...(pod('web-2', LIED)['spec'] as Json), ...change } });

/** A list in pages instead of a watch-list. */
const asPages = (page: (request: Received, response: ServerResponse, world: Objects) => void, path = PODS): Answer => {
  return (request, response, world) => {
    if (request.path !== path) return false;
    if (isWatch(request) && !isWatchList(request)) return false;
    if (isWatchList(request)) refusal(response, 400, 'Invalid');
    else page(request, response, world);
    return true;
  };
};

/** The first answers for pods are wrong, the later ones are true. */
function atFirst(times: number, wrong: (response: ServerResponse, request: Received) => void): Answer {
  let left = times;
  return (request, response) => {
    if (request.path !== PODS || left === 0) return false;
    left -= 1;
    wrong(response, request);
    return true;
  };
}

const ROWS: Readonly<Record<string, Row>> = {
  'a node without metadata': {
    objects: nodes(() => [{ ...node(LIED), metadata: undefined }, node(LIED)]),
    holds: isUsual,
    told: /no name/,
  },
  'a node whose metadata is text': { objects: nodes(() => [{ ...node(LIED), metadata: 'x' }, node(LIED)]), holds: isUsual },
  'objects that are null, text and lists': { objects: nodes(() => [null, 'node', [1], 7, node(LIED)]), holds: isUsual },
  'a node whose name is a number': { objects: nodes(() => [{ ...node(LIED), metadata: { name: 5 } }, node(LIED)]), holds: isUsual },
  'a node with nulls': {
    objects: nodes(() => [{ ...node(LIED), metadata: { ...(node(LIED)['metadata'] as Json), labels: null, annotations: null } }]),
    holds: isUsual,
  },
  'a node whose conditions are text': {
    objects: nodes(() => [node(LIED, status({ conditions: 'fine' }))]),
    holds: isClosed,
    told: /documented form/,
  },
  'a node whose taints are a number': {
    objects: nodes(() => [node(LIED, { spec: { providerID: 'azure:///x', taints: 5 } })]),
    holds: isClosed,
  },
  'a node with negative room': {
    objects: nodes(() => [node(LIED, status({ allocatable: { cpu: '-4', memory: '1Gi' } }))]),
    holds: isClosed,
    told: /negative/,
  },
  'a node whose room is words': {
    objects: nodes(() => [node(LIED, status({ allocatable: { cpu: 'lots' } }))]),
    holds: isClosed,
    told: /lots/,
  },
  'a node with ten thousand kinds of resources': {
    objects: nodes(() => [
      node(LIED, status({ allocatable: Object.fromEntries(Array.from({ length: 10_000 }, (_none, at) => [`example.com/r${at}`, '1'])) })),
    ]),
    holds: isClosed,
    told: /too many/,
  },
  'a node with 1e400 CPUs': {
    objects: nodes(() => [node(LIED, status({ allocatable: { cpu: '1e400', memory: '1e400', pods: '1e400' } }))]),
    holds: ({ nodes: all }) => expect([...(all.get(LIED)?.allocatable ?? [])].every(Number.isFinite)).toBe(true),
  },
  'a node that was created in the year 9999': {
    objects: nodes(() => [node(LIED, { metadata: { name: LIED, creationTimestamp: '9999-01-01T00:00:00Z' } })]),
    holds: isUsual,
  },

  'a pod without a uid': {
    objects: pods(...['a', 'b'].map((name) => pod(name, LIED, { metadata: { name, namespace: 'default', ...owned } }))),
    holds: (view) => expect(view.podsByNode.get(LIED)?.map(({ uid }) => uid)).toEqual(['default/a', 'default/b']),
  },
  'a pod without metadata': { objects: pods({ spec: { nodeName: LIED } }, pod('web-2', LIED)), told: /no name/ },
  'a pod whose containers are text': { objects: pods(withSpec({ containers: 'app' })), holds: blocks, told: /documented form/ },
  'a pod whose containers are null': { objects: pods(withSpec({ containers: null })) },
  'a pod whose spec is a list': { objects: pods(pod('web-2', LIED, { spec: [{ nodeName: LIED }] })) },
  'a pod that asks for less than nothing': {
    objects: pods(withSpec({ containers: [container({ resources: { requests: { cpu: '-8' } } })] })),
    holds: isUnsupported,
  },
  'a pod that asks for words': {
    objects: pods(withSpec({ containers: [container({ resources: { requests: { cpu: 'all' } } })] })),
    holds: isUnsupported,
  },
  'a pod that asks for 1e400 bytes': {
    objects: pods(withSpec({ containers: [container({ resources: { requests: { memory: '1e400' } } })] })),
    holds: (view) => expect((view.podsByNode.get(LIED) ?? []).every(({ shape }) => [...shape.requests].every(Number.isFinite))).toBe(true),
  },
  'a pod with twenty thousand containers': {
    objects: pods(
      withSpec({
        containers: Array.from({ length: 20_000 }, (_none, at) => container({ name: `c${at}`, resources: { requests: { cpu: '1m' } } })),
      }),
    ),
    holds: (view) => expect(view.podsByNode.get(LIED)?.[0]?.shape.requests[0]).toBe(20_000),
  },
  'a pod whose owners are text': {
    objects: pods(pod('web-2', LIED, { metadata: meta('web-2', { ownerReferences: 'rs' }) })),
    holds: blocks,
  },
  'a pod whose annotations are numbers': {
    objects: pods(
      pod('web-2', LIED, { metadata: meta('web-2', { annotations: { 'cluster-autoscaler.kubernetes.io/pod-scale-up-delay': 5 } }) }),
    ),
    holds: blocks,
  },
  'a pod whose affinity is nested a hundred thousand deep': {
    objects: pods(pod('deep', LIED, { spec: { nodeName: LIED, affinity: '@deep' } })),
    holds: (view) => expect(view.podsByNode.get(LIED)?.map(({ name }) => name)).toEqual(['deep']),
  },
  'a pod that ends in the year 9999': {
    objects: pods(pod('web-2', LIED, { metadata: meta('web-2', { ...owned, deletionTimestamp: 'never' }) })),
  },
  'a budget whose numbers are text': {
    objects: (world) => {
      world['/apis/policy/v1/poddisruptionbudgets'] = [
        { metadata: meta('b'), spec: { selector: { matchLabels: {} } }, status: { disruptionsAllowed: '9' } },
      ];
    },
    holds: ({ disruptionBudgets }) => expect(disruptionBudgets[0]?.disruptionsAllowed).toBe(0),
  },
  'a DaemonSet whose template is text': {
    objects: (world) => void (world['/apis/apps/v1/daemonsets'] = [{ metadata: meta('d'), spec: { template: { spec: 'x' } } }]),
  },

  'a line that is not JSON': { stream: ['{"type":"ADDED","object":{"meta\n'] },
  'a line that is null': { stream: ['null\n'] },
  'a line that is a number': { stream: ['17\n'] },
  'an event of an unknown type': { stream: [line('EXPLODED', pod('x', LIED))] },
  'an event without an object': { stream: ['{"type":"ADDED"}\n', '{"type":"DELETED"}\n', '{"type":"MODIFIED","object":null}\n'] },
  'an error without a status': { stream: ['{"type":"ERROR"}\n'] },
  'a deletion of an unknown pod': { stream: [line('DELETED', pod('nobody', LIED))] },
  'changes out of order': {
    stream: [
      line('MODIFIED', pod('web-9', LIED, { metadata: meta('web-9', { ...owned, resourceVersion: '30' }) })),
      line('ADDED', pod('web-9', LIED, { metadata: meta('web-9', { ...owned, resourceVersion: '20' }) })),
    ],
  },
  'a version that is an object': {
    stream: [line('MODIFIED', pod('web-2', LIED, { metadata: meta('web-2', { resourceVersion: { a: 1 } }) }))],
  },
  'a line without an end': { stream: Array.from({ length: 17 }, () => 'x'.repeat(2 ** 20)), told: /more than 16 MiB/ },
  'bookmarks only': {
    answer: (request, response) => {
      if (request.path !== PODS || !isWatchList(request)) return false;
      begin(response);
      const next = (): void => {
        if (response.writable) response.write(line('BOOKMARK', { metadata: { resourceVersion: '5' } }), () => void setImmediate(next));
      };
      next();
      return true;
    },
    told: /silent/,
  },
  'five expired versions in a row': {
    answer: atFirst(5, (response) => {
      begin(response, line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }));
      response.end();
    }),
  },
  'HTML instead of a watch': {
    answer: atFirst(2, (response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html>Sign in</html>');
    }),
  },
  'a watch that ends in the middle of a line': {
    answer: atFirst(2, (response) => {
      begin(response, '{"type":"ADD');
      response.end();
    }),
  },
  'Retry-After of thirty years': {
    answer: atFirst(2, (response) => refusal(response, 429, 'TooManyRequests', { 'retry-after': '999999999' })),
  },
  'a status whose numbers are text': {
    answer: atFirst(2, (response) => json(response, 429, { code: '429', details: { retryAfterSeconds: 'soon', causes: [] } })),
  },

  'a list whose items are text': { answer: asPages(pagesThen({ metadata: { resourceVersion: '9' }, items: 'none' })) },
  'a list without metadata': { answer: asPages(pagesThen({ items: [] })) },
  'a list that is null': { answer: asPages(pagesThen(null)) },
  'a list whose pages lead in a circle': {
    answer: asPages(pagesThen({ metadata: { resourceVersion: '9', continue: 'again' }, items: [] }, 3)),
    told: /do not end/,
  },
  'a list whose link is an object': {
    answer: asPages(pagesThen({ metadata: { resourceVersion: '9', continue: { a: 1 } }, items: [] })),
    told: /do not end/,
  },
  'a list of 65 MiB': {
    answer: asPages(
      pagesThen((response: ServerResponse) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(Buffer.alloc(65 * 2 ** 20, ' '));
      }),
    ),
    told: /more than 64 MiB/,
  },
};

/** Wrong pages a few times, then the true list. */
function pagesThen(wrong: unknown, times = 1) {
  let left = times;
  return (request: Received, response: ServerResponse, world: Objects): void => {
    if (left-- <= 0) return json(response, 200, { metadata: { resourceVersion: '9' }, items: world[request.path] ?? [] });
    if (typeof wrong === 'function') (wrong as (to: ServerResponse) => void)(response);
    else json(response, 200, wrong);
  };
}

describe('the API server lies', () => {
  it.each(Object.entries(ROWS))('%s', async (_name, row) => {
    const { clock, lines, streams, world, view } = await watched(row);
    for (const text of row.stream ?? []) streams.get(PODS)?.write(text);
    // A change after the lie is seen.
    world[PODS] = [...(world[PODS] ?? []), pod('late', 'good-1')];
    const seen = (): boolean => (view().podsByNode.get('good-1') ?? []).some(({ name }) => name === 'late');
    const tell = async (): Promise<void> => {
      const stream = streams.get(PODS);
      if (stream?.writable === true) stream.write(line('ADDED', pod('late', 'good-1')));
      await clock.advance(1_000);
    };
    await until(seen, tell);
    const after = view();
    expect(after.nodes.get('good-1')).toMatchObject({ scaleDownDisabled: false, readiness: { ready: true } });
    expect(after.podsByNode.get('good-1')?.map(({ name }) => name)).toEqual(['late', 'web-1']);
    expect(after.pendingPods.map(({ name }) => name)).toContain('waiting');
    row.holds?.(after);
    expect(lines.join('\n')).toMatch(row.told ?? /^/);
  });

  it('about a pod that was read before: it stays as it was', async () => {
    const { streams, view } = await watched({});
    streams.get(PODS)?.write(line('MODIFIED', withSpec({ containers: 'app' })) + line('ADDED', pod('next', LIED)));
    await until(() => (view().podsByNode.get(LIED) ?? []).length === 2);
    const [, kept] = view().podsByNode.get(LIED) ?? [];
    expect(kept).toMatchObject({ name: 'web-2', controller: { kind: 'ReplicaSet' } });
    expect(kept?.shape.requests[0]).toBe(1_000);
  });

  it('about a node that was read before: its room stays, and it is not removed', async () => {
    const { streams, view } = await watched({});
    streams.get(NODES)?.write(line('MODIFIED', node(LIED, status({ conditions: 'fine' }))));
    await until(() => view().nodes.get(LIED)?.scaleDownDisabled === true);
    expect(view().nodes.get(LIED)).toMatchObject({ readiness: { ready: true }, disabledBecause: 'it is not in the documented form' });
    expect(view().nodes.get(LIED)?.allocatable[0]).toBe(4_000);
  });

  it.each([
    ['a thousand pages that lead in a circle', { metadata: { continue: 'again' }, items: [] }, /do not end/],
    ['a pod of an undocumented form', { items: [withSpec({ containers: 'app' })] }, /./],
  ])('to a read before a removal, with %s: the removal is called off or sees the pod', async (_what, page, told) => {
    const { reader } = await watched({
      answer: (request, response) => {
        const isFresh = request.query.get('fieldSelector') !== null;
        if (request.path === `${NODES}/${LIED}`) json(response, 200, node(LIED));
        else if (isFresh) json(response, 200, page);
        return isFresh || request.path === `${NODES}/${LIED}`;
      },
    });
    await expect(reader.readFresh(LIED, new AbortController().signal)).rejects.toThrow(told);
  });
});
