/**
 * `demo`: a simulated AKS cluster in one process, the unmodified daemon in another, and a story told on the terminal.
 * What the account says is taken from the world at the end.
 */
import { mkdir, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { AutoscalerError } from '../../lib/errors.ts';
import { systemClock } from '../process/process.ts';
import { CHAPTERS, type Chapter } from './chapters.ts';
import { DRY_CHAPTERS, dryRunLines, summarizeDryRun, type DryRunSummary } from './dry-run-chapters.ts';
import { decisionOf, metricsUrlOf } from './log-lines.ts';
import { renderPicture, createScreen, type Screen } from './screen.ts';
import { closingLines, summarize, type Summary } from './summary.ts';
import { startChild, type Child, type Wish, connectWorld, type WorldClient } from './world-client.ts';
import { Watcher, type WorldState } from './world-watcher.ts';

// What the demo's daemon is told. The program is the production one; only its patience is shortened, because the minutes
// that an operator wants between "unneeded" and "gone" would make a long demo.

const SETTINGS = `# Written by the demo. The daemon is unmodified; these are ordinary settings.
discovery:
  - selectors:
      cluster-autoscaler-enabled: "true"
kubernetes:
  leaderElect: true
scaleDown:
  unneededTime: 5s
  delayAfterAdd: 4s
  delayAfterFailure: 3s
  unremovableRecheck: 2s
  maxDrainParallelism: 4
drain:
  delayAfterTaint: 1s
  evictionRetry: 1s
loop:
  scanInterval: 2s
http:
  address: 127.0.0.1:0
`;

/** Arguments and environment of the daemon's process, for a world whose client files are in `dir`. */
export async function daemonSettings(
  dir: string,
  env: Readonly<Record<string, string | undefined>>,
  { armUrl, dryRun }: { readonly armUrl: string; readonly dryRun: boolean },
): Promise<{ readonly args: readonly string[]; readonly env: Readonly<Record<string, string | undefined>> }> {
  const config = join(dir, 'daemon.yaml');
  await mkdir(join(dir, 'decisions'), { recursive: true });
  await writeFile(config, `${SETTINGS}dryRun: ${dryRun}\ndumpDirectory: ${JSON.stringify(join(dir, 'decisions'))}\n`);
  return {
    args: ['run', `--config=${config}`, `--cloud-config=${join(dir, 'azure.json')}`, `--kubeconfig=${join(dir, 'kubeconfig')}`],
    env: {
      PATH: env['PATH'],
      HOME: env['HOME'],
      AZURE_RESOURCE_MANAGER_ENDPOINT: armUrl,
      AZURE_AUTHORITY_HOST: armUrl,
      AZURE_CA_FILE: join(dir, 'ca.pem'),
    },
  };
}

const HELP = `Runs the autoscaler against a simulated AKS cluster and tells what happens. Ends by itself.

  --keep      leave it running at the end and print the URLs
  --dry-run   the daemon decides and writes nothing: what it would do is told
  --json      print the account as one JSON object, the last line of standard output
  --seed N    seed of the simulated world (default 1)
  --speed N   how many times faster than Azure (default 20)
`;

const LOOK_EVERY_MS = 250;
/** The application id that `emulate` lets the daemon sign in with. */
const DAEMON_PRINCIPAL = 'aaaaaaaa-0000-0000-0000-000000000001';

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything the story needs to hand. */
interface Stage {
  readonly dir: string;
  readonly client: WorldClient;
  readonly watcher: Watcher;
  readonly screen: Screen;
  readonly daemon: Child;
  readonly metricsUrl: string;
  readonly dryRun: boolean;
  readonly startedMs: number;
  /** What the daemon decided since the last call, oldest first. */
  readonly newDecisions: () => readonly string[];
}

/** @returns 0 when everything the story promises came true in the world, 1 when not, 2 for wrong arguments. */
export async function run(argv: readonly string[], env: Environment): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  const { keep, json, seed, speed, dryRun } = parse(argv);
  const screen = createScreen(json ? process.stderr : process.stdout);
  const startedMs = systemClock.now();
  const dir = await mkdtemp(join(tmpdir(), 'aks-autoscaler-demo-'));
  const children: Child[] = [];
  try {
    const stage = await setStage({ dir, env, screen, startedMs, dryRun, worldArgs: [`--seed=${seed}`, `--speed=${speed}`] }, children);
    const unmet = await tell(stage);
    const { summary, lines } = await account(stage, unmet);
    for (const line of lines) screen.say(line);
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
        json: { type: 'boolean' },
        seed: { type: 'string' },
        speed: { type: 'string' },
      },
    });
    return {
      keep: values.keep === true,
      dryRun: values['dry-run'] === true,
      json: values.json === true,
      seed: wholeNumber('--seed', values.seed ?? '1', 0),
      speed: wholeNumber('--speed', values.speed ?? '20', 1),
    };
  } catch (error) {
    if (error instanceof AutoscalerError) throw error;
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw new AutoscalerError({ kind: 'config' }, `${message}; demo --help lists what is accepted.`, { cause: error });
  }
}

function wholeNumber(flag: string, text: string, least: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text);
  throw new AutoscalerError({ kind: 'config' }, `${flag} is "${text}"; accepted is a whole number from ${least}.`);
}

interface StageParts {
  readonly dir: string;
  readonly env: Environment;
  readonly screen: Screen;
  readonly startedMs: number;
  readonly dryRun: boolean;
  readonly worldArgs: readonly string[];
}

/** Starts the world, then the daemon, and waits until the daemon serves. */
async function setStage(parts: StageParts, children: Child[]): Promise<Stage> {
  const { dir, env, screen, startedMs, dryRun } = parts;
  const emulator = startChild('world', ['emulate', `--dir=${dir}`, '--world=demo', ...parts.worldArgs], env, () => undefined);
  children.push(emulator);
  await emulator.line(/SIGTERM or Ctrl-C/);
  const client = await connectWorld(dir);
  screen.say(`A simulated AKS cluster is up: Kubernetes at ${client.kubeUrl}, Azure at ${client.armUrl}.`);
  const settings = await daemonSettings(dir, env, { armUrl: client.armUrl, dryRun });
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
    dryRun,
    startedMs,
    newDecisions: () => decisions.splice(0),
  };
  await untilReady(stage);
  screen.say(`The daemon runs in a process of its own, as it would in production; metrics at ${metricsUrl}/metrics.`);
  return stage;
}

/** The first loop is over when the daemon says that it is ready. */
async function untilReady(stage: Pick<Stage, 'metricsUrl'>): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await request(`${stage.metricsUrl}/readyz`);
    await answer.body.dump();
    if (answer.statusCode === 200) return;
    await systemClock.sleep(LOOK_EVERY_MS);
  }
  throw new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'The daemon did not become ready within 25 s.');
}

/** Plays the chapters in order. @returns the promises that did not come true. */
async function tell(stage: Stage): Promise<readonly string[]> {
  const unmet: string[] = [];
  for (const [index, chapter] of (stage.dryRun ? DRY_CHAPTERS : CHAPTERS).entries()) {
    stage.screen.say(`\n${index + 1}. ${chapter.title}`);
    const kept = await play(stage, chapter);
    stage.screen.say(kept ? `   done: ${chapter.promise}` : `   NOT seen within ${chapter.patienceSeconds} s: ${chapter.promise}`);
    if (!kept) unmet.push(chapter.promise);
  }
  return unmet;
}

async function play(stage: Stage, chapter: Chapter): Promise<boolean> {
  await chapter.begin(stage.client);
  const deadline = systemClock.monotonic() + chapter.patienceSeconds * 1000;
  let decision = '';
  for (;;) {
    const state = await stage.watcher.look();
    for (const taken of stage.newDecisions()) {
      decision = taken;
      stage.screen.say(`   ${secondsOf(stage).toFixed(1).padStart(4)} s  ${taken}`);
    }
    const isOver = chapter.isOver(state, await wishesOf(stage));
    if (isOver || systemClock.monotonic() > deadline) {
      stage.screen.keep(linesOf(stage, state, decision));
      return isOver;
    }
    stage.screen.draw(linesOf(stage, state, decision));
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}

function secondsOf(stage: Stage): number {
  return (systemClock.now() - stage.startedMs) / 1000;
}

function linesOf(stage: Stage, state: WorldState, decision: string): readonly string[] {
  const picture = {
    seconds: secondsOf(stage),
    pools: state.pools.map((pool) => ({ ...pool, note: pool.failed > 0 ? `${pool.failed} not provided` : '' })),
    pods: { pending: state.pending, bound: state.bound },
    decision,
  };
  return renderPicture(picture, stage.screen.width);
}

interface Closing {
  readonly summary: Summary | DryRunSummary;
  readonly lines: readonly string[];
}

async function account(stage: Stage, unmet: readonly string[]): Promise<Closing> {
  const state = await stage.watcher.look();
  const story = {
    ...stage.watcher.account(),
    startedMs: stage.startedMs,
    endedMs: systemClock.now(),
    violations: state.violations,
    replans: await replansOf(stage),
    unmet,
  };
  if (stage.dryRun) {
    const summary = summarizeDryRun(story, state, await wishesOf(stage));
    return { summary, lines: dryRunLines(summary) };
  }
  const summary = summarize(story);
  return { summary, lines: closingLines(summary) };
}

/** What the daemon would have done so far; nothing unless it is in a dry run. */
async function wishesOf({ dryRun, metricsUrl }: Stage): Promise<readonly Wish[]> {
  if (!dryRun) return [];
  const answer = await request(`${metricsUrl}/debug/withheld`);
  return (await answer.body.json()) as readonly Wish[];
}

/** How often the daemon planned again within a loop because of a conflict, by its own count. */
async function replansOf(stage: Stage): Promise<number> {
  const answer = await request(`${stage.metricsUrl}/metrics`);
  const count = /aks_autoscaler_replans_total\{cause="conflict"\} (\d+)/.exec(await answer.body.text())?.[1];
  return Number(count ?? 0);
}

async function stayOpen(stage: Stage): Promise<void> {
  stage.screen.say(
    [
      '',
      'Left running; Ctrl-C ends it.',
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
