/** Reads the policies before anything runs: a mistake in one of them must not cost an hour. */
import { loadConfig } from '../../config/load.ts';
import { isConfigErrors, type Config, type ConfigErrors } from '../../config/types/config.ts';
import { CLIENT } from '../../lab/client-files.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import type { Terminal } from '../process/process.ts';
import type { PolicyFile } from './lab-options.ts';
import type { RunOrder } from './run-orders.ts';

interface CheckedPolicies {
  readonly policies: readonly RunOrder['policy'][];
  /** What a reader must know about the policies, as sentences. */
  readonly notes: readonly string[];
  /** Every mistake, as sentences. */
  readonly errors: readonly string[];
}

export function checkPolicies(files: readonly PolicyFile[], { readFile }: Pick<Terminal, 'readFile'>): CheckedPolicies {
  const checked = files.map((policy) => ({ policy, config: configOf(policy, readFile, []) }));
  return {
    policies: checked.flatMap(({ policy, config }) => (isConfigErrors(config) ? [] : [{ ...policy, selectsPools: selectsPools(config) }])),
    notes: checked.flatMap(({ policy, config }) => (isConfigErrors(config) ? [] : notesOf(policy, config, readFile))),
    errors: checked.flatMap(({ policy: { file }, config }) =>
      isConfigErrors(config) ? config.errors.map((error) => `${file}: ${error}`) : [],
    ),
  };
}

function selectsPools({ azure }: Config): boolean {
  return azure.nodeGroups.length + azure.discovery.length > 0;
}

/** A policy that selects no pools runs with all of them, and so does its check. */
function notesOf(policy: PolicyFile, config: Config, readFile: Terminal['readFile']): readonly string[] {
  const asRun = selectsPools(config)
    ? config
    : configOf(policy, readFile, ['--node-group-auto-discovery=label:cluster-autoscaler-enabled=true']);
  const isDry = config.dryRun ? [`${policy.name} is configured as a dry run; in the laboratory it acts.`] : [];
  return [...isDry, ...(isConfigErrors(asRun) ? [] : asRun.warnings.map((warning) => `${policy.name}: ${warning}`))];
}

/** With the connection of a simulated world, which no policy needs to have. */
function configOf({ file }: PolicyFile, readFile: Terminal['readFile'], flags: readonly string[]): Config | ConfigErrors {
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
  return loadConfig({ argv: [`--config=${file}`, '--leader-elect=false', ...flags], env, readFile });
}
