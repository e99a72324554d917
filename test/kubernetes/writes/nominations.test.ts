import { expect, it, onTestFinished } from 'vitest';
import { createPodNominator } from '../../../src/kubernetes/writes/nominations.ts';
import { json, refusal, startScriptedApi } from '../scripted-api.ts';

const signal = new AbortController().signal;
const POD = { namespace: 'shop', name: 'web-0', uid: 'u-1' };

it.each<readonly [string, number, 'written' | 'kept' | 'throws']>([
  ['a node is named', 200, 'written'],
  ['another writer has named one, or the pod is another one', 409, 'kept'],
  ['the pod is gone', 404, 'kept'],
  ['the pod is bound', 422, 'kept'],
  ['the right is missing', 403, 'throws'],
])('%s: HTTP %s, %s', async (_what, status, outcome) => {
  const api = await startScriptedApi();
  onTestFinished(() => api.stop());
  api.answer((_request, response) => (status === 200 ? json(response, 200, {}) : refusal(response, status, 'Reason')));
  const written = createPodNominator(api.rest).nominate(POD, 'n-0', signal);
  await (outcome === 'throws' ? expect(written).rejects.toThrow('403') : expect(written).resolves.toBe(outcome));
});

it('names the one field and the pod that was read, by its own manager and without force; a withdrawal names no node', async () => {
  const api = await startScriptedApi();
  onTestFinished(() => api.stop());
  const nominator = createPodNominator(api.rest);
  await nominator.nominate(POD, 'n-0', signal);
  await nominator.nominate(POD, undefined, signal);
  const common = { apiVersion: 'v1', kind: 'Pod', metadata: POD };
  expect(api.received.map(({ body }) => body)).toEqual([
    { ...common, status: { nominatedNodeName: 'n-0' } },
    { ...common, status: {} },
  ]);
  const [first] = api.received;
  expect([first?.method, first?.path, first?.query.toString(), first?.headers['content-type']]).toEqual([
    'PATCH',
    '/api/v1/namespaces/shop/pods/web-0/status',
    'fieldManager=aks-autoscaler-nominations&force=false',
    'application/apply-patch+yaml',
  ]);
});
