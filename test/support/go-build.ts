/**
 * Runs the machine's Go for a build. Names the true cause of a failure, and tries again after a while where a proxy was slow or away: what came
 * stays in Go's cache.
 */
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

export interface GoBuild {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For all tries together, milliseconds. */
  readonly limitMs: number;
  /** Default: `go`. */
  readonly program?: string;
  /** Before the second try; each later one is three times as long. */
  readonly pauseMs?: number;
}

const MOST_TRIES = 4;
const PAUSE_MS = 5_000;

/** What downloads run into, behind a proxy or without one. It may pass. */
const NETWORK =
  /i\/o timeout|TLS handshake timeout|connection (?:refused|reset|timed out)|no such host|unexpected EOF|Client\.Timeout|context deadline exceeded|proxyconnect|server misbehaving|50[234] |429 /i;
/** What else ends a build, whatever Go prints after it. */
const CAUSES =
  /no space left on device|cannot allocate memory|signal: killed|requires go >= |toolchain not available|checksum mismatch|SECURITY ERROR|x509: |40[1347] |410 Gone|cannot find module|undefined: |permission denied/i;

/** @returns the cause in one line; undefined: it was built. Never rejects. */
export async function runGo(build: GoBuild): Promise<string | undefined> {
  const endsAtMs = Date.now() + build.limitMs;
  for (let tries = 1; ; tries++) {
    const result = await runOnce(build, Math.max(1, endsAtMs - Date.now()));
    if (result === undefined) return undefined;
    if (!NETWORK.test(result) || tries === MOST_TRIES || Date.now() >= endsAtMs)
      return tries === 1 ? result : `${result} (after ${tries} tries)`;
    await sleep(Math.min((build.pauseMs ?? PAUSE_MS) * 3 ** (tries - 1), Math.max(0, endsAtMs - Date.now())));
  }
}

function runOnce({ args, cwd, env, program = 'go' }: GoBuild, leftMs: number): Promise<string | undefined> {
  const child = spawn(program, args, { cwd, env: { HOME: homedir(), ...env, CGO_ENABLED: '0' }, stdio: ['ignore', 'ignore', 'pipe'] });
  const tooLong = setTimeout(() => child.kill('SIGINT'), leftMs);
  const startedMs = Date.now();
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text = `${text}${String(chunk)}`.slice(-200_000);
  });
  return new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => {
      const seconds = Math.round((Date.now() - startedMs) / 1000);
      const late = signal !== null && Date.now() - startedMs >= leftMs;
      resolve(code === 0 ? undefined : late ? `given up after ${seconds} s while ${lastStep(text)}` : causeOf(text));
    });
  }).finally(() => clearTimeout(tooLong));
}

/** The line that says why, not the last one: Go goes on after a failed download, and ends with what it did not get to. */
export function causeOf(text: string): string {
  const lines = linesOf(text).filter((line) => !line.startsWith('go: downloading ') && !line.startsWith('# '));
  const found =
    lines.find((line) => CAUSES.test(line)) ?? lines.find((line) => NETWORK.test(line)) ?? lines.find((line) => line.startsWith('go: '));
  return found ?? lines.at(-1) ?? 'Go ended without a word';
}

/** What a build that was given up did last. */
function lastStep(text: string): string {
  const last = linesOf(text).at(-1) ?? '';
  return last.startsWith('go: downloading ') ? last.slice('go: '.length) : 'compiling';
}

function linesOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
