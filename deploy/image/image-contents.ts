/** What the image may contain, by the list of its files. Pure. */

/** Programs that give an intruder a foothold: shells, package managers, downloaders, and everything that sets a user id. */
const FORBIDDEN_NAMES = /^(sh|bash|dash|ash|busybox|zsh|csh|apt|apt-get|dpkg|rpm|apk|npm|npx|yarn|perl|python3?|curl|wget|su|sudo|mount)$/;
const PROGRAM_FOLDER = /(^|\/)(bin|sbin)\//;
/** Development, tests and the simulated world have no place in production. */
const FORBIDDEN_PATHS = /(^|\/)(node_modules|\.git|test|simulator)\/|\.ts$|\.map$/;

const REQUIRED = [
  'nodejs/bin/node',
  'app/main.mjs',
  'app/page.html',
  'cluster-autoscaler',
  'licenses/LICENSE',
  'licenses/third-party-licences.txt',
  'licenses/sbom.cdx.json',
  'etc/ssl/certs/ca-certificates.crt',
  'etc/passwd',
] as const;

/** @returns one sentence for each thing that is wrong; none: the image is as it should be. `paths` are relative to its root. */
export function findingsIn(paths: readonly string[]): readonly string[] {
  const has = new Set(paths);
  return [
    ...REQUIRED.filter((path) => !has.has(path)).map((path) => `${path} is missing`),
    ...paths.filter(isForbiddenProgram).map((path) => `${path} is a program that the daemon does not need`),
    ...paths.filter((path) => FORBIDDEN_PATHS.test(path)).map((path) => `${path} belongs to development`),
  ];
}

function isForbiddenProgram(path: string): boolean {
  return PROGRAM_FOLDER.test(path) && FORBIDDEN_NAMES.test(path.slice(path.lastIndexOf('/') + 1));
}
