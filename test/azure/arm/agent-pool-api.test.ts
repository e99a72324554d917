/** How agent pools are read and written: by the typed client of AKS, except for the PUT of a whole document. */
import { describe, expect, it } from 'vitest';
import { getAgentPool, postDeleteMachines, putAgentPool } from '../../../src/azure/arm/agent-pool-api.ts';
import { ArmCalls } from '../../../src/azure/arm/arm-client.ts';
import { RateLimits } from '../../../src/azure/arm/rate-limits.ts';
import { createClients } from '../../../src/azure/arm/sdk-clients.ts';
import { agentPoolPages } from '../../../src/azure/rows/agent-pool-list.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { START_MS } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { options } from '../rig.ts';
import { refusal, ScriptedArm, type ArmReply, type ArmRequest } from '../scripted-arm.ts';

const TYPED = /azsdk-js-arm-containerservice\//;
const { signal } = new AbortController();

async function started(answer: (request: ArmRequest, arm: ScriptedArm) => ArmReply) {
  const arm = await ScriptedArm.start();
  arm.intercept = (request) => answer(request, arm);
  const clock = new FakeClock(START_MS);
  const metrics = createMetrics();
  const settings = options(arm, { clusterName: 'aks', clusterResourceGroup: 'rg' });
  const calls = new ArmCalls({
    clock,
    metrics: metrics.arm,
    rateLimits: new RateLimits(clock, metrics.arm),
    endpoint: arm.url,
    timeoutMs: 30_000,
    maxConcurrent: 4,
    random: () => 0,
  });
  const credential = { getToken: () => Promise.resolve({ token: 'local', expiresOnTimestamp: Date.now() + 3_600_000 }) };
  return { arm, deps: { options: settings, clients: createClients(settings, credential, calls), calls, clock } };
}

const DOCUMENT = {
  name: 'user1',
  properties: { type: 'VirtualMachineScaleSets', count: 3, eTag: 'e-1', ofNewerVersion: { kept: [1, null] } },
};
const agentOf = ({ headers }: ArmRequest): string => String(headers['x-ms-useragent'] ?? headers['user-agent']);
const versionOf = ({ query }: ArmRequest): string | null => query.get('api-version');

describe('an agent pool', () => {
  it('is read by the typed client, and its body comes as it was sent', async () => {
    const { arm, deps } = await started(() => ({ status: 200, body: DOCUMENT }));
    expect(await getAgentPool(deps, 'user1', signal)).toEqual(DOCUMENT);
    expect(arm.requests.map((request) => [request.method, TYPED.test(agentOf(request)), versionOf(request)])).toEqual([
      ['GET', true, '2026-06-01'],
    ]);
  });

  it('whose body the typed model cannot hold is still what Azure sent', async () => {
    const odd = { name: 'user1', properties: { availabilityZones: 7, nodeTaints: 'a=b:NoSchedule' } };
    const { deps } = await started(() => ({ status: 200, body: odd }));
    expect(await getAgentPool(deps, 'user1', signal)).toEqual(odd);
  });

  it('that is not there, or may not be read, is an error and no document', async () => {
    const missing = await started(() => refusal(404, 'NotFound', 'Could not find the agentpool'));
    await expect(getAgentPool(missing.deps, 'user1', signal)).rejects.toMatchObject({ kind: 'not-found' });
    const rejected = await started(() => refusal(401, 'InvalidAuthenticationToken', 'The access token is invalid.'));
    await expect(getAgentPool(rejected.deps, 'user1', signal)).rejects.toMatchObject({ kind: 'auth' });
  });

  it('is written as raw JSON under its tag, in the version in which it was read', async () => {
    const { arm, deps } = await started(() => ({ status: 200, body: DOCUMENT, headers: { 'azure-asyncoperation': 'https://x/op' } }));
    const answer = await putAgentPool(deps, 'user1', { body: DOCUMENT, etag: 'e-1' }, signal);
    expect(answer).toMatchObject({ etag: 'e-1', operationUrl: 'https://x/op', body: DOCUMENT });
    const [put] = arm.requests;
    expect([put?.method, put?.headers['if-match'], put?.body, put === undefined ? '' : versionOf(put)]).toEqual([
      'PUT',
      'e-1',
      DOCUMENT,
      '2026-06-01',
    ]);
  });
});

describe('machines', () => {
  it('are deleted by the typed client in one request, and the operation is not polled by it', async () => {
    const headers = { 'azure-asyncoperation': 'https://127.0.0.1/op-1', 'retry-after': '7' };
    const { arm, deps } = await started(() => ({ status: 202, headers, raw: '' }));
    const answer = await postDeleteMachines(
      deps,
      'user1',
      { machineNames: ['aks-user1-vm0'], beforeSend: () => Promise.resolve() },
      signal,
    );
    expect(answer).toEqual({ body: undefined, etag: undefined, operationUrl: 'https://127.0.0.1/op-1', retryAfterMs: 7_000 });
    const [post, ...others] = arm.requests;
    expect([post?.method, post?.body, post === undefined ? '' : TYPED.test(agentOf(post)), others]).toEqual([
      'POST',
      { machineNames: ['aks-user1-vm0'] },
      true,
      [],
    ]);
  });
});

describe('the list of pools', () => {
  it('is read by the typed client; a page with one malformed pool is read like the others', async () => {
    const item = (name: string, more: object = {}) => ({ name, properties: { type: 'VirtualMachineScaleSets', ...more } });
    const { arm, deps } = await started(({ query }, { url }) =>
      query.get('page') === null
        ? { status: 200, body: { value: [item('good'), item('odd', { availabilityZones: 7 }), null], nextLink: `${url}/next?page=2` } }
        : { status: 200, body: { value: [item('last')] } },
    );
    const pages = agentPoolPages(deps, { resourceGroup: 'rg', name: 'aks' });
    const call = { operation: 'listAgentPools', resource: 'aks' } as const;
    const names: (string | undefined)[] = [];
    for (;;) {
      const page = await deps.calls.run(call, signal, () => pages.next());
      if (page.done === true) break;
      names.push(...page.value.map(({ name }) => name));
    }
    expect(names).toEqual(['good', 'odd', 'last']);
    expect(arm.requests[0] === undefined ? '' : agentOf(arm.requests[0])).toMatch(TYPED);
  });
});
