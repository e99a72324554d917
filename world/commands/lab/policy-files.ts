/** Reads the policies before anything runs: a mistake in one of them must not cost an hour. */
import { loadConfig } from '../../../src/config/load.ts';
import { isConfigErrors, type Config, type ConfigErrors } from '../../../src/config/types/config.ts';
import { CLIENT } from '../../lab/client-files.ts';
import { type Contract, NO_CONTRACT } from '../../lab/judge/price-list.ts';
import { smallWorld } from '../../simulator/sample-worlds.ts';
import type { Terminal } from '../../../src/cli/process/process.ts';
import type { PolicyFile } from './lab-options.ts';

interface CheckedPolicies {
  /** By which all runs are billed: a contract is a fact and no policy. */
  readonly contract: Contract;
  /** In which policies read prices. */
  readonly currencies: readonly { readonly policy: string; readonly currency: string }[];
  /** What a reader must know about the policies, as sentences. */
  readonly notes: readonly string[];
  /** Every mistake, as sentences. */
  readonly errors: readonly string[];
}

export function checkPolicies(files: readonly PolicyFile[], { readFile }: Pick<Terminal, 'readFile'>): CheckedPolicies {
  const checked = files.map((policy) => ({ policy, config: configOf(policy, readFile) }));
  const stated = checked.flatMap(({ policy: { name }, config }) => (isConfigErrors(config) ? [] : statedContract(name, config)));
  return {
    currencies: checked.flatMap(({ policy: { name }, config }) =>
      isConfigErrors(config) || config.azure.retailPrices === undefined
        ? []
        : [{ policy: name, currency: config.azure.retailPrices.currency }],
    ),
    contract: stated[0]?.contract ?? NO_CONTRACT,
    notes: [
      ...checked.flatMap(({ policy: { name }, config }) => (isConfigErrors(config) ? [] : notesOf(name, config))),
      ...contractNotes(stated),
    ],
    errors: checked.flatMap(({ policy: { file }, config }) =>
      isConfigErrors(config) ? config.errors.map((error) => `${file}: ${error}`) : [],
    ),
  };
}

interface StatedContract {
  readonly policy: string;
  readonly contract: Contract;
}

function statedContract(policy: string, { policy: { scaleUp } }: Config): readonly StatedContract[] {
  const { prices, priceDiscounts, paidNodes } = scaleUp;
  if (prices === undefined && priceDiscounts.length === 0 && paidNodes.length === 0) return [];
  return [{ policy, contract: { prices, priceDiscounts, paidNodes } }];
}

function contractNotes([first, ...others]: readonly StatedContract[]): readonly string[] {
  if (first === undefined) return [];
  const different = others
    .filter(({ contract }) => JSON.stringify(contract) !== JSON.stringify(first.contract))
    .map(({ policy }) => policy);
  return [
    `All costs follow the prices, discounts and paid nodes that ${first.policy} states.`,
    ...different.map((policy) => `${policy} states others: they change what it does, not how its costs are counted.`),
  ];
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
