/** `emulate`: runs the simulated AKS cluster alone, for kubectl, curl, a debugger or another autoscaler. Must not know how the world works. */
import { mkdir, readFile } from 'node:fs/promises';
import { readDocuments } from '../../../src/config/sources/documents.ts';
import { defined } from '../../../src/lib/defined.ts';
import { asAutoscalerError, configError, type AutoscalerError } from '../../../src/lib/errors.ts';
import type { ArmEmulator } from '../../simulator/arm/emulator.ts';
import type { Json } from '../../simulator/arm/http/json.ts';
import { realSimClock } from '../../simulator/base/sim-clock.ts';
import type { WorldSpec } from '../../simulator/base/world-spec.ts';
import { writeClientFiles } from '../../simulator/entry/client-files.ts';
import { findPrograms } from '../../simulator/real-control-plane/find-programs.ts';
import { startRealWorld } from '../../simulator/real-world.ts';
import { demoWorld, smallWorld } from '../../simulator/sample-worlds.ts';
import { parseWorldFile, type WorldFile } from '../../simulator/world-file.ts';
import { startWorld, type WorldOptions } from '../../simulator/world.ts';
import { clientFolder, EMULATE_HELP, parseEmulateOptions, type EmulateOptions } from './emulate-options.ts';
import { introduction, type IntroductionInput } from './introduction.ts';
import { EXIT_FAILED, EXIT_OK, stopSignals, type Terminal } from '../../../src/cli/process/process.ts';

const CLIENT = { clientId: 'aaaaaaaa-0000-0000-0000-000000000001', clientSecret: 'only-known-to-this-simulation' };
/** How a person calls this program: from the source, or as a package. */
const COMMAND = import.meta.filename.endsWith('.ts') ? 'npm run --silent cli --' : 'npx aks-autoscaler';
const TOKEN = 'only-known-to-this-simulation';

/** A world of either kind, as far as `emulate` needs it. */
interface EmulatedWorld {
  readonly spec: WorldSpec;
  readonly arm: ArmEmulator;
  readonly caPem: string;
  readonly kubernetesUrl: string;
  kubeconfig(): string;
  /** Only of a real control plane. */
  readonly controlPlane?: NonNullable<IntroductionInput['controlPlane']>;
  /** Resolves if it ends by itself, with the reason. Default: it does not. */
  readonly failed?: Promise<AutoscalerError>;
  stop(): Promise<void>;
}

type CommonOptions = Pick<WorldOptions, 'spec' | 'knobs' | 'ambient' | 'client' | 'armPort' | 'kubePort'>;

/** @returns the exit code: 0, or 1 if a program of a real control plane ended. @throws AutoscalerError `config` for wrong arguments. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help')) {
    terminal.out(EMULATE_HELP);
    return EXIT_OK;
  }
  const options = parseEmulateOptions(argv);
  const common = commonOptions(options, parseWorldFile(await readDocument(options.worldFile)));
  if (options.controlPlane === 'simulated') return serve(options, terminal, await startSimulated(options, common));
  try {
    return await serve(options, terminal, await startReal(common, terminal));
  } catch (thrown) {
    return reportLog(asAutoscalerError(thrown), terminal);
  }
}

/** Until a signal, or until the world ends by itself. */
async function serve(options: EmulateOptions, terminal: Terminal, world: EmulatedWorld): Promise<number> {
  const { stopped, release } = stopSignals(terminal.signals);
  try {
    terminal.out(await introduce(options, world));
    const reason = await Promise.race([stopped, ...(world.failed === undefined ? [] : [world.failed])]);
    return reason === undefined ? EXIT_OK : reportLog(reason, terminal);
  } finally {
    await world.stop();
    release();
  }
}

/** Prints an error with the lines of a log after its sentence. @throws any other error, for the caller's one sentence. */
function reportLog(error: AutoscalerError, terminal: Terminal): number {
  if (!error.message.includes('\n')) throw error;
  terminal.err(`${error.message}\n`);
  return EXIT_FAILED;
}

function commonOptions(options: EmulateOptions, { spec, knobs, ambient }: WorldFile): CommonOptions {
  const { armPort, kubePort } = options;
  const named = { ...(options.world === 'demo' ? demoWorld(options.seed) : smallWorld(options.seed)), ...spec };
  return {
    spec: options.managedAutoscaler ? ofManagedAutoscaler(named) : named,
    knobs,
    ambient,
    client: CLIENT,
    ...defined({ armPort, kubePort }),
  };
}

async function startSimulated({ managedAutoscaler, speed }: EmulateOptions, common: CommonOptions): Promise<EmulatedWorld> {
  const world = await startWorld({ ...common, managedAutoscaler, clock: realSimClock(speed), token: TOKEN });
  const { spec, arm, caPem, cluster } = world;
  return { spec, arm, caPem, kubernetesUrl: cluster.url, kubeconfig: () => cluster.kubeconfig(), stop: () => world.stop() };
}

/** Starts nothing if the programs are not there. */
async function startReal(common: CommonOptions, { env, err }: Terminal): Promise<EmulatedWorld> {
  const found = findPrograms(env);
  if (found.kind === 'missing') throw configError(`No real control plane was found. ${found.sentences.join(' ')}`);
  const { programs, origin, notes } = found;
  const onFailure = (what: string): void => err(`A simulated component failed: ${what}\n`);
  const world = await startRealWorld({ ...common, programs, searchPath: env['PATH'], onFailure });
  return { ...world, controlPlane: { version: world.version, origin, notes } };
}

/** Writes the files of clients. @returns the text that names them. */
async function introduce(options: EmulateOptions, world: EmulatedWorld): Promise<string> {
  const { spec, arm, caPem, kubernetesUrl, controlPlane } = world;
  const dir = clientFolder(options.dir);
  await mkdir(dir, { recursive: true });
  const metadataUrl = await arm.startMetadata();
  const files = await writeClientFiles(dir, {
    spec,
    caPem,
    azureUrl: arm.url,
    metadataUrl,
    kubeconfig: world.kubeconfig(),
    client: CLIENT,
  });
  const { world: name, seed, speed } = options;
  const addresses = { kubernetesUrl, azureUrl: arm.url, files, command: COMMAND };
  return introduction({ name, seed, speed, pools: spec.pools, ...addresses, ...defined({ controlPlane }) });
}

/** Without tags, as most clusters are. */
function ofManagedAutoscaler(spec: WorldSpec): WorldSpec {
  return { ...spec, discoveryTags: {}, pools: spec.pools.map((pool) => ({ ...pool, managedAutoscaler: true })) };
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
