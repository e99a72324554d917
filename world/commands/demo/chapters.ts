/**
 * The chapters of the demo. Each one changes the world and then waits for a result there: pods bound, capacities, nodes
 * removed. It never waits for something that the daemon reports.
 */
import type { WorldClient, Json, WithheldWrite } from './world-client.ts';
import type { WorldState } from './world-watcher.ts';

export interface Chapter {
  readonly title: string;
  readonly begin: (client: WorldClient) => Promise<void>;
  /** Whether the expected result is reached. */
  readonly isOver: (state: WorldState, withheld: readonly WithheldWrite[]) => boolean;
  /** The expected result, as a sentence. */
  readonly expectation: string;
  /** Seconds of real time after which the next chapter begins anyway. */
  readonly timeoutSeconds: number;
}

const SHOPS = ['shop-1', 'shop-2', 'shop-3', 'shop-4', 'shop-5'];

export const CHAPTERS: readonly Chapter[] = [
  {
    title: '30 pods arrive: pool general grows to its maximum, pool memory takes the rest',
    expectation: 'all 30 pods are bound, on two pools',
    timeoutSeconds: 25,
    begin: (client) => forEachShop((shop) => createShop(client, shop)),
    isOver: (state) => boundOf(state, 'shop') === 30 && target(state, 'memory') > 0 && settled(state),
  },
  {
    title: 'Another writer resizes pool memory at the same time: Azure refuses our write (412), and the loop plans again',
    expectation: 'the write was refused once, and all 20 new pods are bound',
    timeoutSeconds: 25,
    begin: async (client) => {
      await client.control('POST', '/_emu/events', { foreignScale: { pool: 'memory', delta: 1, when: 'before-next-write' } });
      await create(client, deployment('api', 20, { cpu: '900m', memory: '2Gi' }));
    },
    isOver: (state) => boundOf(state, 'api') === 20 && state.conflicts > 0 && settled(state),
  },
  {
    title: 'A batch for pool compute, which is out of capacity in Azure: pool reserve takes over',
    expectation: 'the batch runs on the pool with capacity',
    timeoutSeconds: 25,
    begin: (client) => createBatch(client),
    isOver: (state) => boundOf(state, 'batch') === 8 && target(state, 'reserve') > 0,
  },
  {
    title: 'The load falls: unneeded nodes are drained and deleted',
    expectation: 'the remaining pods run on fewer nodes; pods were evicted, and none was lost',
    timeoutSeconds: 60,
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

/** No instance is being created or deleted, and no pod is pending. */
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
  /** Label `app`. Default: the name. */
  readonly app?: string;
  /** An `emptyDir`, which the Cluster Autoscaler does not remove by default. */
  readonly hasLocalData?: boolean;
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
          ...(load.hasLocalData === true ? { volumes: [{ name: 'data', emptyDir: {} }] } : {}),
          terminationGracePeriodSeconds: 10,
          containers: [{ name: 'app', image: 'demo/app:1', resources: { requests: { cpu: load.cpu, memory: load.memory } } }],
        },
      },
    },
  };
}

/** Creates six of the 30 pods. */
export function createShop(client: WorldClient, shop: string, load: Pick<Load, 'hasLocalData'> = {}): Promise<void> {
  return create(client, deployment(shop, 6, { cpu: '700m', memory: '900Mi', app: 'shop', ...load }));
}

/** Creates eight pods that only the batch pools take. */
export function createBatch(client: WorldClient): Promise<void> {
  return create(client, deployment('batch', 8, { cpu: '1500m', memory: '2500Mi', batch: true }));
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
