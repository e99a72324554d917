/**
 * Reads every source, merges them (defaults < --cloud-config < --config < environment < flags), checks the whole against
 * the one schema, and returns a frozen Config, or every mistake as one sentence each. Pure but for the given `readFile`.
 */
import * as z from 'zod';
import type { Policy } from '../domain/policy.ts';
import { AutoscalerError } from '../lib/errors.ts';
import { cloudNamed, STACK } from './schema/azure.ts';
import { idleSettings, withoutIdleName, sentencesOf } from './schema/messages.ts';
import { backoff, capacity, cluster, drain, scaleDown, scaleUp, scaleUpPricedElsewhere } from './schema/policy.ts';
import { SCHEMA, type Parsed } from './schema/schema.ts';
import { cloudConfigLayer, endpointsLayer, ENDPOINTS_VARIABLE } from './sources/cloud-config.ts';
import { configFileLayer } from './sources/config-file.ts';
import { environmentLayer } from './sources/environment.ts';
import { flagLayer } from './sources/flags.ts';
import { EMPTY_LAYER, isDocument, mergeLayers, type Document, type Layer } from './sources/layers.ts';
import type { Config, ConfigErrors, ConfigInput, RetailPricesConfig } from './types/config.ts';
import { defined } from '../lib/defined.ts';

type Reading = { readonly text: string } | { readonly error: string };

/** A configuration with the settings it was made from, by dotted key; values as JSON, for comparing and nothing else: secrets are among them. */
export interface Settings {
  readonly config: Config;
  readonly leaves: ReadonlyMap<string, string>;
}

export function loadConfig(input: ConfigInput): Config | ConfigErrors {
  const settings = loadSettings(input);
  return 'errors' in settings ? settings : settings.config;
}

/** The files that the arguments name: what a change of the configuration is a change of. */
export function configFiles(argv: readonly string[]): readonly string[] {
  const { configFile, cloudConfigFile } = flagLayer(argv);
  return [configFile, cloudConfigFile].filter((file) => file !== undefined);
}

export function loadSettings(input: ConfigInput): Settings | ConfigErrors {
  const flags = flagLayer(input.argv);
  const files = [
    fileLayer('--cloud-config', flags.cloudConfigFile, input, cloudConfigLayer),
    fileLayer('--config', flags.configFile, input, configFileLayer),
  ];
  const given = [environmentLayer(input.env), flags];
  const layers = [...files, endpointsOf(mergeLayers([...files, ...given]).document, input), ...given];
  const { merged, warnings: idle } = withoutIdleName(mergeLayers(layers));
  const parsed = SCHEMA.safeParse(merged.document);
  const ca = caFileOf(merged.document, input);
  const errors = [
    ...layers.flatMap((layer) => layer.errors),
    ...(parsed.success ? [] : sentencesOf(parsed.error.issues, merged)),
    ...(ca !== undefined && 'error' in ca ? [ca.error] : []),
  ];
  if (errors.length > 0 || !parsed.success) return { errors: errors.map(oneLine) };
  const caPem = ca !== undefined && 'text' in ca ? ca.text : undefined;
  const warnings = [...layers.flatMap((layer) => layer.warnings), ...idle, ...idleSettings(parsed.data)].map(oneLine);
  const config = deepFreeze(assemble(parsed.data, { caPem, warnings, hostname: input.hostname }));
  return { config, leaves: new Map(leavesOf(merged.document, [])) };
}

const LONGEST = 1_000;

/** Whatever the user wrote stands in it: no line breaks, no control characters, and no end of the world. */
function oneLine(sentence: string): string {
  const short = sentence.length > LONGEST ? `${sentence.slice(0, LONGEST)}...` : sentence;
  return short.replace(/\p{Cc}/gu, (sign) => JSON.stringify(sign).slice(1, -1));
}

function leavesOf(document: Document, above: readonly string[]): readonly (readonly [string, string])[] {
  return Object.entries(document).flatMap(([key, value]) => {
    const path = [...above, key];
    return isDocument(value) ? leavesOf(value, path) : [[path.join('.'), JSON.stringify(value) ?? ''] as const];
  });
}

function fileLayer(flag: string, path: string | undefined, input: ConfigInput, parse: (file: string, text: string) => Layer): Layer {
  if (path === undefined) return EMPTY_LAYER;
  const reading = readText(flag, path, input);
  if ('text' in reading && input.refuseEmptyFiles === true && reading.text.trim() === '')
    return { ...EMPTY_LAYER, errors: [`${flag} is "${path}": it is empty; write {} for a file without settings.`] };
  return 'error' in reading ? { ...EMPTY_LAYER, errors: [reading.error] } : parse(path, reading.text);
}

/** What names endpoints itself goes before the file. Other clouds have their own, and the file is not even looked at. */
function endpointsOf(document: Document, input: ConfigInput): Layer {
  const file = input.env[ENDPOINTS_VARIABLE]?.trim() ?? '';
  if (file === '') return EMPTY_LAYER;
  const cloud = isDocument(document['azure']) ? document['azure']['cloud'] : undefined;
  if (typeof cloud === 'string' && cloud.trim().toLowerCase() === STACK) return fileLayer(ENDPOINTS_VARIABLE, file, input, endpointsLayer);
  const warning = `environment variable ${ENDPOINTS_VARIABLE} has no effect: it counts for AzureStackCloud alone.`;
  return { ...EMPTY_LAYER, warnings: [warning] };
}

function readText(what: string, path: string, input: ConfigInput): Reading {
  try {
    return { text: input.readFile(path) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const why = code === 'ENOENT' ? 'there is no such file' : `it cannot be read (${code})`;
    return { error: `${what} is "${path}": ${why}.` };
  }
}

function caFileOf(document: Readonly<Record<string, unknown>>, input: ConfigInput): Reading | undefined {
  const azure = document['azure'];
  if (typeof azure !== 'object' || azure === null || !('caFile' in azure) || typeof azure.caFile !== 'string') return undefined;
  const reading = readText('azure.caFile', azure.caFile, input);
  if ('text' in reading && !reading.text.includes('-----BEGIN CERTIFICATE-----')) {
    return { error: `azure.caFile is "${azure.caFile}"; accepted is a file of PEM certificates.` };
  }
  return reading;
}

interface Extras {
  readonly caPem: string | undefined;
  readonly warnings: readonly string[];
  readonly hostname: string | undefined;
}

function assemble(parsed: Parsed, extras: Extras): Config {
  const { retailPrices, ...scaleUp } = parsed.scaleUp;
  return {
    azure: { ...azureOf(parsed, extras.caPem), retailPrices },
    kubernetes: kubernetesOf(parsed, extras.hostname),
    policy: {
      cluster: parsed.cluster,
      scaleUp,
      scaleDown: parsed.scaleDown,
      backoff: parsed.backoff,
      drain: parsed.drain,
      capacity: parsed.capacity,
    },
    loop: parsed.loop,
    http: parsed.http,
    health: parsed.health,
    metrics: parsed.metrics,
    logLevel: parsed.logLevel,
    dumpDirectory: parsed.dumpDirectory,
    dryRun: parsed.dryRun,
    warnings: extras.warnings,
  };
}

function azureOf(
  { azure, nodeGroups, nodeGroupOptions, discovery }: Parsed,
  caPem: string | undefined,
): Omit<Config['azure'], 'retailPrices'> {
  const cloud = cloudNamed(azure.cloud);
  return {
    subscriptionId: azure.subscriptionId,
    tenantId: azure.tenantId,
    nodeResourceGroup: azure.resourceGroup,
    clusterName: azure.clusterName,
    clusterResourceGroup: azure.clusterResourceGroup,
    location: azure.location,
    metadataEndpoint: azure.metadataEndpoint,
    armEndpoint: azure.armEndpoint ?? cloud?.armEndpoint ?? '',
    authorityHost: azure.authorityHost ?? cloud?.authorityHost ?? '',
    scopes: azure.scopes,
    caPem,
    credential: azure.credential,
    vmssCacheTtlMs: azure.cache.vmssTtl,
    spotSizeTtlMs: azure.cache.spotSizeTtl,
    vmssVmsCacheTtlMs: azure.cache.vmssVmsTtl,
    vmssVmsCacheJitterMs: azure.cache.vmssVmsJitter,
    skuCacheTtlMs: azure.cache.skuTtl,
    skuFolder: azure.cache.skuFolder,
    agents: azure.agents,
    enableVmssEtag: azure.enableVmssEtag,
    enableForceDelete: azure.enableForceDelete,
    writePath: azure.writePath,
    nodeGroups,
    nodeGroupOptions,
    discovery,
    requestTimeoutMs: azure.requestTimeout,
    maxConcurrentCalls: azure.maxConcurrentCalls,
    rateLimit: azure.rateLimit,
    readRetries: azure.readRetries,
    userAgentSuffix: azure.userAgentSuffix,
  };
}

function kubernetesOf({ kubernetes, dryRun }: Parsed, hostname: string | undefined): Config['kubernetes'] {
  const { kubeconfig, context, apiServer } = kubernetes;
  return {
    ...defined({ kubeconfigPath: kubeconfig, context, apiServer }),
    namespace: kubernetes.namespace,
    // A dry run stands beside the autoscaler that does the work, and must not keep it from leading.
    leaseName: dryRun ? `${kubernetes.leaseName}-dry-run` : kubernetes.leaseName,
    leaseNamespace: kubernetes.leaseNamespace ?? kubernetes.namespace,
    leaseTiming: {
      durationMs: kubernetes.leaseDuration,
      renewDeadlineMs: kubernetes.leaseRenewDeadline,
      retryMs: kubernetes.leaseRetryPeriod,
    },
    identity: kubernetes.identity ?? hostname ?? 'aks-autoscaler',
    leaderElect: kubernetes.leaderElect,
    eventSource: kubernetes.eventSource,
    statusConfigMap: kubernetes.statusConfigMap && !dryRun,
    statusConfigMapName: kubernetes.statusConfigMapName,
    heedResourceLocker: kubernetes.heedResourceLocker,
  };
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

// The part of a configuration that decisions are made by, without the part that says how to reach a cluster.

const PARTS = z.object({ cluster, scaleUp, scaleDown, backoff, drain, capacity });
const PARTS_PRICED_ELSEWHERE = PARTS.extend({ scaleUp: scaleUpPricedElsewhere });

export interface LoadedPolicy {
  readonly policy: Policy;
  /** undefined: the public price list is not used. */
  readonly retailPrices: RetailPricesConfig | undefined;
  /** Whether the file says which expanders to use. */
  readonly hasChain: boolean;
}

/**
 * Defaults where the file says nothing; no file: all defaults. `pricedElsewhere`: a chain with price needs no prices of the file.
 * @throws AutoscalerError `config` with the first mistake's sentence.
 */
export function loadPolicy(file?: { readonly name: string; readonly text: string }, pricedElsewhere = false): LoadedPolicy {
  const layer = file === undefined ? undefined : configFileLayer(file.name, file.text);
  const merged = mergeLayers(layer === undefined ? [] : [layer]);
  const parsed = (pricedElsewhere ? PARTS_PRICED_ELSEWHERE : PARTS).safeParse(merged.document);
  const mistake = layer?.errors[0] ?? (parsed.success ? undefined : sentencesOf(parsed.error.issues, merged)[0]);
  if (mistake !== undefined || !parsed.success) throw new AutoscalerError({ kind: 'config' }, mistake ?? 'The configuration is not valid.');
  const { retailPrices, ...scaleUpPolicy } = parsed.data.scaleUp;
  return { policy: { ...parsed.data, scaleUp: scaleUpPolicy }, retailPrices, hasChain: merged.origins.has('scaleUp.expanders') };
}
