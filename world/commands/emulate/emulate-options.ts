/** The arguments of `emulate`. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { configError } from '../../../src/lib/errors.ts';
import { wrongArguments } from '../../../src/cli/process/wrong-arguments.ts';

export const EMULATE_HELP = `Run a simulated AKS cluster on this machine until SIGTERM or Ctrl-C.

Usage: emulate [OPTIONS]

  --dir DIR          folder for kubeconfig, azure.json, azure-environment.json, ca.pem
                     and env (default: a new folder)
  --world NAME       small (default) or demo
  --world-file FILE  YAML or JSON with changes to that world: pools, stock, quota, knobs, and ambient,
                     the background actors, such as {evictions: {everyMs: 600000}}
  --control-plane NAME
                     simulated (default), or real: a kube-apiserver, kube-scheduler and
                     kube-controller-manager with etcd, from the folder of KUBEBUILDER_ASSETS or
                     from the build of npm run test:e2e; it knows real time only
  --managed-autoscaler
                     turn on AKS's own autoscaler for every pool, and imitate it
  --seed N           seed of ids, latencies and random events (default 1)
  --speed N          speed of the simulation, as a multiple of Azure's (default 10); timers
                     inside clients are not faster: scan intervals, cool-downs, cache times,
                     leases, retries, and polls without Retry-After
  --arm-port N       port of the ARM endpoint (default: a free port)
  --kube-port N      port of the Kubernetes API (default: a free port)
`;

export interface EmulateOptions {
  /** undefined: a new folder. */
  readonly dir: string | undefined;
  readonly world: 'small' | 'demo';
  readonly worldFile: string | undefined;
  readonly controlPlane: 'simulated' | 'real';
  readonly seed: number;
  readonly speed: number;
  readonly armPort: number | undefined;
  readonly kubePort: number | undefined;
  readonly managedAutoscaler: boolean;
}

/** @throws AutoscalerError of kind `config` for wrong arguments. */
export function parseEmulateOptions(argv: readonly string[]): EmulateOptions {
  const values = parseFlags(argv);
  const controlPlane = oneOf('--control-plane', values['control-plane'] ?? 'simulated', ['simulated', 'real']);
  if (controlPlane === 'real') refuseForRealPlane(values);
  return {
    dir: values.dir,
    world: oneOf('--world', values.world ?? 'small', ['small', 'demo']),
    worldFile: values['world-file'],
    controlPlane,
    seed: wholeNumber('--seed', values.seed ?? '1', 0),
    speed: wholeNumber('--speed', values.speed ?? (controlPlane === 'real' ? '1' : '10'), 1),
    armPort: values['arm-port'] === undefined ? undefined : wholeNumber('--arm-port', values['arm-port'], 1),
    kubePort: values['kube-port'] === undefined ? undefined : wholeNumber('--kube-port', values['kube-port'], 1),
    managedAutoscaler: values['managed-autoscaler'] === true,
  };
}

/** The folder of client files; if none was given, a new one. */
export function clientFolder(dir: string | undefined): string {
  return resolve(dir ?? mkdtempSync(join(tmpdir(), 'aks-world-')));
}

type Flags = ReturnType<typeof parseFlags>;

function parseFlags(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = {
    dir: text,
    world: text,
    'world-file': text,
    'control-plane': text,
    'managed-autoscaler': { type: 'boolean' },
    seed: text,
    speed: text,
    'arm-port': text,
    'kube-port': text,
  } as const;
  try {
    return parseArgs({ args: [...argv], options }).values;
  } catch (error) {
    throw wrongArguments(error, 'emulate');
  }
}

function refuseForRealPlane(flags: Flags): void {
  if (flags.speed !== undefined && flags.speed !== '1')
    throw configError(
      `--speed is "${flags.speed}"; with --control-plane real it must be 1, because a real control plane knows only real time. To wait less for VMs, set knobs such as osUp in a world file.`,
    );
  if (flags['managed-autoscaler'] === true)
    throw configError(
      "--managed-autoscaler cannot be used with --control-plane real: the imitation of AKS's autoscaler works on the simulated Kubernetes API only.",
    );
}

function oneOf<const Choice extends string>(flag: string, text: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === text);
  if (choice === undefined) throw configError(`${flag} is "${text}"; it must be ${choices.join(' or ')}.`);
  return choice;
}

function wholeNumber(flag: string, text: string, least: number): number {
  if (/^\d+$/.test(text) && Number(text) >= least) return Number(text);
  throw configError(`${flag} is "${text}"; it must be a whole number from ${least}.`);
}
