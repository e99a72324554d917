import { afterEach, describe, expect, it } from 'vitest';
import { WatchedConfigMap } from '../../../src/kubernetes/writes/config-maps.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { START_MS } from '../../support/builders.ts';
import { silentLog } from '../../support/silent-log.ts';
import { json, startScriptedApi, type Answer, type ScriptedApi } from '../scripted-api.ts';

const PLACE = { namespace: 'kube-system', name: 'rules' };
let stop = new AbortController();
let api: ScriptedApi | undefined;
afterEach(async () => {
  stop.abort();
  await api?.stop();
});

async function watched(answer: Answer) {
  stop = new AbortController();
  api = await startScriptedApi(answer);
  const { rest, metrics, received } = api;
  const seen: (Readonly<Record<string, string>> | undefined)[] = [];
  const map = new WatchedConfigMap(
    { rest, metrics, clock: new FakeClock(START_MS), random: seededRandom(1), log: silentLog() },
    PLACE,
    (content) => seen.push(content),
  );
  await map.start(stop.signal);
  return { seen, received };
}
const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;
const end = line('BOOKMARK', { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } });

describe('one ConfigMap', () => {
  it('only its name is asked for, and it is known before the start resolves', async () => {
    const { seen, received } = await watched((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(line('ADDED', { metadata: { name: 'rules', uid: 'u', resourceVersion: '8' }, data: { priorities: '1: [a]' } }) + end);
    });
    expect(seen).toEqual([{ priorities: '1: [a]' }]);
    expect(received.map(({ path, query }) => [path, query.get('fieldSelector'), query.get('watch')])).toEqual([
      ['/api/v1/namespaces/kube-system/configmaps', 'metadata.name=rules', 'true'],
    ]);
  });

  it.each<[string, Answer]>([
    ['without objects', (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write(end)],
    ['it may not be read', (_, response) => json(response, 403, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' })],
  ])('the start resolves although %s', async (_, answer) => {
    expect((await watched(answer)).seen).toEqual([]);
  });
});
