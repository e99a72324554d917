/** What AKS does with nodes when it upgrades them, on a real API server: cordon, drain within budgets, uncordon. */
import { conditionOf, type NodeObject, type PodObject } from './cluster/store/objects.ts';
import { drainFailure, isEvicted, ROUND_MS, type StoppableMaintenance } from './node-maintenance.ts';
import { MERGE, type ApiClient } from './real-control-plane/api-client.ts';
import { Steps, type StepsOptions } from './real-control-plane/steps.ts';

export function createRealNodeMaintenance(options: StepsOptions): StoppableMaintenance {
  const { api } = options;
  const steps = new Steps(options);
  const ready = new Set<string>();
  steps.onStop(
    api.follow('/api/v1/nodes', ({ type, object }) => {
      const isReady = type !== 'DELETED' && conditionOf(object as NodeObject, 'Ready')?.status === 'True';
      if (isReady) ready.add(object.metadata.name);
      else ready.delete(object.metadata.name);
    }),
  );
  const setUnschedulable = (name: string, unschedulable: boolean): Promise<void> =>
    steps.write('PATCH', `/api/v1/nodes/${name}`, { spec: { unschedulable } }, MERGE);
  return {
    drain: (name, { timeoutMs, goesOn = () => true }, done) =>
      steps.run(`drain of ${name}`, async () => {
        await setUnschedulable(name, true);
        const failure = await drain({ api, steps, name, timeoutMs, goesOn });
        if (goesOn()) done(failure);
      }),
    uncordon: (name) => steps.run(`uncordon of ${name}`, () => setUnschedulable(name, false)),
    isReady: (name) => ready.has(name),
    stop: () => steps.stop(),
  };
}

interface DrainInput {
  readonly api: ApiClient;
  readonly steps: Steps;
  readonly name: string;
  readonly timeoutMs: number;
  readonly goesOn: () => boolean;
}

/** @returns why it failed in time, or undefined. */
async function drain({ api, steps, name, timeoutMs, goesOn }: DrainInput): Promise<string | undefined> {
  for (let leftMs = timeoutMs; ; leftMs -= ROUND_MS) {
    if (!goesOn()) return undefined;
    const pods = (await podsOnRealNode(api, name)).filter((pod) => isEvicted(pod, name));
    if (pods.length === 0) return undefined;
    const tried = await Promise.all(pods.map(async (pod) => ({ pod, why: await evict(api, pod) })));
    const refused = tried.find(({ why }) => why !== undefined);
    if (leftMs <= 0) return drainFailure(name, refused?.pod ?? pods[0], refused?.why);
    await steps.wait(ROUND_MS);
  }
}

export async function podsOnRealNode(api: ApiClient, name: string): Promise<readonly PodObject[]> {
  return (await api.list(`/api/v1/pods?fieldSelector=spec.nodeName%3D${name}`)) as readonly PodObject[];
}

/** @returns why the API server refused it, or undefined. */
async function evict(api: ApiClient, { metadata }: PodObject): Promise<string | undefined> {
  if (metadata.deletionTimestamp !== undefined) return undefined;
  const { name, namespace = 'default', uid } = metadata;
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace }, deleteOptions: { preconditions: { uid } } };
  const { status, body } = await api.call('POST', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, eviction);
  return status < 300 || status === 404 || status === 409 ? undefined : String(body['message']);
}
