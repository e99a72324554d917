/** The program as it ships: one folder of bundled code, run as a process of its own against a simulated cluster. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { smallWorld } from '../../world/simulator/sample-worlds.ts';
import { realSimClock } from '../../world/simulator/base/sim-clock.ts';
import { startWorld, type World } from '../../world/simulator/world.ts';
import { CLIENT, clientEnvironment, writeClientFiles } from '../../world/lab/client-files.ts';
import { Patience } from '../../world/lab/patience.ts';
import { bundleInto } from '../support/bundle.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');

let dir: string;
let main: string;
let inputs: readonly string[];
let outputs: Metafile['outputs'];

/** What esbuild tells of a build, as far as it is asked here. */
interface Metafile {
  readonly inputs: object;
  readonly outputs: Readonly<
    Record<
      string,
      {
        readonly imports: readonly { readonly path: string; readonly kind: string }[];
        readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
      }
    >
  >;
}

/** The sources of these files of the bundle, and of everything that they import at once. */
function staticallyLoaded(names: readonly string[]): readonly string[] {
  const queue = Object.keys(outputs).filter((path) => names.some((name) => path.split('/').at(-1)?.startsWith(name)));
  const seen = new Set(queue);
  for (const path of seen) {
    for (const { path: next, kind } of outputs[path]?.imports ?? []) if (kind === 'import-statement' && next in outputs) seen.add(next);
  }
  return [...seen].flatMap((path) => Object.keys(outputs[path]?.inputs ?? {}));
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-bundle-'));
  const metafile = join(dir, 'meta.json');
  main = bundleInto(join(dir, 'dist'), { metafile });
  const meta = JSON.parse(readFileSync(metafile, 'utf8')) as Metafile;
  inputs = Object.keys(meta.inputs);
  outputs = meta.outputs;
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
  it('carries of the Kubernetes client what a kubeconfig needs, and not three megabytes of APIs', () => {
    expect(Object.keys(outputs).length).toBeGreaterThan(1);
    const models = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
    const bytes = models
      .filter(([path]) => path.includes('client-node/dist/gen/'))
      .reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
    expect(bytes).toBeLessThan(500_000);
  });

  it('says its first line before the SDKs are loaded', () => {
    const loaded = staticallyLoaded(['main.mjs', 'run']);
    expect(loaded.some((path) => path.includes('node_modules/zod/'))).toBe(true);
    expect(loaded.filter((path) => /node_modules\/(@azure|@kubernetes|undici|prom-client)\//.test(path))).toEqual([]);
  });

  it('loads the clients of Redis and of kubeconfigs only when they are used: a process in a small cluster is mostly modules', () => {
    const loaded = staticallyLoaded(['main.mjs', 'run', 'compose']);
    expect(loaded.some((path) => path.includes('node_modules/@azure/arm-compute/'))).toBe(true);
    expect(loaded.filter((path) => /node_modules\/(@redis|@kubernetes)\//.test(path))).toEqual([]);
  });

  it('carries no simulated world and nothing that only it needs', () => {
    expect(inputs.length).toBeGreaterThan(500);
    expect(inputs.filter((path) => /^src\/simulator\/|^src\/cli\/demo\/|@peculiar|reflect-metadata/.test(path))).toEqual([]);
  });

  it.each(['demo', 'emulate'])('%s says in one sentence that it is not there', async (name) => {
    const { code, err } = await start([name], {}).ended;
    expect(err).toBe(`"${name}" needs the simulator, which this build does not contain; run it from the source: npm run cli -- ${name}.\n`);
    expect(code).toBe(2);
  });

  it('runs against a cluster, answers /healthz and ends with 0 on SIGTERM', async () => {
    const world = await startWorld({ spec: smallWorld(1), clock: realSimClock(20), client: CLIENT, token: 'a-token' });
    try {
      await writeClientFiles(dir, world);
      const flags = [
        '--kubeconfig=kubeconfig',
        '--address=127.0.0.1:0',
        '--node-group-auto-discovery=label:cluster-autoscaler-enabled=true',
      ];
      const { child, ended } = start(['run', ...flags], clientEnvironment(dir, world));
      const { url } = await lineWith(child, 'Serving metrics and health');
      const answer = await fetch(`${String(url)}/healthz`);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringMatching(/^ok: /)]);
      // The page is a file beside the bundle: nothing is built at run time.
      const page = await fetch(`${String(url)}/`);
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="page">')]);
      child.kill('SIGTERM');
      expect(await ended).toEqual({ code: 0, err: '' });
    } finally {
      await world.stop();
    }
  });
});

describe('the process ends on SIGTERM within loop.shutdownTimeout', () => {
  const SECONDS = 1;
  /** The process is forced to end after that time, and by default after 20 s. Milliseconds of an idle machine. */
  const MOST_MS = 10_000;
  const inTime = async <End>(ended: Promise<End>): Promise<End> => {
    const patience = new Patience(MOST_MS);
    const looks = setInterval(() => patience.isOver(), 250);
    const end = await ended.finally(() => clearInterval(looks));
    expect(patience.isOver()).toBe(false);
    return end;
  };
  const SILENT = { id: 'silent', match: {}, effect: { kind: 'delay', ms: 3_600_000 } } as const;
  const blackHoles: Server[] = [];
  beforeAll(() => writeFile(join(dir, 'stop.json'), JSON.stringify({ loop: { shutdownTimeout: `${SECONDS}s` } })));
  afterEach(() => {
    for (const server of blackHoles.splice(0)) server.close();
  });

  /** A server that accepts connections and never says a word. */
  async function blackHole(): Promise<{ readonly url: string; readonly reached: Promise<void> }> {
    const sockets = new Set<Socket>();
    const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      arrive();
    });
    blackHoles.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    server.once('close', () => {
      for (const socket of sockets) socket.destroy();
    });
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, reached };
  }

  it.each<[string, (world: World) => void, (world: World) => void]>([
    ['Azure is silent since the start', ({ arm }) => arm.control.addFault(SILENT), () => undefined],
    ['Azure falls silent while it is read', () => undefined, ({ arm }) => arm.control.addFault(SILENT)],
    ['the API server goes away', () => undefined, ({ cluster }) => cluster.control.pause()],
  ])('although %s', async (_what, before, after) => {
    const world = await startWorld({ spec: smallWorld(1), clock: realSimClock(20), client: CLIENT, token: 'a-token' });
    try {
      await writeClientFiles(dir, world);
      before(world);
      const flags = ['--kubeconfig=kubeconfig', '--address=127.0.0.1:0', '--config=stop.json', '--nodes=0:3:general'];
      const { child, ended } = start(['run', ...flags], clientEnvironment(dir, world));
      await lineWith(child, 'Leadership acquired');
      after(world);
      child.kill('SIGTERM');
      await inTime(ended);
    } finally {
      await world.stop();
    }
  });

  it('at once, although the sign-in service accepts the connection and never answers', async () => {
    const { url, reached } = await blackHole();
    const world = await startWorld({ spec: smallWorld(1), clock: realSimClock(20), client: CLIENT, token: 'a-token' });
    try {
      await writeClientFiles(dir, world);
      // The default time for a stop: a process that used it up would be ended by force, with 1.
      const flags = ['--kubeconfig=kubeconfig', '--address=127.0.0.1:0', '--nodes=0:3:general'];
      const { child, ended } = start(['run', ...flags], { ...clientEnvironment(dir, world), AZURE_AUTHORITY_HOST: url });
      await lineWith(child, 'Leadership acquired');
      await reached;
      child.kill('SIGTERM');
      expect(await ended).toEqual({ code: 0, err: '' });
    } finally {
      await world.stop();
    }
  });

  it('although the API server accepts its first connection and never answers', async () => {
    const { url: server, reached } = await blackHole();
    const user = { name: 'u', user: { token: 't' } };
    const context = { name: 'c', context: { cluster: 'c', user: 'u' } };
    const cluster = { name: 'c', cluster: { server } };
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [cluster],
      users: [user],
      contexts: [context],
      'current-context': 'c',
    };
    await writeFile(join(dir, 'silent-kubeconfig'), JSON.stringify(kubeconfig));
    const { child, ended } = start(
      ['run', '--kubeconfig=silent-kubeconfig', '--address=127.0.0.1:0', '--config=stop.json', '--nodes=0:3:general'],
      clientEnvironment(dir, { spec: smallWorld(1), arm: { url: server } as World['arm'] }),
    );
    await reached;
    child.kill('SIGTERM');
    expect((await inTime(ended)).code).toBe(0);
  });
});

describe('the image', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');

  it('is the bundle on a base without a shell, run as an unprivileged user', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    expect(last).toMatch(/^FROM \$RUNTIME_IMAGE\n/);
    expect(dockerfile).toMatch(/^ARG RUNTIME_IMAGE=gcr\.io\/distroless\/nodejs24\S*:nonroot\n/m);
    expect(last).toContain('COPY --from=build /build/dist /app\n');
    expect(last).toContain('USER 65532:65532\n');
    expect(last).toContain('ENTRYPOINT ["/nodejs/bin/node", "/app/main.mjs"]\n');
    expect(last).toContain('ENV MALLOC_ARENA_MAX=1\n');
    expect(last).toContain('ENV NODE_OPTIONS=--max-semi-space-size=16\n');
    expect(last).not.toMatch(/\bRUN\b/);
  });

  it('says what it is, and leaves its health to probes', () => {
    const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string; license: string };
    expect(dockerfile).toContain(`ARG VERSION=${version}\n`);
    for (const label of ['title="aks-autoscaler"', 'version="$VERSION"', `licenses="${license}"`]) {
      expect(dockerfile).toContain(`org.opencontainers.image.${label}`);
    }
    expect(dockerfile).toContain('COPY LICENSE /licenses/LICENSE\n');
    expect(readFileSync(join(ROOT, 'LICENSE'), 'utf8')).toMatch(/Apache License\s+Version 2\.0/);
    expect(dockerfile).not.toContain('HEALTHCHECK');
  });

  it('builds on the platform of the builder, and holds nothing of it', () => {
    // Code alone is copied over, so one build serves amd64 and arm64.
    expect(dockerfile).toMatch(/^FROM --platform=\$BUILDPLATFORM \$BUILD_IMAGE AS build\n/m);
    expect(dockerfile).toMatch(/^ARG BUILD_IMAGE=node:24\S*\n/m);
    expect(dockerfile.match(/^COPY --from=.*$/gm)).toEqual([
      'COPY --from=package /build/licenses /licenses',
      'COPY --from=package /build/dist/npm/package /world',
      'COPY --from=build /build/licenses /licenses',
      'COPY --from=build /build/dist /app',
    ]);
  });

  it("starts under the Cluster Autoscaler's name: a Deployment needs no other change than its image", () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    expect(last).toContain('COPY deploy/image/cluster-autoscaler /cluster-autoscaler\n');
    expect(last).toContain('WORKDIR /\n');
    const file = join(ROOT, 'deploy/image/cluster-autoscaler');
    expect(statSync(file).mode & 0o111).toBe(0o111);
    // The same program at another place: the arguments of a Deployment are those of run.
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(/^#!\/nodejs\/bin\/node\n/);
    const copy = join(dir, 'cluster-autoscaler');
    writeFileSync(copy, text.replace('#!/nodejs/bin/node', `#!${process.execPath}`).replace('/app/main.mjs', main));
    chmodSync(copy, 0o755);
    const { status, stderr } = spawnSync(copy, ['--v=4', '--cloud-provider=azure', '--expander=cheapest'], {
      cwd: dir,
      env: {},
      encoding: 'utf8',
    });
    expect([status, stderr.split('\n')[0]]).toEqual([2, expect.stringMatching(/expander|ARM_/)]);
  });

  it('copies everything the build step reads', () => {
    expect(dockerfile).toContain('COPY src ./src\n');
    expect(dockerfile).toContain('RUN npm run bundle && npm run sbom && npm run licences');
  });
});
