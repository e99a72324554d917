/**
 * Nominations for a node that is not ready yet, against the real kube-scheduler: a large pod keeps its place against smaller ones that are tried
 * before it, and without a nomination it does not. The daemon's writer replaces no nomination of another writer, and withdraws none.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectKubernetes, type Kubernetes } from '../../src/kubernetes/kubernetes.ts';
import { systemClock } from '../../src/cli/process/process.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { KubeObject } from '../../world/simulator/real-control-plane/api-client.ts';
import { MERGE } from '../../world/simulator/real-control-plane/api-client.ts';
import { startControlPlane, type ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { resourceNames } from '../support/builders.ts';
import { silentLog } from '../support/silent-log.ts';
import { givenBinaries, MINOR_VARIABLE, planeOf } from './given.ts';
import { until } from './until.ts';

const LIMIT_MS = 600_000;
const NOT_ADMITTED = 'ServiceAccount,TaintNodesByCondition';
const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const signal = new AbortController().signal;

const node = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { case: name } },
  spec: { taints: [NOT_READY] },
  status: { allocatable: { cpu: '4', memory: '8Gi', pods: '20' }, capacity: { cpu: '4', memory: '8Gi', pods: '20' } },
});

const pod = (of: string, name: string, cpu: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `${of}-${name}`, namespace: 'default', labels: { case: of } },
  spec: { containers: [{ name: 'c', image: 'none', resources: { requests: { cpu } } }], nodeSelector: { case: of } },
});

interface Seen {
  readonly uid: string;
  readonly node: string | undefined;
  readonly nominated: string | undefined;
  readonly refused: boolean;
}

function seen({ metadata, spec, status }: KubeObject): Seen {
  const { nodeName } = spec as { readonly nodeName?: string };
  const { nominatedNodeName, conditions = [] } = status as {
    readonly nominatedNodeName?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string }[];
  };
  const refused = conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable');
  return { uid: metadata.uid, node: nodeName, nominated: nominatedNodeName, refused };
}

describe('nominations', () => {
  let plane: ControlPlane | undefined;
  let kubernetes: Kubernetes | undefined;
  beforeAll(async () => {
    plane = await startControlPlane({
      ...planeOf(givenBinaries()),
      parts: ['kube-scheduler'],
      args: { 'kube-apiserver': [`--disable-admission-plugins=${NOT_ADMITTED}`] },
    });
    const options = {
      kubeconfigPath: plane.adminKubeconfig,
      namespace: 'kube-system',
      leaseName: 'aks-autoscaler',
      identity: 'test',
      leaderElect: false,
    };
    const common = { clock: systemClock, random: () => 0.5, log: silentLog(), metrics: createMetrics(), names: resourceNames };
    kubernetes = await connectKubernetes({ options, ...common });
  }, LIMIT_MS);
  afterAll(async () => {
    await kubernetes?.close();
    await plane?.stop();
  });

  const admin = () => plane?.admin ?? expect.fail('no control plane');
  const nominator = () => kubernetes?.nominator ?? expect.fail('no connection');
  const podNow = async (name: string): Promise<Seen> =>
    seen((await admin().must('GET', `/api/v1/namespaces/default/pods/${name}`)) as KubeObject);

  let cases = 0;

  /** A pod that the scheduler has refused. */
  async function givenRefused(id: string, name: string, cpu: string): Promise<void> {
    await admin().must('POST', '/api/v1/namespaces/default/pods', pod(id, name, cpu));
    await until(`${name} is refused`, async () => (await podNow(`${id}-${name}`)).refused);
  }

  /**
   * A node that is not ready, and pods that the scheduler has refused: small ones first, so that they are tried before the large one.
   * Returns the node's name, another one when a test is tried again: what the first try left has the old one.
   */
  async function givenPods(): Promise<string> {
    const id = `case-${++cases}`;
    await admin().must('POST', '/api/v1/nodes', node(id));
    await givenRefused(id, 'small-0', '2');
    await givenRefused(id, 'small-1', '2');
    await givenRefused(id, 'large', '3');
    return id;
  }

  /** The scheduler hears of pods and of nodes on two ways. When it refuses a pod that came after the nomination, it knows the nomination. */
  const schedulerKnows = (id: string) => givenRefused(`${id}-later`, 'any', '1');

  const becomesReady = (id: string) => admin().must('PATCH', `/api/v1/nodes/${id}`, { spec: { taints: [] } }, MERGE);

  it(
    'without one the smaller pods take the room of the large one',
    async () => {
      const id = await givenPods();
      await becomesReady(id);
      await until('a small pod runs', async () => (await podNow(`${id}-small-0`)).node);
      expect((await podNow(`${id}-large`)).node).toBeUndefined();
    },
    LIMIT_MS,
  );

  it(
    'with one the large pod gets the node once it is ready, and loses the nomination when it is bound',
    async () => {
      const id = await givenPods();
      const { uid } = await podNow(`${id}-large`);
      expect(await nominator().nominate({ namespace: 'default', name: `${id}-large`, uid }, id, signal)).toBe('written');
      expect((await podNow(`${id}-large`)).nominated).toBe(id);
      await schedulerKnows(id);
      await becomesReady(id);
      await until('the large pod runs', async () => (await podNow(`${id}-large`)).node);
      const after = await Promise.all(['large', 'small-0', 'small-1'].map((name) => podNow(`${id}-${name}`)));
      expect(after.map(({ node: at }) => at)).toEqual([id, undefined, undefined]);
      // The feature ClearingNominatedNodeNameAfterBinding is off in 1.34.
      expect(after[0]?.nominated).toBe(process.env[MINOR_VARIABLE] === '1.34' ? id : undefined);
    },
    LIMIT_MS,
  );

  it(
    'the scheduler clears it when it tries the pod again in vain',
    async () => {
      const id = await givenPods();
      const large = { namespace: 'default', name: `${id}-large`, uid: (await podNow(`${id}-large`)).uid };
      await nominator().nominate(large, id, signal);
      await schedulerKnows(id);
      // A node that comes makes it try again: this one is too small.
      const small = { cpu: '1', memory: '8Gi', pods: '20' };
      const more = { ...node(`${id}-more`), spec: {}, status: { allocatable: small, capacity: small } };
      await admin().must('POST', '/api/v1/nodes', { ...more, metadata: { name: `${id}-more`, labels: { case: id } } });
      await until('it is cleared', async () => (await podNow(large.name)).nominated === undefined);
      expect(await nominator().nominate(large, id, signal)).toBe('written');
    },
    LIMIT_MS,
  );

  it(
    'another writer keeps its own, a successor of the same name gets none, and our own is withdrawn without memory',
    async () => {
      const id = await givenPods();
      const large = { namespace: 'default', name: `${id}-large`, uid: (await podNow(`${id}-large`)).uid };
      const path = `/api/v1/namespaces/default/pods/${id}-small-0/status`;
      await admin().must('PATCH', path, { status: { nominatedNodeName: 'elsewhere' } }, MERGE);
      const small = { namespace: 'default', name: `${id}-small-0`, uid: (await podNow(`${id}-small-0`)).uid };
      expect(await nominator().nominate(small, id, signal)).toBe('kept');
      await nominator().nominate(small, undefined, signal);
      expect((await podNow(`${id}-small-0`)).nominated).toBe('elsewhere');
      expect(await nominator().nominate({ ...large, uid: small.uid }, id, signal)).toBe('kept');
      expect(await nominator().nominate({ ...large, name: 'absent' }, id, signal)).toBe('kept');
      expect(await nominator().nominate(large, id, signal)).toBe('written');
      await nominator().nominate(large, undefined, signal);
      expect((await podNow(`${id}-large`)).nominated).toBeUndefined();
    },
    LIMIT_MS,
  );
});
