/**
 * Where Helm comes from: the machine's own, or a build of one pinned version with the machine's Go, made by `npm run helm`
 * and kept in the user's cache. Looking never builds.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runGo } from '../support/go-build.ts';

const HELM_VERSION = 'v3.22.0';
/** A cold build takes some minutes on two cores. */
const BUILD_LIMIT_MS = 20 * 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** The program to call; undefined if Helm is not available. */
export function findHelm(env: Environment): string | undefined {
  if (existsSync(cached(env))) return cached(env);
  return spawnSync('helm', ['version'], { stdio: 'ignore', env }).status === 0 ? 'helm' : undefined;
}

function cached(env: Environment): string {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache');
  return join(cache, 'aks-autoscaler', 'helm', `${HELM_VERSION}-${process.platform}-${process.arch}`, 'helm');
}

/** Builds Helm unless it is there. Never rejects. `pauseMs`: before a second try. @returns one sentence: where it is, or why it is not. */
export async function buildHelm(env: Environment, pauseMs?: number): Promise<{ readonly found: boolean; readonly sentence: string }> {
  const found = findHelm(env);
  if (found !== undefined) return { found: true, sentence: `Helm is ${found}` };
  if (spawnSync('go', ['version'], { stdio: 'ignore', env }).status !== 0) {
    return {
      found: false,
      sentence: 'skipped: there is neither Helm nor a Go to build it with; the tests that render the chart are left out',
    };
  }
  const program = cached(env);
  const folder = join(program, '..');
  const unfinished = join(folder, `unfinished-${process.pid}`);
  try {
    await mkdir(unfinished, { recursive: true });
    const failure = await install(unfinished, env, pauseMs);
    if (failure !== undefined) return { found: false, sentence: `skipped: building Helm ${HELM_VERSION} failed: ${failure}` };
    await rename(join(unfinished, 'helm'), program);
    return { found: true, sentence: `Helm ${HELM_VERSION} was built: ${program}` };
  } catch (thrown) {
    return { found: false, sentence: `skipped: building Helm failed: ${thrown instanceof Error ? thrown.message : String(thrown)}` };
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** @returns what went wrong, in one sentence. */
function install(folder: string, env: Environment, pauseMs: number | undefined): Promise<string | undefined> {
  const args = ['install', '-p', '2', '-trimpath', '-ldflags=-s -w', `helm.sh/helm/v3/cmd/helm@${HELM_VERSION}`];
  return runGo({
    args,
    cwd: folder,
    env: { ...env, GOBIN: folder },
    limitMs: BUILD_LIMIT_MS,
    ...(pauseMs === undefined ? {} : { pauseMs }),
  });
}
