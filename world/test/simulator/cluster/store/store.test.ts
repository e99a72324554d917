import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PodObject } from '../../../../simulator/cluster/store/objects.ts';
import { ObjectStore } from '../../../../simulator/cluster/store/store.ts';

const change = fc.record({
  name: fc.constantFrom('a', 'b', 'c', 'd'),
  node: fc.constantFrom('n', 'm', undefined, 'gone' as const),
});

it('an index holds what a look at everything would find', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 5 }), fc.array(change, { maxLength: 30 }), (before, after) => {
      const store = new ObjectStore(10);
      const apply = ({ name, node }: { readonly name: string; readonly node: string | undefined }): void => {
        if (node === 'gone') store.remove('pods', `/${name}`);
        else
          store.put('pods', {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name, uid: name, creationTimestamp: '', resourceVersion: '' },
            spec: node === undefined ? {} : { nodeName: node },
          });
      };
      for (const each of before) apply(each);
      const onNode = store.indexBy('pods', (pod) => (pod as PodObject).spec.nodeName);
      for (const each of after) {
        apply(each);
        for (const node of ['n', 'm']) {
          const looked = [...store.values('pods')].filter((pod) => (pod as PodObject).spec.nodeName === node);
          expect(new Set(onNode(node))).toEqual(new Set(looked));
        }
      }
    }),
    { numRuns: 200, seed: 7 },
  );
});
