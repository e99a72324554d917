/**
 * `init`: reads a cluster with the rights of the caller and prints what an installation needs. Changes nothing. Must not know how the
 * parts of an installation are found.
 */
import { parseArgs } from 'node:util';
import { loadConfig } from '../../config/load.ts';
import { isConfigErrors, type Config } from '../../config/types/config.ts';
import { configError } from '../../lib/errors.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { EXIT_OK, systemClock, type Terminal } from '../../cli/process/process.ts';
import { wrongArguments } from '../../cli/process/wrong-arguments.ts';
import { scriptOf } from './install-script.ts';
import { planInstallation } from './installation.ts';

const HELP = `Print what an installation in a cluster needs: the chart's values, custom roles for its kinds of pools,
and the commands in order. Reads the cluster with your rights and changes nothing.

Usage: init --resource-group GROUP --name CLUSTER [--subscription ID] [--values | --json]

  --resource-group GROUP  the resource group of the cluster
  --name CLUSTER          its name
  --subscription ID       its subscription (default: $ARM_SUBSCRIPTION_ID)
  --values                print the chart's values alone, for a file
  --json                  print values, roles and commands as JSON

Signs in as the Azure CLI (az login), unless the environment has another identity.

  aks-autoscaler init --resource-group shop --name shop --values > values.yaml
  aks-autoscaler init --resource-group shop --name shop > install.sh

Exit code: 0 printed, 1 failed, 2 wrong use.
`;

const OPTIONS = {
  'resource-group': { type: 'string', short: 'g' },
  name: { type: 'string', short: 'n' },
  subscription: { type: 'string' },
  values: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

const TIMEOUT_MS = 60_000;
/** A file in memory: without another identity, the caller's own. */
const OWN_IDENTITY = 'init: azure-cli';

/** @returns the exit code. @throws AutoscalerError with one sentence for wrong use, or if the cluster cannot be read. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const values = readArguments(argv);
  if (values.help === true) {
    terminal.out(HELP);
    return EXIT_OK;
  }
  const { 'resource-group': resourceGroup, name: clusterName } = values;
  if (resourceGroup === undefined || clusterName === undefined)
    throw configError('init needs --resource-group and --name; see init --help.');
  const config = configOf({ resourceGroup, clusterName, subscription: values.subscription }, terminal);
  const { subscriptionId } = config.azure;
  if (subscriptionId === undefined)
    throw configError('init needs --subscription ID, or ARM_SUBSCRIPTION_ID; az account show --query id prints it.');
  // Loaded only now: the SDKs are most of the program.
  const { describeCluster } = await import('../doctor/azure/cluster-description.ts');
  const options = { ...config.azure, subscriptionId, location: '', nodeResourceGroup: '' };
  const facts = await describeCluster({ options, clock: systemClock, metrics: createMetrics() }, AbortSignal.timeout(TIMEOUT_MS));
  const installation = planInstallation({ facts, subscriptionId, resourceGroup, clusterName });
  if (values.json === true) terminal.out(`${JSON.stringify(installation, undefined, 2)}\n`);
  else terminal.out(values.values === true ? installation.values : scriptOf(installation));
  return EXIT_OK;
}

interface NamedCluster {
  readonly resourceGroup: string;
  readonly clusterName: string;
  readonly subscription: string | undefined;
}

function configOf({ resourceGroup, clusterName, subscription }: NamedCluster, terminal: Terminal): Config {
  const env = {
    ...terminal.env,
    CLUSTER_NAME: clusterName,
    ARM_CLUSTER_RESOURCE_GROUP: resourceGroup,
    ...(subscription === undefined ? {} : { ARM_SUBSCRIPTION_ID: subscription }),
  };
  const load = (argv: readonly string[]): ReturnType<typeof loadConfig> =>
    loadConfig({
      argv,
      env,
      readFile: (path) => (path === OWN_IDENTITY ? 'azure: {credential: {method: azure-cli}}' : terminal.readFile(path)),
      hostname: terminal.hostname,
    });
  const given = load([]);
  const config = isConfigErrors(given) ? load([`--config=${OWN_IDENTITY}`]) : given;
  if (isConfigErrors(config)) throw configError(config.errors[0] ?? 'The environment is not valid.');
  return config;
}

function readArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true }).values;
  } catch (cause) {
    throw wrongArguments(cause, 'init');
  }
}
