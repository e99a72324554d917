/** Room that is kept free, as people write it: every form, and what each wrong form is told. */
import { describe, expect, it } from 'vitest';
import type { Headroom } from '../../../src/domain/headroom.ts';
import { configOf, errorsOf } from '../support.ts';

const GIB = 2 ** 30;
const WEB = { kind: 'Deployment', apiGroup: 'apps', namespace: 'shop', name: 'web' };

function ofPool(written: string) {
  return { argv: ['--config=c'], files: { c: `nodeGroupOptions: [{name: a, headroom: ${written}}]` } };
}

function ofCluster(written: string) {
  return { argv: ['--config=c'], files: { c: `capacity: {headroom: ${written}}` } };
}

describe('headroom in the configuration', () => {
  it.each<readonly [string, readonly Headroom[]]>([
    ['{nodes: 1}', [{ kind: 'nodes', nodes: 1 }]],
    ['[{nodes: 0}]', [{ kind: 'nodes', nodes: 0 }]],
    ['{percent: 10}', [{ kind: 'percent', percent: 10 }]],
    ['{cpu: "8", memory: 32Gi}', [{ kind: 'amounts', cpuMillis: 8000, memoryBytes: 32 * GIB, pieces: 8 }]],
    ['{cpu: 500m}', [{ kind: 'amounts', cpuMillis: 500, memoryBytes: 0, pieces: 1 }]],
    ['{cpu: 2, memory: 33Gi}', [{ kind: 'amounts', cpuMillis: 2000, memoryBytes: 33 * GIB, pieces: 9 }]],
    ['{cpu: "8", memory: 32Gi, pieces: 2}', [{ kind: 'amounts', cpuMillis: 8000, memoryBytes: 32 * GIB, pieces: 2 }]],
    ['{copiesOf: shop/deployment/web, count: 3}', [{ kind: 'copies', of: WEB, count: 3 }]],
    ['{copiesOf: Deployment/web, count: 3}', [{ kind: 'copies', of: { ...WEB, namespace: 'default' }, count: 3 }]],
    ['[]', []],
    [
      '[{nodes: 1}, {percent: 5}]',
      [
        { kind: 'nodes', nodes: 1 },
        { kind: 'percent', percent: 5 },
      ],
    ],
  ])('%s is read', (written, expected) => {
    expect(configOf(ofPool(written)).azure.nodeGroupOptions[0]?.options.headroom).toEqual(expected);
    if (written.includes('nodes:')) expect(errorsOf(ofCluster(written))[0]).toContain('nodes are those of one pool');
    else expect(configOf(ofCluster(written)).policy.capacity?.headroom).toEqual(expected);
  });

  it.each([
    '{}',
    '{nodes: -1}',
    '{nodes: 1.5}',
    '{nodes: 1, percent: 10}',
    '{percent: 101}',
    '{cpu: many}',
    '{cpu: "-1"}',
    '{nodes: 1, pieces: 2}',
    '{copiesOf: deployment/web}',
    '{count: 3}',
    '{copiesOf: daemonset/web, count: 1}',
    '{copiesOf: shop/deployment/web/x, count: 1}',
    '1',
    '{node: 1}',
  ])('%s is refused, with the forms that are accepted', (written) => {
    const [error = '', ...more] = errorsOf(ofPool(written));
    expect(more).toEqual([]);
    expect(error).toContain('key nodeGroupOptions[0].headroom');
    expect(error).toContain('{nodes: 1}');
  });

  it('is absent unless it is written, so that a pool without it keeps nothing free', () => {
    expect(configOf({}).policy.capacity?.headroom).toEqual([]);
    const plain = configOf({ argv: ['--config=c'], files: { c: 'nodeGroupOptions: [{name: a, expanderPriority: 1}]' } });
    expect(plain.azure.nodeGroupOptions[0]?.options).toEqual({ expanderPriority: 1 });
  });
});
