/**
 * Where the control plane's programs come from: the folder of KUBEBUILDER_ASSETS, or a build of `control-plane/` with the
 * machine's Go, made once and kept in the user's cache by what it was made from. Other minor versions than the usual one have their
 * modules in `control-plane/1.N/`; their builds render no chart, because Helm's module follows the usual version. Starts nothing.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  buildsFolder,
  PARTS as CONTROL_PLANE_PARTS,
  type ProgramCall as Call,
} from '../../world/simulator/real-control-plane/find-programs.ts';
import { runGo } from '../support/go-build.ts';

const PARTS = [...CONTROL_PLANE_PARTS, 'kubectl'] as const;
type Part = (typeof PARTS)[number];

export interface Binaries extends Readonly<Record<Part, Call>> {
  /** Renders a chart with Helm's own engine: RELEASE NAMESPACE CHART [VALUES]. undefined: the folder of assets has none. */
  readonly template: Call | undefined;
}

export type Found =
  /** `version`: such as `v1.36.3`; `unknown` if the programs were given. */
  | { readonly kind: 'found'; readonly binaries: Binaries; readonly origin: string; readonly version: string }
  /** One sentence: what is missing, and how to get it. */
  | { readonly kind: 'missing'; readonly reason: string };

type Environment = Readonly<Record<string, string | undefined>>;

const MODULE = join(import.meta.dirname, 'control-plane');
/** Takes the place of template.go where Helm is not built in. */
const NO_TEMPLATE = `package main

import "errors"

func template([]string) error { return errors.New("this build renders no chart") }
`;

/** One version of Kubernetes: the texts of its module by file. */
interface Version {
  /** `v1.36.3` */
  readonly tag: string;
  readonly files: ReadonlyMap<string, string>;
  readonly rendersCharts: boolean;
}

const MINOR = /^1\.\d+$/;

/** The minor versions that can be built, `1.34` and so on, oldest first. */
function knownMinors(): readonly string[] {
  const others = readdirSync(MODULE).filter((name) => MINOR.test(name));
  return [...others, minorOf(usualVersion().tag)].sort((left, right) => left.localeCompare(right, 'en', { numeric: true }));
}

/** That of the usual build: the one whose modules Helm's module works with. */
export function usualMinor(): string {
  return minorOf(usualVersion().tag);
}

/** `v1.36.3` -> `1.36` */
export function minorOf(tag: string): string {
  return tag.replace(/^v/, '').split('.').slice(0, 2).join('.');
}

function usualVersion(): Version {
  return versionFrom(MODULE, ['go.mod', 'go.sum', 'main.go', 'template.go'], true);
}

/** undefined: this minor version is not known. */
function versionOf(minor: string | undefined): Version | undefined {
  const usual = usualVersion();
  if (minor === undefined || minor === minorOf(usual.tag)) return usual;
  const folder = join(MODULE, minor);
  if (!MINOR.test(minor) || !existsSync(folder)) return undefined;
  const { tag, files } = versionFrom(folder, ['go.mod', 'go.sum'], false);
  const main = readFileSync(join(MODULE, 'main.go'), 'utf8');
  return { tag, files: new Map([...files, ['main.go', main], ['no_template.go', NO_TEMPLATE]]), rendersCharts: false };
}

function versionFrom(folder: string, names: readonly string[], rendersCharts: boolean): Version {
  const files = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  return { tag: /k8s\.io\/kubernetes (v\S+)/.exec(files.get('go.mod') ?? '')?.[1] ?? 'v0.0.0', files, rendersCharts };
}

/** A cold build takes about ten minutes on two cores that have nothing else to do. */
const BUILD_LIMIT_MS = 30 * 60_000;

/**
 * Looks, and builds when nothing is there yet. Never rejects: what stands in the way is the answer. `minor`: such as `1.35`; KUBEBUILDER_ASSETS
 * counts only without it.
 */
export async function findBinaries(env: Environment, say: (line: string) => void, minor?: string): Promise<Found> {
  const version = versionOf(minor);
  if (version === undefined) return { kind: 'missing', reason: `Kubernetes ${minor} is not among ${knownMinors().join(', ')}` };
  if (minor !== undefined) return ofBuild(await buildOnce(version, env, say), version);
  const folder = env['KUBEBUILDER_ASSETS'] ?? '';
  const given = folder === '' ? [] : PARTS.filter((part) => existsSync(join(folder, part)));
  const own = new Map(given.map((part) => [part, [join(folder, part)] as const]));
  if (own.size === PARTS.length)
    return { kind: 'found', binaries: assemble((part) => own.get(part), undefined), origin: folder, version: 'unknown' };
  const built = await buildOnce(version, env, say);
  if (built.kind === 'missing') {
    const lacking = PARTS.filter((part) => !own.has(part)).join(', ');
    const where = folder === '' ? 'KUBEBUILDER_ASSETS is not set' : `KUBEBUILDER_ASSETS (${folder}) lacks ${lacking}`;
    return { kind: 'missing', reason: `${where}, and ${built.reason}` };
  }
  return {
    kind: 'found',
    binaries: assemble((part) => own.get(part) ?? [built.program, part], [built.program, 'template']),
    origin: own.size === 0 ? built.program : `${folder}, and ${built.program} for what it lacks`,
    version: own.size === 0 ? version.tag : 'unknown',
  };
}

function ofBuild(built: Built, { rendersCharts, tag }: Version): Found {
  if (built.kind === 'missing') return built;
  const { program } = built;
  const binaries = assemble((part) => [program, part], rendersCharts ? [program, 'template'] : undefined);
  return { kind: 'found', binaries, origin: program, version: tag };
}

function assemble(callOf: (part: Part) => Call | undefined, template: Call | undefined): Binaries {
  const calls = Object.fromEntries(PARTS.map((part) => [part, callOf(part) ?? [part]])) as Record<Part, Call>;
  return { ...calls, template };
}

type Built = { readonly kind: 'built'; readonly program: string } | { readonly kind: 'missing'; readonly reason: string };

async function buildOnce(version: Version, env: Environment, say: (line: string) => void): Promise<Built> {
  const folder = join(buildsFolder(env), cacheKey(version));
  const program = join(folder, 'control-plane');
  if (existsSync(program)) return { kind: 'built', program };
  const go = spawnSync('go', ['version'], { encoding: 'utf8', env });
  if (go.status !== 0)
    return { kind: 'missing', reason: 'there is no Go to build them with: install Go 1.26 or newer, or set that variable' };
  say(`building the control plane of ${version.tag} with ${go.stdout.trim()}; this happens once, and takes some minutes`);
  const unfinished = join(folder, `unfinished-${process.pid}`);
  const source = join(folder, `source-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await mkdir(source, { recursive: true });
    for (const [name, text] of version.files) await writeFile(join(source, name), text);
    const failure = await build(version, { source, output: unfinished }, { env, say });
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
    await rm(source, { recursive: true, force: true });
  }
}

/** `v1.36.3-linux-x64-<what it is made from>` */
function cacheKey({ tag, files }: Version): string {
  const hash = createHash('sha256');
  for (const text of files.values()) hash.update(text).update('\0');
  return `${tag}-${process.platform}-${process.arch}-${hash.digest('hex').slice(0, 12)}`;
}

/** Without symbols, and with the version that the server tells its clients. */
function linkerFlags(version: string): string {
  const [, major = '0', minor = '0'] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const facts = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: 'clean' };
  const settings = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((home) =>
    Object.entries(facts).map(([name, value]) => `-X ${home}.${name}=${value}`),
  );
  return ['-s', '-w', ...settings].join(' ');
}

/** @returns what went wrong, in one sentence. */
async function build(
  { tag }: Version,
  { source, output }: { readonly source: string; readonly output: string },
  { env, say }: { readonly env: Environment; readonly say: (line: string) => void },
): Promise<string | undefined> {
  // Two compilers at a time: more would need more memory than a small machine has.
  const args = ['build', '-p', '2', '-trimpath', '-buildvcs=false', `-ldflags=${linkerFlags(tag)}`, '-o', output, '.'];
  const startedMs = Date.now();
  const failure = await runGo({ args, cwd: source, env, limitMs: BUILD_LIMIT_MS });
  if (failure === undefined) say(`built in ${Math.round((Date.now() - startedMs) / 1000)} s`);
  return failure;
}
