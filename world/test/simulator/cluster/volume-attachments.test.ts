/** Disks are attached before their pods start, to one node at a time, and leave a silent node after six minutes. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../../simulator/cluster/store/objects.ts';
import { aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

let stage: Stage;

const SECOND = 1_000;
const CLAIM: ObjectDraft = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'data', namespace: 'default' },
  spec: { storageClassName: 'managed-csi', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

function aDiskPod(name: string, node: string): ObjectDraft {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  return aPodDraft(name, { spec: { nodeSelector: { 'kubernetes.io/hostname': node }, volumes } });
}

const hosts = (name: string) => aMachine(name, { labels: { 'kubernetes.io/hostname': name } });
const phase = (name: string): unknown => stage.cluster.store.pods().find(({ metadata }) => metadata.name === name)?.status.phase;
const attached = (): readonly (readonly [unknown, unknown])[] =>
  stage.cluster.store
    .list('volumeattachments')
    .map(({ spec, status }) => [
      (spec as { readonly nodeName: string }).nodeName,
      (status as { readonly attached?: boolean }).attached === true,
    ]);
const reported = (node: string): unknown => {
  const status = stage.cluster.store.nodes().find(({ metadata }) => metadata.name === node)?.status;
  return (status as { readonly volumesAttached?: unknown } | undefined)?.volumesAttached;
};
const reasons = (name: string): readonly unknown[] =>
  stage.cluster.store
    .events()
    .filter(({ involvedObject }) => involvedObject.name === name)
    .map(({ reason, message }) => [reason, message]);

/** The pod `one` runs on the first node with the disk. */
async function withDisk(): Promise<string> {
  stage = await setStage([hosts('usr-1'), hosts('usr-2')]);
  stage.clock.advance(30 * SECOND);
  stage.cluster.apply(CLAIM);
  stage.cluster.apply(aDiskPod('one', 'usr-1'));
  stage.clock.advance(10 * SECOND);
  expect([attached(), phase('one')]).toEqual([[['usr-1', false]], 'Pending']);
  stage.clock.advance(20 * SECOND);
  expect([attached(), phase('one')]).toEqual([[['usr-1', true]], 'Running']);
  const [volume] = stage.cluster.store.list('persistentvolumes');
  return volume?.metadata.name ?? '';
}

describe('the disk of a pod', () => {
  it('is attached first, which an event says', async () => {
    const volume = await withDisk();
    expect(reasons('one')).toContainEqual(['SuccessfulAttachVolume', `AttachVolume.Attach succeeded for volume "${volume}"`]);
  });

  it('is on the status of its node from its attachment until its detachment begins', async () => {
    const volume = await withDisk();
    expect(reported('usr-1')).toMatchObject([
      { name: expect.stringMatching(`^kubernetes.io/csi/disk.csi.azure.com\\^.*${volume}$`) as unknown },
    ]);
    stage.cluster.remove(aDiskPod('one', 'usr-1'));
    stage.clock.advance(2 * SECOND);
    expect([reported('usr-1'), attached()]).toEqual([[], [['usr-1', true]]]);
  });

  it('is on one node at a time: a second pod elsewhere waits, with the words of the controller', async () => {
    const volume = await withDisk();
    stage.cluster.apply(aDiskPod('two', 'usr-2'));
    stage.clock.advance(60 * SECOND);
    const words = `Multi-Attach error for volume "${volume}" Volume is already exclusively attached to one node and can't be attached to another`;
    expect([phase('two'), attached()]).toEqual(['Pending', [['usr-1', true]]]);
    expect(reasons('two')).toContainEqual(['FailedAttachVolume', words]);
    stage.cluster.remove(aDiskPod('one', 'usr-1'));
    stage.clock.advance(8 * SECOND);
    expect(attached()).toEqual([['usr-1', true]]);
    stage.clock.advance(40 * SECOND);
    expect([phase('two'), attached()]).toEqual(['Running', [['usr-2', true]]]);
  });

  it('stays attached to a node that is silent for six minutes after its pod', async () => {
    await withDisk();
    stage.park.end('usr-1', 'stopped');
    stage.clock.advance(60 * SECOND);
    await stage.client.call('DELETE', '/api/v1/namespaces/default/pods/one', { gracePeriodSeconds: 0 });
    stage.cluster.apply(aDiskPod('two', 'usr-2'));
    stage.clock.advance(350 * SECOND);
    expect([phase('two'), attached()]).toEqual(['Pending', [['usr-1', true]]]);
    stage.clock.advance(60 * SECOND);
    expect([phase('two'), attached()]).toEqual(['Running', [['usr-2', true]]]);
  });
});
