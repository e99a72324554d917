/** Durations of operations come from the times of the answers. */
import { describe, expect, it } from 'vitest';
import { operationTimes } from './operation-times.ts';
import { readRecordings } from './recordings/read-recordings.ts';
import { AKS_LOCATION, aPool, CLUSTER, cliYaml, goYaml, recordingsIn, SET, SUBSCRIPTION, type SyntheticAnswer } from './synthetic.ts';

const ENDPOINT = 'https://management.azure.com';

function at(seconds: number): Readonly<Record<string, string>> {
  return { Date: new Date(Date.UTC(2026, 6, 14, 9, 30, seconds)).toUTCString() };
}

/** A write at a time, and the reads of its operation: word and second. */
function operation(
  write: SyntheticAnswer,
  id: string,
  reads: readonly (readonly [word: string, second: number])[],
): readonly SyntheticAnswer[] {
  const path = `${AKS_LOCATION}/operations/${id}?api-version=2025-03-01`;
  return [
    { ...write, headers: { ...at(0), 'Azure-AsyncOperation': ENDPOINT + path } },
    ...reads.map(([status, second]) => ({ path, body: { name: id, status }, headers: at(second) })),
  ];
}

const PUT: SyntheticAnswer = { method: 'PUT', path: `${CLUSTER}/agentPools/flour?api-version=2026-06-01`, body: aPool() };
const POST: SyntheticAnswer = { method: 'POST', path: `${SET}/delete`, status: 202 };

function timesOf(files: Readonly<Record<string, string>>): ReturnType<typeof operationTimes> {
  return operationTimes(readRecordings(recordingsIn(files)).interactions);
}

describe('operations', () => {
  it('are timed from their first answer to the first read of their end, by verb', () => {
    const steps = (end: number): readonly (readonly [string, number])[] => [
      ['InProgress', 5],
      ['ReconcilingDNS', 10],
      ['Succeeded', end],
      ['Succeeded', end + 60],
    ];
    const files = {
      'one.yaml': cliYaml(operation(PUT, 'one', steps(20))),
      'two.yaml': cliYaml(operation(PUT, 'two', steps(40))),
      'three.yaml': cliYaml(operation(PUT, 'three', steps(150))),
      'four.yaml': cliYaml(operation(POST, 'four', [['Failed', 9]])),
    };
    const headers = ['azure-asyncoperation'];
    expect(timesOf(files)).toEqual([
      { verb: 'POST virtualMachineScaleSets/delete', count: 1, medianSeconds: 9, longestSeconds: 9, words: [], headers },
      {
        verb: 'PUT managedClusters/agentPools',
        count: 3,
        medianSeconds: 40,
        longestSeconds: 150,
        words: ['InProgress', 'ReconcilingDNS'],
        headers,
      },
    ]);
  });

  it('are left out if their end or the times were not recorded', () => {
    const endless = operation(PUT, 'one', [['InProgress', 5]]);
    const timeless = operation(PUT, 'two', [['Succeeded', 5]]).map((each) => ({ ...each, headers: { ...each.headers, Date: '' } }));
    const synchronous = [{ path: `${SUBSCRIPTION}/resourceGroups/shop`, method: 'PUT', body: {} }];
    expect(timesOf({ 'a.yaml': goYaml(endless), 'b.yaml': goYaml(timeless), 'c.yaml': goYaml(synchronous) })).toEqual([]);
  });
});
