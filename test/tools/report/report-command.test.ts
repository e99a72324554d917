import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ShadowLine } from '../../../src/planning/shadow/record.ts';
import { runCommand } from '../../support/run-command.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const HOUR = 3_600_000;
const POOLS: ShadowLine = { kind: 'pools', atMs: HOUR, started: true, pools: [{ pool: 'a', min: 0, max: 3, vmSize: 's', perHour: 2 }] };
const FREE: ShadowLine = { kind: 'free', atMs: HOUR, pool: 'a', node: 'n1', why: 'empty' };
const GONE: ShadowLine = { kind: 'free-end', atMs: 3 * HOUR, pool: 'a', node: 'n1', how: 'removed', pods: 0 };

function directoryWith(...lines: readonly string[]): string {
  const dir = temporaryFolder();
  if (lines.length > 0) writeFileSync(join(dir, 'shadow-2026-11-20.jsonl'), `${lines.join('\n')}\n`);
  return dir;
}

describe('report about a directory', () => {
  it('compares what is in it, as of its last line, and counts lines that it cannot read', async () => {
    const dir = directoryWith(JSON.stringify(POOLS), '{"kind":"fr', '{"kind":"other"}', JSON.stringify(FREE), JSON.stringify(GONE));
    const { code, out } = await runCommand(['report', '--directory', dir]);
    expect(code).toBe(0);
    expect(out).toContain('earlier removal than by the AKS autoscaler');
    expect(out).toContain('-4.00');
    expect(out).toContain('; 2 lines could not be read.');
    const json = await runCommand(['report', '--directory', dir, '--json', '--since', '30m']);
    expect(JSON.parse(json.out)).toMatchObject({ isPartial: false, disagreements: [] });
  });

  it.each<[string, readonly string[], number, string]>([
    ['a directory without a record', ['--directory', 'EMPTY'], 3, 'has no record of a dry run'],
    ['a span that is none', ['--since', 'lately'], 2, '--since is "lately"; it must be a span such as 12h or 7d.'],
    ['an unknown flag', ['--sinse=7d'], 2, 'see report --help.'],
    ['--help', ['--help'], 0, 'Usage: report'],
  ])('%s', async (_what, argv, expected, words) => {
    const given = argv.map((each) => (each === 'EMPTY' ? directoryWith() : each));
    const { code, out, err } = await runCommand(['report', ...given]);
    expect(code).toBe(expected);
    expect(out + err).toContain(words);
  });
});

describe('report of a running daemon', () => {
  it.each<[number, string, number, string]>([
    [404, 'nothing is compared: this is not a dry run (--dry-run)\n', 3, 'this is not a dry run'],
    [503, 'this replica stands by\n', 4, 'stands by'],
  ])('that answers %i', async (status, body, expected, words) => {
    const asked: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url);
      response.writeHead(status).end(body);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', () => done()));
    try {
      const { port } = server.address() as AddressInfo;
      const { code, err } = await runCommand(['report', '--since', '12h', '--url', `http://127.0.0.1:${port}`]);
      expect([code, asked]).toEqual([expected, ['/api/v1/report?since=12h']]);
      expect(err).toContain(words);
    } finally {
      server.close();
    }
  });
});
