/** What people hand in by mistake beside, or instead of, a cluster. */
import { expect, it } from 'vitest';
import { plan, podJson } from './support.ts';

const POOLS = '- {name: a, vmSize: Standard_D4s_v5, min: 0, max: 5}\n';
const ask = (cluster: string) => plan(['--cluster=c', '--pools=p', '--json'], { c: cluster, p: POOLS });
const listed = (...items: readonly unknown[]): string => JSON.stringify({ kind: 'List', items });

it.each<[string, unknown]>([
  ['a kubeconfig', { apiVersion: 'v1', kind: 'Config', clusters: [], users: [] }],
  ['an object without metadata', { apiVersion: 'v1', kind: 'Binding' }],
  ['an object whose metadata is a text', { kind: 'Thing', metadata: 'x' }],
  ['an object whose metadata is null', { kind: 'Thing', metadata: null }],
  ["another API's workload without metadata", { apiVersion: 'kruise.io/v1', kind: 'StatefulSet' }],
])('%s is skipped, since nothing of it is read', async (_what, object) => {
  const { code, out, err } = await ask(listed(object, podJson('w', '1')));
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toMatchObject({ scaleUp: { increases: [{ group: 'a', from: 0, to: 1, pods: ['default/w'] }] } });
});

it.each<[string, unknown, string]>([
  ['with what it says', { kind: 'Status', status: 'Failure', message: 'pods is forbidden\nmore' }, ' (pods is forbidden)'],
  ['that says nothing', { kind: 'Status' }, ''],
])('the answer of a request that failed, %s, is no cluster', async (_what, status, said) => {
  expect(await ask(JSON.stringify(status))).toEqual({
    code: 2,
    out: '',
    err: `c contains the response to a failed request${said}; it must contain Kubernetes objects.\n`,
  });
});
