/** Through a proxy: Azure by HTTPS_PROXY and NO_PROXY, the API server by `proxy-url` of its kubeconfig. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Check } from '../../src/tools/doctor/check.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../../world/lab/client-files.ts';
import { realSimClock } from '../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../world/simulator/world.ts';
import { aPool, worldOf } from '../scenarios/support.ts';
import { ConnectProxy } from '../support/connect-proxy.ts';
import { runCommand } from '../support/run-command.ts';

let world: World;
let azureProxy: ConnectProxy;
let clusterProxy: ConnectProxy;
let dir: string;

interface Kubeconfig {
  readonly clusters: readonly { readonly name: string; readonly cluster: Readonly<Record<string, string>> }[];
}

beforeAll(async () => {
  world = await startWorld({ spec: worldOf([aPool({ name: 'general' })]), clock: realSimClock(1_000), client: CLIENT, token: 'a-token' });
  azureProxy = await ConnectProxy.start();
  clusterProxy = await ConnectProxy.start();
  dir = mkdtempSync(join(tmpdir(), 'aks-autoscaler-proxy-'));
  await writeClientFiles(dir, world);
  const config = parse(readFileSync(join(dir, 'kubeconfig'), 'utf8')) as Kubeconfig;
  const proxyUrl = `http://me:secret%21@127.0.0.1:${clusterProxy.port}`;
  const clusters = config.clusters.map(({ name, cluster }) => ({ name, cluster: { ...cluster, 'proxy-url': proxyUrl } }));
  writeFileSync(join(dir, 'kubeconfig'), JSON.stringify({ ...config, clusters }));
  // As NODE_EXTRA_CA_CERTS does when a process starts.
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(join(dir, 'ca.pem'), 'utf8')]);
  // The Azure SDK reads them from the process when a client is made.
  process.env['HTTPS_PROXY'] = `http://127.0.0.1:${azureProxy.port}`;
  process.env['NO_PROXY'] = '169.254.169.254,127.0.0.1';
});

afterAll(async () => {
  delete process.env['HTTPS_PROXY'];
  delete process.env['NO_PROXY'];
  await world.stop();
  await azureProxy.stop();
  await clusterProxy.stop();
  rmSync(dir, { recursive: true });
});

/** `azureHost`: the name by which the program calls Azure. */
async function doctor(azureHost = 'localhost'): Promise<readonly Check[]> {
  const named = Object.entries(clientEnvironment(dir, world)).map(([name, value]) => [
    name,
    value.replace('//localhost', `//${azureHost}`),
  ]);
  const env = { ...(Object.fromEntries(named) as Record<string, string>), KUBECONFIG: join(dir, 'kubeconfig') };
  const { out } = await runCommand(['doctor', '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true', '--json'], { env });
  return (JSON.parse(out) as { readonly checks: readonly Check[] }).checks;
}

const hostOf = (url: string): string => new URL(url).host;

describe('a program behind proxies', () => {
  it('reaches Azure and the API server through them, and nothing of theirs in another way', async () => {
    const checks = await doctor();
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(
      checks.filter(({ area, status }) => status === 'ok' && ['identity', 'pool', 'kubernetes'].includes(area)).length,
    ).toBeGreaterThan(2);
    expect(new Set(azureProxy.targets)).toEqual(new Set([hostOf(world.arm.url)]));
    expect(new Set(clusterProxy.targets)).toEqual(new Set([hostOf(world.cluster.url)]));
    expect(new Set(clusterProxy.credentials)).toEqual(new Set([`Basic ${Buffer.from('me:secret!').toString('base64')}`]));
  });

  it('reaches directly what NO_PROXY names', async () => {
    const before = azureProxy.targets.length;
    const checks = await doctor('127.0.0.1');
    expect(checks.filter(({ area, status }) => status === 'ok' && area === 'pool').length).toBeGreaterThan(0);
    expect(azureProxy.targets.slice(before)).toEqual([]);
  });

  it('names a proxy that refuses the tunnel to the API server', async () => {
    clusterProxy.refuses = 407;
    const failed = (await doctor()).filter(({ area }) => area === 'kubernetes');
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({ status: 'failed' });
    expect(failed[0]?.message).toContain(`the proxy 127.0.0.1:${clusterProxy.port} answered 407 to CONNECT ${hostOf(world.cluster.url)}`);
  });
});
