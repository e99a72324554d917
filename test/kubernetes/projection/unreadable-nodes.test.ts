import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodeJson, ObjectJson, Quantities } from '../../../src/kubernetes/api/core-json.ts';
import { createNodeProjection, projectNode } from '../../../src/kubernetes/projection/node.ts';
import { WatchedClusterReader } from '../../../src/kubernetes/views/cluster-reader.ts';
import { noResources, ResourceNames } from '../../../src/domain/resources.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { startScriptedApi, until, type ScriptedApi } from '../scripted-api.ts';

const good = { cpu: '4', memory: '16Gi', pods: '110' };
const names = new ResourceNames();

const nodeJson = (name: string, status: { readonly capacity?: Quantities; readonly allocatable?: Quantities } = {}): NodeJson => ({
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-11-21T00:00:00Z', labels: { agentpool: 'web' } },
  status: { capacity: good, allocatable: good, conditions: [{ type: 'Ready', status: 'True' }], ...status },
});

describe('a node whose size cannot be read', () => {
  it.each<[string, { readonly capacity?: Quantities; readonly allocatable?: Quantities }]>([
    ['allocatable', { allocatable: { ...good, cpu: 'four' } }],
    ['capacity', { capacity: { ...good, memory: '16 gigabytes' } }],
    ['an extended resource', { allocatable: { ...good, 'example.com/device': '' } }],
  ])('by its %s: is not ready, has no room, is not removed, and says why', (_what, status) => {
    const node = projectNode(nodeJson('n', status), createNodeProjection(names));
    expect(node).toMatchObject({ name: 'n', labels: { agentpool: 'web' }, scaleDownDisabled: true, readiness: { ready: false } });
    expect(node.readiness.reason).toMatch(/^its size cannot be read: ".*" is not a quantity/);
    expect([node.capacity, node.allocatable]).toEqual([noResources(), noResources()]);
  });

  it('keeps the other reasons for not being ready', () => {
    const json = nodeJson('n', { capacity: { cpu: '?' } });
    const node = projectNode({ ...json, status: { ...json.status, conditions: [] } }, createNodeProjection(names));
    expect(node.readiness.reason).toMatch(/; has no Ready condition$/);
  });

  it('is reported once for each reason, and is a node like any other once it can be read', () => {
    const told: string[] = [];
    const shared = createNodeProjection(names, (node) => told.push(node));
    for (const name of ['a', 'a', 'b', 'a']) projectNode(nodeJson(name, { capacity: { cpu: '?' } }), shared);
    expect(told).toEqual(['a', 'b']);
    projectNode(nodeJson('a', { capacity: { cpu: '??' } }), shared);
    expect(told).toEqual(['a', 'b', 'a']);
    expect(projectNode(nodeJson('a'), shared)).toMatchObject({ readiness: { ready: true, reason: '' }, scaleDownDisabled: false });
  });
});

describe('among other nodes', () => {
  let api: ScriptedApi;
  let reader: WatchedClusterReader;
  const lines: string[] = [];
  const write: ((line: string) => void)[] = [];
  const line = (type: string, object: ObjectJson): string => `${JSON.stringify({ type, object })}\n`;
  const clock = new FakeClock(START_MS);

  beforeEach(async () => {
    lines.length = 0;
    write.length = 0;
    api = await startScriptedApi(({ path }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (path === '/api/v1/nodes') {
        write.push((text) => void response.write(text));
        response.write(line('ADDED', nodeJson('bad', { allocatable: { cpu: 'four' } })) + line('ADDED', nodeJson('fine')));
      }
      const annotations = { 'k8s.io/initial-events-end': 'true' };
      response.write(line('BOOKMARK', { metadata: { resourceVersion: '9', annotations } }));
    });
    const { rest, metrics } = api;
    const log = createLog('warn', { write: (text) => void lines.push(text) });
    reader = new WatchedClusterReader({ rest, clock, random: seededRandom(1), log, metrics, names });
    await reader.start(new AbortController().signal);
  });
  afterEach(async () => {
    await reader.close();
    await api.stop();
  });

  it('it neither hides them nor makes the watch begin again, and is logged once', async () => {
    expect([...reader.observe(START_MS).nodes.keys()]).toEqual(['bad', 'fine']);
    const bad = nodeJson('bad', { allocatable: { cpu: 'four' } });
    write[0]?.(line('MODIFIED', { ...bad, metadata: { ...bad.metadata, resourceVersion: '10', labels: { agentpool: 'other' } } }));
    write[0]?.(line('ADDED', { ...nodeJson('last'), metadata: { name: 'last', uid: 'last', resourceVersion: '11' } }));
    await until(() => reader.observe(START_MS).nodes.size === 3);
    const { nodes } = reader.observe(START_MS);
    expect([...nodes.keys()]).toEqual(['bad', 'fine', 'last']);
    expect(nodes.get('bad')).toMatchObject({ labels: { agentpool: 'other' }, readiness: { ready: false } });
    expect(api.received.filter(({ path }) => path === '/api/v1/nodes')).toHaveLength(1);
    expect(lines.map((text) => JSON.parse(text) as object)).toMatchObject([{ level: 'warn', node: 'bad', msg: 'Node could not be read' }]);
  });
});

describe('a node that its platform has put to sleep', () => {
  it.each([
    ['True', true],
    ['False', false],
    ['Unknown', false],
  ])('with the condition Suspended=%s', (status, suspended) => {
    const json = nodeJson('n');
    const conditions = [...(json.status?.conditions ?? []), { type: 'Suspended', status }];
    expect(projectNode({ ...json, status: { ...json.status, conditions } }, createNodeProjection(names)).suspended).toBe(suspended);
  });
});
