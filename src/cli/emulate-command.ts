/** `emulate`: runs the simulated AKS cluster alone, for kubectl, curl, a debugger or another autoscaler. */
import { mkdir, readFile } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readDocuments } from '../config/sources/documents.ts';
import { configError } from '../lib/errors.ts';
import type { Json } from '../simulator/arm/http/json.ts';
import { parseWorldFile } from '../simulator/world-file.ts';
import { demoWorld, smallWorld } from '../simulator/sample-worlds.ts';
import { realSimClock } from '../simulator/base/sim-clock.ts';
import { writeClientFiles } from '../simulator/entry/client-files.ts';
import { startWorld } from '../simulator/world.ts';
import type { WorldSpec } from '../simulator/base/world-spec.ts';
import { defined } from '../lib/defined.ts';
import { introduction } from './emulate/introduction.ts';

const HELP = `Run a simulated AKS cluster on this machine until SIGTERM or Ctrl-C.

Usage: emulate [OPTIONS]

  --dir DIR          folder for kubeconfig, azure.json, azure-environment.json, ca.pem
                     and env (default: a new folder)
  --world NAME       small (default) or demo
  --world-file FILE  YAML or JSON with changes to that world: pools, stock, quota, knobs, and ambient,
                     the background actors, such as {evictions: {everyMs: 600000}}
  --managed-autoscaler
                     turn on AKS's own autoscaler for every pool, and imitate it
  --seed N           seed of ids, latencies and random events (default 1)
  --speed N          speed of the simulation, as a multiple of Azure's (default 10); timers
                     inside clients are not faster: scan intervals, cool-downs, cache times,
                     leases, retries, and polls without Retry-After
  --arm-port N       port of the ARM endpoint (default: a free port)
  --kube-port N      port of the Kubernetes API (default: a free port)
`;

const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };
/** How a person calls this program: from the source, or as a package. */
const COMMAND = import.meta.filename.endsWith('.ts') ? 'npm run --silent cli --' : 'npx aks-autoscaler';
const TOKEN = 'only-known-to-this-simulation';

interface EmulateOptions {
  readonly dir: string;
  readonly world: string;
  readonly worldFile: string | undefined;
  readonly seed: number;
  readonly speed: number;
  readonly armPort: number | undefined;
  readonly kubePort: number | undefined;
  readonly managedAutoscaler: boolean;
}

/** @returns the exit code 0. @throws AutoscalerError `config` for wrong arguments. */
export async function run(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  const options = parse(argv);
  const { spec, knobs, ambient } = parseWorldFile(await readDocument(options.worldFile));
  const { managedAutoscaler } = options;
  const named = { ...(options.world === 'demo' ? demoWorld(options.seed) : smallWorld(options.seed)), ...spec };
  const world = await startWorld({
    spec: managedAutoscaler ? ofManagedAutoscaler(named) : named,
    managedAutoscaler,
    knobs,
    ambient,
    clock: realSimClock(options.speed),
    client: CLIENT,
    token: TOKEN,
    ...defined({ armPort: options.armPort, kubePort: options.kubePort }),
  });
  await mkdir(options.dir, { recursive: true });
  const { arm, caPem, cluster } = world;
  const source = {
    spec: world.spec,
    caPem,
    azureUrl: arm.url,
    metadataUrl: await arm.startMetadata(),
    kubeconfig: cluster.kubeconfig(),
    client: CLIENT,
  };
  const files = await writeClientFiles(options.dir, source);
  const { seed, speed } = options;
  process.stdout.write(
    introduction({
      name: options.world,
      seed,
      speed,
      pools: world.spec.pools,
      kubernetesUrl: cluster.url,
      azureUrl: arm.url,
      files,
      command: COMMAND,
    }),
  );
  await signalled();
  await world.stop();
  return 0;
}

/** Without tags, as most clusters are. */
function ofManagedAutoscaler(spec: WorldSpec): WorldSpec {
  return { ...spec, discoveryTags: {}, pools: spec.pools.map((pool) => ({ ...pool, managedAutoscaler: true })) };
}

function parse(argv: readonly string[]): EmulateOptions {
  const { values } = parseOptions(argv);
  const world = values.world ?? 'small';
  if (world !== 'small' && world !== 'demo') throw configError(`--world is "${world}"; it must be small or demo.`);
  return {
    dir: resolve(values.dir ?? mkdtempSync(join(tmpdir(), 'aks-world-'))),
    world,
    worldFile: values['world-file'],
    seed: wholeNumber('--seed', values.seed ?? '1', 0),
    speed: wholeNumber('--speed', values.speed ?? '10', 1),
    armPort: values['arm-port'] === undefined ? undefined : wholeNumber('--arm-port', values['arm-port'], 1),
    kubePort: values['kube-port'] === undefined ? undefined : wholeNumber('--kube-port', values['kube-port'], 1),
    managedAutoscaler: values['managed-autoscaler'] === true,
  };
}

function parseOptions(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...argv],
      options: {
        dir: text,
        world: text,
        'world-file': text,
        'managed-autoscaler': { type: 'boolean' },
        seed: text,
        speed: text,
        'arm-port': text,
        'kube-port': text,
      },
    });
  } catch (error) {
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw configError(`${message}; see emulate --help.`, { cause: error });
  }
}

async function readDocument(file: string | undefined): Promise<Json> {
  if (file === undefined) return {};
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw configError(`--world-file "${file}" cannot be read.`, { cause: error });
  });
  const [document, second] = readDocuments(file, text, 1);
  if (second !== undefined) throw configError(`--world-file "${file}" has more than one document; it must have one.`);
  return (document ?? {}) as Json;
}

function wholeNumber(flag: string, text: string, least: number): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  throw configError(`${flag} is "${text}"; it must be a whole number from ${least}.`);
}

function signalled(): Promise<void> {
  return new Promise((done) => {
    process.once('SIGTERM', () => done());
    process.once('SIGINT', () => done());
  });
}
