/**
 * The story of the demo: chapters in order, each with what it does to the world and what it then waits to see there.
 * Everything it waits for is a fact of the world (pods bound, capacities, nodes gone), never a word of the daemon.
 */
import type { WorldClient, Json, Wish } from './world-client.ts';
import type { WorldState } from './world-watcher.ts';

export interface Chapter {
  readonly title: string;
  readonly begin: (client: WorldClient) => Promise<void>;
  /** True when the chapter has come to its end. */
  readonly isOver: (state: WorldState, wishes: readonly Wish[]) => boolean;
  /** What the chapter promises, for the account when it does not come true in time. */
  readonly promise: string;
  /** Seconds of real time after which the story goes on without it. */
  readonly patienceSeconds: number;
}

const SHOPS = ['shop-1', 'shop-2', 'shop-3', 'shop-4', 'shop-5'];

export const CHAPTERS: readonly Chapter[] = [
  {
    title: 'A burst of 30 pods: one pool reaches its maximum, the next one takes the rest',
    promise: 'all pods of the burst are bound, on two pools',
    patienceSeconds: 25,
    begin: (client) => forEachShop((shop) => makeShop(client, shop)),
    isOver: (state) => boundOf(state, 'shop') === 30 && target(state, 'memory') > 0 && settled(state),
  },
  {
    title: 'Another writer resizes "memory" in the same moment: 412, and the plan is made again from what is true now',
    promise: 'the other writer met the daemon on its way, and every pod is bound',
    patienceSeconds: 25,
    begin: async (client) => {
      await client.control('POST', '/_emu/events', { foreignScale: { pool: 'memory', delta: 1, when: 'before-next-write' } });
      await create(client, deployment('api', 20, { cpu: '900m', memory: '2Gi' }));
    },
    isOver: (state) => boundOf(state, 'api') === 20 && state.conflicts > 0 && settled(state),
  },
  {
    title: 'A batch for "compute", which Azure has none of: "reserve" takes over',
    promise: 'the batch runs on the pool that was in stock',
    patienceSeconds: 25,
    begin: (client) => create(client, deployment('batch', 8, { cpu: '1500m', memory: '2500Mi', batch: true })),
    isOver: (state) => boundOf(state, 'batch') === 8 && target(state, 'reserve') > 0,
  },
  {
    title: 'The load falls: nodes are drained and deleted',
    promise: 'what is left of the load runs on fewer nodes, pods were evicted for it, and none is missing',
    patienceSeconds: 45,
    begin: async (client) => {
      await forEachShop((shop) => scale(client, shop, 1));
      await scale(client, 'api', 0);
      await scale(client, 'batch', 0);
    },
    isOver: (state) =>
      target(state, 'compute') === 0 &&
      target(state, 'reserve') === 0 &&
      target(state, 'general') + target(state, 'memory') <= 2 &&
      state.evicted > 0 &&
      boundOf(state, 'shop') === SHOPS.length &&
      boundOf(state, 'api') + boundOf(state, 'batch') === 0 &&
      settled(state),
  },
];

function target(state: WorldState, pool: string): number {
  return state.pools.find((candidate) => candidate.name === pool)?.target ?? 0;
}

/** No machine is on its way in or out, and no pod waits. */
function settled(state: WorldState): boolean {
  return state.pending === 0 && state.pools.every((pool) => pool.target === pool.ready && pool.failed === 0);
}

function boundOf(state: WorldState, app: string): number {
  return state.boundByApp.get(app) ?? 0;
}

interface Load {
  readonly cpu: string;
  readonly memory: string;
  readonly batch?: boolean;
  /** Label `app`; the name unless given. */
  readonly app?: string;
}

function deployment(name: string, replicas: number, load: Load): Json {
  const labels = { app: load.app ?? name, 'app.kubernetes.io/instance': name };
  const batch = {
    nodeSelector: { workload: 'batch' },
    tolerations: [{ key: 'workload', operator: 'Equal', value: 'batch', effect: 'NoSchedule' }],
  };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          ...(load.batch === true ? batch : {}),
          terminationGracePeriodSeconds: 10,
          containers: [{ name: 'app', image: 'demo/app:1', resources: { requests: { cpu: load.cpu, memory: load.memory } } }],
        },
      },
    },
  };
}

/** Six pods of the burst. */
export function makeShop(client: WorldClient, shop: string): Promise<void> {
  return create(client, deployment(shop, 6, { cpu: '700m', memory: '900Mi', app: 'shop' }));
}

export async function forEachShop(act: (shop: string) => Promise<void>): Promise<void> {
  for (const shop of SHOPS) await act(shop);
}

async function create(client: WorldClient, object: Json): Promise<void> {
  await client.kube('POST', '/apis/apps/v1/namespaces/default/deployments', object);
}

export async function scale(client: WorldClient, name: string, replicas: number): Promise<void> {
  await client.kube('PATCH', `/apis/apps/v1/namespaces/default/deployments/${name}`, { spec: { replicas } });
}
