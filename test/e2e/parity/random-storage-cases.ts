/** The random storage of the differential test, spelled so that a real API server takes it. */
import * as fc from 'fast-check';
import type { ParityObject } from '../../differential/parity-case.ts';
import { mounting, mounts, peopleOf, storageOf, storageStory, type StorageStory } from '../../differential/random-storage.ts';
import { throughJson, withImages, type Question } from './random-cases.ts';

const KINDS: Readonly<Record<string, string>> = {
  storageclasses: 'StorageClass',
  csinodes: 'CSINode',
  csidrivers: 'CSIDriver',
  persistentvolumes: 'PersistentVolume',
  persistentvolumeclaims: 'PersistentVolumeClaim',
};

const question = fc.record({
  story: storageStory,
  pending: fc.array(
    mounts.map((names) => names.filter((name) => name !== 'private')).filter((names) => names.length > 0),
    { minLength: 12, maxLength: 12 },
  ),
});

/** `count` clusters with storage and a dozen pending pods each; equal seeds give equal questions. */
export function randomStorageQuestions(seed: number, count: number): readonly Question[] {
  return fc.sample(question, { seed, numRuns: count }).map(({ story, pending }) => {
    const { nodes, residents } = peopleOf(story);
    return {
      cluster: [...storageObjects(story), ...nodes.map(throughJson), ...residents.map((pod) => throughJson(withImages(pod)))],
      pods: pending.map((names, at) => throughJson(withImages(mounting(`p-${at}`, names)))),
    };
  });
}

/** Classes, volumes, claims and attach limits of a story. */
export function storageObjects(story: StorageStory): readonly ParityObject[] {
  return [...storageOf(story)].map(([key, object]) => valid({ ...throughJson(object), kind: KINDS[key.split(' ')[0] ?? ''] ?? '' }));
}

type Fields = Readonly<Record<string, unknown>>;

/** What the server insists on and no rule of a scheduler reads. */
function valid(object: ParityObject): ParityObject {
  const spec = (object['spec'] ?? {}) as Fields;
  const { name } = object.metadata;
  if (object.kind === 'CSINode') {
    const drivers = (spec['drivers'] as readonly Fields[]).map((driver) => ({ ...driver, nodeID: name }));
    return { ...object, spec: { ...spec, drivers } };
  }
  if (object.kind === 'PersistentVolume') {
    const source = spec['csi'] === undefined && spec['azureDisk'] === undefined ? { hostPath: { path: '/none' } } : {};
    return { ...object, spec: { capacity: { storage: '1Gi' }, ...spec, accessModes: ['ReadWriteOnce'], ...source } };
  }
  if (object.kind !== 'PersistentVolumeClaim') return object;
  // Only a finalizer keeps a claim that is on its way out.
  const finalizers = object.metadata['deletionTimestamp'] === undefined ? {} : { finalizers: ['parity.test/kept'] };
  return {
    ...object,
    metadata: { ...object.metadata, ...finalizers },
    spec: { resources: { requests: { storage: '1Gi' } }, ...spec },
  };
}
