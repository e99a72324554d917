/** A Prometheus that has scraped simulated daemons in virtual time, and answers queries about that time. Needs Debian's package prometheus. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What one daemon served at one time. */
export interface Scrape {
  readonly atMs: number;
  readonly text: string;
  /** Labels that Prometheus adds. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface Series {
  readonly metric: Readonly<Record<string, string>>;
  /** Seconds since the epoch, and the value. */
  readonly values: readonly (readonly [number, number])[];
}

export function hasPrometheus(): boolean {
  try {
    for (const program of ['prometheus', 'promtool']) execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;

/** A line of the text format with the labels of its target and its time. Comments are left out. */
function timed({ atMs, text, labels }: Scrape): readonly string[] {
  const target = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return text.split('\n').flatMap((line) => {
    const [, name, own, value] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const all = [...target, ...(own === undefined ? [] : [own])].join(',');
    return [`${name}{${all}} ${value === 'Nan' ? 'NaN' : value} ${atMs / 1000}`];
  });
}

export class Prometheus {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #folder: string;

  private constructor(child: ChildProcess, url: string, folder: string) {
    this.#child = child;
    this.#url = url;
    this.#folder = folder;
  }

  /** `scrapes`: in order of time for each target. */
  static async start(scrapes: readonly Scrape[]): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
    writeFileSync(join(folder, 'samples'), `${scrapes.flatMap(timed).join('\n')}\n# EOF\n`);
    execFileSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', join(folder, 'samples'), join(folder, 'data')], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    writeFileSync(join(folder, 'config.yaml'), '{}\n');
    const flags = { 'config.file': 'config.yaml', 'storage.tsdb.path': 'data', 'storage.tsdb.retention.time': '100y' };
    const args = [...Object.entries(flags).map(([name, value]) => `--${name}=${value}`), '--web.listen-address=127.0.0.1:0'];
    const child = spawn('prometheus', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    return new Prometheus(child, `http://${await addressOf(child)}`, folder);
  }

  /** One point for each series. */
  async now(query: string, atMs: number): Promise<readonly Series[]> {
    const found = await this.#ask('query', { query, time: `${atMs / 1000}` });
    return found.map(({ metric, value: [at = 0, text = ''] = [] }) => ({ metric, values: [[Number(at), Number(text)]] }));
  }

  /** A point each minute. */
  async overTime(query: string, fromMs: number, toMs: number): Promise<readonly Series[]> {
    const found = await this.#ask('query_range', { query, start: `${fromMs / 1000}`, end: `${toMs / 1000}`, step: '60' });
    return found.map(({ metric, values = [] }) => ({ metric, values: values.map(([at, text]) => [Number(at), Number(text)]) }));
  }

  async #ask(path: string, parameters: Readonly<Record<string, string>>): Promise<readonly RawSeries[]> {
    const response = await fetch(`${this.#url}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`);
    const { data, error } = (await response.json()) as Answer;
    if (data === undefined) throw new Error(`${parameters['query']}: ${error}`);
    return data.result;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
    rmSync(this.#folder, { recursive: true });
  }
}

type Point = readonly (number | string)[];

interface RawSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: Point;
  readonly values?: readonly Point[];
}

interface Answer {
  readonly data?: { readonly result: readonly RawSeries[] };
  readonly error?: string;
}

/** Waits until it is ready and says where: on a busy machine the second comes later. @throws Error with its last words if it ends before. */
async function addressOf(child: ChildProcess): Promise<string> {
  const lines: string[] = [];
  if (child.stderr === null) throw new Error('Prometheus has no standard error');
  let address: string | undefined;
  let isReady = false;
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    address ??= /Listening on" address=(\S+)/.exec(line)?.[1];
    isReady ||= /Server is ready/.test(line);
    if (isReady && address !== undefined) break;
  }
  if (address === undefined) throw new Error(`Prometheus did not start: ${lines.slice(-5).join('\n')}`);
  // What it writes later must not fill its pipe.
  child.stderr.resume();
  return address;
}
