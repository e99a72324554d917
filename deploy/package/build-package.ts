/**
 * `npm run package [-- --out DIR]`: makes the package for npm, with the program, the simulated cluster, the entry `aks-autoscaler/world` and
 * its types, all bundled: installing it fetches nothing else. Prints the path of the archive.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { licenceTexts } from '../image/licence-texts.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const BANNER = "import{createRequire}from'node:module';const require=createRequire(import.meta.url);";
/** In the page and in the plots of reports, which are bundled by programs of their own. */
const PAGE_PACKAGES = ['node_modules/preact', 'node_modules/uplot'];
const PACKAGE_FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
/** Without the ending. */
const WORLD = 'world/simulator/entry/world-entry';

interface Manifest {
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

function run(command: string, args: readonly string[]): string {
  const path = `${join(ROOT, 'node_modules', '.bin')}${delimiter}${process.env['PATH'] ?? ''}`;
  return execFileSync(command, args, { cwd: ROOT, env: { ...process.env, PATH: path }, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Returns the folders of the packages in it. */
function bundle(dir: string): readonly string[] {
  const metafile = join(dir, 'bundle.json');
  for (const builder of ['src/page/build-page.ts', 'world/lab/report/build-charts.ts'])
    run(process.execPath, ['--disable-warning=ExperimentalWarning', builder, `--outdir=${dir}`]);
  run('esbuild', [
    'main=src/cli/main.ts',
    `world=${WORLD}.ts`,
    '--bundle',
    '--splitting',
    '--platform=node',
    '--format=esm',
    '--target=node20',
    '--minify',
    '--log-level=error',
    `--outdir=${dir}`,
    `--metafile=${metafile}`,
    '--out-extension:.js=.mjs',
    // The demo starts processes from the source; the page and the plots are built already.
    '--external:../../world/commands/demo/demo-command.ts',
    '--external:../../page/build-page.ts',
    '--external:./build-charts.ts',
    `--banner:js=${BANNER}`,
  ]);
  const { inputs } = JSON.parse(readFileSync(metafile, 'utf8')) as { readonly inputs: Readonly<Record<string, unknown>> };
  rmSync(metafile);
  return [...new Set([...PAGE_PACKAGES, ...Object.keys(inputs).flatMap((path) => PACKAGE_FOLDER.exec(path) ?? [])])];
}

function declare(dir: string): void {
  const config = join(dir, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    stripInternal: true,
    outDir: join(dir, 'types'),
    rootDir: ROOT,
    typeRoots: [join(ROOT, 'node_modules', '@types')],
  };
  const files = [join(ROOT, `${WORLD}.ts`)];
  writeFileSync(config, JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, files, include: [] }));
  run('tsc', ['-p', config]);
  rmSync(config);
  removeUnused(join(dir, 'types'));
}

/** The compiler writes the types of every file that the entry needs at run time. */
function removeUnused(types: string): void {
  const used = new Set([join(types, `${WORLD}.d.ts`)]);
  for (const file of used) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)\.ts'/g)) used.add(`${join(dirname(file), path)}.d.ts`);
  }
  for (const file of readdirSync(types, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isFile() && !used.has(path)) rmSync(path);
  }
}

function describe(dir: string): void {
  const { version, description, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;
  const manifest = {
    name: 'aks-autoscaler',
    version,
    description,
    license,
    type: 'module',
    engines: { node: '>=20' },
    bin: { 'aks-autoscaler': './aks-autoscaler.mjs' },
    exports: { './world': { types: `./types/${WORLD}.d.ts`, default: './world.mjs' } },
  };
  writeFileSync(join(dir, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  writeFileSync(join(dir, 'aks-autoscaler.mjs'), "#!/usr/bin/env node\nimport './main.mjs';\n");
  chmodSync(join(dir, 'aks-autoscaler.mjs'), 0o755);
  cpSync(join(ROOT, 'LICENSE'), join(dir, 'LICENSE'));
  cpSync(join(ROOT, 'world', 'docs', 'README.md'), join(dir, 'README.md'));
}

const { values } = parseArgs({ options: { out: { type: 'string' } } });
const out = resolve(values.out ?? join(ROOT, 'dist', 'npm'));
const dir = join(out, 'package');
rmSync(dir, { recursive: true, force: true });
mkdirSync(dir, { recursive: true });
const packages = bundle(dir);
writeFileSync(join(dir, 'third-party-licences.txt'), licenceTexts(packages.map((folder) => join(ROOT, folder))));
declare(dir);
describe(dir);
const archive = run('npm', ['pack', dir, '--pack-destination', out, '--silent']).trim();
process.stdout.write(`${join(out, archive)}\n`);
