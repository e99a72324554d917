/** Where the programs of a control plane are: the folder of KUBEBUILDER_ASSETS, or a build in the user's cache. Starts nothing. */
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type Part = (typeof PARTS)[number];

/** How a program is called: the command and its first arguments. */
export type ProgramCall = readonly [string, ...string[]];
export type ControlPlanePrograms = Readonly<Record<Part, ProgramCall>>;

export type FoundPrograms =
  /** `notes`: sentences about a place that was passed over. */
  | { readonly kind: 'found'; readonly programs: ControlPlanePrograms; readonly origin: string; readonly notes: readonly string[] }
  /** One sentence about each place, then one for each way to get the programs. */
  | { readonly kind: 'missing'; readonly sentences: readonly string[] };

type Environment = Readonly<Record<string, string | undefined>>;

/** Of one build: `v1.36.3-linux-x64-<what it is made from>`. */
const BUILD = /^(v\d+\.\d+\.\d+)-([a-z0-9]+-[a-z0-9]+)-[0-9a-f]+$/;

/** The folder of builds, each with one program `control-plane` whose first argument names the part. */
export function buildsFolder(env: Environment): string {
  return join(env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache'), 'aks-autoscaler', 'control-plane');
}

/** A folder counts only if it has all programs: parts of different versions may not work with each other. */
export function findPrograms(env: Environment): FoundPrograms {
  const assets = env['KUBEBUILDER_ASSETS'] ?? '';
  const lacking = assets === '' ? PARTS : PARTS.filter((part) => !isExecutable(join(assets, part)));
  if (lacking.length === 0) return { kind: 'found', programs: programsOf((part) => [join(assets, part)]), origin: assets, notes: [] };
  const passedOver =
    assets === '' ? 'KUBEBUILDER_ASSETS is not set.' : `KUBEBUILDER_ASSETS (${assets}) has no program ${lacking.join(', ')}.`;
  const build = newestBuild(buildsFolder(env));
  if (build === undefined) return { kind: 'missing', sentences: [passedOver, ...waysToGetThem(env)] };
  return { kind: 'found', programs: programsOf((part) => [build, part]), origin: build, notes: assets === '' ? [] : [passedOver] };
}

function waysToGetThem(env: Environment): readonly string[] {
  return [
    `${buildsFolder(env)} has no build of a control plane.`,
    `Either put ${PARTS.join(', ')} of one version into a folder and set KUBEBUILDER_ASSETS to it: setup-envtest fetches the first two, and https://dl.k8s.io/release/VERSION/bin/linux/ARCH/NAME has all but etcd.`,
    'Or, in a checkout of aks-autoscaler with Go 1.26 or newer, run: npm run test:e2e -- --build-only',
  ];
}

function programsOf(callOf: (part: Part) => ProgramCall): ControlPlanePrograms {
  return Object.fromEntries(PARTS.map((part) => [part, callOf(part)])) as Record<Part, ProgramCall>;
}

/** By version; of several builds of one version, the last that was made. */
function newestBuild(folder: string): string | undefined {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const builds = names.flatMap((name) => {
    const [, version, machine] = BUILD.exec(name) ?? [];
    const program = join(folder, name, 'control-plane');
    const isUsable = version !== undefined && machine === `${process.platform}-${process.arch}` && isExecutable(program);
    return isUsable ? [{ version, program, madeMs: statSync(program).mtimeMs }] : [];
  });
  return builds.toSorted((left, right) => compareVersions(left.version, right.version) || left.madeMs - right.madeMs).at(-1)?.program;
}

function compareVersions(left: string, right: string): number {
  return left.localeCompare(right, 'en', { numeric: true });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    // Absent, or not a program for this user: the same to a caller.
    return false;
  }
}
