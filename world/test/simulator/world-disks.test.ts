/** The disks of pods as resources of Azure: the driver of the world creates, attaches, detaches and deletes them, and is refused like any client. */
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualSimClock } from '../../simulator/base/sim-clock.ts';
import type { ObjectDraft } from '../../simulator/cluster/store/objects.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import { startWorld, type World } from '../../simulator/world.ts';
import { START_MS } from '../../../test/support/builders.ts';
import { MINUTE } from './arm/harness.ts';
import { aPodDraft } from './cluster/stage.ts';

const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'right' };

let world: World;
let clock: VirtualSimClock;
afterEach(() => world.stop());

async function begin(): Promise<void> {
  clock = new VirtualSimClock(START_MS);
  const pools = [{ name: 'zonal', vmSize: 'Standard_D2s_v5', count: 2, min: 0, max: 4, zones: ['1'] }];
  world = await startWorld({ spec: { ...smallWorld(1), pools }, clock, client: CLIENT, token: 'x' });
  clock.advance(MINUTE);
}

function claim(name: string, more: Readonly<Record<string, unknown>> = {}): ObjectDraft {
  const spec = { storageClassName: 'managed-csi', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } }, ...more };
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default' }, spec };
}

function mounting(pod: string, claimName: string, spec: Readonly<Record<string, unknown>> = {}): ObjectDraft {
  return aPodDraft(pod, { spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }], ...spec } });
}

const nodes = (): readonly string[] => world.cluster.store.nodes().map(({ metadata }) => metadata.name);
const on = (nodeName: string) => ({ nodeSelector: { 'kubernetes.io/hostname': nodeName } });
const disks = () => world.arm.control.state().disks;
const phase = (pod: string): unknown => world.cluster.store.pods().find(({ metadata }) => metadata.name === pod)?.status.phase;
const messages = (reason: string): string =>
  world.cluster.store
    .events()
    .filter((event) => event.reason === reason)
    .map(({ message }) => message)
    .join('\n');

describe('the disk of a claim', () => {
  it('is a resource in the zone of its node, is attached to it, follows its pod, and goes with its claim', async () => {
    await begin();
    const [first = '', second = ''] = nodes();
    world.cluster.apply(claim('data'));
    world.cluster.apply(mounting('one', 'data', on(first)));
    clock.advance(8_000);
    const [volume] = world.cluster.store.list('persistentvolumes');
    const name = volume?.metadata.name ?? '';
    expect(disks()).toEqual([{ name, sizeGiB: 10, zone: '1', state: 'Unattached', owner: first }]);
    expect(volume?.spec).toMatchObject({
      csi: { volumeHandle: expect.stringMatching(new RegExp(`/Microsoft.Compute/disks/${name}$`)) as unknown },
    });
    clock.advance(MINUTE);
    expect([disks()[0]?.state, phase('one')]).toEqual(['Attached', 'Running']);
    world.cluster.remove(mounting('one', 'data'));
    world.cluster.apply(mounting('two', 'data', on(second)));
    clock.advance(2 * MINUTE);
    expect([disks()[0], phase('two')]).toEqual([{ name, sizeGiB: 10, zone: '1', state: 'Attached', owner: second }, 'Running']);
    world.cluster.remove(mounting('two', 'data'));
    world.cluster.remove(claim('data'));
    clock.advance(MINUTE);
    expect([disks(), world.cluster.store.list('persistentvolumes'), world.cluster.store.list('volumeattachments')]).toEqual([[], [], []]);
    expect(messages('VolumeFailedDelete')).toContain('already attached to node(');
    const writes = world.arm.control.journal().filter(({ principal }) => principal === 'disk.csi.azure.com');
    expect(writes.map(({ method }) => method)).toEqual(['PUT', 'PUT', 'PUT', 'PUT', 'PUT', 'DELETE']);
  });

  it('stays when its VM is deleted, and a new pod has it six minutes after the old one', async () => {
    await begin();
    const [first = '', second = ''] = nodes();
    world.cluster.apply(claim('data'));
    world.cluster.apply(mounting('one', 'data', on(first)));
    clock.advance(MINUTE);
    expect(world.arm.control.raise({ foreignDelete: { pool: 'zonal', instanceIds: ['0'] } })).toBeUndefined();
    clock.advance(5 * MINUTE);
    expect(disks()).toMatchObject([{ state: 'Unattached', zone: '1' }]);
    world.cluster.apply(mounting('two', 'data', on(second)));
    clock.advance(8 * MINUTE);
    expect([disks(), phase('two')]).toMatchObject([[{ state: 'Attached', owner: second }], 'Running']);
  });
});

describe('what Azure refuses', () => {
  it('is in the event of the pod and in the attachment, and is tried again: a disk of another zone', async () => {
    await begin();
    const [first = ''] = nodes();
    const handle = world.arm.disks.create({ name: 'elsewhere', sizeGiB: 10, zone: 'westeurope-2', sku: 'StandardSSD_LRS', tags: {} });
    world.cluster.apply({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'fixed' },
      spec: {
        capacity: { storage: '10Gi' },
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'managed-csi',
        persistentVolumeReclaimPolicy: 'Retain',
        csi: { driver: 'disk.csi.azure.com', volumeHandle: handle },
      },
    });
    world.cluster.apply(claim('data', { volumeName: 'fixed' }));
    world.cluster.apply(mounting('one', 'data', on(first)));
    clock.advance(2 * MINUTE);
    const words = `AttachVolume.Attach failed for volume "fixed" : rpc error: code = Internal desc = Attach volume ${handle} to instance ${first} failed`;
    expect(messages('FailedAttachVolume')).toContain(words);
    expect(messages('FailedAttachVolume')).toContain("VM zone: '1'. Disk zone: '2'.");
    expect(world.cluster.store.list('volumeattachments')).toMatchObject([
      { status: { attached: false, attachError: { message: expect.any(String) as unknown } } },
    ]);
    const tries = world.arm.control.journal().filter(({ principal, status }) => principal === 'disk.csi.azure.com' && status === 400);
    expect([tries.length, phase('one'), disks()[0]?.state]).toEqual([7, 'Pending', 'Unattached']);
  });

  it('is the fifth disk of a VM for four, which a pod without the scheduler brings', async () => {
    await begin();
    const [first = ''] = nodes();
    for (const at of [0, 1, 2, 3, 4]) {
      world.cluster.apply(claim(`d${at}`));
      world.cluster.apply(mounting(`p${at}`, `d${at}`, on(first)));
      clock.advance(MINUTE);
      if (at < 4) continue;
      // The scheduler knows the limit.
      expect(phase('p4')).toBe('Pending');
      const handle = world.arm.disks.create({ name: 'fifth', sizeGiB: 1, zone: 'westeurope-1', sku: 'StandardSSD_LRS', tags: {} });
      const failures: (string | undefined)[] = [];
      world.arm.disks.attach({ handle, nodeName: first }, (failure) => failures.push(failure));
      expect(failures).toEqual([
        expect.stringContaining('The maximum number of data disks allowed to be attached to a VM of this size is 4.'),
      ]);
    }
  });
});
