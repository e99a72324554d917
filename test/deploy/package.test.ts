/** The package for npm, as people use it: installed into an empty folder, without a network. */
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..', '..');
const EXAMPLES = join(ROOT, 'world', 'docs', 'examples');
const NODE = process.execPath;
const env = { ...process.env, PATH: [dirname(NODE), process.env['PATH'] ?? ''].join(delimiter), npm_config_offline: 'true' };

let dir: string;
const run = (command: string, args: readonly string[]): string =>
  execFileSync(command, args, { cwd: dir, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

beforeAll(() => {
  const out = mkdtempSync(join(tmpdir(), 'aks-autoscaler-package-'));
  dir = join(out, 'project');
  mkdirSync(dir);
  writeFileSync(join(dir, 'package.json'), '{"private": true, "type": "module"}');
  const build = ['--disable-warning=ExperimentalWarning', join(ROOT, 'deploy', 'package', 'build-package.ts'), '--out', out];
  const archive = execFileSync(NODE, build, { cwd: ROOT, env, encoding: 'utf8' }).trim();
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', archive]);
});

afterAll(() => rmSync(dirname(dir), { recursive: true, force: true }));

describe('the package', () => {
  it('needs no other package, and is small', () => {
    expect(readdirSync(join(dir, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['aks-autoscaler']);
    const archive = readdirSync(dirname(dir)).find((name) => name.endsWith('.tgz')) ?? '';
    expect(statSync(join(dirname(dir), archive)).size).toBeLessThan(3 * 2 ** 20);
  });

  it('has the licences of what is bundled in it', () => {
    const text = readFileSync(join(dir, 'node_modules', 'aks-autoscaler', 'third-party-licences.txt'), 'utf8');
    for (const name of ['@azure/identity', '@marcbachmann/cel-js', 'preact', 'uplot', 'zod'])
      expect(text).toMatch(new RegExp(`^${name} [0-9.]+ \\(`, 'm'));
  });

  it('starts a world in one command, which stops on SIGTERM', async () => {
    const child = spawn('npx', ['aks-autoscaler', 'emulate', '--dir', 'world'], {
      cwd: dir,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    let out = '';
    const ended = new Promise((done) => child.once('close', done));
    await new Promise<void>((ready) => {
      child.stdout.on('data', (part: Buffer) => {
        out += part.toString();
        if (out.includes('stops it.')) ready();
      });
      void ended.then(() => ready());
    });
    expect(out).toContain('A simulated AKS cluster is running');
    expect(out).toContain('npx aks-autoscaler run --cloud-config');
    expect(readdirSync(join(dir, 'world')).sort()).toEqual([
      'azure-environment.json',
      'azure.json',
      'ca.pem',
      'cluster-autoscaler.json',
      'env',
      'kubeconfig',
    ]);
    process.kill(-(child.pid ?? 0), 'SIGTERM');
    await ended;
  });

  it('compares policies in the laboratory, with plots, in processes of its own', () => {
    writeFileSync(join(dir, 'today.yaml'), 'loop: {scanInterval: 30s}\n');
    const out = run('npx', [
      'aks-autoscaler',
      'lab',
      'run',
      'ci-bursts',
      '--policy',
      'today.yaml',
      '--for',
      '3m',
      '--seeds',
      '1',
      '--out',
      'lab',
    ]);
    expect(out).toContain('Only today ran');
    expect(readdirSync(join(dir, 'lab')).sort()).toEqual(['lab-ci-bursts.html', 'lab-ci-bursts.json', 'lab-ci-bursts.md']);
    // The plotting library is in it.
    expect(readFileSync(join(dir, 'lab', 'lab-ci-bursts.html'), 'utf8')).toMatch(/<script>[^]{30000,}<\/script>/);
  });

  it('has types that a strict program compiles with', () => {
    const program = `import { startWorld, type PoolState, type StartOptions } from 'aks-autoscaler/world';
const options: StartOptions = { clock: { virtual: true }, pools: [{ name: 'a', vmSize: 'Standard_D4s_v5', count: 1, min: 0, max: 3 }] };
const world = await startWorld(options);
const pool: PoolState = world.pool('a');
world.addFault({ id: 'f', match: { pool: pool.name }, effect: { kind: 'delay', ms: 5 } });
await world.until(({ pods }) => pods().pending.length === 0);
// @ts-expect-error no such event
world.raise({ nonsense: {} });
`;
    writeFileSync(join(dir, 'program.mts'), program);
    const flags = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', '', '--skipLibCheck', 'false'];
    expect(run(join(ROOT, 'node_modules', '.bin', 'tsc'), [...flags, 'program.mts'])).toBe('');
  });

  it('runs the examples of the documentation', () => {
    const text = readFileSync(join(ROOT, 'world', 'docs', 'README.md'), 'utf8');
    for (const example of readdirSync(EXAMPLES)) {
      expect(text).toContain(`\`\`\`js\n${readFileSync(join(EXAMPLES, example), 'utf8')}\`\`\``);
      cpSync(join(EXAMPLES, example), join(dir, example));
    }
    expect(run(NODE, ['--test', 'scale-up.test.mjs'])).toContain('pass 1');
    symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(dir, 'node_modules', 'vitest'));
    writeFileSync(join(dir, 'vitest.config.mjs'), "export default { test: { include: ['*.vitest.mjs'] } };\n");
    expect(run(NODE, [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--root', dir])).toMatch(/1 passed/);
  });
});
