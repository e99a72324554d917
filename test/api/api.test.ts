/** `/api/v1` of a daemon that runs against the emulated world, over HTTP. */
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VirtualRun } from '../support/virtual-world.ts';
import { aPool, deployment, MINUTE, worldOf } from '../scenarios/support.ts';
import { type Description, differences } from './schema-check.ts';

/** A document as a program without types reads it. */
// oxlint-disable-next-line typescript/no-explicit-any
type Fields = Readonly<Record<string, any>>;

let run: VirtualRun;
const url = (path: string): string => `${run.daemon.url ?? ''}/api/v1/${path}`;
const json = async (path: string): Promise<Fields> => (await fetch(url(path))).json() as Promise<Fields>;

beforeAll(async () => {
  run = await VirtualRun.start({
    spec: worldOf([aPool({ name: 'general', count: 2, min: 1, max: 3 }), aPool({ name: 'spare', count: 1, min: 1, max: 1 })]),
  });
  run.world.cluster.apply(deployment({ name: 'web', replicas: 9, cpu: '1500m' }));
  run.world.cluster.apply(deployment({ name: 'huge', replicas: 2, cpu: '64' }));
  await run.advance(12 * MINUTE);
});
afterAll(() => run.stop());

describe('the API of a daemon', () => {
  it('answers as its description says', async () => {
    const described = (await json('openapi.json')) as unknown as Description;
    const [waiting] = (await json('pending'))['items'];
    const node = (await json('nodes'))['items'][0].name;
    const decision = (await json('decisions'))['items'].find(({ kind }: { kind: string }) => kind === 'increase').id;
    const paths: Readonly<Record<string, string>> = {
      'pending/{id}/obstacles': `pending/${waiting.id}/obstacles`,
      'pods/{namespace}/{name}': `pods/${waiting.sample}`,
      'nodes/{name}': `nodes/${node}`,
      'pools/{name}': 'pools/aks-general',
      'decisions/{id}': `decisions/${decision}`,
      search: 'search?q=general',
    };
    const wrong: Record<string, readonly string[]> = {};
    for (const [path, { get }] of Object.entries(described.paths)) {
      const schema = get.responses['200'].content['application/json']?.schema;
      if (schema === undefined) continue;
      const asked = paths[path.slice(1)] ?? path.slice(1);
      const response = await fetch(url(asked));
      // test/scenarios/shadow.test.ts compares the report of a dry run with its description.
      if (asked === 'report' && response.status === 404) continue;
      const found = differences(await response.json(), schema, described.components.schemas);
      if (response.status !== 200 && !path.startsWith('/pools/')) wrong[asked] = [`status ${response.status}`];
      else if (found.length > 0 && response.status === 200) wrong[asked] = found.slice(0, 5);
    }
    expect(wrong).toEqual({});
  });

  it('agrees with the world: nodes, pending pods, sizes and their changes', async () => {
    const overview = await json('overview');
    const nodes = run.world.cluster.store.nodes().length;
    const pending = run.world.cluster.store.pendingPods().length;
    expect(overview['nodes'].total).toBe(nodes);
    expect(overview['pending'].total).toBe(pending);
    expect(overview['pending'].total).toBe(
      Object.values(overview['pending'].byVerdict as Record<string, number>).reduce((sum, count) => sum + count, 0),
    );
    const general = overview['pools'].find(({ name }: { name: string }) => name.includes('general'));
    expect(general).toMatchObject({ ready: 3, target: 3, max: 3, state: 'at-maximum' });
    const { lanes } = await json('timeline');
    expect(lanes.map(({ pool }: { pool: string }) => pool)).toEqual([general.name]);
    expect(lanes[0].marks).toMatchObject([{ kind: 'increase', actor: 'autoscaler', from: 2, to: 3 }]);
    expect(lanes[0].steps.at(-1).slice(1)).toEqual([3, 3]);
    const { items } = await json('scaleups');
    expect(items).toMatchObject([{ pool: general.name, from: 2, to: 3 }]);
    const { items: decisions } = await json('decisions?q=general');
    const { increases } = await json(`decisions/${decisions[0].id}`);
    expect(increases).toMatchObject([{ group: general.name, from: 2, to: 3 }]);
  });

  it('sends an unchanged document once', async () => {
    const first = await fetch(url('overview'));
    const again = await fetch(url('overview'), { headers: { 'if-none-match': first.headers.get('etag') ?? '' } });
    expect([first.status, again.status]).toEqual([200, 304]);
    await first.text();
  });

  it.each([
    ['users/me', 404, '/api/v1/nodes/NAME'],
    ['pods/', 404, '/api/v1/pods/NAME'],
    ['pods/%', 404, 'not found'],
    ['pods/default/gone', 404, 'pod default/gone not found'],
    ['pending/gone/obstacles', 404, 'no class gone'],
    ['timeline?from=yesterday', 400, 'from must be a time'],
    ['decisions?from=yesterday', 400, 'from must be a time'],
  ])('%s is answered with %i and a sentence', async (path, status, text) => {
    const response = await fetch(url(path));
    expect([response.status, await response.json()]).toEqual([status, { message: expect.stringContaining(text) }]);
  });

  it('streams the overview and then what changed in it', async () => {
    // Not fetch: virtual time waits until its requests are answered, and this one stays open.
    let seen = '';
    const arrived = new EventTarget();
    const request = get(url('events'), (response) => {
      response.setEncoding('utf8').on('data', (part: string) => {
        seen += part;
        arrived.dispatchEvent(new Event('data'));
      });
      response.on('error', () => undefined);
    }).on('error', () => undefined);
    const until = async (text: string): Promise<void> => {
      while (!seen.includes(text)) await new Promise((resolve) => arrived.addEventListener('data', resolve, { once: true }));
    };
    await until('event: resync');
    run.world.cluster.apply(deployment({ name: 'late', replicas: 1, cpu: '64' }));
    await run.advance(MINUTE);
    await until('event: loop');
    const patch = JSON.parse(/event: loop\ndata: (.*)\n/.exec(seen)?.[1] ?? '{}') as object;
    expect(patch).toHaveProperty('loopId');
    expect(patch).not.toHaveProperty('leader');
    request.destroy();
  });
});

it('names the right that Azure refuses, with the line of the role', async () => {
  const roleActions = ['*/read', 'Microsoft.Compute/virtualMachineScaleSets/delete/action'];
  const world = await VirtualRun.start({ spec: worldOf([aPool({ name: 'general', count: 1, min: 1, max: 3 })], { roleActions }) });
  try {
    world.world.cluster.apply(deployment({ name: 'web', replicas: 6, cpu: '1500m' }));
    await world.advance(2 * MINUTE);
    const { act } = (await (await fetch(`${world.daemon.url ?? ''}/api/v1/overview`)).json()) as Fields;
    const action = 'Microsoft.Compute/virtualMachineScaleSets/write';
    expect(act).toMatchObject({
      allowed: 'no',
      because: `Azure refuses it the right ${action}`,
      missingRights: [{ side: 'azure', action, rule: `"${action}"` }],
    });
  } finally {
    await world.stop();
  }
});
