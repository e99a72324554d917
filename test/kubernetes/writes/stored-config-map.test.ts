import { beforeEach, describe, expect, it } from 'vitest';
import type { StoredText } from '../../../src/domain/ports/stored-text.ts';
import { setConnectedStage, type ConnectedStage } from '../connected-stage.ts';

let stage: ConnectedStage;
beforeEach(async () => {
  stage = await setConnectedStage([]);
});

async function aText(): Promise<StoredText> {
  return (await stage.connect({ namespace: 'kube-system' })).kubernetes.storedText('learned', 'text');
}
const stored = (): unknown => stage.cluster.store.get('configmaps', 'kube-system', 'learned')?.['data'];
const applied = (text: string) =>
  stage.cluster.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'learned', namespace: 'kube-system', labels: { owner: 'a-person' } },
    data: { text },
  });

describe('a text kept in a ConfigMap', () => {
  it('is nothing at first, and then what was written', async () => {
    const text = await aText();
    expect(await stage.settled(text.read(stage.signal))).toBeUndefined();
    await stage.settled(text.write('one', stage.signal));
    await stage.settled(text.write('two', stage.signal));
    expect(stored()).toEqual({ text: 'two' });
    expect(await stage.settled((await aText()).read(stage.signal))).toBe('two');
  });

  it('is not written over a foreign change; the next write follows a new read, and keeps its labels', async () => {
    const text = await aText();
    await stage.settled(text.write('one', stage.signal));
    applied('theirs');
    await expect(stage.settled(text.write('two', stage.signal))).rejects.toMatchObject({ kind: 'conflict' });
    expect(stored()).toEqual({ text: 'theirs' });
    await stage.settled(text.write('three', stage.signal));
    expect(stage.cluster.store.get('configmaps', 'kube-system', 'learned')).toMatchObject({
      metadata: { labels: { owner: 'a-person' } },
      data: { text: 'three' },
    });
  });

  it('that was deleted in the meantime is created again', async () => {
    const text = await aText();
    await stage.settled(text.write('one', stage.signal));
    stage.cluster.remove({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'learned', namespace: 'kube-system' } });
    await expect(stage.settled(text.write('two', stage.signal))).rejects.toMatchObject({ kind: 'not-found' });
    await stage.settled(text.write('three', stage.signal));
    expect(stored()).toEqual({ text: 'three' });
  });

  it.each([403, 429, 500])('that the API refuses to read with %d is an error, not nothing', async (status) => {
    const text = await aText();
    stage.cluster.control.failNext(1, status, { verb: 'get', resource: 'configmaps' });
    await expect(stage.settled(text.read(stage.signal))).rejects.toMatchObject({ context: { status } });
  });
});
