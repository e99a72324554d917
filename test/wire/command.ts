/** The command line of `npm run wire`. Exit codes: 0 without a difference that is not argued, 1 with one, 2 for a wrong command line. */
import { parseArgs } from 'node:util';
import { ARGUED } from './argued.ts';
import { reportOf } from './report.ts';
import { runWire, type WireOptions } from './wire.ts';
import { worldExamples } from './world/world-examples.ts';

const USAGE = `Usage: npm run wire -- [--recordings DIR [--since YYYY-MM-DD]] [--specs DIR] [--json]

Compares recordings of the real Azure and its published documents with the daemon and with the simulated world. Reads files alone; nothing
is sent to Azure.

  --recordings DIR  a folder with recordings of Azure's CLI, of go-vcr, of the SDK's test proxy or of PowerShell
  --since DATE      leaves out answers that were recorded before this day
  --specs DIR       a folder with OpenAPI documents of Azure, as in Azure/azure-rest-api-specs
  --json            prints the result for programs
`;

export interface Outcome {
  readonly code: 0 | 1 | 2;
  readonly out: string;
  readonly err: string;
}

type Order = Pick<WireOptions, 'folder' | 'sinceMs' | 'specs'> & { readonly json: boolean };

/** Never rejects for a wrong command line or folder. */
export async function wireCommand(
  argv: readonly string[],
  parts: Pick<WireOptions, 'argued' | 'examples'> = { argued: ARGUED, examples: worldExamples },
): Promise<Outcome> {
  const order = orderOf(argv);
  if (typeof order === 'string') return { code: 2, out: '', err: `wire: ${order}\n\n${USAGE}` };
  let result;
  try {
    result = await runWire({ ...order, ...parts });
  } catch (thrown) {
    // The folder of the command line cannot be listed. A broken file in it is a finding.
    if (!(thrown instanceof Error && 'syscall' in thrown)) throw thrown;
    return { code: 2, out: '', err: `wire: ${thrown.message}\n` };
  }
  const out = order.json ? `${JSON.stringify(result, undefined, 2)}\n` : reportOf(result);
  return { code: result.findings.length === 0 ? 0 : 1, out, err: '' };
}

/** A text: what is wrong. */
function orderOf(argv: readonly string[]): Order | string {
  try {
    const options = {
      recordings: { type: 'string' },
      specs: { type: 'string' },
      since: { type: 'string' },
      json: { type: 'boolean', default: false },
    } as const;
    const { values } = parseArgs({ args: [...argv], options });
    if (values.recordings === undefined && values.specs === undefined) return 'neither --recordings nor --specs names a folder';
    const sinceMs = values.since === undefined ? undefined : Date.parse(values.since);
    if (sinceMs !== undefined && Number.isNaN(sinceMs)) return `--since is "${values.since}"; it must be a day such as 2026-01-01`;
    return { folder: values.recordings, sinceMs, specs: values.specs, json: values.json };
  } catch (thrown) {
    // parseArgs names the option that it does not know.
    if (thrown instanceof TypeError) return thrown.message;
    throw thrown;
  }
}
