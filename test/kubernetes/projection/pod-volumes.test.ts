import { describe, expect, it } from 'vitest';
import { projectShape } from '../../../src/kubernetes/projection/pod-shape.ts';
import type { VolumeJson } from '../../../src/kubernetes/api/core-json.ts';
import type { PodShape } from '../../../src/domain/pod.ts';
import { ResourceNames } from '../../../src/domain/resources.ts';

const SLOTS = 'attachable-volumes-csi-disk.csi.azure.com';
const disk = (name: string, azureDisk: VolumeJson['azureDisk']): VolumeJson => ({
  name,
  ...(azureDisk === undefined ? {} : { azureDisk }),
});

describe("volumes that a pod's own spec names", () => {
  it.each<[string, readonly VolumeJson[], number | undefined]>([
    ['a disk of Azure takes a slot of its driver', [disk('a', { diskURI: '/d/1' })], 1],
    ['two disks take two', [disk('a', { diskURI: '/d/1' }), disk('b', { diskURI: '/d/2' })], 2],
    ['a disk that is mounted twice takes one', [disk('a', { diskURI: '/d/1' }), disk('b', { diskURI: '/d/1' })], 1],
    ['a disk without an address goes by its name', [disk('a', { diskName: 'x' }), disk('b', { diskName: 'y' })], 2],
    ['a disk that says nothing is still one', [disk('a', {}), disk('b', {})], 2],
    ['a file share takes none', [{ name: 'a', azureFile: { shareName: 's' } }], undefined],
    [
      'a network disk that anybody may mount takes none',
      [
        { name: 'a', fc: {} },
        { name: 'b', nfs: {} },
      ],
      undefined,
    ],
  ])('%s', (_what, volumes, slots) => {
    const names = new ResourceNames();
    const shape = projectShape({ metadata: { name: 'p' }, spec: { containers: [], volumes } }, names);
    expect(shape.unsupported).toEqual([]);
    expect(names.toRecord(shape.requests)[SLOTS]).toBe(slots);
  });

  it.each<[string, VolumeJson, PodShape['loneDisks']]>([
    ['an iSCSI target', { iscsi: { iqn: 'iqn.a' } }, [{ kind: 'iscsi', ids: ['iqn.a'], readOnly: false }]],
    [
      'an image by each of its monitors',
      { rbd: { monitors: ['m1', 'm2'], image: 'i', readOnly: true } },
      [{ kind: 'rbd', ids: ['["m1","rbd","i"]', '["m2","rbd","i"]'], readOnly: true }],
    ],
    [
      'a disk of Google',
      { gcePersistentDisk: { pdName: 'd', readOnly: true } },
      [{ kind: 'gcePersistentDisk', ids: ['d'], readOnly: true }],
    ],
    [
      'a disk of Amazon, read or not',
      { awsElasticBlockStore: { volumeID: 'v', readOnly: true } },
      [{ kind: 'awsElasticBlockStore', ids: ['v'], readOnly: false }],
    ],
    ['null, which counts as absent', { iscsi: null, rbd: null }, []],
  ])('%s', (_what, volume, disks) => {
    const shape = projectShape(
      { metadata: { name: 'p' }, spec: { containers: [], volumes: [{ name: 'd', ...volume }] } },
      new ResourceNames(),
    );
    expect([shape.unsupported, shape.loneDisks]).toEqual([[], disks]);
  });
});
