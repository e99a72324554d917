import { Readable } from 'node:stream';
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dispatch } from '../../src/cli/dispatch.ts';
import { dumpRecord } from '../../src/loop/replay/dump.ts';
import { aGroup, aPod, resourceNames } from '../support/builders.ts';
import { aStage } from '../loop/support.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const GOOD_ENV = {
  ARM_SUBSCRIPTION_ID: 'sub',
  ARM_RESOURCE_GROUP: 'rg',
  LOCATION: 'westeurope',
  ARM_TENANT_ID: 'tenant',
  ARM_CLIENT_ID: 'client',
  ARM_CLIENT_SECRET: 'hush',
};

/** A port on which nobody listens: one that was free a moment ago. */
function deadPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

/** A kubeconfig whose server takes connections and never says a word; `asked` resolves when somebody has connected. */
async function silentServer() {
  const asked = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    asked.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { url: `https://127.0.0.1:${port}`, asked: asked.promise, close };
}

describe('a stop before the daemon is up', () => {
  it('during the first question to the API server ends at once, cleanly', async () => {
    const server = await silentServer();
    const dir = temporaryFolder();
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server: server.url } }],
      users: [{ name: 'u', user: { token: 't' } }],
    };
    writeFileSync(join(dir, 'kubeconfig'), JSON.stringify(kubeconfig));
    const listeners: (() => void)[] = [];
    let out = '';
    const ended = dispatch(['run', `--kubeconfig=${join(dir, 'kubeconfig')}`], {
      env: GOOD_ENV,
      out: (text) => void (out += text),
      err: () => undefined,
      readFile: () => '',
      readChunks: () => Readable.from([]),
      hostname: 'here',
      signals: { on: (_name, listener) => void listeners.push(listener), off: () => undefined, exit: () => undefined },
    });
    onTestFinished(() => server.close());
    await server.asked;
    listeners[0]?.();
    // The request's own limit of 10 s would end it with an error.
    expect(await ended).toBe(0);
    expect(out).toContain('Stopping');
    expect(out).not.toContain('"level":"error"');
  });
});

describe('the command line', () => {
  it.each([[['help']], [['--help']], [[]]])('%j shows the commands', async (argv) => {
    const { code, out, err } = await runCommand(argv);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const name of ['run', 'demo', 'emulate', 'replay', 'version']) expect(out).toContain(`  ${name}`);
  });

  it.each([
    ['flags alone', []],
    ["the Cluster Autoscaler's program", ['./cluster-autoscaler']],
    ['its name', ['cluster-autoscaler']],
  ])('%s at the beginning: the arguments are those of run, as a Deployment has them', async (_what, program) => {
    const { code, err } = await runCommand([...program, '--v=4', '--cloud-provider=azure', '--expander=cheapest', '--nodes=1:3:p'], {
      env: GOOD_ENV,
    });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^flag --expander is "cheapest"; it must be /) });
  });

  it('run --help lists every flag with its default', async () => {
    const { code, out } = await runCommand(['run', '--help']);
    expect(code).toBe(0);
    expect(out).toMatch(/--scan-interval +.*default 10s/);
    expect(out).toContain('--node-group-auto-discovery');
  });

  it.each([
    ['an unknown command', ['emulte'], '"emulte" is not a command; did you mean emulate?\n'],
    [
      'nothing like a command',
      ['xyzzy'],
      '"xyzzy" is not a command; the commands are run, demo, emulate, lab, plan, explain, pause, resume, report, init, doctor, record, replay, help, version.\n',
    ],
    [
      'a name of Object',
      ['constructor'],
      '"constructor" is not a command; the commands are run, demo, emulate, lab, plan, explain, pause, resume, report, init, doctor, record, replay, help, version.\n',
    ],
    ['replay of nothing', ['replay'], 'replay needs exactly one FILE, as written to --dump-directory; see replay --help.\n'],
    ['replay of a missing file', ['replay', 'x.json'], 'File "x.json" cannot be read (ENOENT).\n'],
  ])('%s is one sentence and exit code 2', async (_what, argv, sentence) => {
    expect(await runCommand(argv)).toEqual({ code: 2, out: '', err: sentence });
  });

  it('wrong configuration is a line per mistake and exit code 2', async () => {
    const { code, out, err } = await runCommand(['run', '--scan-interval=soon', '--bogus'], {
      env: { ...GOOD_ENV, AZURE_VMSS_CACHE_TTL: 'abc' },
    });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err.trimEnd().split('\n')).toHaveLength(3);
    expect(err).not.toContain('    at ');
  });

  it('a cluster that does not answer is one sentence and exit code 1', async () => {
    const port = await deadPort();
    const kubeconfig = [
      'apiVersion: v1',
      'kind: Config',
      `clusters: [{name: c, cluster: {server: "https://127.0.0.1:${port}"}}]`,
      'users: [{name: u, user: {token: t}}]',
      'contexts: [{name: x, context: {cluster: c, user: u}}]',
      'current-context: x',
    ].join('\n');
    const dir = temporaryFolder();
    const path = join(dir, 'kubeconfig');
    writeFileSync(path, kubeconfig);
    const { code, out, err } = await runCommand(['run', `--kubeconfig=${path}`, '--nodes=0:1:a', '--address=127.0.0.1:0'], {
      env: GOOD_ENV,
    });
    expect(code).toBe(1);
    expect(err.trimEnd().split('\n')).toHaveLength(1);
    expect(err).toMatch(/[.]\n$/);
    expect(err).toContain(String(port));
    expect(err).not.toContain('    at ');
    expect(out).not.toContain('hush');
  });
});

describe('replay', () => {
  it('prints the plan and compares it with the recorded one', async () => {
    const stage = aStage({ groups: [aGroup({ id: 'a', target: 0 })], pods: [aPod({ cpu: '2' })] });
    await stage.runOnce();
    const record = stage.records[0];
    if (record === undefined) throw new Error('nothing was recorded');
    const dump = dumpRecord(record, resourceNames);
    const same = await runCommand(['replay', 'd.json'], { files: { 'd.json': dump } });
    expect(same).toMatchObject({ code: 0, err: '' });
    expect(same.out).toContain('The plan equals the recorded one.');
    expect(same.out).toContain('"group": "a"');
    const other = await runCommand(['replay', 'd.json'], { files: { 'd.json': dump.replace('"to":1', '"to":2') } });
    expect(other.code).toBe(1);
    expect(other.out).toContain('DIFFERS');
  });
});
