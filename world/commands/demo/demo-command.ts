/**
 * `demo`: runs a simulated AKS cluster in one process and the production daemon in another, and narrates what happens.
 * The result is read from the world, not from the daemon. Must not know how the daemon decides.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { AutoscalerError, configError } from '../../../src/lib/errors.ts';
import { systemClock } from '../../../src/cli/process/process.ts';
import { CHAPTERS, type Chapter } from './chapters.ts';
import { DRY_CHAPTERS, dryRunLines, summarizeDryRun, type DryRunSummary } from './dry-run-chapters.ts';
import { recordInWorldTime, SHADOW_CHAPTERS, shadowLines, summarizeShadow, type ShadowSummary } from './shadow-chapters.ts';
import { decisionOf, metricsUrlOf } from './log-lines.ts';
import { renderPicture, createScreen, type Screen } from './screen.ts';
import { closingLines, summarize, type Summary } from './summary.ts';
import { daemonSettings, startChild, type Child, type DemoMode } from './child-processes.ts';
import { connectWorld, type WithheldWrite, type WorldClient } from './world-client.ts';
import { Watcher, type WorldState } from './world-watcher.ts';

const HELP = `Watch the autoscaler work in a simulated AKS cluster. Takes about 75 seconds.

Usage: demo [OPTIONS]

  --keep      leave everything running at the end and print the URLs; Ctrl-C stops it
  --dry-run   show what the daemon would write; it writes nothing
  --shadow    run a dry run beside an imitation of the AKS autoscaler, and compare the two; about two minutes
  --json      print the summary as one JSON object in the last line of standard output
  --seed N    seed of the simulated world (default 1)
  --speed N   speed of the simulated world, as a multiple of Azure's (default 20)

Exit code: 0 everything expected happened, 1 something did not, 2 the arguments are wrong.
`;

const READ_EVERY_MS = 250;
/** The application id that `emulate` lets the daemon sign in with. */
const DAEMON_PRINCIPAL = 'aaaaaaaa-0000-0000-0000-000000000001';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the chapters need while they run. */
interface Stage {
  readonly dir: string;
  readonly client: WorldClient;
  readonly watcher: Watcher;
  readonly screen: Screen;
  readonly daemon: Child;
  readonly metricsUrl: string;
  readonly mode: DemoMode;
  readonly startedMs: number;
  /** Decisions of the daemon since the last call, oldest first. */
  readonly newDecisions: () => readonly string[];
}

/** @returns the exit code: 0 every expectation was met in the world, 1 one was not, 2 wrong arguments. */
export async function run(argv: readonly string[], env: Environment): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  const { keep, json, seed, speed, mode } = parse(argv);
  const screen = createScreen(json ? process.stderr : process.stdout);
  const startedMs = systemClock.now();
  const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-demo-'));
  const children: Child[] = [];
  try {
    const worldArgs = [`--seed=${seed}`, `--speed=${speed}`, ...(mode === 'shadow' ? ['--managed-autoscaler'] : [])];
    const stage = await startStage({ dir, env, screen, startedMs, mode, speed, worldArgs }, children);
    const unmet = await playChapters(stage);
    const { summary, lines } = await closeDemo(stage, unmet);
    for (const line of lines) screen.writeLine(line);
    if (mode === 'shadow') await printReport(stage, { env, speed });
    if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
    if (keep) await stayOpen(stage);
    await stage.client.close();
    return summary.ok ? 0 : 1;
  } finally {
    for (const child of children.toReversed()) await child.stop();
    await rm(dir, { recursive: true, force: true });
  }
}

function parse(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        keep: { type: 'boolean' },
        'dry-run': { type: 'boolean' },
        shadow: { type: 'boolean' },
        json: { type: 'boolean' },
        seed: { type: 'string' },
        speed: { type: 'string' },
      },
    });
    return {
      keep: values.keep === true,
      mode: modeOf(values),
      json: values.json === true,
      seed: wholeNumber('--seed', values.seed ?? '1', 0),
      speed: wholeNumber('--speed', values.speed ?? '20', 1),
    };
  } catch (error) {
    if (error instanceof AutoscalerError) throw error;
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw configError(`${message}; see demo --help.`, { cause: error });
  }
}

function modeOf(given: { readonly 'dry-run'?: boolean; readonly shadow?: boolean }): DemoMode {
  if (given.shadow === true) return 'shadow';
  return given['dry-run'] === true ? 'dry-run' : 'live';
}

function wholeNumber(flag: string, text: string, least: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw configError(`${flag} is "${text}"; it must be a whole number from ${least}.`);
}

interface StageInput {
  readonly dir: string;
  readonly env: Environment;
  readonly screen: Screen;
  readonly startedMs: number;
  readonly mode: DemoMode;
  readonly speed: number;
  readonly worldArgs: readonly string[];
}

/** Starts the world, then the daemon, and waits for its first loop. */
async function startStage(input: StageInput, children: Child[]): Promise<Stage> {
  const { dir, env, screen, startedMs, mode, speed } = input;
  const emulator = startChild('world', ['emulate', `--dir=${dir}`, '--world=demo', ...input.worldArgs], env, () => undefined);
  children.push(emulator);
  await emulator.line(/SIGTERM or Ctrl-C/);
  const client = await connectWorld(dir);
  screen.writeLine(`A simulated AKS cluster is running: Kubernetes API at ${client.kubeUrl}, Azure at ${client.armUrl}.`);
  const settings = await daemonSettings(dir, env, { armUrl: client.armUrl, mode, speed });
  const decisions: string[] = [];
  const daemon = startChild('daemon', settings.args, settings.env, (line) => {
    const decision = decisionOf(line);
    if (decision !== undefined) decisions.push(decision);
  });
  children.push(daemon);
  const metricsUrl = metricsUrlOf(await daemon.line(/"url":"http:/)) ?? '';
  const stage = {
    dir,
    client,
    watcher: new Watcher(client, DAEMON_PRINCIPAL),
    screen,
    daemon,
    metricsUrl,
    mode,
    startedMs,
    newDecisions: () => decisions.splice(0),
  };
  screen.writeLine(
    `The autoscaler runs in a process of its own, as in production. Its page: ${metricsUrl}/ (metrics at ${metricsUrl}/metrics).`,
  );
  await untilReady(stage);
  screen.writeLine('In the tables, █ is a ready node, ░ an upcoming node, and · a node that the pool may still add.');
  return stage;
}

/** The daemon is ready after its first loop. */
async function untilReady(stage: Pick<Stage, 'metricsUrl'>): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const response = await request(`${stage.metricsUrl}/readyz`);
    await response.body.dump();
    if (response.statusCode === 200) return;
    await systemClock.sleep(READ_EVERY_MS);
  }
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'The daemon did not become ready within 25 s.');
}

const CHAPTERS_OF: Readonly<Record<DemoMode, readonly Chapter[]>> = { live: CHAPTERS, 'dry-run': DRY_CHAPTERS, shadow: SHADOW_CHAPTERS };

/** @returns the expectations that were not met. */
async function playChapters(stage: Stage): Promise<readonly string[]> {
  const unmet: string[] = [];
  for (const [index, chapter] of CHAPTERS_OF[stage.mode].entries()) {
    stage.screen.writeLine(`\n${index + 1}. ${chapter.title}`);
    const isMet = await playChapter(stage, chapter);
    stage.screen.writeLine(
      isMet ? `   Done: ${chapter.expectation}` : `   NOT SEEN within ${chapter.timeoutSeconds} s: ${chapter.expectation}`,
    );
    if (!isMet) unmet.push(chapter.expectation);
  }
  return unmet;
}

async function playChapter(stage: Stage, chapter: Chapter): Promise<boolean> {
  await chapter.begin(stage.client);
  const deadline = systemClock.monotonic() + chapter.timeoutSeconds * 1000;
  let decision = '';
  for (;;) {
    const state = await stage.watcher.readWorld();
    for (const latest of stage.newDecisions()) {
      decision = latest;
      stage.screen.writeLine(`   ${secondsOf(stage).toFixed(1).padStart(4)} s  ${latest}`);
    }
    const isOver = chapter.isOver(state, await withheldWritesOf(stage));
    if (isOver || systemClock.monotonic() > deadline) {
      stage.screen.keep(linesOf(stage, state, decision));
      return isOver;
    }
    stage.screen.draw(linesOf(stage, state, decision));
    await systemClock.sleep(READ_EVERY_MS);
  }
}

function secondsOf(stage: Stage): number {
  return (systemClock.now() - stage.startedMs) / 1000;
}

function linesOf(stage: Stage, state: WorldState, decision: string): readonly string[] {
  const picture = {
    seconds: secondsOf(stage),
    pools: state.pools.map((pool) => ({ ...pool, note: pool.failed > 0 ? `${pool.failed} failed` : '' })),
    pods: { pending: state.pending, bound: state.bound },
    decision,
  };
  return renderPicture(picture, stage.screen.width);
}

interface Closing {
  readonly summary: Summary | DryRunSummary | ShadowSummary;
  readonly lines: readonly string[];
}

async function closeDemo(stage: Stage, unmet: readonly string[]): Promise<Closing> {
  const state = await stage.watcher.readWorld();
  const account = {
    ...stage.watcher.account(),
    startedMs: stage.startedMs,
    endedMs: systemClock.now(),
    violations: state.violations,
    replans: await replansOf(stage),
    unmet,
  };
  if (stage.mode === 'shadow') {
    const summary = summarizeShadow(account);
    return { summary, lines: shadowLines(summary) };
  }
  if (stage.mode === 'dry-run') {
    const summary = summarizeDryRun(account, state, await withheldWritesOf(stage));
    return { summary, lines: dryRunLines(summary) };
  }
  const summary = summarize(account);
  return { summary, lines: closingLines(summary) };
}

/** Ends the daemon, so that its record is complete, and runs `report` on it. */
async function printReport(
  { dir, daemon, screen }: Stage,
  { env, speed }: { readonly env: Environment; readonly speed: number },
): Promise<void> {
  await daemon.stop();
  const record = await recordInWorldTime(join(dir, 'history'), dir, speed);
  screen.writeLine(`\naks-autoscaler report --since 7d --all, in the time of the world, which ran ${speed} times as fast\n`);
  await startChild('report', ['report', '--directory', record, '--all'], env, (line) => screen.writeLine(line)).ended;
}

/** The writes that the daemon withheld so far. Empty unless it is a dry run. */
async function withheldWritesOf({ mode, metricsUrl }: Stage): Promise<readonly WithheldWrite[]> {
  if (mode === 'live') return [];
  const response = await request(`${metricsUrl}/debug/withheld`);
  return (await response.body.json()) as readonly WithheldWrite[];
}

/** Replans within one loop after a conflict, by the daemon's own metric. */
async function replansOf(stage: Stage): Promise<number> {
  const response = await request(`${stage.metricsUrl}/metrics`);
  const count = /aks_autoscaler_replans_total\{cause="conflict"\} (\d+)/.exec(await response.body.text())?.[1];
  return Number(count ?? 0);
}

async function stayOpen(stage: Stage): Promise<void> {
  stage.screen.writeLine(
    [
      '',
      'Everything keeps running; Ctrl-C stops it.',
      `  page        ${stage.metricsUrl}/`,
      `  metrics     ${stage.metricsUrl}/metrics`,
      `  health      ${stage.metricsUrl}/healthz`,
      `  agents      ${stage.metricsUrl}/debug/agents`,
      `  kubeconfig  ${join(stage.dir, 'kubeconfig')}`,
      `  decisions   ${join(stage.dir, 'decisions')}`,
      `  world       ${stage.client.armUrl}/_emu/state`,
    ].join('\n'),
  );
  await new Promise<void>((done) => {
    process.once('SIGINT', () => done());
    process.once('SIGTERM', () => done());
  });
}
