/** The daemon's log, line by line, as sentences for the table. Anything that is not a decision gives undefined. Pure. */

interface LogLine {
  readonly level?: string;
  readonly msg?: string;
  readonly nodeGroup?: string;
  readonly node?: string;
  readonly from?: number;
  readonly to?: number;
  readonly pods?: number;
  readonly observed?: number;
  readonly cause?: string;
  readonly reason?: string;
  readonly code?: string;
  readonly utilization?: number;
  readonly dryRun?: boolean;
}

type Sentence = (line: LogLine) => string;

/** Keyed by the static message of the log line. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  'Scale-up accepted': (line) => `${group(line)} ${line.from} -> ${line.to}, for ${line.pods} pods that fit nowhere`,
  'Scale-up withheld by the dry run': (line) =>
    `${group(line)} ${line.from} -> ${line.to} would be asked for, for ${line.pods} pods that fit nowhere`,
  'Node group changed by another writer; planning again': (line) =>
    `${group(line)} is at ${line.observed} and not at ${line.from} any more (412): planning again`,
  'Scale-up failed': (line) => `${group(line)} could not grow: ${line.code ?? line.reason ?? 'see the log'}`,
  'Node removal started': (line) =>
    `${line.node} ${line.dryRun === true ? 'would go' : 'goes'}: ${line.cause}${use(line)}, ${line.pods} pods to move`,
  'Node deletion accepted': (line) =>
    line.dryRun === true ? `${line.node} would be deleted` : `${line.node} is drained and being deleted`,
  'Node removal given up and undone': (line) => `${line.node} stays: ${line.reason}`,
  'Deleting instances that never registered as nodes': (line) => `${group(line)}: machines that Azure could not provide are cleared away`,
};

/** One sentence for a decision, undefined for everything else a daemon logs. */
export function decisionOf(text: string): string | undefined {
  const line = parse(text);
  if (line?.msg === undefined) return undefined;
  const known = SENTENCES[line.msg];
  if (known !== undefined) return known(line);
  return line.level === 'error' || (line.level === 'warn' && line.code !== undefined)
    ? `${group(line)} ${line.msg}${line.code === undefined ? '' : ` (${line.code})`}`.trim()
    : undefined;
}

/** Where the daemon serves its metrics, when the line says so. */
export function metricsUrlOf(text: string): string | undefined {
  return /"url":"(http:[^"]+)"/.exec(text)?.[1];
}

function parse(text: string): LogLine | undefined {
  try {
    return JSON.parse(text) as LogLine;
  } catch {
    return undefined;
  }
}

function use(line: LogLine): string {
  return line.utilization === undefined || line.cause === 'empty' ? '' : ` (${Math.round(line.utilization * 100)} % used)`;
}

/** Scale sets are called by their pool: `aks-general-12345678-vmss` is `general`. */
function group(line: LogLine): string {
  return line.nodeGroup?.replace(/^aks-(.+)-\d{8}-vmss$/, '$1') ?? '';
}
