/** Starts the image of the simulated cluster as a container runtime would: user 65532, a read-only root, a writable `/tmp`; and asks it for its state. */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { USER } from './base-images.ts';
import { stop, untilRunning } from './trial-run.ts';

const ENTRY_POINT = ['/nodejs/bin/node', '/world/aks-autoscaler.mjs', 'emulate', '--dir', '/tmp/world'];

/** Needs root. `root`: the unpacked image. @returns what it serves. @throws Error if it does not. */
export async function runWorldInChroot(root: string): Promise<string> {
  mkdirSync(join(root, 'proc'), { recursive: true });
  mkdirSync(join(root, 'tmp'), { recursive: true });
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  const script =
    'set -e; mount --bind "$1" "$1"; mount -t proc proc "$1/proc"; mount -o remount,ro,bind "$1"; mount -t tmpfs tmpfs "$1/tmp"; chmod 1777 "$1/tmp"; ' +
    `root=$1; shift; exec chroot --userspec=${USER}:${USER} "$root" "$@"`;
  const child = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', root, ...ENTRY_POINT], { env: {}, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const url = /(https:\/\/localhost:\d+\/_emu\/state)/.exec(await untilRunning(child))?.[1] ?? '';
    const ca = readFileSync(join(`/proc/${child.pid ?? 0}/root`, 'tmp/world/ca.pem'), 'utf8');
    const { sets } = JSON.parse(await textOf(url, ca)) as { readonly sets: readonly { readonly pool: string }[] };
    return `user ${USER}, read-only root, pools ${sets.map(({ pool }) => pool).join(', ')}`;
  } finally {
    await stop(child);
  }
}

function textOf(url: string, ca: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { ca }, (reply) => {
      const parts: Buffer[] = [];
      reply.on('data', (part: Buffer) => parts.push(part));
      reply.on('end', () => resolve(Buffer.concat(parts).toString('utf8')));
    }).on('error', reject);
  });
}
