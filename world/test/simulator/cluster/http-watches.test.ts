import { beforeEach, describe, expect, it } from 'vitest';
import { aMap, MAPS, setStage, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage();
});

describe('watches', () => {
  const shown = (event: { type: string; object: { readonly [key: string]: unknown } } | undefined): string =>
    event === undefined ? 'end' : `${event.type} ${String((event.object['metadata'] as { name?: string } | undefined)?.name)}`;

  it('begins with what is there, then follows', async () => {
    await stage.client.call('POST', MAPS, aMap('a'));
    const watch = await stage.client.watch(`${MAPS}?watch=true`);
    expect(shown(await watch.next())).toBe('ADDED a');
    await stage.client.call('POST', MAPS, aMap('b'));
    await stage.client.call('PATCH', `${MAPS}/b`, { data: { x: 'y' } }, { contentType: 'application/merge-patch+json' });
    await stage.client.call('DELETE', `${MAPS}/a`);
    expect([shown(await watch.next()), shown(await watch.next()), shown(await watch.next())]).toEqual([
      'ADDED b',
      'MODIFIED b',
      'DELETED a',
    ]);
    watch.close();
  });

  it('replays from a version', async () => {
    const version = stage.cluster.resourceVersion();
    await stage.client.call('POST', MAPS, aMap('a'));
    await stage.client.call('DELETE', `${MAPS}/a`);
    const watch = await stage.client.watch(`${MAPS}?watch=1&resourceVersion=${version}`);
    expect([shown(await watch.next()), shown(await watch.next())]).toEqual(['ADDED a', 'DELETED a']);
    watch.close();
  });

  it.each([
    { afterMinutes: 4, status: 200 },
    { afterMinutes: 11, status: 410 },
  ])(
    'a version from $afterMinutes minutes ago answers $status: history is compacted every five minutes',
    async ({ afterMinutes, status }) => {
      stage = await setStage([], { knobs: { goneAs: 'status' } });
      const version = stage.cluster.resourceVersion();
      await stage.client.call('POST', MAPS, aMap('a'));
      stage.clock.advance(afterMinutes * 60_000);
      const watch = await stage.client.watch(`${MAPS}?watch=1&resourceVersion=${version}`);
      expect(watch.status).toBe(status);
      watch.close();
    },
  );

  it('ends initial events with the bookmark that says so', async () => {
    await stage.client.call('POST', MAPS, aMap('a'));
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const watch = await stage.client.watch(`${MAPS}?${query}`);
    expect(shown(await watch.next())).toBe('ADDED a');
    expect(await watch.next()).toMatchObject({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        metadata: { resourceVersion: String(stage.cluster.resourceVersion()), annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    });
    watch.close();
  });

  it.each(['sendInitialEvents=true', 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan', 'resourceVersionMatch=NotOlderThan'])(
    'answers 422 to %s alone',
    async (query) => {
      expect((await stage.client.call('GET', `${MAPS}?watch=true&${query}`)).status).toBe(422);
    },
  );

  it('sends bookmarks by the world clock to those who asked', async () => {
    const watch = await stage.client.watch(`${MAPS}?watch=true&allowWatchBookmarks=true`);
    stage.clock.advance(60_000);
    expect(await watch.next()).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: String(stage.cluster.resourceVersion()) } },
    });
    watch.close();
  });

  it('ends after timeoutSeconds, with a last bookmark', async () => {
    const watch = await stage.client.watch(`${MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=30`);
    stage.clock.advance(30_000);
    expect((await watch.next())?.type).toBe('BOOKMARK');
    expect(await watch.next()).toBeUndefined();
    expect(stage.cluster.openWatches()).toBe(0);
  });

  it('reports an expired version inside the stream', async () => {
    const version = stage.cluster.resourceVersion();
    await stage.client.call('POST', MAPS, aMap('a'));
    stage.cluster.control.compact();
    const watch = await stage.client.watch(`${MAPS}?watch=true&resourceVersion=${version}`);
    expect(watch.status).toBe(200);
    expect(await watch.next()).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    expect(await watch.next()).toBeUndefined();
  });

  it('reports an expired version by the status, if the world is set so', async () => {
    stage = await setStage([], { knobs: { goneAs: 'status' } });
    const version = stage.cluster.resourceVersion();
    await stage.client.call('POST', MAPS, aMap('a'));
    stage.cluster.control.compact();
    expect((await stage.client.call('GET', `${MAPS}?watch=true&resourceVersion=${version}`)).status).toBe(410);
  });

  it('adds and deletes what enters and leaves the selection', async () => {
    const watch = await stage.client.watch(`${MAPS}?watch=true&labelSelector=on`);
    const patch = (labels: unknown): Promise<unknown> =>
      stage.client.call('PATCH', `${MAPS}/a`, { metadata: { labels } }, { contentType: 'application/merge-patch+json' });
    await stage.client.call('POST', MAPS, aMap('a'));
    await patch({ on: 'yes' });
    await patch({ on: 'still' });
    await patch({ on: null });
    expect([shown(await watch.next()), shown(await watch.next()), shown(await watch.next())]).toEqual([
      'ADDED a',
      'MODIFIED a',
      'DELETED a',
    ]);
    watch.close();
  });

  it('is cut by the control surface, and can be taken up again without loss', async () => {
    const version = stage.cluster.resourceVersion();
    const watch = await stage.client.watch(`${MAPS}?watch=true&resourceVersion=${version}`);
    stage.cluster.control.dropWatches();
    await expect(watch.next()).rejects.toThrow();
    await stage.client.call('POST', MAPS, aMap('a'));
    const again = await stage.client.watch(`${MAPS}?watch=true&resourceVersion=${version}`);
    expect(shown(await again.next())).toBe('ADDED a');
    again.close();
  });
});
