/**
 * `doctor`: checks whether the autoscaler can work with this configuration, and prints a fix for each problem. The room reads
 * with the daemon's own clients. Must not know the loop or any decision.
 */
import { isConfigErrors } from '../../config/types/config.ts';
import { loadConfig } from '../../config/load.ts';
import type { Check } from './check.ts';
import { EXIT_CONFIG, EXIT_FAILED, EXIT_OK, systemClock, type Terminal } from '../../cli/process/process.ts';

const HELP = `Check whether the autoscaler can work here, and print a fix for each problem. Changes nothing without --yes.

Checks the identity, its roles, pools, subnets, quotas, permissions in the cluster, disruption
budgets, rules of the configuration that match nothing, and the shared store if one is configured
(there one key is written and removed again).

Usage: doctor [--json] [SETTINGS]
       doctor --experiment POOL [--yes] [--json] [SETTINGS]

  --json      print one JSON object instead of lines
  --experiment POOL
              measure on one agent pool what is not known of Azure, and print a report to send;
              without --yes it only says what it would do and what that costs
  --yes       do it: add one node, measure, and delete this node again
  SETTINGS    all settings of the command run: --config, --cloud-config, --nodes, ..., environment variables

Exit code: 0 no check failed, 1 a check failed or the experiment did, 2 the configuration is invalid.
`;

/** A check that takes longer counts as failed. */
const TIMEOUT_MS = 120_000;

/** @returns the exit code: 0 no check failed (warnings are possible), 1 a check failed, 2 invalid configuration. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help')) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const { asJson, yes, pool, settings } = parseArguments(argv);
  if (pool === '' || (yes && pool === undefined)) {
    terminal.err('--experiment needs the name of an agent pool, and --yes needs --experiment\n');
    return EXIT_CONFIG;
  }
  const config = loadConfig({ argv: settings, env: terminal.env, readFile: terminal.readFile, hostname: terminal.hostname });
  if (isConfigErrors(config)) {
    const checks = config.errors.map((message): Check => ({ area: 'config', status: 'failed', message }));
    terminal.out(asJson ? toJson(checks) : toLines(checks));
    return EXIT_CONFIG;
  }
  if (pool !== undefined) {
    const { experiment } = await import('./experiment-command.ts');
    return experiment(config, { pool, yes, asJson }, terminal);
  }
  // Loaded only now: the SDKs are most of the program, and configuration errors should be reported without waiting for them.
  const { makeChecks } = await import('./make-checks.ts');
  const checks = await makeChecks(config, systemClock, AbortSignal.timeout(TIMEOUT_MS));
  terminal.out(asJson ? toJson(checks) : toLines(checks));
  return checks.some(({ status }) => status === 'failed') ? EXIT_FAILED : EXIT_OK;
}

interface Arguments {
  readonly asJson: boolean;
  readonly yes: boolean;
  /** Empty if the flag has no value. undefined: no experiment. */
  readonly pool: string | undefined;
  /** All other arguments. */
  readonly settings: readonly string[];
}

function parseArguments(argv: readonly string[]): Arguments {
  const at = argv.findIndex((argument) => argument === '--experiment' || argument.startsWith('--experiment='));
  const [flag = '', next = ''] = at === -1 ? [] : argv.slice(at, at + 2);
  const isJoined = flag.includes('=');
  const value = isJoined ? flag.slice(flag.indexOf('=') + 1) : next.startsWith('-') ? '' : next;
  const own = at === -1 ? [] : isJoined || value === '' ? [at] : [at, at + 1];
  return {
    asJson: argv.includes('--json'),
    yes: argv.includes('--yes'),
    pool: at === -1 ? undefined : value,
    settings: argv.filter((argument, index) => !own.includes(index) && argument !== '--json' && argument !== '--yes'),
  };
}

function countChecks(checks: readonly Check[]): Readonly<Record<Check['status'], number>> {
  const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length;
  return { ok: count('ok'), warning: count('warning'), failed: count('failed'), skipped: count('skipped') };
}

function toJson(checks: readonly Check[]): string {
  const counts = countChecks(checks);
  return `${JSON.stringify({ ok: counts.failed === 0, counts, checks }, undefined, 2)}\n`;
}

function toLines(checks: readonly Check[]): string {
  const { failed, warning, ok, skipped } = countChecks(checks);
  const problems = `${failed} ${failed === 1 ? 'problem' : 'problems'}, ${warning} ${warning === 1 ? 'warning' : 'warnings'}`;
  const lines = checks
    .map(({ area, status, message, fix }) => {
      const line = `${status.padEnd(7)}  ${area.padEnd(10)}  ${message}\n`;
      return fix === undefined ? line : `${line}${' '.repeat(21)}fix: ${fix}\n`;
    })
    .join('');
  return `${problems}, ${ok} checks passed, ${skipped} skipped\n${lines}`;
}
