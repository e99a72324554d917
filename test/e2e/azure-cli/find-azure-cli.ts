/**
 * Where Azure's CLI comes from: the PATH, or an installation from the Python registry, made once and kept in the user's cache. Without Python or the
 * registry its cases are skipped. Signs in nowhere.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** The folder of the program `az`, for the tests. If absent, the cases are skipped. */
const FOLDER_VARIABLE = 'AKS_AUTOSCALER_E2E_AZURE_CLI';
const VERSION = '2.91.0';
/** It downloads about 60 MB and unpacks some ten thousand files. */
const INSTALL_LIMIT_MS = 30 * 60_000;

type Environment = Readonly<Record<string, string | undefined>>;

export type FoundAzureCli =
  | { readonly kind: 'found'; readonly variables: Readonly<Record<string, string>> }
  | { readonly kind: 'missing'; readonly reason: string };

/** The folder that `findAzureCli` has found. undefined: the cases are skipped. */
export function givenAzureCli(): string | undefined {
  return process.env[FOLDER_VARIABLE];
}

/** Looks, and installs once. Never throws: what is missing is the answer, in one sentence. */
export function findAzureCli(env: Environment, say: (line: string) => void): FoundAzureCli {
  const onPath = (env['PATH'] ?? '').split(delimiter).find((folder) => folder !== '' && existsSync(join(folder, 'az')));
  if (onPath !== undefined) return { kind: 'found', variables: { [FOLDER_VARIABLE]: onPath } };
  const cache = join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'aks-autoscaler', 'azure-cli', VERSION);
  const az = join(cache, 'bin', 'az');
  const whole = join(cache, 'whole');
  const found = { kind: 'found', variables: { [FOLDER_VARIABLE]: dirname(az) } } as const;
  if (existsSync(whole)) return found;
  say(`installing Azure's CLI ${VERSION} into ${cache}; this happens once, and takes some minutes`);
  rmSync(cache, { recursive: true, force: true });
  const failure =
    failureOf('python3', ['-m', 'venv', cache], env) ??
    failureOf(join(cache, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', `azure-cli==${VERSION}`], env);
  if (failure !== undefined) {
    rmSync(cache, { recursive: true, force: true });
    return { kind: 'missing', reason: `there is no az on the PATH, and its installation failed: ${failure}` };
  }
  writeFileSync(whole, '');
  return found;
}

function failureOf(program: string, args: readonly string[], env: Environment): string | undefined {
  const { status, error, stderr } = spawnSync(program, args, { env, encoding: 'utf8', timeout: INSTALL_LIMIT_MS });
  if (status === 0) return undefined;
  return error?.message ?? stderr.trim().split('\n').at(-1) ?? `${program} ended with ${status}`;
}
