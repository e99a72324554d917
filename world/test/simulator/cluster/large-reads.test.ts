/** Lists and watches of many objects are sent in portions, as fast as the client reads, and stay consistent meanwhile. */
import { expect, it } from 'vitest';
import type { KubeObject, ObjectDraft } from '../../../simulator/cluster/store/objects.ts';
import { aMap, MAPS, setStage, type Stage } from './stage.ts';

let stage: Stage;

/** Lists of a thousand and fewer are sent at once. */
const COUNT = 1_100;
/** With these, all objects are more than a socket holds: the server waits for the client. */
const TEXT = 'x'.repeat(20_000);

async function setLargeStage(): Promise<void> {
  stage = await setStage();
  for (let index = 0; index < COUNT; index++) stage.cluster.apply(mapOf(index, TEXT));
}

const nameAt = (index: number): string => `map-${String(index).padStart(4, '0')}`;
const mapOf = (index: number, text: string): ObjectDraft => ({ ...(aMap(nameAt(index)) as ObjectDraft), data: { text } });
const nameOf = (object: unknown): string => (object as KubeObject).metadata.name;

it('a list without a limit has every object once, in order', async () => {
  await setLargeStage();
  const answer = await stage.client.call('GET', MAPS);
  const items = answer.body['items'] as unknown as readonly unknown[];
  expect(answer.body).toMatchObject({ kind: 'ConfigMapList', metadata: { resourceVersion: String(stage.cluster.resourceVersion()) } });
  expect(items.map(nameOf)).toEqual(
    stage.cluster.store
      .list('configmaps')
      .filter(({ metadata }) => metadata.namespace === 'default')
      .map(nameOf),
  );
  expect(items.length).toBeGreaterThanOrEqual(COUNT);
});

it('what changes while the first picture is sent follows after it', async () => {
  await setLargeStage();
  const version = stage.cluster.resourceVersion();
  const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
  const watch = await stage.client.watch(`${MAPS}?${query}`);
  stage.cluster.apply(mapOf(0, 'changed'));
  stage.cluster.remove(mapOf(COUNT - 1, ''));
  stage.clock.advance(120_000);
  const seen: string[] = [];
  for (let event = await watch.next(); event !== undefined && event.type !== 'BOOKMARK'; event = await watch.next()) {
    seen.push(`${event.type} ${nameOf(event.object)}`);
    if (seen.length >= COUNT) break;
  }
  const maps = Array.from({ length: COUNT }, (_, index) => `ADDED ${nameAt(index)}`);
  expect(seen).toEqual(maps);
  expect(await watch.next()).toMatchObject({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(version) } } });
  expect([await watch.next(), await watch.next()]).toMatchObject([
    { type: 'MODIFIED', object: { metadata: { name: 'map-0000' } } },
    { type: 'DELETED', object: { metadata: { name: nameAt(COUNT - 1) } } },
  ]);
  watch.close();
});
