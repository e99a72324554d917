/** `doctor`: whether the autoscaler could do its work with this configuration, line by line, with the fix of what is wrong. */
import { isConfigErrors } from '../../config/types/config.ts';
import { loadConfig } from '../../config/load.ts';
import type { Check } from './check.ts';
import { systemClock } from '../process/process.ts';
import { EXIT_CONFIG, EXIT_FAILED, EXIT_OK, type Terminal } from '../process/process.ts';

const HELP = `Checks identity, roles, pools, subnets, quotas, the cluster's accesses, disruption budgets and rules that match nothing. Reads only.

  --json      one JSON object instead of lines
  Everything else as for run: --config, --cloud-config, --nodes, ... and the environment.

Ends with 0 when nothing failed, 1 when something did, 2 for a wrong configuration.
`;

/** Everything is asked within this time, or told as failed. */
const PATIENCE_MS = 120_000;

/** @returns the exit code: 0 nothing failed (warnings may stand), 1 something failed, 2 wrong configuration. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  if (argv.includes('--help')) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const asJson = argv.includes('--json');
  const rest = argv.filter((argument) => argument !== '--json');
  const config = loadConfig({ argv: rest, env: terminal.env, readFile: terminal.readFile, hostname: terminal.hostname });
  if (isConfigErrors(config)) {
    const checks = config.errors.map((message): Check => ({ area: 'config', status: 'failed', message }));
    terminal.out(asJson ? json(checks) : lines(checks));
    return EXIT_CONFIG;
  }
  // Loaded only now: the SDKs are most of the program, and a mistake in the configuration should be told at once.
  const { examine } = await import('./examine.ts');
  const checks = await examine(config, systemClock, AbortSignal.timeout(PATIENCE_MS));
  terminal.out(asJson ? json(checks) : lines(checks));
  return checks.some(({ status }) => status === 'failed') ? EXIT_FAILED : EXIT_OK;
}

function json(checks: readonly Check[]): string {
  const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length;
  const counts = { ok: count('ok'), warning: count('warning'), failed: count('failed'), skipped: count('skipped') };
  return `${JSON.stringify({ ok: counts.failed === 0, counts, checks }, undefined, 2)}\n`;
}

function lines(checks: readonly Check[]): string {
  return checks
    .map(({ area, status, message, fix }) => {
      const line = `${status.padEnd(7)}  ${area.padEnd(10)}  ${message}\n`;
      return fix === undefined ? line : `${line}${' '.repeat(21)}fix: ${fix}\n`;
    })
    .join('');
}
