/**
 * Runs our daemon and another autoscaler side by side, each in a fresh simulated world, and prints tables.
 *
 * `npm run versus -- --rival cluster-autoscaler=PATH [--case NAME] [--speed N] [--dir DIR] [--json]`
 */
import { mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CASES } from './cases.ts';
import { ownDaemons, rivals } from './contestants.ts';
import { race, type RaceResult } from './race.ts';
import { type CaseResults, renderVersus } from './report.ts';

const WITHOUT = `No other autoscaler was named, so nothing was compared.

Build a Cluster Autoscaler with its Azure provider for this machine; it needs Go 1.26:

  git clone --depth 1 --branch cluster-autoscaler-1.36.1 https://github.com/kubernetes/autoscaler
  cd autoscaler/cluster-autoscaler && CGO_ENABLED=0 go build -tags azure -o cluster-autoscaler .

Its go.mod replaces k8s.io/autoscaler/cluster-autoscaler/apis by ./apis, which a clone has. Then give its path:

  npm run versus -- --rival cluster-autoscaler=PATH

It signs in and scales with cluster-autoscaler.json, which the world writes; see docs/comparison.md.
`;

const { values } = parseArgs({
  options: {
    rival: { type: 'string' },
    case: { type: 'string', multiple: true },
    speed: { type: 'string', default: '5' },
    dir: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const [name = '', path] = (values.rival ?? '').split('=');
if (path === undefined) {
  process.stdout.write(WITHOUT);
  process.exit(0);
}
if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
  process.stderr.write(`--rival names "${path}", which is not a file.\n`);
  process.exit(2);
}

const speed = Number(values.speed);
const dir = resolve(values.dir ?? mkdtempSync(join(tmpdir(), 'versus-')));
const wanted = CASES.filter((scene) => values.case === undefined || values.case.includes(scene.name));
if (wanted.length === 0) {
  process.stderr.write(`Unknown case; there are: ${CASES.map((scene) => scene.name).join(', ')}.\n`);
  process.exit(2);
}
const contestants = [...ownDaemons(resolve('dist/main.mjs')), ...rivals(name, resolve(path))];

const all: CaseResults[] = [];
for (const scene of wanted) {
  const results: readonly RaceResult[] = await Promise.all(
    contestants
      .filter(({ isOurs, only = scene.name }) => (isOurs || scene.notForRivals === undefined) && only === scene.name)
      .map((contestant) =>
        race({ contestant, scene, speed, dir: join(dir, `${scene.name}-${contestant.name}`.replaceAll(/[ ,]+/g, '-')) }),
      ),
  );
  all.push({ scene, results });
  if (!values.json) process.stdout.write(`${renderVersus([{ scene, results }])}\n`);
  process.stderr.write(`${scene.name}: done. Logs: ${dir}\n`);
}
if (values.json) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
