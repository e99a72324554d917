/** The page about Azure's CLI as a client of a world: each of its lines, in order, in one shell. */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { AzureCli } from './azure-cli.ts';
import { givenAzureCli } from './find-azure-cli.ts';

const PAGE = resolve(import.meta.dirname, '..', '..', '..', 'world', 'docs', 'clients', 'azure-cli.md');

let cli: AzureCli | undefined;
afterEach(async () => {
  await cli?.stop();
  cli = undefined;
});

function linesOfPage(): readonly string[] {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```\n([\s\S]*?)^```/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) => block.trim().split('\n')).filter((line) => !line.startsWith('npx '));
}

describe.skipIf(givenAzureCli() === undefined)("the page about Azure's CLI", () => {
  it('works line by line, and the pools have the sizes that it asks for', async () => {
    cli = await AzureCli.start();
    const lines = linesOfPage();
    expect(lines.length).toBeGreaterThan(15);
    const out = await cli.must(lines.join('\n'));
    expect(out).toContain('Pay-As-You-Go');
    expect(cli.world.pool('general')).toMatchObject({ capacity: 3, ready: 3 });
    expect(cli.world.pool('memory').capacity).toBe(2);
    expect(existsSync(join(cli.dir, 'world', 'config'))).toBe(true);
    // Each change has its writer in the journal, and no request was unknown.
    const changed = cli.world.journal().filter(({ method }) => method === 'PUT' || method === 'PATCH');
    expect(changed.map(({ route }) => route)).toEqual(
      expect.arrayContaining([
        'PUT managedClusters/{cluster}/agentPools/{pool}',
        expect.stringContaining('virtualMachineScaleSets/{name}'),
      ]),
    );
    expect(cli.world.journal().filter(({ loud }) => loud !== undefined)).toEqual([]);
  });
});
