/**
 * `report`: what a dry run beside another autoscaler would have done, against what was done. Must not know how the two are compared, or
 * how to write to the cluster or to Azure.
 */
import { parseArgs } from 'node:util';
import { asAutoscalerError, configError } from '../../lib/errors.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { compareShadow } from '../../planning/shadow/compare.ts';
import type { ShadowReport } from '../../planning/shadow/report.ts';
import { askDaemon, LIVE_OPTIONS, refusalText } from '../explain/live-answers.ts';
import { readShadowLines } from '../../cli/journal/shadow-lines.ts';
import { EXIT_FAILED, EXIT_OK, systemClock, type Terminal } from '../../cli/process/process.ts';
import { wrongArguments } from '../../cli/process/wrong-arguments.ts';
import { renderReport } from './report-text.ts';

const HELP = `Show what a dry run would have done, against what the AKS autoscaler did: every disagreement with both
sides' reason, the waiting of pods, nodes and money. Changes nothing.

Usage: report [--since 7d] [SOURCE] [--all] [--json]

  --since SPAN        how far to look back, such as 12h or 7d (default: 7d; a record holds eight days)
  --all               print every disagreement
  --json              print the report as JSON, with every number that the text has

The dry run that leads (default):
  --kubeconfig FILE   default: $KUBECONFIG, else ~/.kube/config
  --context NAME      a context of that file (default: its current one)
  --namespace NAME    where the autoscaler runs (default: kube-system)
  --lease-name NAME   its Lease (default: aks-autoscaler-dry-run)
  --port N            its port for metrics and health (default: 8085)
  --url URL           ask this address instead, such as http://127.0.0.1:8085
  --token-file FILE   the token of http.debugTokenFile, if that is set

Other source:
  --directory DIR     the record that a dry run wrote (historyDirectory, --history-directory)

Exit code: 0 reported, 1 failed, 2 wrong use, 3 not a dry run or no record, 4 no replica leads.
`;

const OPTIONS = {
  since: { type: 'string' },
  directory: { type: 'string' },
  ...LIVE_OPTIONS,
  all: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const EXIT_NO_RECORD = 3;
const EXIT_NO_LEADER = 4;
const DEFAULT_SINCE = '7d';

/** @returns the exit code. @throws AutoscalerError with one sentence for invalid input, or if no daemon can be asked. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const values = readArguments(argv);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const since = values.since ?? DEFAULT_SINCE;
  const spanMs = parseDurationMs(since, { days: true });
  if (spanMs === undefined || spanMs === 0) throw configError(`--since is "${since}"; it must be a span such as 12h or 7d.`);
  return values.directory === undefined ? reportLive(since, values, terminal) : reportDirectory(values.directory, spanMs, values, terminal);
}

type ReportOptions = ReturnType<typeof readArguments>;

async function reportDirectory(directory: string, spanMs: number, values: ReportOptions, terminal: Terminal): Promise<number> {
  const { lines, skippedLines } = await readShadowLines(directory);
  const last = lines.at(-1);
  if (last === undefined) {
    terminal.err(
      `${directory} has no record of a dry run; a dry run writes one where historyDirectory (--history-directory) names a directory.\n`,
    );
    return EXIT_NO_RECORD;
  }
  // A record that was copied from elsewhere ends in the past.
  const report = compareShadow({ lines, sinceMs: last.atMs - spanMs, nowMs: last.atMs });
  const skipped = skippedLines === 0 ? '' : `; ${skippedLines} lines could not be read`;
  print(report, { from: `From ${directory}${skipped}.`, values, terminal });
  return EXIT_OK;
}

async function reportLive(since: string, values: ReportOptions, terminal: Terminal): Promise<number> {
  const source = { ...values, 'lease-name': values['lease-name'] ?? 'aks-autoscaler-dry-run' };
  try {
    const path = `/api/v1/report?since=${encodeURIComponent(since)}`;
    const { status, text, from } = await askDaemon(source, path, terminal, new AbortController().signal);
    if (status !== 200) {
      terminal.err(refusalText(text));
      return { 404: EXIT_NO_RECORD, 409: EXIT_NO_LEADER, 503: EXIT_NO_LEADER }[status] ?? EXIT_FAILED;
    }
    print(JSON.parse(text) as ShadowReport, { from: `From ${from}.`, values, terminal });
    return EXIT_OK;
  } catch (thrown) {
    const error = asAutoscalerError(thrown);
    if (error.kind !== 'not-found') throw error;
    terminal.err(`${error.message}\n`);
    return EXIT_NO_LEADER;
  }
}

function print(
  report: ShadowReport,
  { from, values, terminal }: { readonly from: string; readonly values: ReportOptions; readonly terminal: Terminal },
): void {
  if (values.json === true) terminal.out(`${JSON.stringify(report, undefined, 2)}\n`);
  else
    terminal.out(
      renderReport({
        report,
        all: values.all === true,
        nowMs: Math.max(report.toMs, values.directory === undefined ? systemClock.now() : 0),
        from,
      }),
    );
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values;
  } catch (cause) {
    throw wrongArguments(cause, 'report');
  }
}
