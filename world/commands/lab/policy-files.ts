/** Reads the policies before anything runs: a mistake in one of them must not cost an hour. */
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors, type Config, type ConfigErrors } from '../../../src/config/types/config.ts';
import { CLIENT } from '../../lab/client-files.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import type { Terminal } from '../../../src/cli/process/process.ts';
import type { PolicyFile } from './lab-options.ts';

interface CheckedPolicies {
  /** What a reader must know about the policies, as sentences. */
  readonly notes: readonly string[];
  /** Every mistake, as sentences. */
  readonly errors: readonly string[];
}

export function checkPolicies(files: readonly PolicyFile[], { readFile }: Pick<Terminal, 'readFile'>): CheckedPolicies {
  const checked = files.map((policy) => ({ policy, config: configOf(policy, readFile) }));
  return {
    notes: checked.flatMap(({ policy: { name }, config }) => (isConfigErrors(config) ? [] : notesOf(name, config))),
    errors: checked.flatMap(({ policy: { file }, config }) =>
      isConfigErrors(config) ? config.errors.map((error) => `${file}: ${error}`) : [],
    ),
  };
}

function notesOf(name: string, { dryRun, warnings }: Config): readonly string[] {
  const isDry = dryRun ? [`${name} is configured as a dry run; in the laboratory it acts.`] : [];
  return [...isDry, ...warnings.map((warning) => `${name}: ${warning}`)];
}

/** With the connection of a simulated world, which no policy needs to have. */
function configOf({ file }: PolicyFile, readFile: Terminal['readFile']): Config | ConfigErrors {
  const spec = smallWorld(1);
  const env = {
    ARM_SUBSCRIPTION_ID: spec.subscriptionId,
    ARM_TENANT_ID: spec.tenantId,
    ARM_RESOURCE_GROUP: spec.nodeResourceGroup,
    ARM_CLUSTER_RESOURCE_GROUP: spec.clusterResourceGroup,
    CLUSTER_NAME: spec.clusterName,
    LOCATION: spec.location,
    ARM_CLIENT_ID: CLIENT.clientId,
    ARM_CLIENT_SECRET: CLIENT.clientSecret,
  };
  return loadConfig({ argv: [`--config=${file}`, '--leader-elect=false'], env, readFile });
}
