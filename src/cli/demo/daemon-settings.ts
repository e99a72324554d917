/**
 * What the demo's daemon is told. The program is the production one; only its patience is shortened, because the minutes
 * that an operator wants between "unneeded" and "gone" would make a long demo.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const SETTINGS = `# Written by the demo. The daemon is unmodified; these are ordinary settings.
discovery:
  - selectors:
      cluster-autoscaler-enabled: "true"
kubernetes:
  leaderElect: true
scaleDown:
  unneededTime: 5s
  delayAfterAdd: 4s
  delayAfterFailure: 3s
  unremovableRecheck: 2s
  maxDrainParallelism: 4
drain:
  delayAfterTaint: 1s
  evictionRetry: 1s
loop:
  scanInterval: 2s
http:
  address: 127.0.0.1:0
`;

/** Arguments and environment of the daemon's process, for a world whose client files are in `dir`. */
export async function daemonSettings(
  dir: string,
  env: Readonly<Record<string, string | undefined>>,
  { armUrl, dryRun }: { readonly armUrl: string; readonly dryRun: boolean },
): Promise<{ readonly args: readonly string[]; readonly env: Readonly<Record<string, string | undefined>> }> {
  const config = join(dir, 'daemon.yaml');
  await mkdir(join(dir, 'decisions'), { recursive: true });
  await writeFile(config, `${SETTINGS}dryRun: ${dryRun}\ndumpDirectory: ${JSON.stringify(join(dir, 'decisions'))}\n`);
  return {
    args: ['run', `--config=${config}`, `--cloud-config=${join(dir, 'azure.json')}`, `--kubeconfig=${join(dir, 'kubeconfig')}`],
    env: {
      PATH: env['PATH'],
      HOME: env['HOME'],
      AZURE_RESOURCE_MANAGER_ENDPOINT: armUrl,
      AZURE_AUTHORITY_HOST: armUrl,
      AZURE_CA_FILE: join(dir, 'ca.pem'),
    },
  };
}
