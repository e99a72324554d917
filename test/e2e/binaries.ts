/**
 * Where the control plane's programs come from: the folder of KUBEBUILDER_ASSETS, or a build of `control-plane/` with the
 * machine's Go, made once and kept in the user's cache by what it was made from. Starts nothing.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runGo } from '../support/go-build.ts';

const PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'] as const;
export type Part = (typeof PARTS)[number];

/** How a program is called: the command and its first arguments. */
type Call = readonly [string, ...string[]];

export interface Binaries extends Readonly<Record<Part, Call>> {
  /** Renders a chart with Helm's own engine: RELEASE NAMESPACE CHART [VALUES]. undefined: the folder of assets has none. */
  readonly template: Call | undefined;
}

export type Found =
  | { readonly kind: 'found'; readonly binaries: Binaries; readonly origin: string }
  /** One sentence: what is missing, and how to get it. */
  | { readonly kind: 'missing'; readonly reason: string };

type Environment = Readonly<Record<string, string | undefined>>;

const MODULE = join(import.meta.dirname, 'control-plane');
const SOURCES = ['go.mod', 'go.sum', 'main.go', 'template.go'];
/** A cold build takes about ten minutes on two cores that have nothing else to do. */
const BUILD_LIMIT_MS = 30 * 60_000;

/** Looks, and builds when nothing is there yet. Never rejects: what stands in the way is the answer. */
export async function findBinaries(env: Environment, say: (line: string) => void): Promise<Found> {
  const folder = env['KUBEBUILDER_ASSETS'] ?? '';
  const given = folder === '' ? [] : PARTS.filter((part) => existsSync(join(folder, part)));
  const own = new Map(given.map((part) => [part, [join(folder, part)] as const]));
  if (own.size === PARTS.length) return { kind: 'found', binaries: assemble((part) => own.get(part), undefined), origin: folder };
  const built = await buildOnce(env, say);
  if (built.kind === 'missing') {
    const lacking = PARTS.filter((part) => !own.has(part)).join(', ');
    const where = folder === '' ? 'KUBEBUILDER_ASSETS is not set' : `KUBEBUILDER_ASSETS (${folder}) lacks ${lacking}`;
    return { kind: 'missing', reason: `${where}, and ${built.reason}` };
  }
  return {
    kind: 'found',
    binaries: assemble((part) => own.get(part) ?? [built.program, part], [built.program, 'template']),
    origin: own.size === 0 ? built.program : `${folder}, and ${built.program} for what it lacks`,
  };
}

function assemble(callOf: (part: Part) => Call | undefined, template: Call | undefined): Binaries {
  const calls = Object.fromEntries(PARTS.map((part) => [part, callOf(part) ?? [part]])) as Record<Part, Call>;
  return { ...calls, template };
}

type Built = { readonly kind: 'built'; readonly program: string } | { readonly kind: 'missing'; readonly reason: string };

async function buildOnce(env: Environment, say: (line: string) => void): Promise<Built> {
  const cache = join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'aks-autoscaler', 'control-plane');
  const folder = join(cache, cacheKey());
  const program = join(folder, 'control-plane');
  if (existsSync(program)) return { kind: 'built', program };
  const go = spawnSync('go', ['version'], { encoding: 'utf8' });
  if (go.status !== 0)
    return { kind: 'missing', reason: 'there is no Go to build them with: install Go 1.26 or newer, or set that variable' };
  say(`building the control plane with ${go.stdout.trim()}; this happens once, and takes some minutes`);
  const unfinished = join(folder, `unfinished-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    const failure = await build(unfinished, env, say);
    if (failure !== undefined) return { kind: 'missing', reason: `building them failed: ${failure}` };
    const tried = spawnSync(unfinished, ['etcd', '--version'], { encoding: 'utf8' });
    if (tried.status !== 0)
      return { kind: 'missing', reason: `what was built does not run: ${tried.error?.message ?? tried.stderr.trim()}` };
    // Whoever looks meanwhile sees a whole program or none.
    await rename(unfinished, program);
    return { kind: 'built', program };
  } catch (thrown) {
    return { kind: 'missing', reason: `building them failed: ${thrown instanceof Error ? thrown.message : String(thrown)}` };
  } finally {
    await rm(unfinished, { force: true });
  }
}

/** `v1.36.3-linux-x64-<what it is made from>` */
function cacheKey(): string {
  const hash = createHash('sha256');
  for (const file of SOURCES) hash.update(readFileSync(join(MODULE, file))).update('\0');
  return `${kubernetesVersion()}-${process.platform}-${process.arch}-${hash.digest('hex').slice(0, 12)}`;
}

/** As the module asks for it: `v1.36.3`. */
function kubernetesVersion(): string {
  return /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8'))?.[1] ?? 'v0.0.0';
}

/** Without symbols, and with the version that the server tells its clients. */
function linkerFlags(): string {
  const version = kubernetesVersion();
  const [, major = '0', minor = '0'] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const facts = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const settings = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((home) =>
    Object.entries(facts).map(([name, value]) => `-X ${home}.${name}=${value}`),
  );
  return ['-s', '-w', ...settings].join(' ');
}

/** @returns what went wrong, in one sentence. */
async function build(output: string, env: Environment, say: (line: string) => void): Promise<string | undefined> {
  // Two compilers at a time: more would need more memory than a small machine has.
  const args = ['build', '-p', '2', '-trimpath', '-buildvcs=false', `-ldflags=${linkerFlags()}`, '-o', output, '.'];
  const startedMs = Date.now();
  const failure = await runGo({ args, cwd: MODULE, env, limitMs: BUILD_LIMIT_MS });
  if (failure === undefined) say(`built in ${Math.round((Date.now() - startedMs) / 1000)} s`);
  return failure;
}
