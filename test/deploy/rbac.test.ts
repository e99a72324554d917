/** What the manifests allow is what the daemon does: not less, and not more. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_RULES, NAMESPACE_RULES, type Rule } from '../../deploy/objects.ts';
import { connectKubernetes } from '../../src/kubernetes/kubernetes.ts';
import { systemClock } from '../../src/cli/process/process.ts';
import { isConfigErrors } from '../../src/config/types/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { smallWorld } from '../../world/simulator/sample-worlds.ts';
import { realSimClock } from '../../world/simulator/base/sim-clock.ts';
import { startWorld } from '../../world/simulator/world.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { aPool, bound, deployment, MINUTE, pending, worldOf } from '../scenarios/support.ts';
import { resourceNames } from '../support/builders.ts';
import { VirtualRun } from '../support/virtual-world.ts';
import { silentLog } from '../support/silent-log.ts';

interface Seen {
  readonly request: { readonly origin: string; readonly method: string; readonly path: string };
}

const PATH =
  /^\/api(?:s\/(?<group>[^/]+))?\/v1(?:beta1)?(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<resource>[^/?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<sub>[^/?]+))?(?<query>\?.*)?$/;

/** `group/resource verb`, as the API server would ask its authorizer; undefined for what everybody may. */
function accessOf(method: string, path: string): string | undefined {
  if (path.startsWith('/version')) return undefined;
  const { group = '', resource = '', name, sub, query = '' } = PATH.exec(path)?.groups ?? {};
  const read = query.includes('watch=true') ? 'watch' : name === undefined ? 'list' : 'get';
  const verbs: Readonly<Record<string, string>> = { GET: read, POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  return `${group}/${resource}${sub === undefined ? '' : `/${sub}`} ${verbs[method] ?? method}`;
}

/** The name that a request is about, in its path or in its field selector, as the authorizer reads it. */
function nameOf(path: string): string | undefined {
  return PATH.exec(path)?.groups?.['name'] ?? /fieldSelector=metadata\.name(?:=|%3D)(?<name>[^&]+)/.exec(path)?.groups?.['name'];
}

function allowed(rules: readonly Rule[]): ReadonlySet<string> {
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`))),
    ),
  );
}

const calls: Seen['request'][] = [];
let server = '';
const listener = (message: unknown): void => {
  const { origin, method, path } = (message as Seen).request;
  calls.push({ origin, method, path });
};

function accesses(): ReadonlySet<string> {
  const made = calls.filter(({ origin }) => origin === server).map(({ method, path }) => accessOf(method, path));
  return new Set(made.filter((access) => access !== undefined));
}

/** A run that uses every permission: it grows, records events, taints, drains, deletes, leads, and stops. */
async function live(): Promise<void> {
  const flags = [
    '--leader-elect=true',
    '--scale-down-unneeded-time=1m',
    '--scale-down-delay-after-add=1m',
    '--expander=priority,least-waste',
    '--capacity-quotas-enabled',
    '--capacity-buffer-controller-enabled',
    '--enable-provisioning-requests',
  ];
  const run = await VirtualRun.start({ spec: worldOf([aPool({ name: 'general', count: 2 })]), flags: [...flags, '--scan-interval=5s'] });
  const world = run.world.cluster;
  server = world.url;
  try {
    world.apply(deployment({ name: 'web', replicas: 12, cpu: '700m' }));
    world.apply({
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityQuota',
      metadata: { name: 'all' },
      spec: { limits: { resources: { nodes: '100' } } },
    });
    world.apply({
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'spare', namespace: 'default' },
      spec: { scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'web' }, percentage: 10 },
    });
    // Its event repeats in every loop, so the present one is changed.
    world.apply({
      apiVersion: 'autoscaling.x-k8s.io/v1beta1',
      kind: 'CapacityBuffer',
      metadata: { name: 'lost', namespace: 'default' },
      spec: { scalableRef: { apiGroup: 'apps', kind: 'Deployment', name: 'none' }, percentage: 10 },
    });
    world.apply({
      apiVersion: 'autoscaling.x-k8s.io/v1',
      kind: 'ProvisioningRequest',
      metadata: { name: 'asks', namespace: 'default' },
      spec: { provisioningClassName: 'check-capacity.autoscaling.x-k8s.io', podSets: [] },
    });
    world.apply(deployment({ name: 'giant', replicas: 1, cpu: '64' }));
    await run.until('bound', () => bound(run, 'web') === 12, 5 * MINUTE);
    world.apply(deployment({ name: 'web', replicas: 4, cpu: '700m' }));
    const gone = (): boolean => run.reports.some((report) => report.removed.some(({ kind }) => kind === 'deleted'));
    await run.until('a drained node is deleted', gone, 20 * MINUTE);
    await run.advance(2 * MINUTE);
    expect(pending(run)).toBe(1);
    await standBy(run);
  } finally {
    await run.stop();
  }
}

/** Another replica, which waits for its turn. */
async function standBy(run: VirtualRun): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-'));
  const kubeconfigPath = join(dir, 'kubeconfig');
  writeFileSync(kubeconfigPath, run.world.cluster.kubeconfig());
  const options = { kubeconfigPath, namespace: 'kube-system', leaseName: 'aks-autoscaler', identity: 'waits', leaderElect: true };
  const common = { clock: systemClock, random: () => 0.5, log: silentLog(), metrics: createMetrics(), names: resourceNames };
  const kubernetes = await connectKubernetes({ options, ...common });
  const stop = new AbortController();
  const waiting = kubernetes.lease.acquire(stop.signal).catch(() => undefined);
  const isWatching = (): boolean => calls.some(({ path }) => path.includes('/leases?watch=true'));
  for (const end = Date.now() + 120_000; !isWatching() && Date.now() < end;) await systemClock.sleep(20);
  stop.abort();
  await waiting;
  await kubernetes.close();
  await rm(dir, { recursive: true, force: true });
}

beforeAll(async () => {
  subscribe('undici:request:create', listener);
  await live();
});

afterAll(() => {
  unsubscribe('undici:request:create', listener);
});

describe('least privilege', () => {
  const rules = [...CLUSTER_RULES, ...NAMESPACE_RULES];

  it('reads paths in the way of the API server', () => {
    expect([
      accessOf('GET', '/api/v1/pods?limit=500'),
      accessOf('GET', '/apis/apps/v1/daemonsets?watch=true&resourceVersion=3'),
      accessOf('POST', '/api/v1/namespaces/default/pods/web/eviction'),
      accessOf('GET', '/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status'),
      accessOf('GET', '/api/v1/namespaces?limit=500'),
    ]).toEqual(['/pods list', 'apps/daemonsets watch', '/pods/eviction create', '/configmaps get', '/namespaces list']);
  });

  it('allows every call of a daemon', () => {
    expect(accesses().size).toBeGreaterThan(15);
    expect(accesses()).toContain('coordination.k8s.io/leases watch');
    expect([...accesses()].filter((access) => !allowed(rules).has(access)).toSorted()).toEqual([]);
  });

  it('allows changes of the own lease and ConfigMaps by their names', () => {
    const named = (access: string): readonly string[] =>
      rules.flatMap((rule) => (allowed([rule]).has(access) ? (rule.resourceNames ?? ['any']) : []));
    const own = calls.filter(({ origin, path }) => origin === server && /\/(?:leases|configmaps)/.test(path));
    expect(own.length).toBeGreaterThan(5);
    for (const { method, path } of own) {
      const access = accessOf(method, path) ?? '';
      const names = named(access);
      expect([access, names.includes('any') ? access.endsWith('create') : names.includes(nameOf(path) ?? '')]).toEqual([access, true]);
    }
  });

  it('allows nothing that is never called', () => {
    // A LIST follows where a server does not know watch-lists; the simulated one may or may not, so both are kept.
    // Requests are deleted a week after they ended, which this life does not last for.
    const later = 'autoscaling.x-k8s.io/provisioningrequests delete';
    // Owners of pods that move are read one by one, whatever their kind; those that move in this life are of ReplicaSets.
    const asReplicaSets = ['apps/statefulsets get', 'batch/jobs get', '/replicationcontrollers get'];
    expect(accesses()).toContain('apps/replicasets get');
    // For people who hand the lease over with the account's rights.
    const byHand = 'coordination.k8s.io/leases patch';
    const called = new Set([...accesses(), ...asReplicaSets, later, byHand]);
    const unused = [...allowed(rules)].filter((access) => !called.has(access) && !/ (list|watch)$/.test(access));
    expect(unused.toSorted()).toEqual([]);
  });

  it('grants no read of secrets, and no wildcard', () => {
    expect(JSON.stringify(rules)).not.toMatch(/"\*"|secrets/);
  });
});

describe('in a pod', () => {
  it("the daemon finds the API server and its account at the kubelet's paths", async () => {
    const client = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };
    const world = await startWorld({ spec: smallWorld(1), clock: realSimClock(20), client, token: 'an-account-token' });
    const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-'));
    try {
      writeFileSync(join(dir, 'token'), 'an-account-token\n');
      writeFileSync(join(dir, 'ca.crt'), world.caPem);
      const { hostname, port } = new URL(world.cluster.url);
      const config = loadConfig({
        argv: ['--nodes=0:1:a', '--leader-elect=false'],
        env: {
          KUBERNETES_SERVICE_HOST: hostname,
          KUBERNETES_SERVICE_PORT: port,
          ARM_SUBSCRIPTION_ID: 's',
          ARM_RESOURCE_GROUP: 'g',
          LOCATION: 'l',
          ARM_USE_MANAGED_IDENTITY_EXTENSION: 'true',
        },
        readFile: () => '',
      });
      if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
      const kubernetes = await connectKubernetes({
        options: { ...config.kubernetes, serviceAccountDir: dir },
        clock: systemClock,
        random: () => 0.5,
        log: silentLog(),
        metrics: createMetrics(),
        names: resourceNames,
      });
      try {
        await kubernetes.reader.start(AbortSignal.timeout(120_000));
        expect(kubernetes.reader.observe(0).namespaces.has('kube-system')).toBe(true);
      } finally {
        await kubernetes.close();
      }
    } finally {
      await world.stop();
      await rm(dir, { recursive: true, force: true });
    }
  });
});
