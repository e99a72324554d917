/** The package entry, as tests of other programs use it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedIdentityCredential } from '@azure/identity';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { type RunningWorld, startWorld } from '../../../simulator/entry/world-entry.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { isConfigErrors } from '../../../../src/config/types/config.ts';

const POOLS = [{ name: 'general', vmSize: 'Standard_D4s_v5', count: 2, min: 1, max: 5 }];
const START = Date.parse('2026-11-22T03:00:00Z');

let world: RunningWorld;
afterEach(() => world.stop());

async function virtualWorld(): Promise<RunningWorld> {
  world = await startWorld({ pools: POOLS, clock: { virtual: true, startMs: START } });
  await world.until(() => world.pool('general').ready === 2, { what: 'Two ready nodes' });
  return world;
}

describe('a world in virtual time', () => {
  it('has pools, nodes and pods, and time that moves only when asked', async () => {
    await virtualWorld();
    const now = world.clock.now();
    world.addPods({ name: 'web', count: 20, cpu: '900m' });
    await world.clock.advance(30_000);
    expect(world.clock.now()).toBe(now + 30_000);
    expect(world.pods().pending.length).toBeGreaterThan(5);
    expect(world.pods().bound.length + world.pods().pending.length).toBeGreaterThanOrEqual(20);
    expect(world.pool('general')).toEqual({ name: 'general', min: 1, max: 5, capacity: 2, instances: 2, nodes: 2, ready: 2 });
    expect(() => world.clock.setSpeed(2)).toThrow('has no speed');
  });

  it('has other writers, incidents, faults, stock and a journal', async () => {
    await virtualWorld();
    const before = world.journal().at(-1)?.seq ?? 0;
    world.raise({ foreignScale: { pool: 'general', to: 3 } });
    await world.until(() => world.pool('general').ready === 3);
    expect(world.journal(before)).toMatchObject([{ method: 'EVENT' }]);
    world.addFault({ id: 'f', match: {}, effect: { kind: 'delay', ms: 1 } });
    expect(world.removeFault('f')).toBe(true);
    expect(world.removeFault('f')).toBe(false);
    world.setStock('Standard_D4s_v5', 0);
    world.setQuota('cores', 10);
    expect(() => world.raise({ preempt: { pool: 'none' } })).toThrow('This cannot happen in this world');
    expect(() => world.pool('none')).toThrow('There is no pool none; pools: general.');
    expect(() => world.assertSafe()).not.toThrow();
  });

  it('says what did not hold in time, with the state of the world', async () => {
    await virtualWorld();
    await expect(world.until(() => false, { withinMs: 5000, what: 'The impossible' })).rejects.toThrow(
      'The impossible did not hold within 5000 ms of the world. Pods: ',
    );
    expect(world.clock.now()).toBeGreaterThan(START);
  });
});

it('a world in real time goes as fast as it is set', async () => {
  world = await startWorld({ pools: POOLS, clock: { speed: 1000 } });
  await world.until(() => world.pool('general').ready === 2);
  world.clock.setSpeed(10_000);
  const from = world.clock.simulatedMs();
  // Ten seconds of the world are a millisecond of the machine, so the world is far ahead of it.
  const startedMs = performance.now();
  await world.clock.advance(20_000);
  expect(world.clock.simulatedMs() - from).toBeGreaterThan(performance.now() - startedMs);
});

describe('files and variables of clients', () => {
  const dir = mkdtempSync(join(tmpdir(), 'world-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it('a shell reads the variables, whatever the name of the folder is', async () => {
    const named = join(dir, "o'brien's (first) world");
    mkdirSync(named);
    await virtualWorld();
    const files = await world.writeFiles(named);
    const read = execFileSync('/bin/sh', ['-c', '. "$1" && printf %s "$KUBECONFIG"', 'sh', files.env], { encoding: 'utf8' });
    expect(read).toBe(files.kubeconfig);
  });

  it('an endpoints file as of an Azure Stack is read by a client of that cloud', async () => {
    await virtualWorld();
    const files = await world.writeFiles(dir);
    const env = await world.environment(dir);
    expect(readFileSync(files.env, 'utf8')).toContain(`export AZURE_ENVIRONMENT_FILEPATH='${files.environment}'\n`);
    const config = loadConfig({
      argv: [`--cloud-config=${files.azure}`, '--nodes=1:5:general'],
      env: { ...env, ARM_CLOUD: 'AzureStackCloud', AZURE_RESOURCE_MANAGER_ENDPOINT: undefined, AZURE_AUTHORITY_HOST: undefined },
      readFile: (path) => readFileSync(path, 'utf8'),
    });
    if (isConfigErrors(config)) throw new Error(config.errors.join(' '));
    const { armEndpoint, authorityHost, scopes, retailPrices } = config.azure;
    // The default reads the real list of the public cloud alone.
    expect(retailPrices).toBeUndefined();
    const { azure } = world.urls;
    expect({ armEndpoint, authorityHost, scopes }).toEqual({ armEndpoint: azure, authorityHost: azure, scopes: [`${azure}/.default`] });
  });

  // The Cluster Autoscaler 1.36.1 signs in and scales with this file; its own names of the settings.
  it('a Cluster Autoscaler gets the public cloud with the endpoints of the world and a managed identity', async () => {
    await virtualWorld();
    const { clusterAutoscaler } = await world.writeFiles(dir);
    const config = JSON.parse(readFileSync(clusterAutoscaler, 'utf8')) as Record<string, unknown>;
    const { azure } = world.urls;
    expect(config).toMatchObject({ cloud: 'AzurePublicCloud', useManagedIdentityExtension: true, vmType: 'vmss' });
    expect(config).toMatchObject({ hostedResourceProxyURL: azure, armBaseURLForAPClient: azure });
    expect(config).not.toHaveProperty('aadClientSecret');
  });

  it('a managed identity signs in at IDENTITY_ENDPOINT, without internet', async () => {
    await virtualWorld();
    const { IDENTITY_ENDPOINT = '', IDENTITY_HEADER = '' } = await world.environment(dir);
    const { IDENTITY_ENDPOINT: before, IDENTITY_HEADER: header } = process.env;
    Object.assign(process.env, { IDENTITY_ENDPOINT, IDENTITY_HEADER });
    try {
      const token = await new ManagedIdentityCredential().getToken('https://management.azure.com/.default');
      expect(token.token.split('.')).toHaveLength(3);
    } finally {
      for (const [name, value] of [
        ['IDENTITY_ENDPOINT', before],
        ['IDENTITY_HEADER', header],
      ] as const) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['the header is missing', {}, '?resource=x&api-version=2019-08-01'],
    ['the resource is missing', { 'x-identity-header': 'h' }, '?api-version=2019-08-01'],
  ])('no token if %s', async (_, headers, query) => {
    await virtualWorld();
    const { IDENTITY_ENDPOINT = '' } = await world.environment(dir);
    expect((await fetch(`${IDENTITY_ENDPOINT}${query}`, { headers })).status).toBe(400);
  });
});
