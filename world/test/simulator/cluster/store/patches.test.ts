import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPatch, mergePatch } from '../../../../simulator/cluster/store/patches.ts';
import { strategicMerge } from '../../../../simulator/cluster/store/strategic-merge.ts';
import { casesOf } from '../../../../../test/support/property-runs.ts';

describe('JSON patch', () => {
  const target = { a: 1, list: ['x', 'y'], nested: { 'b/c': 2 } };
  it.each([
    ['add a field', [{ op: 'add', path: '/d', value: 3 }], { ...target, d: 3 }],
    ['add before an item', [{ op: 'add', path: '/list/1', value: 'z' }], { ...target, list: ['x', 'z', 'y'] }],
    ['append', [{ op: 'add', path: '/list/-', value: 'z' }], { ...target, list: ['x', 'y', 'z'] }],
    ['replace at an escaped key', [{ op: 'replace', path: '/nested/b~1c', value: 5 }], { ...target, nested: { 'b/c': 5 } }],
    ['remove an item', [{ op: 'remove', path: '/list/0' }], { ...target, list: ['y'] }],
    [
      'test then replace',
      [
        { op: 'test', path: '/a', value: 1 },
        { op: 'replace', path: '/a', value: 2 },
      ],
      { ...target, a: 2 },
    ],
    ['copy', [{ op: 'copy', from: '/a', path: '/e' }], { ...target, e: 1 }],
    ['move', [{ op: 'move', from: '/a', path: '/e' }], { list: ['x', 'y'], nested: { 'b/c': 2 }, e: 1 }],
  ])('%s', (_name, patch, expected) => {
    expect(jsonPatch(target, patch)).toEqual({ ok: true, value: expected });
  });

  it.each([
    ['a failed test', [{ op: 'test', path: '/a', value: 9 }], 422],
    ['replacing what is not there', [{ op: 'replace', path: '/zz', value: 1 }], 422],
    ['removing what is not there', [{ op: 'remove', path: '/list/7' }], 422],
    ['an index past the end', [{ op: 'add', path: '/list/9', value: 1 }], 422],
    ['an unknown operation', [{ op: 'swap', path: '/a' }], 422],
    ['something that is no list', { op: 'add' }, 400],
    ['a step that is no operation', ['add'], 400],
  ])('refuses %s, whole', (_name, patch, code) => {
    const result = jsonPatch(target, patch);
    expect(result.ok ? undefined : result.refusal.code).toBe(code);
  });
});

describe('merge patch', () => {
  it.each([
    [{ a: 1, b: 2 }, { a: null }, { b: 2 }],
    [{ a: { b: 1, c: 2 } }, { a: { b: 3 } }, { a: { b: 3, c: 2 } }],
    [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
    [{ a: 'text' }, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
  ])('%j with %j', (target, patch, expected) => {
    expect(mergePatch(target, patch)).toEqual(expected);
  });
});

describe('strategic merge patch', () => {
  const pod = {
    spec: {
      containers: [
        { name: 'a', image: '1', env: [{ name: 'X', value: '1' }] },
        { name: 'b', image: '1' },
      ],
    },
  };

  it('merges containers and their environment by name', () => {
    expect(
      strategicMerge(pod, {
        spec: {
          containers: [
            { name: 'a', env: [{ name: 'Y', value: '2' }] },
            { name: 'c', image: '1' },
          ],
        },
      }),
    ).toEqual({
      spec: {
        containers: [
          {
            name: 'a',
            image: '1',
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '2' },
            ],
          },
          { name: 'b', image: '1' },
          { name: 'c', image: '1' },
        ],
      },
    });
  });

  it('deletes an item that a directive names', () => {
    expect(strategicMerge(pod, { spec: { containers: [{ name: 'b', $patch: 'delete' }] } })).toEqual({
      spec: { containers: [pod.spec.containers[0]] },
    });
  });

  it('replaces a list that a directive says to replace', () => {
    const patch = { spec: { containers: [{ $patch: 'replace' }, { name: 'z' }] } };
    expect(strategicMerge(pod, patch)).toEqual({ spec: { containers: [{ name: 'z' }] } });
  });

  it('merges conditions by type', () => {
    const status = {
      conditions: [
        { type: 'Ready', status: 'False' },
        { type: 'DiskPressure', status: 'False' },
      ],
    };
    expect(strategicMerge(status, { conditions: [{ type: 'Ready', status: 'True' }] })).toEqual({
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'DiskPressure', status: 'False' },
      ],
    });
  });

  it('replaces taints whole, as the real API does: two taints may share a key', () => {
    const spec = {
      taints: [
        { key: 'a', effect: 'NoSchedule' },
        { key: 'a', effect: 'NoExecute' },
      ],
    };
    expect(strategicMerge(spec, { taints: [{ key: 'b', effect: 'NoSchedule' }] })).toEqual({
      taints: [{ key: 'b', effect: 'NoSchedule' }],
    });
  });

  it('obeys the order, retained keys and primitive deletions that kubectl writes', () => {
    const target = {
      spec: { containers: [{ name: 'a' }, { name: 'b' }], strategy: { type: 'Recreate', rollingUpdate: {} } },
      metadata: { finalizers: ['x', 'y'] },
    };
    const patch = {
      spec: { '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }], strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      metadata: { '$deleteFromPrimitiveList/finalizers': ['x'], finalizers: ['z'] },
    };
    expect(strategicMerge(target, patch)).toEqual({
      spec: { containers: [{ name: 'b' }, { name: 'a' }], strategy: { type: 'Recreate' } },
      metadata: { finalizers: ['y', 'z'] },
    });
  });

  it('is a merge patch where there are no lists', () => {
    const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const key = fc.constantFrom('a', 'b', 'c');
    const tree = fc.letrec((tie) => ({
      node: fc.dictionary(key, fc.oneof({ depthSize: 'small' }, leaf, tie('node'))),
    })).node;
    fc.assert(
      fc.property(tree, tree, (target, patch) => {
        const clean = mergePatch({}, target);
        expect(strategicMerge(clean, patch)).toEqual(mergePatch(clean, patch));
      }),
      casesOf(11, 50),
    );
  });
});
