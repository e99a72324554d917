/** Volumes, runtime classes and device claims through the whole loop: what is ordered is what the pods can really use. */
import { describe, expect, it } from 'vitest';
import type { ObjectDraft } from '../../world/simulator/cluster/store/objects.ts';
import { startedWorld } from '../support/virtual-world.ts';
import { aPool, bound, capacity, deployment, events, MINUTE, worldOf } from './support.ts';

const DISKS = 'disk.csi.azure.com';
const ZONES = [aPool({ name: 'zone1', zones: ['1'], count: 0 }), aPool({ name: 'zone2', zones: ['2'], count: 0 })];

function storageClass(name: string, part: Readonly<Record<string, unknown>> = {}): ObjectDraft {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: DISKS,
    volumeBindingMode: 'WaitForFirstConsumer',
    ...part,
  };
}

function mustBeThere(driver: string): ObjectDraft {
  const spec = { attachRequired: true, preventPodSchedulingIfMissing: true };
  return { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: driver }, spec };
}

function claim(name: string, storageClassName: string, accessMode = 'ReadWriteOnce'): ObjectDraft {
  const spec = { storageClassName, accessModes: [accessMode], resources: { requests: { storage: '8Gi' } } };
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default' }, spec };
}

/** One pod that mounts a claim. */
function mounting(name: string, claimName: string, cpu = '1'): ObjectDraft {
  return deployment({ name, replicas: 1, cpu, spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }] } });
}

const inZoneOne = storageClass('zone-one', {
  allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.disk.csi.azure.com/zone', values: ['westeurope-1'] }] }],
});

describe('volumes', () => {
  it('a class of zone 1 grows the pool of zone 1, and so does its disk, whenever the pod comes back', async () => {
    const flags = ['--scale-down-unneeded-time=1m', '--scale-down-delay-after-add=1m'];
    const world = await startedWorld({ spec: worldOf(ZONES), flags });
    world.world.cluster.apply(inZoneOne);
    world.world.cluster.apply(claim('data', 'zone-one'));
    world.world.cluster.apply(mounting('db', 'data'));
    await world.until('the pod runs', () => bound(world, 'db') === 1, 5 * MINUTE);
    expect([capacity(world, 'zone1'), capacity(world, 'zone2')]).toEqual([1, 0]);
    world.world.cluster.remove(mounting('db', 'data'));
    await world.until('its node is gone', () => capacity(world, 'zone1') === 0, 20 * MINUTE);
    // The class is gone, the disk is what says where the pod may run.
    world.world.cluster.remove(inZoneOne);
    world.world.cluster.apply(mounting('db', 'data'));
    await world.until('the pod runs again', () => bound(world, 'db') === 1, 10 * MINUTE);
    expect([capacity(world, 'zone1'), capacity(world, 'zone2')]).toEqual([1, 0]);
    expect(world.world.violations()).toEqual([]);
  });

  it('an unbound claim that should have been bound at once orders nothing, and the event says why', async () => {
    const world = await startedWorld({ spec: worldOf(ZONES) });
    world.world.cluster.apply(storageClass('never', { provisioner: 'example.com/never', volumeBindingMode: 'Immediate' }));
    world.world.cluster.apply(claim('data', 'never'));
    world.world.cluster.apply(mounting('db', 'data'));
    await world.advance(2 * MINUTE);
    expect(world.writes()).toEqual([]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('pod has unbound immediate PersistentVolumeClaims');
  });

  it('disks are the bottleneck: every size takes as many as it can attach, new nodes included', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', count: 0, zones: ['1'] })]) });
    // No pod may run where the driver has not registered, which it does a moment after its node is ready.
    world.world.cluster.apply(mustBeThere(DISKS));
    for (let at = 0; at < 18; at++) {
      world.world.cluster.apply(claim(`d-${at}`, 'managed-csi'));
      world.world.cluster.apply(mounting(`db-${at}`, `d-${at}`, '50m'));
    }
    const running = () => Array.from({ length: 18 }, (_, at) => bound(world, `db-${at}`)).reduce((sum, one) => sum + one, 0);
    await world.until('all pods run', () => running() === 18, 10 * MINUTE);
    await world.advance(2 * MINUTE);
    // Standard_D4s_v5 attaches eight.
    expect(capacity(world, 'general')).toBe(3);
    expect(world.writes().map(({ capacityBefore, capacityAfter }) => [capacityBefore, capacityAfter])).toEqual([[0, 3]]);
  });

  it('a claim for one pod that is in use orders nothing', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general', zones: ['1'] })]) });
    world.world.cluster.apply(claim('data', 'managed-csi', 'ReadWriteOncePod'));
    world.world.cluster.apply(mounting('db', 'data'));
    await world.until('the pod runs', () => bound(world, 'db') === 1, 5 * MINUTE);
    world.world.cluster.apply(mounting('second', 'data'));
    await world.advance(2 * MINUTE);
    expect([world.writes(), bound(world, 'second')]).toEqual([[], 0]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('ReadWriteOncePod');
    world.world.cluster.remove(mounting('db', 'data'));
    await world.until('the second takes over', () => bound(world, 'second') === 1, 5 * MINUTE);
  });
});

describe('RuntimeClass', () => {
  const sandboxed = (replicas: number): ObjectDraft =>
    deployment({ name: 'safe', replicas, cpu: '600m', spec: { runtimeClassName: 'kata' } });
  const kata: ObjectDraft = {
    apiVersion: 'node.k8s.io/v1',
    kind: 'RuntimeClass',
    metadata: { name: 'kata' },
    handler: 'kata',
    overhead: { podFixed: { cpu: '600m', memory: '600Mi' } },
    scheduling: { nodeSelector: { sandbox: 'kata' }, tolerations: [{ key: 'sandbox', operator: 'Exists' }] },
  };

  it('its overhead counts, and its selector and tolerations choose the pool', async () => {
    const pools = [
      aPool({ name: 'general' }),
      aPool({ name: 'sandbox', count: 0, labels: { sandbox: 'kata' }, taints: ['sandbox=kata:NoSchedule'] }),
    ];
    const world = await startedWorld({ spec: worldOf(pools) });
    world.world.cluster.apply(kata);
    world.world.cluster.apply(sandboxed(6));
    await world.until('all pods run', () => bound(world, 'safe') === 6, 5 * MINUTE);
    // 3,860m less kube-proxy: three of 1,200m each, where six of 600m would have fit.
    expect([capacity(world, 'sandbox'), capacity(world, 'general')]).toEqual([2, 1]);
  });
});

describe('device claims', () => {
  it('a pod with an unsatisfiable claim causes no increase, again and again, and the event says what is missing', async () => {
    const world = await startedWorld({ spec: worldOf([aPool({ name: 'general' })]) });
    const spec = { resourceClaims: [{ name: 'gpus', resourceClaimTemplateName: 'two-gpus' }] };
    world.world.cluster.apply(deployment({ name: 'train', replicas: 3, cpu: '3', spec }));
    await world.advance(5 * MINUTE);
    expect(world.writes()).toEqual([]);
    expect(events(world, 'NotTriggerScaleUp').join()).toContain('resourceclaimtemplate "two-gpus" not found');
  });
});
