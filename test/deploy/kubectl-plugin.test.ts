import { execFile } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PLUGIN = resolve(import.meta.dirname, '../../deploy/kubectl-aks_autoscaler');

it('the kubectl plugin runs the bundle with the arguments as given', async () => {
  const dir = temporaryFolder();
  await writeFile(join(dir, 'main.mjs'), 'process.stdout.write(JSON.stringify(process.argv.slice(2)));');
  // As kubectl finds it: by its name on the PATH, possibly through a link.
  await symlink(PLUGIN, join(dir, 'kubectl-aks_autoscaler'));
  const env = { ...process.env, AKS_AUTOSCALER_HOME: dir };
  const { stdout } = await promisify(execFile)(join(dir, 'kubectl-aks_autoscaler'), ['explain', 'pod', 'a b/c'], { env });
  expect(JSON.parse(stdout)).toEqual(['explain', 'pod', 'a b/c']);
});
