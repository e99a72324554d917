/** The commands of the documents, as they stand there, in a shell: kubectl and Helm against a real API server, the program and curl beside a running daemon. */
import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findHelm } from '../deploy/helm.ts';
import { aPool } from '../scenarios/support.ts';
import { documentCommands, whyNotRun } from '../support/document-commands.ts';
import { startPlaneForDaemon, E2eWorld } from './world.ts';
import type { ControlPlane } from '../../world/simulator/real-control-plane/control-plane.ts';
import type { Daemon } from './daemon.ts';
import { givenBinaries, givenProgram } from './given.ts';
import { until } from './until.ts';
import { barePod } from './workloads.ts';

const ROOT = resolve(import.meta.dirname, '..', '..');
const HELM = findHelm(process.env);
const CURL = ['/usr/bin/curl', '/usr/local/bin/curl', '/bin/curl'].find((file) => existsSync(file));
/** Commands that others need come first. */
const EARLY = [/^helm upgrade --install .*image\.repository/, /^kubectl get .* > cluster\.json$/, /^kubectl .* create /];

let plane: ControlPlane;
let world: E2eWorld;
let daemon: Daemon;
let folder: string;
let names: Readonly<Record<string, string>>;

function aProgram(name: string, text: string): void {
  writeFileSync(join(folder, name), `#!/bin/bash\n${text}\n`);
  chmodSync(join(folder, name), 0o755);
}

/** The program without a port to forward: it asks the daemon's address instead. */
const OWN = `node=${process.execPath}; main=${givenProgram()}
case "$*" in
  explain*--cluster*|plan*|doctor*|pause*|resume*|--help) exec "$node" "$main" "$@" ;;
  *) exec "$node" "$main" "$@" --url "$DAEMON" ;;
esac`;

function installPrograms(): void {
  const [kubectl, ...first] = givenBinaries().kubectl;
  aProgram('kubectl', `exec ${[kubectl, ...first].join(' ')} "$@"`);
  // The suite has applied the manifests: Helm takes over what it finds.
  aProgram('helm', `[ "$1" = template ] || set -- "$@" --take-ownership; exec ${HELM ?? 'helm'} "$@"`);
  aProgram('aks-autoscaler', OWN);
  // npm run [--silent] cli -- ARGUMENTS
  aProgram('npm', 'while [ "$1" != -- ]; do shift; done; shift; exec aks-autoscaler "$@"');
  const words = 'args=(); for a in "$@"; do args+=("${a/localhost:8085/${DAEMON#http://}}"); done';
  aProgram('curl', `${words}; exec ${CURL ?? 'curl'} --fail "\${args[@]}"`);
}

function installFiles(): void {
  for (const name of ['helm', 'deploy', 'config']) symlinkSync(join(ROOT, name), join(folder, name === 'helm' ? 'charts' : name));
  writeFileSync(join(folder, 'values.yaml'), 'autoDiscovery: {clusterName: shop}\n');
  writeFileSync(join(folder, 'ca.pem'), plane.caPem);
  writeFileSync(join(folder, 'pools.yaml'), '- {name: general, vmSize: Standard_D4s_v5, min: 1, max: 5}\n');
  const discovery = 'discovery: [{selectors: {cluster-autoscaler-enabled: "true"}}]\n';
  writeFileSync(join(folder, 'daemon.yaml'), discovery);
  writeFileSync(join(folder, 'config.yaml'), `${discovery}schedules: {rules: [{days: Mon-Fri, from: "07:30", to: "19:30", min: 1}]}\n`);
}

beforeAll(async () => {
  plane = await startPlaneForDaemon();
  world = await E2eWorld.start({ plane, pools: [aPool({ name: 'general', count: 1, min: 1, max: 1 })] });
  daemon = await world.daemon();
  await daemon.ready();
  folder = mkdtempSync(join(tmpdir(), 'aks-autoscaler-documents-'));
  installPrograms();
  installFiles();
  // It stays pending, so that there is something to explain.
  await world.apply(barePod({ name: 'giant', cpu: '64' }));
  await until('the daemon has a reason', async () => (await world.events('NotTriggerScaleUp'))[0]);
  const [node] = await world.nodes('general');
  names = {
    'NAMESPACE/NAME': `${world.namespace}/giant`,
    'node NAME': `node ${node?.metadata.name ?? ''}`,
    'node NODE': `node ${node?.metadata.name ?? ''}`,
    'pool NAME': 'pool general',
    'pool POOL': 'pool general',
    'pod POD': 'pod giant',
    '=POOL': '=general',
    '--config FILE': '--config daemon.yaml',
    'helm/aks-autoscaler': 'charts/aks-autoscaler',
  };
});

afterAll(async () => {
  await world?.stop();
  await plane?.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Ran {
  readonly code: number;
  readonly output: string;
}

/** In a shell; a filter at the end of a pipe may find nothing. */
function run(command: string): Promise<Ran> {
  const filled = Object.entries(names).reduce((text, [name, value]) => text.replaceAll(name, value), command);
  const env = {
    PATH: `${folder}:/usr/local/bin:/usr/bin:/bin`,
    HOME: folder,
    DAEMON: daemon.url,
    SUBSCRIPTION: 's',
    TENANT: 't',
    CLIENT: 'c',
    GROUP: 'shop',
    CLUSTER: 'shop',
    NODES: 'MC_shop',
    REGION: 'westeurope',
    ...world.environmentOf(join(folder, 'kubeconfig')),
  };
  return new Promise((done) => {
    const child = execFile(
      'bash',
      ['-c', `${filled}\nexit \${PIPESTATUS[0]}`],
      { cwd: folder, env, maxBuffer: 50_000_000 },
      (_error, out, err) => done({ code: child.exitCode ?? 1, output: `${filled}\n${out.slice(-2_000)}${err.slice(-2_000)}` }),
    );
  });
}

/** The tests of the chart say in one line that Helm is not there. */
function lacksProgram(command: string): boolean {
  return (HELM === undefined && command.startsWith('helm ')) || (CURL === undefined && command.startsWith('curl '));
}

function commandsToRun(): readonly string[] {
  const all = [...new Set(documentCommands().map(({ command }) => command))];
  const due = all.filter((command) => whyNotRun(command) === undefined && !lacksProgram(command));
  const rank = (command: string): number => {
    const at = EARLY.findIndex((pattern) => pattern.test(command));
    return at < 0 ? EARLY.length : at;
  };
  return due.toSorted((left, right) => rank(left) - rank(right));
}

describe('the commands of the documents', () => {
  it('work as they stand there', async () => {
    const config = JSON.parse(readFileSync(plane.adminKubeconfig, 'utf8')) as {
      readonly contexts: readonly { readonly context: object }[];
    };
    const contexts = config.contexts.map((entry) => ({ ...entry, context: { ...entry.context, namespace: world.namespace } }));
    writeFileSync(join(folder, 'kubeconfig'), JSON.stringify({ ...config, contexts }));
    const commands = commandsToRun();
    expect(commands.length).toBeGreaterThan(20);
    const failures: string[] = [];
    for (const command of commands) {
      const { code, output } = await run(command);
      if (code !== 0) failures.push(`exit code ${code}: ${output}`);
    }
    expect(failures.join('\n---\n')).toBe('');
  });
});
