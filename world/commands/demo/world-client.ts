/** Reads and changes the simulated world as kubectl and the Azure portal would: over HTTPS, with the world's own CA. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import { AutoscalerError } from '../../../src/lib/errors.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface WorldClient {
  readonly kubeUrl: string;
  readonly armUrl: string;
  kube(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: Json): Promise<Json>;
  /** The simulator's control API, which real Azure does not have. */
  control(method: 'GET' | 'POST' | 'PUT', path: string, body?: Json): Promise<Json>;
  close(): Promise<void>;
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly users: readonly { readonly user: { readonly token: string } }[];
}

/** Reads the files that `emulate --dir` wrote. */
export async function connectWorld(dir: string): Promise<WorldClient> {
  const kubeconfig = parse(await readFile(join(dir, 'kubeconfig'), 'utf8')) as Kubeconfig;
  const env = await readFile(join(dir, 'env'), 'utf8');
  const armUrl = /AZURE_RESOURCE_MANAGER_ENDPOINT='([^']+)'/.exec(env)?.[1];
  const kubeUrl = kubeconfig.clusters[0]?.cluster.server;
  const token = kubeconfig.users[0]?.user.token;
  if (armUrl === undefined || kubeUrl === undefined || token === undefined) {
    throw new AutoscalerError({ kind: 'bug' }, `The files in ${dir} do not describe a simulated world.`);
  }
  const agent = new Agent({ connect: { ca: await readFile(join(dir, 'ca.pem'), 'utf8') } });
  const call = async (url: string, method: string, body: Json | undefined, headers: Readonly<Record<string, string>>): Promise<Json> => {
    const response = await request(url, {
      dispatcher: agent,
      method: method as 'GET',
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.body.text();
    if (response.statusCode >= 300) {
      throw new AutoscalerError({ kind: 'bug' }, `${method} ${url} returned ${response.statusCode}: ${text.slice(0, 200)}`);
    }
    return text === '' ? {} : (JSON.parse(text) as Json);
  };
  return {
    kubeUrl,
    armUrl,
    kube: (method, path, body) => call(kubeUrl + path, method, body, { authorization: `Bearer ${token}` }),
    control: (method, path, body) => call(armUrl + path, method, body, {}),
    close: () => agent.close(),
  };
}

/** A write that the daemon of a dry run did not make: one entry of its /debug/withheld. */
export interface WithheldWrite {
  readonly kind: string;
  readonly subject: string;
  readonly detail: string;
  readonly times: number;
}
