/** For how long a reading of AKS's hours counts, and what holds without one. */
import { expect, it } from 'vitest';
import { MaintenanceReadings } from '../../../src/azure/inventory/maintenance-readings.ts';
import { AutoscalerError } from '../../../src/lib/errors.ts';
import { START_MS } from '../../support/builders.ts';

const HOUR = 3_600_000;
const FAILURE = new AutoscalerError({ kind: 'unavailable', effect: 'none' }, 'Azure failed');
const unread = () => new MaintenanceReadings({ clusterName: 'aks', clusterResourceGroup: 'rg' });

it('a reading counts for a day, whatever fails meanwhile, and is the same object', () => {
  const readings = unread();
  expect([readings.isPending, readings.current(START_MS)]).toEqual([true, { known: false, reason: 'they have not been read yet' }]);
  readings.keep([], START_MS);
  const read = readings.current(START_MS);
  expect([readings.isPending, read]).toEqual([false, { known: true, configurations: [] }]);
  readings.keepFailure(FAILURE);
  expect(readings.current(START_MS + 24 * HOUR)).toBe(read);
  const unknown = readings.current(START_MS + 25 * HOUR);
  expect(unknown).toEqual({ known: false, reason: 'Azure failed' });
  readings.keepFailure(FAILURE);
  expect(readings.current(START_MS + 26 * HOUR)).toBe(unknown);
  readings.keep([], START_MS + 26 * HOUR);
  expect(readings.current(START_MS + 27 * HOUR).known).toBe(true);
});

it('a missing right is named', () => {
  const readings = unread();
  readings.keepFailure(new AutoscalerError({ kind: 'auth' }, 'AuthorizationFailed: long text'));
  expect(readings.current(START_MS)).toEqual({ known: false, reason: expect.stringContaining('maintenanceConfigurations/read') });
  expect(readings.isPending).toBe(false);
});
