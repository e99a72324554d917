/** What `emulate` prints when the world runs: addresses, commands to copy, and what its speed means for clients. Must not know the simulator. */

export interface IntroductionInput {
  /** `small`, `demo`. */
  readonly name: string;
  readonly seed: number;
  /** As a multiple of Azure's. */
  readonly speed: number;
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
  const { name, seed, speed, files, command } = input;
  return [
    `A simulated AKS cluster is running (world ${name}, seed ${seed}, ${speed} times as fast as Azure).`,
    ...poolLines(input),
    '',
    `Kubernetes API  ${input.kubernetesUrl}`,
    `Azure (ARM)     ${input.azureUrl}`,
    `Page            ${input.azureUrl}/_emu/`,
    `State as JSON   ${input.azureUrl}/_emu/state`,
    '',
    ...speedLines(speed),
    'Look at it:',
    `kubectl --kubeconfig ${files.kubeconfig} get nodes,pods -A`,
    '',
    'Run the autoscaler against it:',
    `. ${files.env} && ${command} run --cloud-config ${files.azure} --kubeconfig ${files.kubeconfig} \\`,
    `  --node-group-auto-discovery=label:cluster-autoscaler-enabled=true --leader-elect=false`,
    'Then its page is at http://127.0.0.1:8085/',
    '',
    'SIGTERM or Ctrl-C stops it.',
    '',
  ].join('\n');
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
