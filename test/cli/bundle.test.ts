/** The program as it ships: one folder of bundled code, run as a process of its own against a simulated cluster. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { smallWorld } from '../../src/simulator/scenario/worlds.ts';
import { realSimClock } from '../../src/simulator/sim-clock.ts';
import { startWorld, type World } from '../../src/simulator/world.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };

let dir: string;
let main: string;
let inputs: readonly string[];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-bundle-'));
  main = join(dir, 'dist', 'main.mjs');
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  // The very command of `npm run bundle`, into a folder of the test's own.
  const command = (scripts['bundle'] ?? '').replace('rm -rf dist && ', '').replace('--outdir=dist', `--outdir=${join(dir, 'dist')}`);
  expect(command).toContain(dir);
  const path = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  const metafile = join(dir, 'meta.json');
  execFileSync('sh', ['-c', `${command} --log-level=error --metafile=${metafile}`], { cwd: ROOT, env: { ...process.env, PATH: path } });
  inputs = Object.keys((JSON.parse(readFileSync(metafile, 'utf8')) as { readonly inputs: object }).inputs);
});

afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
});

interface Ended {
  readonly code: number | null;
  readonly err: string;
}

function start(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): { readonly child: ChildProcess; readonly ended: Promise<Ended> } {
  const child = spawn(process.execPath, [main, ...args], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const ended = new Promise<Ended>((done) => child.once('close', (code) => done({ code, err })));
  return { child, ended };
}

function environmentOf({ spec, arm }: World): Readonly<Record<string, string>> {
  return {
    ARM_SUBSCRIPTION_ID: spec.subscriptionId,
    ARM_TENANT_ID: spec.tenantId,
    ARM_RESOURCE_GROUP: spec.nodeResourceGroup,
    LOCATION: spec.location,
    ARM_CLIENT_ID: CLIENT.clientId,
    ARM_CLIENT_SECRET: CLIENT.clientSecret,
    AZURE_RESOURCE_MANAGER_ENDPOINT: arm.url,
    AZURE_AUTHORITY_HOST: arm.url,
    AZURE_CA_FILE: join(dir, 'ca.pem'),
  };
}

/** Lines until one has the message; fails with what was said when the process ends before. */
async function lineWith(child: ChildProcess, message: string): Promise<Readonly<Record<string, unknown>>> {
  if (child.stdout === null) throw new Error('the process has no output');
  const seen: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (entry['msg'] === message) return entry;
    seen.push(line);
  }
  throw new Error(`the process ended without "${message}": ${seen.join('\n').slice(-2_000)}`);
}

describe('the bundle', () => {
  it('carries no simulated world and nothing that only it needs', () => {
    expect(inputs.length).toBeGreaterThan(500);
    expect(inputs.filter((path) => /^src\/simulator\/|^src\/cli\/demo\/|@peculiar|reflect-metadata/.test(path))).toEqual([]);
  });

  it.each(['demo', 'emulate'])('%s says in one sentence that it is not there', async (name) => {
    const { code, err } = await start([name], {}).ended;
    expect(err).toBe(`"${name}" needs the simulated world, which this build leaves out; run it from the source: npm run cli -- ${name}.\n`);
    expect(code).toBe(2);
  });

  it('runs against a cluster, answers /healthz and ends with 0 on SIGTERM', async () => {
    const world = await startWorld({ spec: smallWorld(1), clock: realSimClock(20), client: CLIENT, token: 'a-token' });
    try {
      writeFileSync(join(dir, 'kubeconfig'), world.cluster.kubeconfig());
      writeFileSync(join(dir, 'ca.pem'), world.caPem);
      const flags = [
        '--kubeconfig=kubeconfig',
        '--address=127.0.0.1:0',
        '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
      ];
      const { child, ended } = start(['run', ...flags], environmentOf(world));
      const { url } = await lineWith(child, 'serving metrics and health');
      const answer = await fetch(`${String(url)}/healthz`);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/^ok: /)]);
      child.kill('SIGTERM');
      expect(await ended).toEqual({ code: 0, err: '' });
    } finally {
      await world.stop();
    }
  });
});

describe('the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

  it('is the bundle on a base without a shell, run as nobody in particular', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    expect(last).toMatch(/^FROM gcr\.io\/distroless\/nodejs24\S*:nonroot\n/);
    expect(last).toContain('COPY --from=build /build/dist /app\n');
    expect(last).toContain('USER 65532:65532\n');
    expect(last).toContain('ENTRYPOINT ["/nodejs/bin/node", "/app/main.mjs"]\n');
    expect(last).not.toMatch(/\bRUN\b/);
  });

  it('copies everything the build step reads', () => {
    expect(dockerfile).toContain('COPY src ./src\n');
    expect(dockerfile).toContain('RUN npm run bundle\n');
  });
});
