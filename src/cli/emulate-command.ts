/** `emulate`: the simulated world alone, for kubectl, curl, a debugger or another autoscaler. Runs until SIGTERM. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readDocuments } from '../config/sources/documents.ts';
import { AutoscalerError } from '../lib/errors.ts';
import type { Json } from '../simulator/arm/http/json.ts';
import { parseWorldFile } from '../simulator/world-file.ts';
import { demoWorld, smallWorld } from '../simulator/sample-worlds.ts';
import { realSimClock } from '../simulator/base/sim-clock.ts';
import { startWorld, type World } from '../simulator/world.ts';
import { defined } from '../lib/defined.ts';

const HELP = `Starts a simulated AKS cluster on this machine and runs until SIGTERM.

  --dir DIR        where to write kubeconfig, azure.json, ca.pem and env (required)
  --world NAME     small (default) or demo
  --world-file F   YAML or JSON with what differs from it: pools, stock, quota, knobs, and ambient, the actors that act by
                   themselves, such as {evictions: {everyMs: 600000}}
  --seed N         seed of ids, latencies and chance (default 1)
  --speed N        how many times faster than Azure (default 10)
  --arm-port N     port of the ARM endpoint (default: the system's choice)
  --kube-port N    port of the Kubernetes API (default: the system's choice)
`;

const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };
const TOKEN = 'only-known-to-this-simulation';

interface Settings {
  readonly dir: string;
  readonly world: string;
  readonly worldFile: string | undefined;
  readonly seed: number;
  readonly speed: number;
  readonly armPort: number | undefined;
  readonly kubePort: number | undefined;
}

/** @returns the exit code; 2 when the arguments are wrong. */
export async function run(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  const settings = parse(argv);
  const { spec, knobs, ambient } = parseWorldFile(await readDocument(settings.worldFile));
  const world = await startWorld({
    spec: { ...(settings.world === 'demo' ? demoWorld(settings.seed) : smallWorld(settings.seed)), ...spec },
    knobs,
    ambient,
    clock: realSimClock(settings.speed),
    client: CLIENT,
    token: TOKEN,
    ...defined({ armPort: settings.armPort, kubePort: settings.kubePort }),
  });
  const files = await writeClientFiles(settings.dir, world);
  process.stdout.write(introduction(settings, world, files));
  await signalled();
  await world.stop();
  return 0;
}

function parse(argv: readonly string[]): Settings {
  const { values } = parseOptions(argv);
  if (values.dir === undefined)
    throw new AutoscalerError({ kind: 'config' }, '--dir is missing; give the folder to write the client files to.');
  const world = values.world ?? 'small';
  if (world !== 'small' && world !== 'demo')
    throw new AutoscalerError({ kind: 'config' }, `--world is "${world}"; accepted are small and demo.`);
  return {
    dir: resolve(values.dir),
    world,
    worldFile: values['world-file'],
    seed: wholeNumber('--seed', values.seed ?? '1', 0),
    speed: wholeNumber('--speed', values.speed ?? '10', 1),
    armPort: values['arm-port'] === undefined ? undefined : wholeNumber('--arm-port', values['arm-port'], 1),
    kubePort: values['kube-port'] === undefined ? undefined : wholeNumber('--kube-port', values['kube-port'], 1),
  };
}

function parseOptions(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...argv],
      options: { dir: text, world: text, 'world-file': text, seed: text, speed: text, 'arm-port': text, 'kube-port': text },
    });
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw new AutoscalerError({ kind: 'config' }, `${message}; emulate --help lists what is accepted.`, { cause: error });
  }
}

async function readDocument(file: string | undefined): Promise<Json> {
  if (file === undefined) return {};
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new AutoscalerError({ kind: 'config' }, `--world-file "${file}" cannot be read.`, { cause: error });
  });
  const [document, second] = readDocuments(file, text, 1);
  if (second !== undefined) throw new AutoscalerError({ kind: 'config' }, `${file} has more than one document; one is a world.`);
  return (document ?? {}) as Json;
}

function wholeNumber(flag: string, text: string, least: number): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  throw new AutoscalerError({ kind: 'config' }, `${flag} is "${text}"; accepted is a whole number from ${least}.`);
}

/** Everything a client needs, in the forms clients of the real thing use. Secrets are readable by the owner only. */
async function writeClientFiles(dir: string, world: World) {
  const { spec } = world;
  const files = { kubeconfig: join(dir, 'kubeconfig'), azure: join(dir, 'azure.json'), ca: join(dir, 'ca.pem'), env: join(dir, 'env') };
  const azure = {
    cloud: 'AzurePublicCloud',
    tenantId: spec.tenantId,
    subscriptionId: spec.subscriptionId,
    resourceGroup: spec.nodeResourceGroup,
    location: spec.location,
    clusterName: spec.clusterName,
    clusterResourceGroup: spec.clusterResourceGroup,
    vmType: 'vmss',
    aadClientId: CLIENT.clientId,
    aadClientSecret: CLIENT.clientSecret,
  };
  const environment = {
    KUBECONFIG: files.kubeconfig,
    AZURE_RESOURCE_MANAGER_ENDPOINT: world.arm.url,
    AZURE_AUTHORITY_HOST: world.arm.url,
    AZURE_CA_FILE: files.ca,
    NODE_EXTRA_CA_CERTS: files.ca,
    SSL_CERT_FILE: files.ca,
  };
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
  await mkdir(dir, { recursive: true });
  await writeFile(files.kubeconfig, world.cluster.kubeconfig(), { mode: 0o600 });
  await writeFile(files.azure, `${JSON.stringify(azure, undefined, 2)}\n`, { mode: 0o600 });
  await writeFile(files.ca, world.caPem);
  await writeFile(files.env, lines.join(''));
  return files;
}

function introduction(
  settings: Settings,
  world: World,
  files: { readonly kubeconfig: string; readonly azure: string; readonly env: string },
): string {
  const pools = world.spec.pools.map(
    (pool) => `  ${pool.name.padEnd(10)} ${pool.vmSize.padEnd(18)} ${pool.count} of ${pool.min}..${pool.max}`,
  );
  return [
    `A simulated AKS cluster is running (world ${settings.world}, seed ${settings.seed}, ${settings.speed} times as fast as Azure).`,
    ...pools,
    '',
    `Kubernetes API  ${world.cluster.url}`,
    `Azure (ARM)     ${world.arm.url}    state: ${world.arm.url}/_emu/state`,
    '',
    `kubectl --kubeconfig ${files.kubeconfig} get nodes,pods -A`,
    `. ${files.env} && npm run --silent cli -- run --cloud-config ${files.azure} --kubeconfig ${files.kubeconfig} \\`,
    `  --node-group-auto-discovery=label:cluster-autoscaler-enabled=true --leader-elect=false`,
    '',
    'SIGTERM or Ctrl-C ends it.',
    '',
  ].join('\n');
}

function signalled(): Promise<void> {
  return new Promise((done) => {
    process.once('SIGTERM', () => done());
    process.once('SIGINT', () => done());
  });
}
