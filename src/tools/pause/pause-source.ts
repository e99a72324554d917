/** Where the commands about pauses find them, and what they print of them. Must not know which entries are changed. */
import { join } from 'node:path';
import { CLUSTER_KEY, isSamePool, type Pauses } from '../../domain/ports/pauses.ts';
import { openPauseEntries, type PauseEntries } from '../../kubernetes/writes/pause-entries.ts';
import { PAUSES_SUFFIX, projectPauses } from '../../kubernetes/projection/pauses.ts';
import { formatDuration } from '../../lib/duration.ts';
import { configError } from '../../lib/errors.ts';
import { defined } from '../../lib/defined.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { systemClock, type Terminal } from '../../cli/process/process.ts';

/** The options that name the ConfigMap, for `parseArgs`. */
export const SOURCE_OPTIONS = {
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string' },
  'lease-name': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

export const SOURCE_HELP = `  --kubeconfig FILE   default: $KUBECONFIG, else ~/.kube/config
  --context NAME      a context of that file (default: its current one)
  --namespace NAME    where the autoscaler runs (default: kube-system)
  --lease-name NAME   its Lease (default: aks-autoscaler); the ConfigMap is NAME${PAUSES_SUFFIX}
  --json              print what is paused as JSON
Your user needs get, create and patch of ConfigMaps in that namespace.
`;

export interface SourceValues {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
  readonly 'lease-name'?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Runs the work with the entries, and closes the connection. @throws AutoscalerError */
export async function withEntries<Result>(
  values: SourceValues,
  terminal: Terminal,
  work: (entries: PauseEntries, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const kubeconfigPath = values.kubeconfig ?? terminal.env['KUBECONFIG'] ?? join(terminal.env['HOME'] ?? '', '.kube', 'config');
  const name = { namespace: values.namespace ?? 'kube-system', name: `${values['lease-name'] ?? 'aks-autoscaler'}${PAUSES_SUFFIX}` };
  const options = { kubeconfigPath, ...defined({ context: values.context }) };
  const entries = await openPauseEntries({ options, name, clock: systemClock, metrics: createMetrics() });
  try {
    return await work(entries, new AbortController().signal);
  } finally {
    await entries.close();
  }
}

/** The key of a pool's entry. @throws AutoscalerError `config` if no pool can have the name. */
export function keyOf(pool: string | undefined): string {
  if (pool === undefined) return CLUSTER_KEY;
  const key = pool.replaceAll('/', '.');
  if (!/^[A-Za-z0-9][-._A-Za-z0-9]{0,99}$/.test(key)) throw configError(`"${pool}" is not the name of a pool.`);
  return key;
}

/** The keys of the entries that are about the same pool: people write names in other letter case. */
export function keysOf(key: string, entries: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(entries).filter((each) => isSamePool(each, key));
}

/** The time by which pauses are counted. */
export function nowMs({ clock = systemClock }: Terminal): number {
  return clock.now();
}

/** Prints what is paused now. Entries that are over are not shown. */
export function printPauses(data: Readonly<Record<string, string>>, { json }: SourceValues, terminal: Terminal): void {
  const document = pausesDocument(projectPauses(data), nowMs(terminal));
  if (json === true) terminal.out(`${JSON.stringify(document, undefined, 2)}\n`);
  else terminal.out(pausesText(document, nowMs(terminal)));
}

interface PausesDocument {
  readonly pauses: readonly {
    /** If absent, every pool. */
    readonly pool?: string;
    readonly direction: string;
    readonly until: string;
    readonly by?: string;
    readonly reason?: string;
    readonly problem?: string;
  }[];
  /** Entries whose end is not known: the pool grows, and none of its nodes is removed. */
  readonly unreadable: readonly { readonly pool?: string; readonly problem: string }[];
}

function pausesDocument({ pauses, unreadable }: Pauses, atMs: number): PausesDocument {
  return {
    pauses: pauses
      .filter(({ untilMs }) => untilMs > atMs)
      .map(({ pool, direction, untilMs, by, reason, problem }) => ({
        ...defined({ pool }),
        direction,
        until: timeText(untilMs),
        ...defined({ by, reason, problem }),
      })),
    unreadable: unreadable.map(({ pool, problem }) => ({ ...defined({ pool }), problem })),
  };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

function pausesText({ pauses, unreadable }: PausesDocument, atMs: number): string {
  const lines = [
    ...pauses.map(({ pool, direction, until, by, reason, problem }) => {
      const end = `until ${until} (${formatDuration(Date.parse(until) - atMs)} from now)`;
      const who = `${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
      return `  ${pool ?? 'every pool'}: ${DIRECTIONS[direction] ?? direction} ${end}${who}${problem === undefined ? '' : ` [${problem}]`}`;
    }),
    ...unreadable.map(
      ({ pool, problem }) => `  ${pool ?? 'every pool'}: no removals until the entry is corrected or removed, since ${problem}`,
    ),
  ];
  // A rule of a schedule may pause a pool all the same: the daemon knows.
  return lines.length === 0 ? 'No pause is set.\n' : `Paused now:\n${lines.join('\n')}\n`;
}

const DIRECTIONS: Readonly<Record<string, string>> = {
  both: 'no increases and no removals',
  'scale-up': 'no increases',
  'scale-down': 'no removals',
};
