/** Objects that limit, reserve and ask for capacity: what of them is believed, and how their statuses are written. */
import { afterEach, describe, expect, it } from 'vitest';
import { createCapacityWriter } from '../../../src/kubernetes/writes/capacity-status.ts';
import {
  projectBuffer,
  projectPodTemplate,
  projectQuota,
  projectScalable,
  type BufferJson,
  type QuotaJson,
} from '../../../src/kubernetes/projection/capacity-objects.ts';
import { Shapes } from '../../../src/kubernetes/projection/pod-shape.ts';
import { Reflector } from '../../../src/kubernetes/watch/reflector.ts';
import { Table } from '../../../src/kubernetes/watch/object-table.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { aRef, resourceNames, START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, refusal, startScriptedApi, until, type ScriptedApi } from '../scripted-api.ts';

let api: ScriptedApi | undefined;
const stop = new AbortController();
afterEach(async () => {
  await api?.stop();
  api = undefined;
});

function quota(
  resources: Readonly<Record<string, string | number>>,
  selector: NonNullable<QuotaJson['spec']>['selector'] = null,
): QuotaJson {
  return { metadata: { name: 'q', uid: 'u', resourceVersion: '7', generation: 2 }, spec: { limits: { resources }, selector } };
}

describe('a CapacityQuota as read', () => {
  const good: readonly (readonly [string, string | number, number])[] = [
    ['cpu', '10', 10],
    ['cpu', 10, 10],
    ['nodes', '2k', 2000],
    ['memory', '32Gi', 32 * 2 ** 30],
    ['memory', '1.5Ki', 1536],
    ['nvidia.com/gpu', '0', 0],
  ];
  it.each(good)('%s: %s is a limit', (name, text, value) => {
    const read = projectQuota(quota({ [name]: text }));
    expect(read.problem).toBeUndefined();
    expect(read.limits).toEqual({ [name]: value });
  });

  const bad: readonly (readonly [string, string | number, string])[] = [
    ['cpu', '500m', 'not a whole number'],
    ['cpu', '1000m', 'not a whole number'],
    ['memory', '3.67Gi', 'not a whole number'],
    ['cpu', '0.3', 'not a whole number'],
    ['cpu', '-1', 'not a whole number'],
    ['cpu', 'many', 'not a whole number'],
    ['x'.repeat(64), '1', '63 characters'],
  ];
  it.each(bad)('%s: %s is refused', (name, text, why) => {
    const read = projectQuota(quota({ [name]: text }));
    expect(read.problem?.message).toContain(why);
    expect(read.limits).toEqual({});
  });

  it('too many limits, or none', () => {
    const many = Object.fromEntries(Array.from({ length: 21 }, (_none, at) => [`r${at}`, '1']));
    expect(projectQuota(quota(many)).problem?.message).toContain('21 limits');
    expect(projectQuota(quota({})).problem?.message).toContain('at least one');
  });

  it.each([
    ['an operator that does not exist', { matchExpressions: [{ key: 'a', operator: 'Near', values: ['b'] }] }],
    ['no values for In', { matchExpressions: [{ key: 'a', operator: 'In' }] }],
    ['values for Exists', { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['b'] }] }],
    ['an invalid key', { matchLabels: { '-a-': 'b' } }],
    ['an invalid value', { matchLabels: { a: 'b c' } }],
  ])('a selector with %s is not enforced', (_what, selector) => {
    expect(projectQuota(quota({ cpu: '1' }, selector)).problem?.message).toContain('spec.selector');
  });

  it('no selector, or an empty one, is about every node', () => {
    for (const selector of [null, {}])
      expect(projectQuota(quota({ cpu: '1' }, selector))).toMatchObject({ selector: { requirements: [] } });
  });
});

describe('pods that a buffer or a request stands for', () => {
  it('are said not to be judged where they claim devices: whose claims those would be is not known', () => {
    const template = { spec: { containers: [], resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }] } };
    const shapes = new Shapes(resourceNames);
    const unsupported = [{ feature: 'dynamic-resource-allocation', detail: 'resource claim gpu (ResourceClaimTemplate one)' }];
    expect(projectPodTemplate({ metadata: { name: 't' }, template }, shapes, resourceNames).shape).toMatchObject({ unsupported });
    const scalable = { metadata: { name: 'd' }, spec: { template } };
    expect(projectScalable({ kind: 'Deployment', apiGroup: 'apps' }, scalable, { shapes, names: resourceNames }).shape).toMatchObject({
      unsupported,
    });
  });
});

describe('a CapacityBuffer as read', () => {
  const buffer = (spec: NonNullable<BufferJson['spec']>) => projectBuffer({ metadata: { name: 'b', namespace: 'n' }, spec }, resourceNames);
  it.each([
    ['both references', { podTemplateRef: { name: 'p' }, scalableRef: { kind: 'Deployment', name: 'd' }, replicas: 1 }],
    ['neither reference', { replicas: 1 }],
    ['a template without a number', { podTemplateRef: { name: 'p' } }],
    ['a limit that is no quantity', { podTemplateRef: { name: 'p' }, limits: { cpu: 'much' } }],
    ['a negative number', { podTemplateRef: { name: 'p' }, replicas: -1 }],
  ])('%s is a problem of its own', (_what, spec) => {
    expect(buffer(spec).problem).toBeDefined();
  });

  it('an empty strategy is the usual one; limits are in the units of vectors', () => {
    const read = buffer({
      podTemplateRef: { name: 'p' },
      provisioningStrategy: '',
      limits: { cpu: '1500m', memory: '1Gi', 'example.com/x': 0 },
    });
    expect(read.problem).toBeUndefined();
    expect(read).toMatchObject({ strategy: 'buffer.x-k8s.io/active-capacity', limits: { cpu: 1500, memory: 2 ** 30, 'example.com/x': 0 } });
  });
});

describe('statuses on the wire', () => {
  it('a patch names the version it was made from, keeps what is alike and takes away what is gone', async () => {
    api = await startScriptedApi();
    api.answer((_request, response) => json(response, 200, {}));
    const condition = { type: 'Valid', status: 'True', reason: 'r', message: 'm', sinceMs: START_MS } as const;
    await createCapacityWriter(api.rest).writeStatus(
      aRef('CapacityQuota', 'q', { version: '41' }),
      { before: { conditions: [], used: { cpu: 4, memory: 1 }, replicas: 3 }, after: { conditions: [condition], used: { cpu: 8 } } },
      stop.signal,
    );
    const [request] = api.received;
    expect(`${request?.method} ${request?.path}`).toBe('PATCH /apis/autoscaling.x-k8s.io/v1beta1/capacityquotas/q/status');
    expect(request?.body).toEqual({
      metadata: { resourceVersion: '41' },
      status: {
        conditions: [{ type: 'Valid', status: 'True', reason: 'r', message: 'm', lastTransitionTime: '2026-11-21T00:00:00Z' }],
        used: { resources: { cpu: '8', memory: null } },
        replicas: null,
      },
    });
  });

  it('what is to be deleted is named by uid and version; gone already is success, another by now is not', async () => {
    api = await startScriptedApi();
    const writer = createCapacityWriter(api.rest);
    const ref = aRef('ProvisioningRequest', 'p', { version: '5' });
    api.answer((_request, response) => refusal(response, 404, 'NotFound'));
    await writer.remove(ref, stop.signal);
    expect(api.received[0]?.body).toEqual({ preconditions: { uid: 'uid-p', resourceVersion: '5' } });
    api.answer((_request, response) => refusal(response, 409, 'Conflict'));
    await expect(writer.remove(ref, stop.signal)).rejects.toMatchObject({ kind: 'conflict' });
  });
});

describe('a kind that the cluster does not know', () => {
  it('is no failure: answered at once, reported once, looked for every five minutes, and used when it appears', async () => {
    api = await startScriptedApi();
    const { rest, metrics, received } = api;
    const clock = new FakeClock(START_MS);
    const said: string[] = [];
    const log = { ...silentLog(), info: (_facts: object, text: string) => void said.push(text), warn: () => void said.push('warn') };
    const table = new Table<string>({ keyOf: ({ metadata }) => metadata?.name ?? '', project: ({ metadata }) => metadata?.name ?? '' });
    const ending = new AbortController();
    api.answer((_request, response) => refusal(response, 404, 'NotFound'));
    const reflector = new Reflector({
      resource: 'capacityquotas',
      path: '/q',
      mayBeAbsent: true,
      table,
      rest,
      clock,
      random: seededRandom(1),
      log: log as never,
      metrics,
    });
    reflector.start(ending.signal);
    await reflector.answered;
    for (const asked of [2, 3]) {
      await clock.advance(298_000);
      expect(received).toHaveLength(asked - 1);
      await clock.advance(2_000);
      await until(() => received.length === asked);
    }
    expect(said.filter((text) => text !== 'Watch-list not supported by the API server; reading in pages instead')).toHaveLength(1);
    api.answer(({ query }, response) => {
      if (query.get('sendInitialEvents') === 'true') return refusal(response, 400, 'BadRequest');
      if (query.get('watch') === 'true') {
        response.writeHead(200).flushHeaders();
        return;
      }
      return json(response, 200, { metadata: { resourceVersion: '3' }, items: [{ metadata: { name: 'q', resourceVersion: '2' } }] });
    });
    await clock.advance(301_000);
    await until(() => table.items.size === 1);
    ending.abort();
    await reflector.ended();
  });
});
