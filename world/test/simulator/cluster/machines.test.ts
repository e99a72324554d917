import { beforeEach, describe, expect, it } from 'vitest';
import { conditionOf, type NodeObject, type PodObject } from '../../../simulator/cluster/store/objects.ts';
import { allocatableOf, reservedCpuMillis, reservedMemoryMiB } from '../../../simulator/cluster/controllers/node-object.ts';
import { FINISH_SECONDS_ANNOTATION, STOP_SECONDS_ANNOTATION } from '../../../simulator/cluster/controllers/kubelet-pods.ts';
import { aDeployment, aMachine, aPodDraft, setStage, type Stage } from './stage.ts';

let stage: Stage;
beforeEach(async () => {
  stage = await setStage([aMachine('n1')]);
});

function node(name: string): NodeObject | undefined {
  return stage.cluster.store.nodes().find((candidate) => candidate.metadata.name === name);
}

function pod(name: string): PodObject | undefined {
  return stage.cluster.store.pods().find((candidate) => candidate.metadata.name === name);
}

function taintsOf(name: string): readonly string[] {
  return (node(name)?.spec.taints ?? []).map((taint) => `${taint.key}:${taint.effect}`).sort();
}

function readyOf(name: string): string | undefined {
  const found = node(name);
  return found === undefined ? undefined : conditionOf(found, 'Ready')?.status;
}

describe('what AKS keeps for itself', () => {
  it.each([
    [1, 60],
    [2, 100],
    [4, 140],
    [8, 180],
    [16, 260],
    [32, 420],
    [64, 740],
    [96, 1060],
  ])('%i cores: %i millicores', (cores, millis) => {
    expect(reservedCpuMillis(cores)).toBe(millis);
  });

  it.each([
    [8, 30, 650],
    [8, 110, 2048],
    [16, 110, 2250],
    [16, 250, 4096],
    [32, 250, 5050],
  ])('%i GiB with %i pods: %i MiB', (memoryGiB, maxPods, expected) => {
    expect(reservedMemoryMiB(memoryGiB, maxPods)).toBe(expected);
  });

  it('leaves the rest to pods', () => {
    expect(allocatableOf(aMachine('n'), 110)).toMatchObject({ cpu: '3860m', memory: '13984940Ki', pods: '110' });
  });
});

describe('a machine that boots', () => {
  it('registers, is known to the cloud after a moment, and is ready after 15 s', async () => {
    stage = await setStage([]);
    stage.park.boot(aMachine('n1', { taints: ['dedicated=x:NoSchedule'], zone: '2', labels: { own: 'label', tier: 'user' } }));
    stage.clock.advance(1_000);
    expect(readyOf('n1')).toBe('False');
    expect(node('n1')?.spec.providerID).toBeUndefined();
    expect(taintsOf('n1')).toEqual([
      'dedicated:NoSchedule',
      'node.cloudprovider.kubernetes.io/uninitialized:NoSchedule',
      'node.kubernetes.io/not-ready:NoExecute',
      'node.kubernetes.io/not-ready:NoSchedule',
    ]);
    stage.clock.advance(3_000);
    expect(node('n1')?.spec.providerID).toBe('azure:///subscriptions/s/resourceGroups/rg/n1');
    expect(node('n1')?.metadata.labels).toMatchObject({
      agentpool: 'user',
      own: 'label',
      tier: 'user',
      'kubernetes.io/hostname': 'n1',
      'kubernetes.azure.com/mode': 'user',
      'topology.kubernetes.io/zone': 'westeurope-2',
      'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
    });
    stage.clock.advance(10_999);
    expect(readyOf('n1')).toBe('False');
    stage.clock.advance(1);
    expect(readyOf('n1')).toBe('True');
    expect(taintsOf('n1')).toEqual(['dedicated:NoSchedule']);
  });

  it('takes pods only when it is ready, but its daemon pods before', async () => {
    stage = await setStage([]);
    stage.cluster.apply(aPodDraft('p'));
    stage.clock.advance(0);
    expect(conditionOf(pod('p') as PodObject, 'PodScheduled')).toMatchObject({
      status: 'False',
      reason: 'Unschedulable',
      message: 'no nodes available to schedule pods',
    });
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(5_000);
    const proxy = stage.cluster.store.pods().find((candidate) => candidate.metadata.name.startsWith('kube-proxy'));
    expect(proxy).toMatchObject({ spec: { nodeName: 'n1' }, status: { phase: 'Running' } });
    expect(pod('p')?.spec.nodeName).toBeUndefined();
    expect(conditionOf(pod('p') as PodObject, 'PodScheduled')?.message).toContain(
      'node(s) had untolerated taint {node.kubernetes.io/not-ready: }',
    );
    stage.clock.advance(10_000);
    expect(pod('p')).toMatchObject({ spec: { nodeName: 'n1' }, status: { phase: 'Pending' } });
    stage.clock.advance(2_000);
    expect(pod('p')).toMatchObject({ status: { phase: 'Running' } });
    expect(conditionOf(pod('p') as PodObject, 'Ready')?.status).toBe('True');
  });

  it('does not register when it stops before, and has one node however often it boots', async () => {
    stage = await setStage([], { knobs: { registerMs: 5_000 } });
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(4_000);
    stage.park.end('n1', 'gone');
    stage.clock.advance(60_000);
    expect(stage.cluster.store.nodes()).toEqual([]);
    stage.park.boot(aMachine('n1'));
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(60_000);
    expect(stage.cluster.store.nodes().map((found) => found.metadata.name)).toEqual(['n1']);
  });

  it('is there at once, and old, when it ran before the world began', async () => {
    expect(readyOf('n1')).toBe('True');
    expect(node('n1')?.metadata.creationTimestamp).toBe('2026-11-20T23:00:00Z');
    // Autoscalers take a node as an example for its pool only a minute after it became ready.
    expect(conditionOf(node('n1') as NodeObject, 'Ready')?.lastTransitionTime).toBe('2026-11-20T23:00:00Z');
    expect(taintsOf('n1')).toEqual([]);
  });
});

describe('a machine that stops', () => {
  it('keeps what others than its kubelet wrote of it, as an announcement of its end', async () => {
    stage.park.tell({ kind: 'preempt-scheduled', machine: aMachine('n1'), notBeforeMs: stage.clock.now() + 30_000 });
    stage.clock.advance(30_000);
    stage.park.end('n1', 'stopped');
    stage.clock.advance(60_000);
    expect(readyOf('n1')).toBe('Unknown');
    expect(conditionOf(node('n1') as NodeObject, 'PreemptScheduled')?.status).toBe('True');
    expect(conditionOf(node('n1') as NodeObject, 'MemoryPressure')?.status).toBe('Unknown');
  });

  it('turns its node unknown after the grace, and its pods not ready', async () => {
    stage.cluster.apply(aPodDraft('p'));
    stage.clock.advance(5_000);
    stage.park.end('n1', 'stopped');
    stage.clock.advance(39_999);
    expect(readyOf('n1')).toBe('True');
    stage.clock.advance(1);
    expect(readyOf('n1')).toBe('Unknown');
    expect(taintsOf('n1')).toEqual([
      'node.cloudprovider.kubernetes.io/shutdown:NoSchedule',
      'node.kubernetes.io/unreachable:NoExecute',
      'node.kubernetes.io/unreachable:NoSchedule',
    ]);
    expect(conditionOf(pod('p') as PodObject, 'Ready')).toMatchObject({ status: 'False', reason: 'NodeNotReady' });
  });

  it('loses pods after the 300 s they tolerate; they hang until the node goes', async () => {
    stage.cluster.apply(aPodDraft('p'));
    stage.clock.advance(5_000);
    stage.park.end('n1', 'stopped');
    stage.clock.advance(40_000 + 299_000);
    expect(pod('p')?.metadata.deletionTimestamp).toBeUndefined();
    stage.clock.advance(1_000);
    expect(pod('p')?.metadata.deletionTimestamp).toBeDefined();
    stage.clock.advance(600_000);
    expect(pod('p')).toBeDefined();
  });

  it('comes back with its node and its pods', async () => {
    stage.cluster.apply(aPodDraft('p'));
    stage.clock.advance(5_000);
    stage.park.end('n1', 'stopped');
    stage.clock.advance(60_000);
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(15_000);
    expect(readyOf('n1')).toBe('True');
    expect(taintsOf('n1')).toEqual([]);
    expect(conditionOf(pod('p') as PodObject, 'Ready')?.status).toBe('True');
  });
});

describe('a machine that is gone', () => {
  it('loses its node 10 s later and its pods 40 s after that; their owners make new ones', async () => {
    stage.cluster.apply(aDeployment('web', 1));
    stage.clock.advance(5_000);
    const [before] = stage.cluster.store.boundPods().filter((found) => found.metadata.namespace === 'default');
    stage.park.boot(aMachine('n2'));
    stage.clock.advance(20_000);
    stage.park.end('n1', 'gone');
    stage.clock.advance(9_999);
    expect(node('n1')).toBeDefined();
    stage.clock.advance(1);
    expect(node('n1')).toBeUndefined();
    expect(pod(before?.metadata.name ?? '')).toBeDefined();
    stage.clock.advance(40_000);
    expect(pod(before?.metadata.name ?? '')).toBeUndefined();
    stage.clock.advance(5_000);
    const [after] = stage.cluster.store.boundPods().filter((found) => found.metadata.namespace === 'default');
    expect(after).toMatchObject({ spec: { nodeName: 'n2' }, status: { phase: 'Running' } });
  });

  it('has its CSINode while it has its node, which owns it, as any object that names it as owner', async () => {
    stage = await setStage([aMachine('usr-1'), aMachine('usr-2')]);
    stage.clock.advance(60_000);
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'usr-1', uid: node('usr-1')?.metadata.uid ?? '' };
    const metadata = { name: 'of-a-node', namespace: 'default', ownerReferences: [owner] };
    stage.cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata });
    stage.park.end('usr-1', 'gone');
    stage.clock.advance(60_000);
    expect(stage.cluster.store.list('csinodes').map(({ metadata: { name } }) => name)).toEqual(['usr-2']);
    expect(stage.cluster.store.get('configmaps', 'default', 'of-a-node')).toBeUndefined();
  });

  it('keeps its node when a machine of that name runs again by then', async () => {
    stage.park.end('n1', 'gone');
    stage.clock.advance(5_000);
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(60_000);
    expect(readyOf('n1')).toBe('True');
  });
});

describe('pods that terminate', () => {
  it.each<[string, Record<string, string>, number | undefined, number]>([
    ['quickly by default', {}, undefined, 1_000],
    ['as slowly as they say', { [STOP_SECONDS_ANNOTATION]: '20' }, undefined, 20_000],
    ['never later than their grace', { [STOP_SECONDS_ANNOTATION]: '99' }, undefined, 30_000],
    ['never later than the grace of the request', { [STOP_SECONDS_ANNOTATION]: '99' }, 7, 7_000],
  ])('stop %s', async (_name, annotations, gracePeriodSeconds, expectedMs) => {
    stage.cluster.apply(aPodDraft('p', { annotations }));
    stage.clock.advance(5_000);
    await stage.client.call('DELETE', '/api/v1/namespaces/default/pods/p', gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds });
    stage.clock.advance(expectedMs - 1);
    expect(pod('p')?.metadata.deletionTimestamp).toBeDefined();
    stage.clock.advance(1);
    expect(pod('p')).toBeUndefined();
  });

  it('hold their resources until they are gone', async () => {
    stage.cluster.apply(aPodDraft('big', { cpu: '3', annotations: { [STOP_SECONDS_ANNOTATION]: '20' } }));
    stage.clock.advance(5_000);
    stage.cluster.remove(aPodDraft('big'));
    stage.cluster.apply(aPodDraft('next', { cpu: '3' }));
    stage.clock.advance(19_999);
    expect(pod('next')?.spec.nodeName).toBeUndefined();
    stage.clock.advance(1);
    expect(pod('next')?.spec.nodeName).toBe('n1');
  });
});

describe('pods that end by themselves', () => {
  const finishing = (restartPolicy: string) =>
    aPodDraft('run', { cpu: '3', annotations: { [FINISH_SECONDS_ANNOTATION]: '60' }, spec: { restartPolicy } });

  it('run for their time, however long they waited, and free their node', async () => {
    stage = await setStage([]);
    stage.cluster.apply(finishing('Never'));
    stage.clock.advance(600_000);
    stage.park.boot(aMachine('n1'));
    stage.clock.advance(60_000);
    expect(pod('run')?.status.phase).toBe('Running');
    stage.cluster.apply(aPodDraft('next', { cpu: '3' }));
    stage.clock.advance(40_000);
    expect(pod('run')?.status).toMatchObject({ phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0 } } }] });
    expect(pod('next')?.spec.nodeName).toBe('n1');
  });

  it('do not, where their containers are restarted', async () => {
    stage.cluster.apply(finishing('Always'));
    stage.clock.advance(300_000);
    expect(pod('run')?.status.phase).toBe('Running');
  });
});

describe('requests', () => {
  it('are announced one by one', async () => {
    stage.cluster.apply(aPodDraft('p'));
    stage.clock.advance(5_000);
    const seen: string[] = [];
    const stop = stage.cluster.onRequest(({ method, resource, status }) => seen.push(`${method} ${resource} ${status}`));
    await stage.client.call('POST', '/api/v1/namespaces/default/pods/p/eviction', { metadata: { name: 'p' } });
    stop();
    await stage.client.call('GET', '/api/v1/nodes');
    expect(seen).toEqual(['POST pods/eviction 201']);
  });
});

describe('taints that people set', () => {
  it('drive out at once what does not tolerate NoExecute', async () => {
    stage.cluster.apply(aPodDraft('leaves'));
    stage.cluster.apply(aPodDraft('stays', { spec: { tolerations: [{ operator: 'Exists' }] } }));
    stage.clock.advance(5_000);
    const patch = { spec: { taints: [{ key: 'out', effect: 'NoExecute' }] } };
    await stage.client.call('PATCH', '/api/v1/nodes/n1', patch, { contentType: 'application/strategic-merge-patch+json' });
    stage.clock.advance(5_000);
    expect(pod('leaves')).toBeUndefined();
    expect(pod('stays')?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('show a cordon as a taint, and take it away again', async () => {
    const cordon = (unschedulable: boolean | null): Promise<unknown> =>
      stage.client.call('PATCH', '/api/v1/nodes/n1', { spec: { unschedulable } }, { contentType: 'application/merge-patch+json' });
    await cordon(true);
    stage.clock.advance(0);
    expect(taintsOf('n1')).toEqual(['node.kubernetes.io/unschedulable:NoSchedule']);
    await cordon(null);
    stage.clock.advance(0);
    expect(taintsOf('n1')).toEqual([]);
  });
});

describe('the judge of deletions', () => {
  async function withPod(rest: Parameters<typeof aPodDraft>[1] = {}): Promise<void> {
    stage.cluster.apply(aPodDraft('p', rest));
    stage.clock.advance(5_000);
  }
  const deleteBy = (principal: string): void =>
    stage.park.tell({ kind: 'delete-accepted', machine: aMachine('n1'), principal, createdMs: 0, was: 'Succeeded' });

  it('accuses who deletes a machine with a running pod', async () => {
    await withPod();
    deleteBy('autoscaler');
    expect(stage.violations.list()).toEqual([
      {
        rule: 'node-deleted-with-pods',
        subject: 'n1',
        detail: 'autoscaler deleted the VM while it ran default/p',
        atMs: stage.clock.now(),
      },
    ]);
  });

  it.each(['foreign-writer', 'aks-resource-provider'])('reports no violation by others: %s', async (principal) => {
    await withPod();
    deleteBy(principal);
    expect(stage.violations.list()).toEqual([]);
  });

  it.each<[string, Parameters<typeof aPodDraft>[1], (() => Promise<unknown>) | undefined]>([
    ['only daemon pods', { spec: { nodeSelector: { no: 'where' } } }, undefined],
    [
      'a pod that terminates',
      { annotations: { [STOP_SECONDS_ANNOTATION]: '25' } },
      () => stage.client.call('DELETE', '/api/v1/namespaces/default/pods/p'),
    ],
    ['a mirror pod', { annotations: { 'kubernetes.io/config.mirror': 'x' } }, undefined],
    [
      'a finished pod',
      {},
      () =>
        stage.client.call(
          'PATCH',
          '/api/v1/namespaces/default/pods/p/status',
          { status: { phase: 'Succeeded' } },
          { contentType: 'application/merge-patch+json' },
        ),
    ],
  ])('lets pass a machine with %s', async (_name, rest, first) => {
    await withPod(rest);
    await first?.();
    deleteBy('autoscaler');
    expect(stage.violations.list()).toEqual([]);
  });
});
