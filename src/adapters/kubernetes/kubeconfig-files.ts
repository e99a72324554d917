/** What KUBECONFIG names: one file or, as kubectl takes it, a list of them. */
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import type { KubeConfig } from './kube-config.ts';

/**
 * Reads the file, or every file of the list that is there: of what has the same name the first counts, and of contexts the
 * first that is current. Throws as the client package does when nothing can be read.
 */
export function loadKubeconfig(config: KubeConfig, path: string, another: () => KubeConfig): void {
  const listed = path.split(delimiter).filter((file) => file !== '');
  const present = existsSync(path) ? [path] : listed.filter((file) => existsSync(file));
  const [first = path, ...more] = present;
  config.loadFromFile(first);
  for (const file of more) {
    const next = another();
    next.loadFromFile(file);
    next.clusters = without(next.clusters, config.clusters);
    next.users = without(next.users, config.users);
    next.contexts = without(next.contexts, config.contexts);
    // Said to be a text; a file without one leaves it undefined.
    config.mergeConfig(next, Boolean(config.currentContext));
  }
}

function without<Named extends { readonly name: string }>(named: readonly Named[], known: readonly Named[]): Named[] {
  return named.filter(({ name }) => !known.some((each) => each.name === name));
}
