/**
 * `plan`: shows what the autoscaler would do and why, for a cluster in a file, a live cluster or a recorded decision.
 * The room calls the daemon's own planner. Must not know how to write to the cluster or to Azure.
 */
import { parseArgs } from 'node:util';
import { readObjects } from './files/objects-file.ts';
import type { PlanInput } from './report/plan-loop.ts';
import { planReport, type PlanReport } from './report/plan-report.ts';
import { renderPlan } from './report/plan-text.ts';
import { podsToAdd } from './added-pods.ts';
import { withoutTimeLimits } from './from-dump.ts';
import { readFile, readPlanInput } from './read-input.ts';
import { applyWhatIf, hasChanges, type WhatIf } from './what-if.ts';
import { colourChoice, coloursOf } from '../../cli/text/colours.ts';
import { widthOf } from '../../cli/text/text-layout.ts';
import { EXIT_FAILED, EXIT_OK, type Terminal } from '../../cli/process/process.ts';
import { defined } from '../../lib/defined.ts';
import { parseDurationMs } from '../../lib/duration.ts';
import { configError } from '../../lib/errors.ts';
import { splitSettings } from '../../cli/process/split-settings.ts';
import { wrongArguments } from '../../cli/process/wrong-arguments.ts';

const HELP = `Show what the autoscaler would do, and why. Changes nothing.

Usage:
  plan --cluster FILE --pools FILE [--config FILE] [--now TIME] [--json]
  plan --live [SETTINGS] [--json]
  plan --dump FILE [--json]

Options:
  --cluster FILE    Kubernetes objects of any size, also compressed with gzip, or - for the standard input,
                    as written by this command (YAML: 50 MiB at most):
      kubectl get nodes,pods,pdb,daemonsets,replicasets,pvc,pv,storageclasses,csinodes,namespaces,priorityclasses -A -o json
                    For pods with device claims, also get
                    resourceslices,deviceclasses,resourceclaims,resourceclaimtemplates
                    For pods that start together, also get podgroups.scheduling.k8s.io
  --pools FILE      YAML or JSON: a list of pools with name, vmSize, min and max. Optional:
                    targetSize, zones, labels, taints, maxPods, allocatable, priority, price, tags
  --config FILE     the daemon's configuration. Only the settings of decisions are read, and the
                    list prices that the daemon has stored in scaleUp.retailPrices.file
  --now TIME        the time of the plan, such as 2026-11-21T10:00:00Z (default: the newest time in the file)
  --live            plan for the cluster and Azure as they are now. SETTINGS are those of the command
                    run: --config, --cloud-config, --kubeconfig, environment variables, all other flags
  --dump FILE       a decision that the daemon recorded (--dump-directory), with its timers and
                    configuration: repeats that decision, and adds the decision that its loop
                    did not make (increases or removals)
  --schedule SPAN   also show what schedules change in this time, such as 7d (31d at most)
  --all             name every pool, pod and node, on lines of any length
  --fail-on-pending exit with code 1 if pods stay pending
  --color WHEN      always, never or auto: on a terminal, unless NO_COLOR is set (default)
  --json            print everything as JSON. 'explained' has for each node the blocker, since when it is
                    unneeded and the next check, and for each blocker the cores, GiB and money per hour

What if (may be repeated):
  --add-pods FILE   add pods, or the pods of workloads, from manifests
  --set-max POOL=N  let a pool have up to N nodes
  --cordon NODE     cordon a node

Controllers of kinds that the file does not contain are assumed to exist.
A file has no history, nor has a live view of a cluster whose leader saved none: all timers count as expired, so every node that could be
removed is shown. --live uses the back-offs and timers that the leader saved, if you may read its ConfigMap aks-autoscaler-memory.

Exit code: 0; 1 with --fail-on-pending if pods stay pending, or after a failure; 2 for wrong use.
`;

/** A running daemon may hold back what this plan shows. */
const WITHOUT_MEMORY = "Without the daemon's memory: its back-offs and idle timers are unknown here; `explain` asks the daemon.";

const MOST_MANIFEST_MIB = 20;

const OPTIONS = {
  cluster: { type: 'string' },
  pools: { type: 'string' },
  config: { type: 'string' },
  now: { type: 'string' },
  live: { type: 'boolean' },
  dump: { type: 'string' },
  color: { type: 'string' },
  json: { type: 'boolean' },
  schedule: { type: 'string' },
  all: { type: 'boolean' },
  'fail-on-pending': { type: 'boolean' },
  'what-if': { type: 'boolean' },
  'add-pods': { type: 'string', multiple: true },
  'set-max': { type: 'string', multiple: true },
  cordon: { type: 'string', multiple: true },
  help: { type: 'boolean' },
} as const;

/** @returns the exit code: 0, or 1 with `--fail-on-pending` if pods stay pending. @throws AutoscalerError `config` with one sentence for invalid input. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { own, settings } = argv.includes('--live') ? splitSettings(argv, OPTIONS) : { own: argv, settings: [] };
  const given = readOptions(own);
  if (given.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const manifests = (given['add-pods'] ?? []).flatMap((file) => readObjects(file, readFile(file, terminal), MOST_MANIFEST_MIB));
  const { input, reader, lacksMemory = false } = await readPlanInput(given, { settings, manifests }, terminal);
  const addPods = manifests.length === 0 ? [] : podsToAdd(manifests, reader, input.observation.cluster);
  const whatIf = { addPods, setMax: given['set-max'] ?? [], cordon: given.cordon ?? [] };
  const scheduled = { ...input, ...defined({ scheduleForMs: spanOf(given.schedule) }) };
  const report = planReport(hasChanges(whatIf) ? changedInput(scheduled, whatIf) : scheduled);
  const lacks = lacksMemory ? `${WITHOUT_MEMORY}\n` : '';
  terminal.out(given.json === true ? `${JSON.stringify(report, undefined, 2)}\n` : `${lacks}${renderFor(terminal, report, given)}`);
  return given['fail-on-pending'] === true && report.summary.podsPending > 0 ? EXIT_FAILED : EXIT_OK;
}

const MOST_AHEAD_MS = 31 * 86_400_000;

function spanOf(written: string | undefined): number | undefined {
  if (written === undefined) return undefined;
  const ms = parseDurationMs(written, { days: true });
  if (ms !== undefined && ms >= 60_000 && ms <= MOST_AHEAD_MS) return ms;
  throw configError(`--schedule is "${written}"; it must be a time such as 7d or 36h, of at most 31d.`);
}

function renderFor(terminal: Terminal, report: PlanReport, { all = false, color }: ReturnType<typeof readOptions>): string {
  return renderPlan(report, { width: widthOf(terminal), all, colours: coloursOf(terminal, colourChoice(color)) });
}

/** The daemon did not have this input, so the time limits of its recorded loop do not apply. */
function changedInput(input: PlanInput, whatIf: WhatIf): PlanInput {
  const { recorded, ...rest } = input;
  const unlimited = recorded === undefined ? {} : { recorded: withoutTimeLimits(recorded) };
  return { ...rest, ...unlimited, observation: applyWhatIf(input.observation, whatIf) };
}

function readOptions(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    throw wrongArguments(cause, 'plan');
  }
}
