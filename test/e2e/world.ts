/**
 * A fake AKS cluster around a real control plane: machines by the ARM emulator, nodes by our kubelets, pods bound by the
 * real scheduler, and the daemon as a process of its own with the manifests' ServiceAccount. One world per scenario; the
 * control plane is shared and left clean.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { startArmEmulator, type ArmEmulator } from '../../world/simulator/arm/emulator.ts';
import type { ArmLatencies } from '../../world/simulator/arm/state/latencies.ts';
import { realSimClock } from '../../world/simulator/base/sim-clock.ts';
import { createServerTls } from '../../world/simulator/base/tls.ts';
import { ViolationLog } from '../../world/simulator/base/write-safety.ts';
import type { PoolSpec, WorldSpec } from '../../world/simulator/base/world-spec.ts';
import { worldOf } from '../scenarios/support.ts';
import { MERGE, type ApiClient, type Json, type KubeObject } from '../../world/simulator/real-control-plane/api-client.ts';
import { startControlPlane, type ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import { Daemon } from './daemon.ts';
import { COMPILE_CACHE, givenBinaries, givenProgram, planeOf } from './given.ts';
import { Kubelets } from '../../world/simulator/real-control-plane/kubelets.ts';
import { Program } from '../../world/simulator/real-control-plane/program.ts';
import type { Event, Node, Pod } from './seen-objects.ts';
import { clientEnvironment } from '../../world/lab/client-files.ts';
import { until } from './until.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
/** One per daemon, so that the emulator's journal tells who wrote. */
const CLIENTS = ['1', '2', '3'].map((digit) => ({
  clientId: `aaaaaaaa-0000-0000-0000-00000000000${digit}`,
  clientSecret: `only-known-to-this-simulation-${digit}`,
}));
const TOKEN_PATH = '/api/v1/namespaces/kube-system/serviceaccounts/aks-autoscaler/token';
/** Who the daemon is to the API server. */
const DAEMON_USER = 'system:serviceaccount:kube-system:aks-autoscaler';
/** A minute of Azure in three seconds. */
const SPEED = 20;

/** The production program's ordinary settings, with the patience of a test. */
const FLAGS = [
  '--address=127.0.0.1:0',
  '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
  '--scan-interval=2s',
  '--scale-down-unneeded-time=4s',
  '--scale-down-delay-after-add=3s',
  '--scale-down-delay-after-failure=2s',
  '--unremovable-node-recheck-timeout=2s',
  '--node-delete-delay-after-taint=1s',
];

export interface WorldOptions {
  readonly plane: ControlPlane;
  readonly pools: readonly PoolSpec[];
  readonly spec?: Partial<WorldSpec>;
  readonly knobs?: Partial<ArmLatencies>;
}

/** A control plane that knows the daemon's ServiceAccount and records what it asks for. */
export async function startPlaneForDaemon(): Promise<ControlPlane> {
  const plane = await startControlPlane({ ...planeOf(givenBinaries()), audited: [DAEMON_USER] });
  await installRbac(plane);
  return plane;
}

/** Every rule the daemon has comes from here: the objects that people apply. */
async function installRbac(plane: ControlPlane): Promise<void> {
  const text = readFileSync(join(ROOT, 'deploy', 'rbac.yaml'), 'utf8');
  for (const document of parseAllDocuments(text)) await plane.admin.apply(document.toJS() as Json);
}

/** Owns one fake AKS and the daemons in it. */
export class E2eWorld {
  readonly plane: ControlPlane;
  readonly api: ApiClient;
  readonly spec: WorldSpec;
  readonly arm: ArmEmulator;
  readonly kubelets: Kubelets;
  /** What the kubelets could not do. */
  readonly failures: readonly string[];
  readonly namespace: string;
  readonly daemons: Daemon[] = [];
  readonly #dir: string;
  readonly #violations: ViolationLog;

  private constructor(parts: {
    plane: ControlPlane;
    spec: WorldSpec;
    arm: ArmEmulator;
    kubelets: Kubelets;
    failures: readonly string[];
    namespace: string;
    dir: string;
    violations: ViolationLog;
  }) {
    this.plane = parts.plane;
    this.api = parts.plane.admin;
    this.spec = parts.spec;
    this.arm = parts.arm;
    this.kubelets = parts.kubelets;
    this.failures = parts.failures;
    this.namespace = parts.namespace;
    this.#dir = parts.dir;
    this.#violations = parts.violations;
  }

  static #count = 0;

  /** Nodes are ready and the namespace can take pods when this resolves. The daemon does not run yet. */
  static async start({ plane, pools, spec: more, knobs }: WorldOptions): Promise<E2eWorld> {
    const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-e2e-'));
    const clock = realSimClock(SPEED);
    const spec = worldOf(pools, more);
    const violations = new ViolationLog();
    const tls = await createServerTls(Date.now());
    const arm = await startArmEmulator({ spec, clock, tls, violations, clients: CLIENTS, ...(knobs === undefined ? {} : { knobs }) });
    await writeFile(join(dir, 'ca.pem'), tls.caPem);
    const failures: string[] = [];
    const onFailure = (what: string): void => void failures.push(what);
    const kubelets = new Kubelets({ api: plane.admin, machines: arm.machines, clock, spec, onFailure });
    const world = new E2eWorld({ plane, spec, arm, kubelets, failures, dir, violations, namespace: `scenario-${++E2eWorld.#count}` });
    await kubelets.start();
    await plane.admin.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: world.namespace } });
    await until('pods may be made', () => plane.admin.get(`/api/v1/namespaces/${world.namespace}/serviceaccounts/default`));
    return world;
  }

  /** The environment of a command of the program that sees the same Azure. */
  environmentOf(kubeconfig: string): Readonly<Record<string, string>> {
    return { ...COMPILE_CACHE, ...clientEnvironment(this.#dir, this, CLIENTS[0]), KUBECONFIG: kubeconfig };
  }

  /** Starts a daemon with a fresh token of its ServiceAccount and waits until it serves. */
  async daemon(flags: readonly string[] = [], name = `daemon-${this.daemons.length + 1}`): Promise<Daemon> {
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
    const { status } = (await this.api.must('POST', TOKEN_PATH, request)) as { readonly status?: { readonly token: string } };
    const kubeconfig = await this.plane.kubeconfigFor(name, status?.token ?? '');
    const lines: string[] = [];
    const client = CLIENTS[this.daemons.length];
    if (client === undefined) throw new Error('this world has no identity for another daemon');
    const program = new Program({
      name,
      command: [process.execPath],
      args: [givenProgram(), 'run', `--kubeconfig=${kubeconfig}`, ...FLAGS, ...flags],
      env: {
        PATH: process.env['PATH'],
        POD_NAME: name,
        ...COMPILE_CACHE,
        ...clientEnvironment(this.#dir, this, client),
      },
      logFile: join(this.#dir, `${name}.log`),
      onLine: (line) => lines.push(line),
    });
    const daemon = new Daemon({ name, program, lines, principal: client.clientId });
    this.daemons.push(daemon);
    await daemon.serving();
    return daemon;
  }

  /** The usual start: one daemon without leader election, ready. */
  async soleDaemon(flags: readonly string[] = []): Promise<Daemon> {
    const daemon = await this.daemon(['--leader-elect=false', ...flags]);
    await daemon.ready();
    return daemon;
  }

  apply(object: Json): Promise<KubeObject> {
    const metadata = { namespace: this.namespace, ...(object['metadata'] as Json) };
    return this.api.apply({ ...object, metadata });
  }

  async pods(app?: string): Promise<readonly Pod[]> {
    const query = app === undefined ? '' : `?labelSelector=app%3D${app}`;
    return (await this.api.list(`/api/v1/namespaces/${this.namespace}/pods${query}`)) as readonly Pod[];
  }

  /** Those that run on a node, by the API server's word. */
  async running(app: string): Promise<readonly Pod[]> {
    const pods = await this.pods(app);
    return pods.filter(
      ({ spec, status, metadata }) => spec.nodeName !== undefined && status.phase === 'Running' && metadata.deletionTimestamp === undefined,
    );
  }

  untilRunning(app: string, count: number, patienceMs = 90_000): Promise<readonly Pod[]> {
    return until(
      `${count} pods of ${app} run`,
      async () => {
        const pods = await this.running(app);
        return pods.length === count && (await this.pods(app)).length === count ? pods : undefined;
      },
      patienceMs,
      () => this.picture(),
    );
  }

  async scale(app: string, replicas: number): Promise<void> {
    await this.api.must('PATCH', `/apis/apps/v1/namespaces/${this.namespace}/deployments/${app}`, { spec: { replicas } }, MERGE);
  }

  async nodes(pool?: string): Promise<readonly Node[]> {
    const all = (await this.api.list('/api/v1/nodes')) as readonly Node[];
    return pool === undefined ? all : all.filter(({ metadata }) => metadata.labels?.['agentpool'] === pool);
  }

  untilNodes(pool: string, count: number, patienceMs = 90_000): Promise<readonly Node[]> {
    return until(
      `${count} nodes in ${pool}`,
      async () => {
        const nodes = await this.nodes(pool);
        return nodes.length === count ? nodes : undefined;
      },
      patienceMs,
      () => this.picture(),
    );
  }

  async isThere(node: string): Promise<boolean> {
    return (await this.nodes()).some(({ metadata }) => metadata.name === node);
  }

  async untilGone(node: string): Promise<void> {
    await until(
      `the node ${node} is gone`,
      async () => !(await this.isThere(node)),
      60_000,
      () => this.picture(),
    );
  }

  capacity(pool: string): number {
    return this.arm.control.state().sets.find((set) => set.pool === pool)?.capacity ?? Number.NaN;
  }

  /** Events of the daemon, in any namespace. */
  async events(reason: string): Promise<readonly Event[]> {
    const all = (await this.api.list('/api/v1/events')) as readonly Event[];
    return all.filter((event) => event.reason === reason && event.source.component === 'aks-autoscaler');
  }

  /** Who asked Azure to change something, in order. */
  writers(): readonly string[] {
    return this.arm.control
      .journal()
      .filter(({ method, route }) => (method === 'PUT' || method === 'POST' || method === 'DELETE') && !/token|authorize/i.test(route))
      .map(({ principal }) => principal);
  }

  /** What the API server did not allow the daemons, by its own record: each is a rule that the manifests lack. */
  async forbidden(): Promise<readonly string[]> {
    const asked = await this.plane.audit(DAEMON_USER);
    return [
      ...new Set(asked.filter(({ responseStatus }) => responseStatus?.code === 403).map(({ verb, requestURI }) => `${verb} ${requestURI}`)),
    ];
  }

  get violations(): readonly unknown[] {
    return this.#violations.list();
  }

  /** What a person would look at first. */
  async picture(): Promise<string> {
    const nodes = (await this.nodes()).map(
      ({ metadata, spec }) => `${metadata.name}[${(spec.taints ?? []).map(({ key }) => key).join(' ')}]`,
    );
    const pods = (await this.pods()).map(
      ({ metadata, spec, status }) =>
        `${metadata.name} ${status.phase ?? ''}${metadata.deletionTimestamp === undefined ? '' : ' terminating'} on ${spec.nodeName ?? 'nothing'}`,
    );
    const sets = this.arm.control.state().sets.map(({ pool, capacity }) => `${pool}=${capacity}`);
    const logs = this.daemons.map(({ name, program }) => `--- ${name} (${program.end ?? 'runs'})\n${program.tail(25)}`);
    return [`sets: ${sets.join(' ')}`, `nodes: ${nodes.join(' ')}`, ...pods, ...this.failures, ...logs].join('\n');
  }

  /** Ends the daemons and the machines, and leaves the control plane as it was found. @throws Error when a right was missing. */
  async stop(): Promise<void> {
    await Promise.all(this.daemons.map(({ program }) => program.stop()));
    this.kubelets.stop();
    await this.arm.stop();
    await this.#clean();
    await rm(this.#dir, { recursive: true, force: true });
    const forbidden = await this.forbidden();
    if (forbidden.length > 0) throw new Error(`The manifests do not allow what the daemon did: ${forbidden.join(', ')}`);
  }

  async #clean(): Promise<void> {
    const { api } = this;
    const collections = [
      '/api/v1/nodes',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
      '/apis/storage.k8s.io/v1/csinodes',
      '/api/v1/persistentvolumes',
      '/apis/storage.k8s.io/v1/storageclasses',
    ];
    await api.delete(`/api/v1/namespaces/${this.namespace}`);
    for (const collection of collections) await api.delete(collection);
    await api.delete('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/aks-autoscaler');
    await api.delete('/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status');
    await api.delete('/api/v1/namespaces/kube-system/events');
    await api.delete('/api/v1/namespaces/default/events');
    // A namespace on its way out takes no new pods; its own end may come later.
    await until('its pods are gone', async () => {
      const pods = await this.pods();
      // Their kubelets are no more: nobody else would end them.
      for (const { metadata } of pods) {
        await api.delete(`/api/v1/namespaces/${this.namespace}/pods/${metadata.name}`, { gracePeriodSeconds: 0 });
      }
      return pods.length === 0;
    });
  }
}
