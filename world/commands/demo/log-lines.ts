/** Turns log lines of the daemon into sentences for the table. Pure. */

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

/** Sentences by the message of the log line. A test compares the keys with the messages in the source. */
const SENTENCES: Readonly<Record<string, Sentence>> = {
  'Scale-up accepted': (line) => `${group(line)} ${line.from} -> ${line.to}, for ${counted(line.pods, 'pod')}`,
  'Scale-up withheld by the dry run': (line) => `${group(line)} ${line.from} -> ${line.to} (not written), for ${counted(line.pods, 'pod')}`,
  'Node group changed since the plan was made; planning again': (line) =>
    `${group(line)} is at ${line.observed}, not ${line.from}: it changed since the plan was made; planning again`,
  'Scale-up failed': (line) => `${group(line)} increase failed: ${line.code ?? line.reason ?? 'see the log'}`,
  'Node removal started': (line) =>
    `${line.node} ${line.dryRun === true ? 'would be removed' : 'is being removed'}: ${line.cause}${drainOf(line)}`,
  'Node removal accepted': (line) =>
    line.dryRun === true ? `${line.node} would be deleted` : `${line.node} is drained and is being deleted`,
  'Node removal given up and undone': (line) => `${line.node} is not removed: ${line.reason}`,
  'Deleting instances that never registered as nodes': (line) => `${group(line)}: deleting instances that never became nodes`,
};

export const DECISION_MESSAGES: readonly string[] = Object.keys(SENTENCES);

/** Returns one sentence for a decision, undefined for every other line. */
export function decisionOf(text: string): string | undefined {
  const line = parse(text);
  if (line?.msg === undefined) return undefined;
  const known = SENTENCES[line.msg];
  if (known !== undefined) return known(line);
  return line.level === 'error' || (line.level === 'warn' && line.code !== undefined)
    ? `${line.nodeGroup === undefined ? '' : `${group(line)}: `}${line.msg}${line.code === undefined ? '' : ` (${line.code})`}`
    : undefined;
}

/** The address of the daemon's metrics, if the line has it. */
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

/** Empty nodes have nothing to drain. */
function drainOf({ cause, utilization, pods }: LogLine): string {
  if (cause === 'empty') return '';
  const share = utilization === undefined ? '' : ` (${Math.round(utilization * 100)} % requested)`;
  return `${share}, ${counted(pods, 'pod')} to move`;
}

/** The pool's name of a scale set: `aks-general-12345678-vmss` is `general`. */
function group(line: LogLine): string {
  return line.nodeGroup?.replace(/^aks-(.+)-\d{8}-vmss$/, '$1') ?? '';
}

function counted(count: number | undefined, noun: string): string {
  return `${count ?? 0} ${noun}${count === 1 ? '' : 's'}`;
}
