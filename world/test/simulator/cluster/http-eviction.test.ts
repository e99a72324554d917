import { describe, expect, it } from 'vitest';
import { aBudgetDraft, aDeployment, aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

let stage: Stage;

describe('eviction', () => {
  const path = (name: string): string => `/api/v1/namespaces/default/pods/${name}/eviction`;
  const body = (name: string, options: unknown = {}): unknown => ({
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace: 'default' },
    deleteOptions: options,
  });

  async function withWeb(budget: Record<string, unknown>): Promise<readonly string[]> {
    stage = await setStage([aMachine('n1'), aMachine('n2')]);
    stage.cluster.apply(aDeployment('web', 2));
    stage.cluster.apply(aBudgetDraft('web', { selector: { matchLabels: { app: 'web' } }, ...budget }));
    stage.clock.advance(5_000);
    return stage.cluster.store
      .boundPods()
      .filter((pod) => pod.metadata.namespace === 'default')
      .map((pod) => pod.metadata.name);
  }

  it('grants what the budget allows and refuses the next with 429', async () => {
    const [first = '', second = ''] = await withWeb({ minAvailable: 1 });
    expect(await stage.client.call('POST', path(first), body(first))).toMatchObject({
      status: 201,
      body: { kind: 'Status', status: 'Success' },
    });
    const refused = await stage.client.call('POST', path(second), body(second));
    expect(refused).toMatchObject({
      status: 429,
      body: {
        reason: 'TooManyRequests',
        message: "Cannot evict pod as it would violate the pod's disruption budget.",
        details: {
          causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget web needs 1 healthy pods and has 2 currently' }],
        },
      },
    });
    expect(stage.cluster.store.get('pods', 'default', second)?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('allows again once a replacement is ready', async () => {
    const [first = '', second = ''] = await withWeb({ maxUnavailable: 1 });
    await stage.client.call('POST', path(first), body(first));
    expect((await stage.client.call('POST', path(second), body(second))).status).toBe(429);
    stage.clock.advance(10_000);
    expect((await stage.client.call('POST', path(second), body(second))).status).toBe(201);
  });

  it('takes the grace of the request', async () => {
    const [first = ''] = await withWeb({ minAvailable: 0 });
    await stage.client.call('POST', path(first), body(first, { gracePeriodSeconds: 7 }));
    expect(stage.cluster.store.get('pods', 'default', first)?.metadata.deletionGracePeriodSeconds).toBe(7);
  });

  it('answers 404 for a pod that is gone and 409 for another of its name', async () => {
    const [first = ''] = await withWeb({ minAvailable: 0 });
    expect((await stage.client.call('POST', path('nobody'), body('nobody'))).status).toBe(404);
    expect((await stage.client.call('POST', path(first), body(first, { preconditions: { uid: 'other' } }))).status).toBe(409);
  });

  it('answers 500 when two budgets match one pod', async () => {
    const [first = ''] = await withWeb({ minAvailable: 1 });
    stage.cluster.apply(aBudgetDraft('web-two', { minAvailable: 1, selector: { matchLabels: { app: 'web' } } }));
    expect(await stage.client.call('POST', path(first), body(first))).toMatchObject({ status: 500, body: { reason: 'InternalError' } });
  });

  it('asks to wait while a changed budget is not computed yet', async () => {
    const [first = ''] = await withWeb({ minAvailable: 1 });
    stage.cluster.apply(aBudgetDraft('web', { minAvailable: 0, selector: { matchLabels: { app: 'web' } } }));
    const answer = await stage.client.call('POST', path(first), body(first));
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '10' } });
  });

  it('ignores budgets for a pod that does not run yet', async () => {
    await withWeb({ minAvailable: 2 });
    stage.cluster.apply(aPodDraft('waits', { labels: { app: 'web' }, spec: { nodeSelector: { no: 'where' } } }));
    expect((await stage.client.call('POST', path('waits'), body('waits'))).status).toBe(201);
  });
});
