/**
 * The daemon's requests as its adapter makes them: reads, a higher capacity and a removal against a scripted Azure, and the calls of
 * agent pools. Must not know what a document allows.
 */
import { rig, USER_POOL } from '../../azure/rig.ts';
import { NODE_GROUP, SUBSCRIPTION } from '../../azure/scripted-arm.ts';
import { getAgentPool, postDeleteMachines, putAgentPool, type AgentPoolApiDeps } from '../../../src/azure/arm/agent-pool-api.ts';
import { jsonOf } from '../../../src/azure/arm/error-bodies.ts';
import { agentPoolPages } from '../../../src/azure/rows/agent-pool-list.ts';
import { withSizeCount } from '../../../src/azure/rows/vms-pool.ts';
import { instanceKey, nodeGroupId } from '../../../src/domain/ids.ts';
import { PLAIN_DELETE } from '../../../src/domain/ports/cloud.ts';
import { NEVER, replay } from '../adapter/replayed-azure.ts';

/** A request as the daemon sends it. */
export interface SentRequest {
  readonly method: string;
  readonly uri: URL;
  /** undefined: no body. */
  readonly body: unknown;
}

export async function daemonRequests(): Promise<readonly SentRequest[]> {
  return [...(await computeRequests()), ...(await agentPoolRequests())];
}

async function computeRequests(): Promise<readonly SentRequest[]> {
  const toClose: (() => Promise<void> | void)[] = [];
  const r = await rig({}, {}, (close) => toClose.push(close));
  try {
    const set = r.arm.addSet(USER_POOL, 3);
    await r.azure.start(r.signal);
    const written = await r.increase(USER_POOL, 4);
    set.state = 'Succeeded';
    await r.pass(120_000);
    const key = instanceKey(`${SUBSCRIPTION}|${NODE_GROUP}|vmss|${USER_POOL}|0`.toLowerCase());
    const request = { ...PLAIN_DELETE, group: nodeGroupId(USER_POOL), instances: [key], allowBelowMin: false };
    const removed = await r.azure.deleteInstances(request, r.signal);
    if (written.kind !== 'accepted' || removed.kind !== 'accepted')
      throw new Error(`the daemon wrote nothing: ${written.kind}, ${removed.kind}`);
    const ofArm = r.arm.requests.filter(({ path }) => path.startsWith('/subscriptions/'));
    return ofArm.map(({ method, path, query, body }) => ({
      method,
      uri: new URL(`${path}?${query.toString()}`, r.arm.url),
      body: method === 'GET' ? undefined : body,
    }));
  } finally {
    for (const close of toClose.reverse()) await close();
  }
}

const POOL = {
  name: 'mixed',
  properties: {
    type: 'VirtualMachines',
    count: null,
    vmSize: '',
    mode: 'User',
    eTag: 'one',
    virtualMachinesProfile: { scale: { manual: [{ size: 'Standard_D4s_v5', count: 2 }] } },
  },
};

async function agentPoolRequests(): Promise<readonly SentRequest[]> {
  const sent: SentRequest[] = [];
  const answering = (status: number, document: unknown): AgentPoolApiDeps => {
    const headers = new Map([['content-type', 'application/json']]);
    const answer = {
      method: 'GET',
      uri: new URL('https://management.azure.com'),
      status,
      headers,
      body: JSON.stringify(document),
      dateMs: 0,
    };
    const { calls, clients } = replay(answer, ({ method, url, body }) => {
      sent.push({ method, uri: new URL(url), body: typeof body === 'string' ? jsonOf(body) : undefined });
    });
    const options = { subscriptionId: SUBSCRIPTION, clusterName: 'aks', clusterResourceGroup: 'rg' };
    return { options, clients, calls, clock: { now: () => 0 } };
  };
  const reading = answering(200, POOL);
  await getAgentPool(reading, 'mixed', NEVER);
  await putAgentPool(reading, 'mixed', { body: withSizeCount(POOL, 'Standard_D4s_v5', 3), etag: 'one' }, NEVER);
  const deletion = { machineNames: ['aks-mixed-1'], beforeSend: () => Promise.resolve() };
  await postDeleteMachines(answering(202, {}), 'mixed', deletion, NEVER);
  const { calls, clients } = replayList((request) => sent.push(request));
  const pages = agentPoolPages({ clients }, { resourceGroup: 'rg', name: 'aks' });
  await calls.run({ operation: 'listAgentPools', resource: 'aks' }, NEVER, () => pages.next());
  return sent;
}

function replayList(note: (request: SentRequest) => void): ReturnType<typeof replay> {
  const headers = new Map([['content-type', 'application/json']]);
  const body = JSON.stringify({ value: [POOL] });
  const answer = { method: 'GET', uri: new URL('https://management.azure.com'), status: 200, headers, body, dateMs: 0 };
  return replay(answer, ({ method, url }) => note({ method, uri: new URL(url), body: undefined }));
}
