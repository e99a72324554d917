/** What `emulate` prints when the world runs: addresses, commands to copy, and what its speed means for clients. Must not know the simulator. */
import { shell } from '../../../src/lib/shown-text.ts';

export interface IntroductionInput {
  /** `small`, `demo`. */
  readonly name: string;
  readonly seed: number;
  /** As a multiple of Azure's. */
  readonly speed: number;
  /** A real one, with the version of its API server, where its programs are, and sentences about other places. Default: simulated. */
  readonly controlPlane?: { readonly version: string; readonly origin: string; readonly notes: readonly string[] };
  readonly pools: readonly {
    readonly name: string;
    readonly vmSize: string;
    readonly count: number;
    readonly min: number;
    readonly max: number;
  }[];
  readonly kubernetesUrl: string;
  readonly azureUrl: string;
  readonly files: { readonly kubeconfig: string; readonly azure: string; readonly env: string };
  /** How a person calls this program. */
  readonly command: string;
}

/** The lines about speed; none at the speed of Azure. */
export function speedLines(speed: number): readonly string[] {
  if (speed === 1) return [];
  return [
    `Ten minutes of this world take ${secondsOf(600 / speed)}; Retry-After shrinks with them, to no less than 1 s. Timers inside clients are not faster:`,
    'scan intervals, cool-downs, unneeded times, cache times, leases, request timeouts, retries, and polls without Retry-After.',
    `For the proportions of Azure, divide those that you can set by ${speed}, or use --speed 1.`,
    '',
  ];
}

function secondsOf(seconds: number): string {
  return `${Number(seconds.toPrecision(3))} s`;
}

export function introduction(input: IntroductionInput): string {
  const { speed, files, command } = input;
  return [
    firstLine(input),
    ...poolLines(input),
    '',
    `Kubernetes API  ${input.kubernetesUrl}`,
    `Azure (ARM)     ${input.azureUrl}`,
    `Page            ${input.azureUrl}/_emu/`,
    `State as JSON   ${input.azureUrl}/_emu/state`,
    '',
    ...speedLines(speed),
    ...planeLines(input),
    'Look at it:',
    shell`kubectl --kubeconfig ${files.kubeconfig} get nodes,pods -A`,
    '',
    'Run the autoscaler against it:',
    `${shell`. ${files.env} &&`} ${command} ${shell`run --cloud-config ${files.azure} --kubeconfig ${files.kubeconfig}`} \\`,
    `  --node-group-auto-discovery=label:cluster-autoscaler-enabled=true --leader-elect=false`,
    'Then its page is at http://127.0.0.1:8085/',
    '',
    'SIGTERM or Ctrl-C stops it.',
    '',
  ].join('\n');
}

function firstLine({ name, seed, speed, controlPlane }: IntroductionInput): string {
  if (controlPlane === undefined)
    return `A simulated AKS cluster is running (world ${name}, seed ${seed}, ${speed} times as fast as Azure).`;
  return `A simulated AKS cluster with a real control plane is running (world ${name}, seed ${seed}, Kubernetes ${controlPlane.version}).`;
}

function planeLines({ controlPlane }: IntroductionInput): readonly string[] {
  if (controlPlane === undefined) return [];
  return [
    ...controlPlane.notes,
    `The programs of the control plane are from ${controlPlane.origin}.`,
    'Azure, kubelets and disks are simulated, at the speed of Azure: a new VM is a ready node after about a minute.',
    '',
  ];
}

function poolLines({ pools }: IntroductionInput): readonly string[] {
  const rows = [
    ['POOL', 'VM SIZE', 'NODES', 'MIN', 'MAX'],
    ...pools.map(({ name, vmSize, count, min, max }) => [name, vmSize, `${count}`, `${min}`, `${max}`]),
  ];
  return rows.map(
    ([name = '', size = '', ...counts]) => `  ${name.padEnd(10)}  ${size.padEnd(18)}  ${counts.map((cell) => cell.padStart(5)).join('  ')}`,
  );
}
