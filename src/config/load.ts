/**
 * Reads every source, merges them (defaults < --cloud-config < --config < environment < flags), and checks the result
 * against the schema. Returns a frozen Config, or every error as one sentence each. Pure except for the given `readFile`.
 * Must not know who uses a setting.
 */
import * as z from 'zod';
import { NO_SCHEDULES, type Schedules } from '../domain/schedule-rules.ts';
import type { Policy } from '../domain/policy.ts';
import { configError } from '../lib/errors.ts';
import { azureSectionOf } from './schema/azure-section.ts';
import { STACK } from './schema/azure.ts';
import { ineffectiveSettings, withoutIneffectiveClusterName, messagesOf } from './schema/messages.ts';
import { backoff, capacity, cluster, drain, scaleDown, scaleUp, scaleUpPricedElsewhere } from './schema/policy.ts';
import { repack } from './schema/repack.ts';
import { priceListOf, type RetailPricesConfig } from './schema/retail-prices.ts';
import { nodeGroupOptions } from './schema/node-groups.ts';
import { rulesWithDates, schedules } from './schema/schedules.ts';
import { constraintsOfProfiles, spreadDefaultsOf, type ProfileConstraint } from './schema/spread-defaults.ts';
import { SCHEMA, type Parsed } from './schema/schema.ts';
import { datesOfCalendar, type CalendarDates } from './sources/calendar-files.ts';
import { wrongCaFile } from './sources/ca-file.ts';
import { cloudConfigLayer, endpointsLayer, ENDPOINTS_VARIABLE } from './sources/cloud-config.ts';
import { configFileLayer } from './sources/config-file.ts';
import { environmentLayer } from './sources/environment.ts';
import { flagLayer } from './sources/flags.ts';
import { profilesWithDefaults } from './sources/scheduler-config.ts';
import { EMPTY_LAYER, mergeLayers, type Document, type Layer, type Merged } from './sources/layers.ts';
import type { Config, ConfigErrors, ConfigInput } from './types/config.ts';
import { defined } from '../lib/defined.ts';
import { isRecord } from '../lib/json.ts';

/** The schema is used once: its compilation into a function would take longer than the check itself. */
const ONCE = { jitless: true } as const;

type Reading = { readonly text: string } | { readonly error: string };

/**
 * A configuration with the settings that it was made from, by dotted key. The values are JSON and contain secrets: use them
 * for comparison only.
 */
export interface Settings {
  readonly config: Config;
  readonly leaves: ReadonlyMap<string, string>;
  /** Files that the settings name and whose content is part of the configuration. */
  readonly files: readonly string[];
}

export function loadConfig(input: ConfigInput): Config | ConfigErrors {
  const settings = loadSettings(input);
  return 'errors' in settings ? settings : settings.config;
}

/** Returns the configuration files that the arguments name. */
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
  const layers = [...files, endpointsFileLayer(mergeLayers([...files, ...given]).document, input), ...given];
  const { merged, warnings: idle } = withoutIneffectiveClusterName(mergeLayers(layers));
  const parsed = SCHEMA.safeParse(merged.document, ONCE);
  const ca = caFileOf(merged.document, input);
  const calendars = parsed.success ? calendarsOf(parsed.data, input) : [];
  const constraints = parsed.success ? defaultConstraintsOf(parsed.data, input) : [];
  const errors = [
    ...layers.flatMap((layer) => layer.errors),
    ...(typeof constraints === 'string' ? [constraints] : []),
    ...(parsed.success ? [] : messagesOf(parsed.error.issues, merged)),
    ...(ca !== undefined && 'error' in ca ? [ca.error] : []),
    ...calendars.flatMap((calendar) => ('error' in calendar ? [calendar.error] : [])),
  ];
  if (errors.length > 0 || !parsed.success || typeof constraints === 'string') return { errors: errors.map(oneLine) };
  const caPem = ca !== undefined && 'text' in ca ? ca.text : undefined;
  const warnings = [
    ...layers.flatMap((layer) => layer.warnings),
    ...idle,
    ...ineffectiveSettings(parsed.data),
    ...calendars.flatMap(leftEvents),
  ].map(oneLine);
  const config = deepFreeze(assemble(parsed.data, { caPem, warnings, hostname: input.hostname, calendars, constraints }));
  return {
    config,
    leaves: new Map([...leafEntries(merged.document, []), ...calendars.map(leafOfCalendar)]),
    files: calendars.map(({ file }) => file),
  };
}

const MAX_LENGTH = 1_000;

/** A message contains user input, so line breaks and control characters are escaped and its length is limited. */
function oneLine(sentence: string): string {
  const short = sentence.length > MAX_LENGTH ? `${sentence.slice(0, MAX_LENGTH)}...` : sentence;
  return short.replace(/\p{Cc}/gu, (sign) => JSON.stringify(sign).slice(1, -1));
}

function leafEntries(document: Document, above: readonly string[]): readonly (readonly [string, string])[] {
  return Object.entries(document).flatMap(([key, value]) => {
    const path = [...above, key];
    return isRecord(value) ? leafEntries(value, path) : [[path.join('.'), JSON.stringify(value) ?? ''] as const];
  });
}

function fileLayer(flag: string, path: string | undefined, input: ConfigInput, parse: (file: string, text: string) => Layer): Layer {
  if (path === undefined) return EMPTY_LAYER;
  const reading = readText(flag, path, input);
  if ('text' in reading && input.refuseEmptyFiles === true && reading.text.trim() === '')
    return { ...EMPTY_LAYER, errors: [`${flag} is "${path}": the file is empty; write {} for a file without settings.`] };
  return 'error' in reading ? { ...EMPTY_LAYER, errors: [reading.error] } : parse(path, reading.text);
}

/**
 * Explicit endpoints override the file. Clouds other than AzureStackCloud have known endpoints and do not read it. We warn of a
 * file that is not read, unless the endpoint is given: then the file may be there for other programs.
 */
function endpointsFileLayer(document: Document, input: ConfigInput): Layer {
  const file = input.env[ENDPOINTS_VARIABLE]?.trim() ?? '';
  if (file === '') return EMPTY_LAYER;
  const { cloud, armEndpoint } = isRecord(document['azure']) ? document['azure'] : {};
  if (typeof cloud === 'string' && cloud.trim().toLowerCase() === STACK) return fileLayer(ENDPOINTS_VARIABLE, file, input, endpointsLayer);
  if (armEndpoint !== undefined) return EMPTY_LAYER;
  const warning = `environment variable ${ENDPOINTS_VARIABLE} has no effect: it applies to AzureStackCloud only.`;
  return { ...EMPTY_LAYER, warnings: [warning] };
}

function readText(what: string, path: string, input: Pick<ConfigInput, 'readFile'>): Reading {
  try {
    return { text: input.readFile(path) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    const why = code === 'ENOENT' ? 'the file does not exist' : `it cannot be read (${code})`;
    return { error: `${what} is "${path}": ${why}.` };
  }
}

function caFileOf(document: Readonly<Record<string, unknown>>, input: ConfigInput): Reading | undefined {
  const azure = document['azure'];
  if (typeof azure !== 'object' || azure === null || !('caFile' in azure) || typeof azure.caFile !== 'string') return undefined;
  const reading = readText('azure.caFile', azure.caFile, input);
  const wrong = 'text' in reading ? wrongCaFile(azure.caFile, reading.text) : undefined;
  return wrong === undefined ? reading : { error: wrong };
}

type CalendarFile = { readonly file: string } & (CalendarDates | { readonly error: string });

/** A calendar that cannot be read is an error: without its dates, rules would hold on wrong days. */
function calendarsOf(
  { schedules: { calendars } }: Pick<Parsed, 'schedules'>,
  input: Pick<ConfigInput, 'readFile'>,
): readonly CalendarFile[] {
  const files = [...new Set(calendars.flatMap(({ file }) => file ?? []))];
  return files.map((file) => {
    const reading = readText('schedules.calendars file', file, input);
    if ('error' in reading) return { file, ...reading };
    const found = datesOfCalendar(reading.text);
    return typeof found === 'string' ? { file, error: `schedules.calendars file is "${file}": ${found}.` } : { file, ...found };
  });
}

function leftEvents(calendar: CalendarFile): readonly string[] {
  if ('error' in calendar || calendar.left === 0) return [];
  return [`${calendar.left} events of the calendar "${calendar.file}" have no effect, since they are no whole days or were called off.`];
}

function schedulesOf(written: Parsed['schedules'], calendars: readonly CalendarFile[]): Schedules {
  const rules = rulesWithDates(written, new Map(calendars.map((each) => [each.file, 'dates' in each ? each.dates : []])));
  return { ...NO_SCHEDULES, rules, maintenance: written.maintenance };
}

/** Other dates in the same file are a change of the schedules. */
function leafOfCalendar(calendar: CalendarFile): readonly [string, string] {
  return [`schedules.calendars[${calendar.file}]`, 'dates' in calendar ? JSON.stringify(calendar.dates) : ''];
}

/** Of the scheduler's file, or of the setting; a text is one sentence about why not. */
function defaultConstraintsOf({ kubernetes }: Parsed, input: Pick<ConfigInput, 'readFile'>): readonly ProfileConstraint[] | string {
  const { schedulerConfigFile: file, defaultConstraints } = kubernetes;
  if (file === undefined) return defaultConstraints;
  const reading = readText('kubernetes.schedulerConfigFile', file, input);
  if ('error' in reading) return reading.error;
  const profiles = profilesWithDefaults(reading.text);
  const found = typeof profiles === 'string' ? profiles : constraintsOfProfiles(profiles);
  // guard: a file of the scheduler that cannot be understood is not taken for one without constraints
  return typeof found === 'string' ? `kubernetes.schedulerConfigFile is "${file}": ${found}.` : found;
}

interface Extras {
  readonly caPem: string | undefined;
  readonly warnings: readonly string[];
  readonly hostname: string | undefined;
  readonly calendars: readonly CalendarFile[];
  readonly constraints: readonly ProfileConstraint[];
}

function assemble(parsed: Parsed, extras: Extras): Config {
  const { retailPrices: _retailPrices, ...scaleUp } = parsed.scaleUp;
  return {
    azure: azureSectionOf(parsed, { caPem: extras.caPem, schedules: schedulesOf(parsed.schedules, extras.calendars) }),
    kubernetes: kubernetesOf(parsed, extras),
    policy: {
      cluster: parsed.cluster,
      scaleUp: { ...scaleUp, listPrices: undefined, groupPrices: {} },
      scaleDown: parsed.scaleDown,
      repack: parsed.repack,
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
    historyDirectory: parsed.historyDirectory,
    dryRun: parsed.dryRun,
    warnings: extras.warnings,
  };
}

function kubernetesOf({ kubernetes, dryRun }: Parsed, { hostname, constraints }: Extras): Config['kubernetes'] {
  const { kubeconfig, context, apiServer } = kubernetes;
  return {
    ...defined({ kubeconfigPath: kubeconfig, context, apiServer }),
    namespace: kubernetes.namespace,
    // A dry run runs beside the active autoscaler and must not prevent it from leading.
    leaseName: dryRun ? `${kubernetes.leaseName}-dry-run` : kubernetes.leaseName,
    configMapPrefix: kubernetes.leaseName,
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
    annotateNodes: kubernetes.annotateNodes && !dryRun,
    heedResourceLocker: kubernetes.heedResourceLocker,
    spreadDefaults: spreadDefaultsOf(constraints),
  };
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}

const POLICY_SCHEMA = z.object({ cluster, scaleUp, scaleDown, repack, backoff, drain, capacity, schedules, nodeGroupOptions });
const POLICY_SCHEMA_PRICED_ELSEWHERE = POLICY_SCHEMA.extend({ scaleUp: scaleUpPricedElsewhere });

/** @throws AutoscalerError `config` for a calendar that cannot be read. */
function checkedSchedules(written: Parsed['schedules'], readFile: ConfigInput['readFile']): Schedules {
  const calendars = calendarsOf({ schedules: written }, { readFile });
  for (const calendar of calendars) if ('error' in calendar) throw configError(calendar.error);
  return schedulesOf(written, calendars);
}

interface LoadPolicyOptions {
  readonly pricedElsewhere: boolean;
  /** Reads the calendars of schedules. */
  readonly readFile: ConfigInput['readFile'];
}

function unreadableFile(path: string): never {
  throw Object.assign(new Error(`${path} cannot be read here`), { code: 'ENOENT' });
}

export interface LoadedPolicy {
  readonly policy: Policy;
  /** If undefined, the public price list is not used. */
  readonly retailPrices: RetailPricesConfig | undefined;
  /** Whether the file configures the expanders. */
  readonly hasChain: boolean;
  readonly schedules: Schedules;
  /** Options of single groups, by name. */
  readonly nodeGroupOptions: z.infer<typeof nodeGroupOptions>;
}

/** One sentence for each key that no part of the program knows. Settings that reach a cluster may be absent here, but not misspelt. */
function unknownKeys(merged: Merged): readonly string[] {
  const { error } = SCHEMA.safeParse(merged.document);
  return messagesOf(
    (error?.issues ?? []).filter(({ code }) => code === 'unrecognized_keys'),
    merged,
  );
}

/**
 * Reads the policy alone, without the settings that reach a cluster. Missing keys get their defaults. With `pricedElsewhere`,
 * the price expander needs no prices of the file.
 * @throws AutoscalerError `config` with the message of the first error.
 */
export function loadPolicy(
  file?: { readonly name: string; readonly text: string },
  { pricedElsewhere, readFile }: LoadPolicyOptions = { pricedElsewhere: false, readFile: unreadableFile },
): LoadedPolicy {
  const layer = file === undefined ? undefined : configFileLayer(file.name, file.text);
  const merged = mergeLayers(layer === undefined ? [] : [layer]);
  const parsed = (pricedElsewhere ? POLICY_SCHEMA_PRICED_ELSEWHERE : POLICY_SCHEMA).safeParse(merged.document);
  const error = layer?.errors[0] ?? unknownKeys(merged)[0] ?? (parsed.success ? undefined : messagesOf(parsed.error.issues, merged)[0]);
  if (error !== undefined || !parsed.success) throw configError(error ?? 'The configuration is invalid.');
  const { schedules: written, nodeGroupOptions: named, ...policy } = parsed.data;
  const { retailPrices: given, ...scaleUpPolicy } = parsed.data.scaleUp;
  const list = priceListOf(parsed.data.scaleUp, given.file !== undefined);
  // Prices from outside the configuration have another currency than a list that is read by default.
  const retailPrices = pricedElsewhere && given.enabled !== true ? undefined : list;
  return {
    policy: { ...policy, scaleUp: { ...scaleUpPolicy, listPrices: undefined, groupPrices: {} } },
    retailPrices,
    hasChain: merged.origins.has('scaleUp.expanders'),
    schedules: checkedSchedules(written, readFile),
    nodeGroupOptions: named,
  };
}
