import { describe, expect, it } from 'vitest';
import { snapshotOf } from '../../src/cli/debug-documents.ts';
import { AutoscalerError } from '../../src/lib/errors.ts';
import { nodeGroupId } from '../../src/domain/ids.ts';
import { aStage } from '../loop/support.ts';
import { aGroup, anInstance, aNode, aPod } from '../support/builders.ts';

/** Made of parts, so that nobody takes it for a real one. */
const JWT = ['eyJhbGciOiJSUzI1NiJ9', 'eyJhdWQiOiJodHRwcyJ9', 'c2lnbmF0dXJl'].join('.');

describe('the snapshot of a loop', () => {
  it('shows groups, pending pods with verdicts, writes with outcomes, nodes with reasons', async () => {
    const group = aGroup({ id: 'a', target: 1, instances: [anInstance({ node: 'n1' })] });
    const stage = aStage({
      groups: [group],
      nodes: [aNode({ name: 'n1' })],
      pods: [aPod({ name: 'big', cpu: '3500m' }), aPod({ name: 'huge', cpu: '64' })],
    });
    const report = await stage.runOnce();
    expect(snapshotOf(report)).toMatchObject({
      loop: { id: 1, outcome: 'completed', failures: [] },
      observation: { counts: { nodes: 1, pendingPods: 2 }, groups: [{ id: 'a', instances: { running: 1 } }] },
      scaleUp: [{ pods: [{ pod: 'default/big' }, { pod: 'default/huge', verdict: { kind: 'helpless' } }] }],
      scaleDown: { nodes: [{ node: 'n1', verdict: 'stays' }] },
    });
  });

  it('holds nothing of what pods and nodes carry, and no credential that an outside text brought along', async () => {
    const stage = aStage({
      groups: [aGroup({ id: 'a', target: 0 })],
      pods: [aPod({ name: 'web', cpu: '3' }), aPod({ name: 'there', cpu: '3', nodeName: 'n1' })],
      nodes: [aNode({ name: 'n1', labels: { 'example.com/rack': 'hush-rack' } })],
    });
    stage.cloud.onIncrease = () => ({
      kind: 'failed',
      group: nodeGroupId('a'),
      error: new AutoscalerError({ kind: 'auth' }, `Azure said: Authorization: Bearer ${JWT} is not good, client_secret=abc123`),
    });
    const text = JSON.stringify(snapshotOf(await stage.runOnce()));
    expect(text).toContain('Azure said');
    for (const secret of ['hush-rack', JWT, 'eyJhbGciOiJSUzI1NiJ9', 'abc123']) expect(text).not.toContain(secret);
  });

  it('of a loop without an observation shows why', async () => {
    const stage = aStage({ groups: [] });
    stage.cloud.observe = () => {
      throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure is away.');
    };
    expect(snapshotOf(await stage.runOnce())).toMatchObject({
      observation: null,
      loop: { failures: [{ step: 'observe', message: 'Azure is away.' }] },
    });
  });
});
