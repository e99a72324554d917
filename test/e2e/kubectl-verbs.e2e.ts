/**
 * The simulated API server against the real kubectl, the one of the control plane. Waiting is kubectl's own: `wait`, `rollout status`,
 * `delete`.
 */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KUBECTL_ROWS, MONITOR, WEB } from '../../docs/kubectl-verbs.ts';
import { startCluster, type SimCluster } from '../../world/simulator/cluster/cluster.ts';
import { realSimClock } from '../../world/simulator/base/sim-clock.ts';
import { createServerTls } from '../../world/simulator/base/tls.ts';
import { ViolationLog } from '../../world/simulator/base/write-safety.ts';
import { findHelm } from '../deploy/helm.ts';
import { givenBinaries } from './given.ts';
import { aDefinition, aWidget } from '../../world/test/simulator/cluster/schemas/widget.ts';
import { aBudgetDraft, aDeployment, aMachine, SPEC, TestVmFeed, TOKEN } from '../../world/test/simulator/cluster/stage.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const HELM = findHelm(process.env);
const [KUBECTL, ...FIRST] = givenBinaries().kubectl;

let cluster: SimCluster;
let park: TestVmFeed;
let dir: string;

const JOB = {
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: 'once' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'app', image: 'app:1' }] } } },
};

interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function kubectl(...args: readonly string[]): Promise<Output> {
  const options = { cwd: dir, env: { PATH: process.env['PATH'] ?? '', HOME: dir, KUBECONFIG: join(dir, 'kubeconfig') }, timeout: 250_000 };
  return new Promise((resolve) => {
    execFile(KUBECTL, [...FIRST, ...args], options, (error, out, err) => resolve({ code: error === null ? 0 : 1, out, err }));
  });
}

async function file(name: string, ...objects: readonly unknown[]): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
  return path;
}

async function ok(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await kubectl(...args);
  expect({ args, code, err: code === 0 ? '' : err }).toEqual({ args, code: 0, err: '' });
  return out;
}

describe('kubectl against the simulated API server', () => {
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'simulated-cluster-'));
    park = new TestVmFeed([aMachine('sys-1', { pool: 'system' }), aMachine('usr-1'), aMachine('usr-2')]);
    cluster = await startCluster({
      spec: SPEC,
      clock: realSimClock(20),
      tls: await createServerTls(Date.now()),
      machines: park,
      violations: new ViolationLog(),
      token: TOKEN,
    });
    await writeFile(join(dir, 'kubeconfig'), cluster.kubeconfig());
  });

  afterAll(async () => {
    await cluster.stop();
    await rm(dir, { recursive: true });
  });

  it('gets nodes and pods of all namespaces, in every form', async () => {
    await ok('wait', '-n', 'kube-system', '--for=condition=Ready', 'pod', '--all', '--timeout=200s');
    const table = await ok('get', 'nodes,pods', '-A');
    expect(table).toMatch(/NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\n/);
    expect(table).toMatch(/node\/usr-1\s+Ready\s+<none>\s+60m\s+v1\.33\.2/);
    expect(table).toMatch(/kube-system\s+pod\/coredns-\S+\s+1\/1\s+Running/);
    expect(await ok('get', 'nodes', '-o', 'wide')).toMatch(/usr-1 .*containerd:/);
    const json = JSON.parse(await ok('get', 'node', 'usr-1', '-o', 'json')) as { spec: { providerID: string } };
    expect(json.spec.providerID).toBe('azure:///subscriptions/s/resourceGroups/rg/usr-1');
    expect(await ok('get', 'nodes', '-l', 'agentpool=system', '-o', 'yaml')).toContain('kubernetes.io/hostname: sys-1');
    expect(await ok('get', 'deploy,rs,ds,pdb,svc,sc,events', '-A')).toContain('poddisruptionbudget.policy/coredns-pdb');
  });

  it('creates, applies, scales, rolls out and deletes a deployment', async () => {
    await ok('create', '-f', await file('web.json', aDeployment('web', 2)));
    expect(await ok('rollout', 'status', 'deployment/web', '--timeout=200s')).toContain('successfully rolled out');
    await ok('apply', '-f', await file('web.json', aDeployment('web', 2, { image: 'test:2' })));
    expect(await ok('rollout', 'status', 'deployment/web', '--timeout=200s')).toContain('successfully rolled out');
    await ok('scale', 'deployment/web', '--replicas=4');
    await ok('rollout', 'status', 'deployment/web', '--timeout=200s');
    expect((await ok('get', 'pods', '-l', 'app=web', '-o', 'name')).trim().split('\n')).toHaveLength(4);
    expect(await ok('get', 'deploy', 'web')).toMatch(/web\s+4\/4\s+4\s+4/);
    expect(await ok('delete', 'deployment', 'web', '--timeout=200s')).toContain('deleted');
    await ok('wait', '--for=delete', 'pod', '-l', 'app=web', '--timeout=200s');
    expect((await ok('get', 'pods', '-l', 'app=web', '-o', 'name')).trim()).toBe('');
  });

  it('describes nodes and pods with their events', async () => {
    await ok('create', '-f', await file('big.json', aDeployment('big', 1, { cpu: '99' })));
    await ok('wait', '--for=condition=PodScheduled=false', 'pod', '-l', 'app=big', '--timeout=200s');
    expect(await ok('describe', 'pod', '-l', 'app=big')).toMatch(
      /Warning\s+FailedScheduling .*0\/3 nodes are available: 3 Insufficient cpu/,
    );
    const node = await ok('describe', 'node', 'usr-1');
    expect(node).toMatch(/Ready\s+True/);
    expect(node).toMatch(/kube-proxy-\S+\s+100m \(2%\)/);
    await ok('delete', '-f', join(dir, 'big.json'));
  });

  it('cordons, drains within budgets, uncordons, taints and labels', async () => {
    const budget = aBudgetDraft('api', { maxUnavailable: 1, selector: { matchLabels: { app: 'api' } } });
    await ok('create', '-f', await file('api.json', aDeployment('api', 4), budget));
    await ok('rollout', 'status', 'deployment/api', '--timeout=200s');
    await ok('cordon', 'usr-1');
    expect(await ok('get', 'node', 'usr-1')).toContain('Ready,SchedulingDisabled');
    expect(await ok('drain', 'usr-1', '--ignore-daemonsets', '--timeout=200s')).toContain('node/usr-1 drained');
    const left = cluster.store.pods().filter((pod) => pod.spec.nodeName === 'usr-1' && pod.metadata.namespace === 'default');
    expect(left).toEqual([]);
    await ok('uncordon', 'usr-1');
    await ok('taint', 'node', 'usr-1', 'a=b:NoSchedule');
    expect(cluster.store.get('nodes', undefined, 'usr-1')?.spec).toMatchObject({
      taints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
    });
    await ok('taint', 'node', 'usr-1', 'a-');
    await ok('label', 'node', 'usr-1', 'x=y');
    expect(cluster.store.get('nodes', undefined, 'usr-1')).toMatchObject({ metadata: { labels: { x: 'y' } } });
    await ok('delete', '-f', join(dir, 'api.json'), '--timeout=200s');
  });

  it('creates without a file what people create without a file', async () => {
    await ok('create', 'namespace', 'shop');
    await ok('create', 'deployment', 'front', '-n', 'shop', '--image=test:1', '--replicas=2', '--port=80');
    await ok('create', 'pdb', 'front', '-n', 'shop', '--selector=app=front', '--min-available=1');
    await ok('create', 'configmap', 'settings', '-n', 'shop', '--from-literal=a=b');
    await ok('rollout', 'status', '-n', 'shop', 'deployment/front', '--timeout=200s');
    await ok('run', 'once', '-n', 'shop', '--image=test:1');
    await ok('wait', '-n', 'shop', '--for=condition=Ready', 'pod/once', '--timeout=200s');
    expect(await ok('get', 'all,cm,pdb', '-n', 'shop')).toContain('configmap/settings');
    await ok('delete', 'namespace', 'shop', '--timeout=200s');
    expect(cluster.store.pods().filter((pod) => pod.metadata.namespace === 'shop')).toEqual([]);
    expect(await ok('auth', 'can-i', 'create', 'pods')).toContain('yes');
  });

  it('explains fields, and serves a custom kind with its schema', async () => {
    expect(await ok('explain', 'pod.spec.containers')).toMatch(/image\t<string>/);
    await ok('apply', '-f', await file('definition.json', aDefinition()));
    await ok('wait', '--for=condition=Established', 'crd/widgets.example.com', '--timeout=200s');
    expect(await ok('explain', 'widget.spec')).toMatch(/size\t<integer> -required-\s+How large it is\./);
    await ok('apply', '-f', await file('widget.json', aWidget('one', { size: 2 })));
    expect(await ok('get', 'wd')).toMatch(/NAME\s+SIZE\s+AGE\s+one\s+2/);
    expect((await kubectl('patch', 'widget', 'one', '--type=merge', '-p', '{"spec":{"size":99}}')).err).toContain(
      'spec.size: Invalid value: 99: spec.size in body should be less than or equal to 10',
    );
    await ok('delete', 'crd', 'widgets.example.com');
  });

  it('says in plain words what is refused', async () => {
    const broken = await kubectl(
      'create',
      '-f',
      await file('bad.json', aDeployment('bad', 1, { spec: { selector: { matchLabels: { app: 'other' } } } })),
    );
    expect(broken.err).toContain('`selector` does not match template `labels`');
    expect((await kubectl('get', 'pod', 'nobody')).err).toContain('pods "nobody" not found');
    await ok('apply', '--server-side', '-f', await file('ssa.json', aDeployment('ssa', 1)));
    const other = ['apply', '--server-side', '--field-manager=other', '-f', await file('ssa.json', aDeployment('ssa', 2))];
    expect((await kubectl(...other)).err).toContain('Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas');
    await ok(...other, '--force-conflicts');
    const typo = await kubectl('apply', '-f', await file('typo.json', aDeployment('typo', 1, { spec: { replica: 2 } })));
    expect(typo.err).toContain('unknown field "spec.replica"');
    const job = await kubectl('create', '-f', await file('job.json', JOB));
    expect(job.err).toContain('Warning: the simulated cluster has no controller for Job');
  });

  it('watches a node come', async () => {
    const seen = kubectl('wait', '--for=condition=Ready', 'node', '-l', 'agentpool=user', '--timeout=200s');
    park.boot(aMachine('usr-3'));
    expect((await seen).out).toContain('node/usr-1 condition met');
    await ok('wait', '--for=create', 'node/usr-3', '--timeout=200s');
    expect(await ok('wait', '--for=condition=Ready', 'node/usr-3', '--timeout=200s')).toContain('condition met');
  });

  // The rows build on each other; they are two tests because each row starts a kubectl.
  it.each(['first', 'second'])('does what docs/kubectl.md says, and refuses the rest in words (%s half)', async (half) => {
    await file('web.json', WEB);
    await file('monitor.json', MONITOR);
    await cp(join(ROOT, 'deploy'), join(dir, 'deploy'), { recursive: true });
    const wrong: unknown[] = [];
    const middle = Math.ceil(KUBECTL_ROWS.length / 2);
    for (const { args, refused } of half === 'first' ? KUBECTL_ROWS.slice(0, middle) : KUBECTL_ROWS.slice(middle)) {
      const { code, out, err } = await kubectl(...args);
      const fits = refused === undefined ? code === 0 : code !== 0 && refused.says.test(out + err);
      if (!fits) wrong.push({ args: args.join(' '), code, out, err });
    }
    expect(wrong).toEqual([]);
    const kept = cluster.store.list('roles').filter(({ metadata }) => metadata.namespace === 'kube-system');
    if (half === 'second') expect(kept).toEqual([]);
  });

  it.skipIf(HELM === undefined)('takes the chart: installed, upgraded and removed by Helm (skipped without Helm)', async () => {
    const options = { cwd: ROOT, env: { PATH: process.env['PATH'] ?? '', HOME: dir, KUBECONFIG: join(dir, 'kubeconfig') } };
    const helm = async (...args: readonly string[]): Promise<string> =>
      (await promisify(execFile)(HELM ?? '', [...args, '-n', 'kube-system'], options)).stdout;
    const chart = ['aks-autoscaler', 'helm/aks-autoscaler', '--set', 'networkPolicy.enabled=true'];
    expect(await helm('install', ...chart, '--wait', '--timeout=200s')).toContain('STATUS: deployed');
    const replicas = async (): Promise<string> =>
      ok('get', 'deployment', 'aks-autoscaler', '-n', 'kube-system', '-o', 'jsonpath={.status.readyReplicas}');
    expect(await replicas()).toBe('2');
    expect(await helm('upgrade', ...chart, '--set', 'replicaCount=3', '--wait', '--timeout=200s')).toContain('REVISION: 2');
    expect(await replicas()).toBe('3');
    expect(await helm('uninstall', 'aks-autoscaler')).toContain('uninstalled');
    expect(
      await ok('get', 'secret,role,deployment', '-n', 'kube-system', '-l', 'app.kubernetes.io/name=aks-autoscaler', '-o', 'name'),
    ).toBe('');
  });
});
