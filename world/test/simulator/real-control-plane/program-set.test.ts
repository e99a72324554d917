/** Programs of a control plane as processes: shells take their place here. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { createServer, type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { beforeEach, describe, expect, it } from 'vitest';
import { startControlPlane } from '../../../simulator/real-control-plane/control-plane.ts';
import type { ControlPlanePrograms, ProgramCall } from '../../../simulator/real-control-plane/find-programs.ts';
import { ProgramSet } from '../../../simulator/real-control-plane/program-set.ts';
import { isThere } from '../../../../test/support/process-group.ts';
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts';

const ROOM = resolve(import.meta.dirname, '..', '..', '..', 'simulator', 'real-control-plane');

let base: string;
let dir: string;
beforeEach(() => {
  base = temporaryFolder();
  dir = join(base, 'of-the-set');
  mkdirSync(dir);
});

/** Every part is this shell script. */
function shells(script: string): ControlPlanePrograms {
  const call: ProgramCall = ['/bin/sh', '-c', script, 'sh'];
  return { etcd: call, 'kube-apiserver': call, 'kube-controller-manager': call, 'kube-scheduler': call };
}

async function untilGone(pid: number): Promise<void> {
  while (isThere(pid)) await setImmediate();
}

describe('the programs of a control plane', () => {
  it('report one that ends without a request, with the end of its log', async () => {
    const set = new ProgramSet({ programs: shells('echo first; echo the last words >&2; exit 3'), dir, searchPath: process.env['PATH'] });
    set.start('kube-scheduler', []);
    expect((await set.failed).message).toBe('kube-scheduler ended with 3. The end of its log:\nfirst\nthe last words');
    await set.stop();
  });

  it('report one that cannot be started', async () => {
    const programs = { ...shells(''), etcd: ['/nowhere/etcd'] as const };
    const set = new ProgramSet({ programs, dir, searchPath: process.env['PATH'] });
    set.start('etcd', []);
    expect((await set.failed).message).toContain('etcd ended with spawn /nowhere/etcd ENOENT.');
    await set.stop();
  });

  it('end on request without a report, and their folder is gone', async () => {
    const set = new ProgramSet({ programs: shells('exec sleep 1000'), dir, searchPath: process.env['PATH'] });
    set.start('etcd', []);
    set.start('kube-scheduler', []);
    await set.stop();
    expect(await Promise.race([set.failed, Promise.resolve('no report')])).toBe('no report');
    expect(existsSync(dir)).toBe(false);
  });

  it('end with the process that started them, although it was killed, and so does their folder', async () => {
    const source = `
      import { ProgramSet } from ${JSON.stringify(join(ROOM, 'program-set.ts'))};
      const programs = { etcd: ['/bin/sh', '-c', 'echo "$$" > "$HOME/pid"; exec sleep 1000'] };
      const set = new ProgramSet({ programs, dir: ${JSON.stringify(dir)}, searchPath: process.env.PATH });
      set.start('etcd', []);
      const { readFileSync, watch } = await import('node:fs');
      const look = () => {
        try { const pid = readFileSync(${JSON.stringify(join(dir, 'pid'))}, 'utf8'); if (pid.endsWith('\\n')) process.stdout.write(pid); } catch {}
      };
      watch(${JSON.stringify(dir)}, look);
      look();
    `;
    const parent = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', source], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: parent.stdout });
    const pid = await new Promise<number>((found) => lines.once('line', (line) => found(Number(line))));
    expect(isThere(pid)).toBe(true);
    parent.kill('SIGKILL');
    await untilGone(pid);
    while (existsSync(dir)) await setImmediate();
  });
});

describe('the start of a control plane', () => {
  it('fails at once if a program ends, with the end of its log', async () => {
    const programs = shells('echo "listen tcp 127.0.0.1: address already in use" >&2; exit 1');
    await expect(startControlPlane({ programs, searchPath: process.env['PATH'] })).rejects.toThrow(
      'etcd ended with 1. The end of its log:\nlisten tcp 127.0.0.1: address already in use',
    );
  });

  it('fails at once although another server has the port of the API server, and never answers', async () => {
    const silent = createServer();
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
    const { port } = silent.address() as AddressInfo;
    const store = `
      const url = process.argv.find((argument) => argument.startsWith('--listen-client-urls=')).split('=')[1];
      require('node:http').createServer((_request, response) => response.end('{}')).listen(new URL(url).port, '127.0.0.1');
    `;
    const programs = { ...shells('echo "bind: address already in use" >&2; exit 1'), etcd: [process.execPath, '-e', store, '--'] as const };
    await expect(startControlPlane({ programs, searchPath: process.env['PATH'], port })).rejects.toThrow(
      'kube-apiserver ended with 1. The end of its log:\nbind: address already in use',
    );
    silent.close();
  });
});
